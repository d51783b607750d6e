package chain

import (
	"encoding/json"
	"sync"
)

const (
	mostPlans   = 1000    // kept at a time
	largestPlan = 4 << 10 // bytes of a text that is kept
)

// plans caches decoded texts of chains: a bulk action is described when it is checked, when it is submitted and when it
// runs, and many have the same chain.
type plans struct {
	mu   sync.Mutex
	kept map[string]*Plan
}

// read decodes a text. The caller must not change what it returns.
func (p *plans) read(text []byte) (*Plan, error) {
	p.mu.Lock()
	plan := p.kept[string(text)]
	p.mu.Unlock()
	if plan != nil {
		return plan, nil
	}
	plan = &Plan{}
	if err := json.Unmarshal(text, plan); err != nil || len(text) > largestPlan {
		return plan, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil || len(p.kept) >= mostPlans {
		p.kept = map[string]*Plan{}
	}
	p.kept[string(text)] = plan
	return plan, nil
}
