package model

import (
	"slices"

	"github.com/weirhq/weir/internal/flow"
)

// flowing is flow control of one resource.
type flowing struct {
	m     *machine
	res   *resource
	rule  flow.RateRule
	seen  []flow.Seen // reused
	sides []*side     // by node
}

// side is what a node learned from its own calls.
type side struct {
	rate    flow.RateState
	windows flow.Windows
	breaker *flow.Breaker
	latency *flow.Latency
}

// controlFlow switches flow control on where the world wants it.
func (m *machine) controlFlow() {
	for _, r := range m.resources {
		if r.Flow == FlowOff {
			continue
		}
		f := &flowing{m: m, res: r, rule: flow.Estimate}
		if r.Flow == FlowAIMD {
			f.rule = flow.AIMD
		}
		chance := luck(m.w.Seed, ofFlow, r.no)
		for range m.nodes {
			f.sides = append(f.sides, &side{breaker: flow.NewBreaker(chance.Uint64()), latency: flow.NewLatency(r.Concurrency, chance.Uint64())})
		}
		r.flow = f
		m.later(int64(flow.Window), f.adjust)
	}
}

// config is what a node may use of the rate.
func (f *flowing) config(n *node) flow.RateConfig {
	return flow.RateConfig{Rate: n.res[f.res.no].Limit()}
}

func (f *flowing) sent(n *node, items int) { f.sides[n.no].windows.Sent(f.m.clock(), items) }

// ended tells the node's side how a task ended. What it changes may let others start.
func (f *flowing) ended(n *node, t *task) {
	s, now := f.sides[n.no], f.m.clock()
	sent := epoch + t.started
	if t.how == refused {
		s.windows.Ended(now, sent, t.items, t.items, now+int64(f.res.Downstream.RetryAfter))
		return
	}
	s.windows.Ended(now, sent, t.items, 0, 0)
	probing := s.breaker.State().Phase != flow.Closed
	s.breaker.Ended(now, sent, t.how == failed)
	s.latency.Ended(now, t.took, n.res[f.res.no].InFlight()+1)
	n.pool.SetBearable(now, n.res[f.res.no], s.latency.Bound(now))
	if s.breaker.Reopened() {
		s.rate = flow.Restart(now, s.rate, f.config(n))
		f.apply(n)
	}
	if probing {
		n.pool.Stir(now, n.res[f.res.no])
	}
}

// adjust has every node look at its windows that have settled.
func (f *flowing) adjust() {
	now := f.m.clock()
	for _, n := range f.m.nodes {
		s := f.sides[n.no]
		f.seen = s.windows.Settled(now, f.seen[:0])
		s.rate = f.rule(now, f.seen, s.rate, f.config(n))
		for _, x := range f.seen {
			if until, blocked := s.rate.Blocks(x); blocked && until > now {
				n.pool.CloseUntil(now, n.res[f.res.no], until)
			}
		}
		f.apply(n)
	}
	f.m.later(f.m.now+int64(flow.Window), f.adjust)
}

// apply paces a node at the rate that it found.
func (f *flowing) apply(n *node) {
	pace := 0.0
	if s := f.sides[n.no]; s.rate.Limited {
		pace = s.rate.Rate
	}
	n.pool.SetPace(f.m.clock(), n.res[f.res.no], pace)
}

func (f *flowing) closed(n *node) bool { return f.sides[n.no].breaker.State().Phase == flow.Open }

// strained reports whether load was found to be the trouble.
func (f *flowing) strained(n *node) bool {
	return f.sides[n.no].rate.Limited || f.sides[n.no].breaker.State().Phase != flow.Closed || f.sides[n.no].latency.State().Reason == flow.Shrunk
}

// show fills in what a second looked like; of several breakers the worst counts.
func (f *flowing) show(s *Second) {
	order := []flow.Phase{flow.Closed, flow.HalfOpen, flow.Open}
	worst, bound, found := 0, 0, 0.0
	for _, x := range f.sides {
		bound += x.latency.State().Bound
		if x.rate.Limited {
			found += x.rate.Rate
		}
		worst = max(worst, slices.Index(order, x.breaker.State().Phase))
	}
	if found > 0 {
		s.Rate = found
	}
	s.Breaker = string(order[worst])
	if bound > 0 && (s.Concurrency == 0 || bound < s.Concurrency) {
		s.Concurrency = bound
	}
}

// allows asks the breaker of a node whether a task may start; if not, at is when to ask again.
func (r *resource) allows(now int64, n *node) (at int64, ok bool) {
	if r.flow == nil {
		return now, true
	}
	ok, at = r.flow.sides[n.no].breaker.Allow(now, n.res[r.no].InFlight())
	return at, ok
}
