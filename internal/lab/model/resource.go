package model

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/flow"
	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// resource is a downstream and all that is known of it.
type resource struct {
	Resource
	m        *machine
	no       int
	down     *downstream
	backoffs *rand.Rand
	lanes    []*lane
	shares   []*share // of tenants that want something of it
	meter    virtual.Meter

	second Items // since the last tick
	all    Items // before that
	series []Second
	calls  int64
	busy   int64 // time of the seconds with work
}

func newResource(m *machine, no int) *resource {
	r := &resource{Resource: m.w.Resources[no], m: m, no: no, backoffs: chance(m.w.Seed, ofBackoff, no)}
	r.down = newDownstream(&r.Resource, chance(m.w.Seed, ofDownstream, no))
	r.meter.Window = second
	if r.Rate > 0 {
		_, window := limit.PerWindow(float64(r.Rate))
		r.meter.Window = int64(window)
	}
	return r
}

// call sends a task downstream.
func (r *resource) call(now int64, items int) (took int64, how outcome, rejected, again int) {
	r.calls++
	r.second.Started += int64(items)
	r.meter.Add(now, int64(items))
	return r.down.call(now, items)
}

// ended books the end of a task.
func (r *resource) ended(t *task) {
	switch t.how {
	case answered:
		r.second.Done += int64(t.items)
	case failed:
		r.second.Failed += int64(t.items)
	case refused:
		r.second.Refused += int64(t.items)
	}
}

// ending returns what the end of a task says of the downstream.
func (r *resource) ending(t *task) *capacity.Ending {
	x := &capacity.Ending{Service: t.took, Failed: t.how == failed}
	if t.how == refused {
		x.Refused, x.After = t.items, time.Duration(r.Downstream.RetryAfter)
	}
	return x
}

// usable returns how many items per second a node may start: its part of the rate, more
// if it was allotted more, or the rate that flow control found. 0: no limit.
func (r *resource) usable(n *node) float64 {
	rate := float64(r.Rate) / float64(len(r.m.nodes))
	for _, k := range n.keeps {
		if k.of == n.res[r.no] && k.Limit.Window > 0 {
			units, _ := k.keeper.Quota()
			rate = max(rate, float64(units)/k.Limit.Window.Seconds())
		}
	}
	if s := n.res[r.no].State(r.m.clock()); s.Limited && (rate == 0 || s.Rate < rate) {
		return s.Rate
	}
	return rate
}

// show fills in what flow control holds the resource to; of several breakers the worst counts.
func (r *resource) show(s *Second) {
	order := []flow.Phase{flow.Closed, flow.HalfOpen, flow.Open}
	worst, bound, found := 0, 0, 0.0
	for _, n := range r.m.nodes {
		x := n.res[r.no].State(r.m.clock())
		bound += x.Bearable
		if x.Limited {
			found += x.Rate
		}
		worst = max(worst, slices.Index(order, x.Circuit))
	}
	if found > 0 {
		s.Rate = found
	}
	s.Breaker = string(order[worst])
	if bound > 0 && (s.Concurrency == 0 || bound < s.Concurrency) {
		s.Concurrency = bound
	}
}
