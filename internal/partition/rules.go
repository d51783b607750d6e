package partition

import (
	"maps"
	"math"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/planted"
	"github.com/weirhq/weir/internal/sched"
)

// pace is a rate that a bulk action has of its own at a step: after each task so
// much time passes as its items take at that rate. A shard has its part of it.
type pace struct {
	rate  float64 // items per second; 0: none
	next  int64   // when the next task may start
	waits bool    // next has not come, and is in the waits
}

// setPace reads the step's own rate from the rules. A task is no larger than what
// the rate allows in a moment.
func (s *step) setPace(b *bulk) {
	rate := b.spec.Rates[s.def.Name]
	if b.shard != nil {
		rate /= float64(len(b.spec.Shards))
	}
	s.pace.rate = rate
	s.chunk = chunk(s.lane.limits.Rate, s.def.BatchSize)
	if rate > 0 {
		s.chunk = min(s.chunk, chunk(weir.Rate(rate), s.def.BatchSize))
	}
}

// spend counts the items of a task against the step's own rate.
func (m *Machine) spend(now int64, s *step, items int) {
	p := &s.pace
	if p.rate == 0 || planted.Is(planted.OwnRateIgnored) {
		return
	}
	p.next = max(p.next, now) + int64(math.Ceil(float64(items)/p.rate*1e9))
	p.waits = true
	m.waits.push(wait{due: p.next, paced: s})
}

// confirmFirst keeps a new bulk action with a rate of its own back until the commit that
// creates it is confirmed: until then a takeover would create it anew, and start its first
// task again without knowing of the one that its rate had room for.
func (m *Machine) confirmFirst(now int64, b *bulk) {
	for _, s := range b.steps {
		if s.pace.rate > 0 {
			s.pace.waits, b.opens = true, m.gen
			m.offer(now, s)
		}
	}
}

// repace has a step that its own rate holds up wait as long as the new rate
// says: one that was all but stopped must not stay so.
func (m *Machine) repace(now int64, s *step, was float64) {
	p := &s.pace
	switch {
	case p.rate == 0:
		p.waits, p.next = false, 0
	case p.waits && p.rate != was && now < p.next:
		p.next = now + int64(math.Ceil(float64(p.next-now)*was/p.rate))
		m.waits.push(wait{due: p.next, paced: s})
	}
}

// waits reports whether nothing of the step may start now, whatever is ready.
func (s *step) waits() bool { return s.pace.waits || s.held != 0 }

// holdStep has no call of a step start before a time. Others of the resource go on: they
// may have another endpoint, or other credentials.
func (m *Machine) holdStep(now int64, s *step, until int64) {
	s.held = until
	m.waits.push(wait{due: until, paced: s})
	m.offer(now, s)
}

// stepDue lets a step go on that its own rate or a wrong endpoint held up.
func (m *Machine) stepDue(now int64, s *step) {
	waited := s.waits()
	if now >= s.pace.next {
		s.pace.waits = false
	}
	if now >= s.held {
		s.held = 0
	}
	if waited && !s.waits() {
		m.offer(now, s)
	}
}

// ruleSet is what can be changed of a bulk action, as a shard is told of it.
type ruleSet struct {
	Number      uint64             `json:"number"`
	By          string             `json:"by,omitempty"`
	Tier        weir.Tier          `json:"tier"`
	Priority    int                `json:"priority,omitempty"`
	Concurrency int                `json:"concurrency,omitempty"`
	Rates       map[string]float64 `json:"rates,omitempty"`
	StopOn      weir.StopRule      `json:"stop_on"`
}

func (c *Created) rules() *ruleSet {
	return &ruleSet{c.Rules, c.RulesBy, c.Tier, c.Priority, c.Concurrency, c.Rates, c.StopOn}
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

// adopt makes rules hold, unless newer ones do. The spec is stored anew.
func (m *Machine) adopt(now int64, b *bulk, r *ruleSet) {
	if r == nil || r.Number <= b.spec.Rules {
		return
	}
	spec := *b.spec
	spec.Rules, spec.RulesBy, spec.Tier, spec.Priority, spec.Concurrency, spec.Rates, spec.StopOn = r.Number, r.By, r.Tier, r.Priority, r.Concurrency, r.Rates, r.StopOn
	b.spec = &spec
	most := spec.Concurrency
	if b.shard != nil {
		most = spec.capOf(b.shard.no)
	}
	m.queue.SetGroup(now, b.group, sched.GroupConfig{Priority: spec.Priority, Tier: spec.Tier.Rank(), Cap: most})
	for _, s := range b.steps {
		was := s.pace.rate
		s.setPace(b)
		if s.pace.rate != was {
			b.status.Lately = Lately{}
		}
		m.repace(now, s, was)
	}
	m.offerAll(now, b)
	if !planted.Is(planted.RulesNotStored) {
		m.writeSpec(b)
	}
	m.touch(b)
}
