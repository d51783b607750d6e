package chain

import (
	"encoding/json"
	"sync"

	"github.com/weirhq/weir/internal/edge/mapping"
)

// mostPrograms bounds the cached steps.
const mostPrograms = 1000

// programs caches compiled steps: bulk actions of one campaign or template share them. Compiling
// expressions takes about half a millisecond, and a starting node compiles those of every
// unfinished bulk action.
type programs struct {
	mu   sync.Mutex
	kept map[string]*mapping.Program
}

// compile is mapping.Compile with a cache.
func (p *programs) compile(st mapping.Step, earlier []string) (*mapping.Program, error) {
	if st.Input == nil && st.When == "" {
		return mapping.Compile(st, earlier)
	}
	text, err := json.Marshal(struct {
		Step    mapping.Step
		Earlier []string
	}{st, earlier})
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	prog := p.kept[string(text)]
	p.mu.Unlock()
	if prog != nil {
		return prog, nil
	}
	if prog, err = mapping.Compile(st, earlier); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil || len(p.kept) >= mostPrograms {
		p.kept = map[string]*mapping.Program{}
	}
	p.kept[string(text)] = prog
	return prog, nil
}
