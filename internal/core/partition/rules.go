package partition

import (
	"maps"

	"github.com/weirhq/weir"
)

// ruleSet holds the rules of a bulk action that can be changed, as sent to shards.
type ruleSet struct {
	Number      uint64             `json:"number"`
	By          string             `json:"by,omitempty"`
	Tier        weir.Tier          `json:"tier"`
	Priority    int                `json:"priority,omitempty"`
	Concurrency int                `json:"concurrency,omitempty"`
	Rates       map[string]float64 `json:"rates,omitempty"`
	StopOn      weir.StopRule      `json:"stop_on"`
	Shards      []int              `json:"shards,omitempty"` // that divide the concurrency and the rates
}

func (c *Created) rules() *ruleSet {
	return &ruleSet{c.Rules, c.RulesBy, c.Tier, c.Priority, c.Concurrency, c.Rates, c.StopOn, c.Shards}
}

// change changes the rules of a bulk action that has not ended.
func (m *Machine) change(now int64, b *bulk, r *weir.Rules, by string) {
	if r == nil || b.stopping() {
		return
	}
	set := b.spec.rules()
	set.Number, set.By = set.Number+1, by
	if r.Tier != nil {
		set.Tier = *r.Tier
	}
	if r.Priority != nil {
		set.Priority = *r.Priority
	}
	if r.Concurrency != nil {
		set.Concurrency = *r.Concurrency
	}
	if r.StopOn != nil {
		set.StopOn = *r.StopOn
	}
	set.Rates = maps.Clone(set.Rates)
	for step, rate := range r.Rates { // the order does not reach an output: each sets its own
		if set.Rates == nil {
			set.Rates = map[string]float64{}
		}
		if set.Rates[step] = float64(rate); rate == 0 {
			delete(set.Rates, step)
		}
	}
	m.adopt(now, b, set)
	m.judge(now, b)
}

// adopt applies rules, unless newer ones are in force, and stores the spec again.
func (m *Machine) adopt(now int64, b *bulk, r *ruleSet) {
	if r == nil || r.Number <= b.spec.Rules {
		return
	}
	spec := *b.spec
	spec.Rules, spec.RulesBy, spec.Tier, spec.Priority, spec.Concurrency, spec.Rates, spec.StopOn = r.Number, r.By,
		r.Tier, r.Priority, r.Concurrency, r.Rates, r.StopOn
	if b.away() && len(r.Shards) > len(spec.Shards) { // more have come since it was made
		spec.Shards = r.Shards
	}
	was, old := b.spec, b.bounds
	b.spec = &spec
	b.setBounds()
	m.refit(now, b, was, old)
	m.queue.SetBulk(now, b.queued, b.queueing())
	for _, s := range b.steps {
		was := s.pace.Rate()
		s.setPace(now, b)
		if s.pace.Rate() != was {
			b.status.Lately = Lately{}
		}
	}
	m.offerAll(now, b)
	m.writeSpec(b)
	m.touch(b)
	m.spreadLater(now, b)
}

// refit adapts the parts of the shards to other bounds. A shard hears of its part after this.
func (m *Machine) refit(now int64, b *bulk, was *Created, old []int64) {
	if b.shard == nil || was.Concurrency == b.spec.Concurrency && maps.Equal(was.Rates, b.spec.Rates) {
		return
	}
	if b.atHome() {
		m.rebound(b, was, old)
		m.lookAtParts(b, now)
	} else if len(b.shard.part) != len(b.bounds) {
		b.shard.part = evenParts(b.bounds, b.shard.no, len(b.spec.Shards))
	}
	m.settleAll(now, b)
}
