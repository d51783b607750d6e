package model

import (
	"cmp"
	"time"

	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/core/retry"
	"github.com/weirhq/weir/internal/core/scale"
	"github.com/weirhq/weir/internal/core/sched"
)

// lane is one resource in one partition.
type lane struct {
	m     *machine
	part  *part
	res   *resource
	entry *capacity.Resource // of the node
	turns retry.Turns[*step]
	alarm bool       // a time is set at which the next retry has its turn
	size  limit.Size // what the size of tasks goes by
	chunk int        // the most items of a task
	per   scale.PerTask
	bound int  // of the tasks that the resource may have in flight; 0: no limit
	tasks int  // ready, and could run but for limits and workers
	used  bool // a bulk action has needed it; an engine has no such lane before

	workers  int
	inFlight int
	state    scale.State
	shadow   scale.State // of the default policy, which tells the need
	decision scale.Decision
	need     float64
	healthy  int64       // when a call was last answered
	halves   []func()    // hasten those that wait until one is
	cause    sched.Cause // what was in the way at the last tick
	second   laneSecond
}

// laneSecond is what a lane saw since the last tick, in tasks.
type laneSecond struct {
	load          int // became ready
	started       int64
	items         int64 // of those that started
	arrived       int   // the same without those of large bulk actions
	ended, failed int
	took          int64
}

// resize looks up what the size of tasks goes by.
func (l *lane) resize() {
	l.size = l.part.queue.Size(l.entry)
	l.chunk = l.size.Items(l.m.widestBatch(l.res))
}

// open gives the lane its first workers when a bulk action comes that needs it.
func (l *lane) open() {
	if w := l.m.w.Workers; !l.used {
		l.used = true
		l.scale(min(max(cmp.Or(l.res.Workers, w.Start), w.Min), w.Max))
	}
}

// scale gives the lane so many workers.
func (l *lane) scale(n int) {
	l.workers = n
	l.part.queue.SetWorkers(l.m.clock(), l.entry, n)
	l.part.stirred = true
}

// became notes tasks that became ready.
func (l *lane) became(tasks int, large bool) {
	l.second.load += tasks
	if !large {
		l.second.arrived += tasks
	}
}

// ended notes the end of a task. What was refused is a matter of flow control.
func (l *lane) ended(took int64, how outcome) {
	l.inFlight--
	if how == refused {
		return
	}
	l.second.ended++
	l.second.took += took
	if how == failed {
		l.second.failed++
	}
}

// works notes an answered call: halves that wait for the resource to recover wait no longer.
func (l *lane) works(now int64) {
	l.healthy = now
	for _, hasten := range l.halves {
		hasten()
	}
	clear(l.halves)
	l.halves = l.halves[:0]
}

// once returns f for its first call, and nothing for the others.
func once(f func()) func() {
	return func() {
		g := f
		if f = nil; g != nil {
			g()
		}
	}
}

// signals returns what the coordinator would see of the lane, and begins a new second.
func (l *lane) signals(now int64) scale.Signals {
	s, seen := l.second, l.part.queue.Observe(now, l.entry)
	l.second, l.cause = laneSecond{}, seen.Cause
	l.per = l.per.See(s.items, s.started, l.chunk)
	held := l.entry.State(now)
	load := scale.Load{
		Resource: l.res.Name, Arrivals: float64(s.arrived), Backlog: l.tasks,
		Usable: l.usable(), Closed: held.Closed, Samples: s.ended, Failed: s.failed,
	}
	if s.ended > 0 {
		load.Service = time.Duration(max(s.took/int64(s.ended), int64(time.Microsecond)))
	}
	return scale.Signals{
		Workers: l.workers, Bound: l.bound, Loads: []scale.Load{load}, Strained: held.Strained,
		SlotWait: time.Duration(seen.Wait99), Busy: min(seen.Busy/float64(max(l.workers, 1)), 1),
	}
}

// usable returns how many tasks per second the resource would take of this lane: what
// the node may start, divided between its lanes that have work. 0: no limit.
func (l *lane) usable() float64 {
	busy := 0
	for _, o := range l.part.node.lanes {
		if o.res == l.res && (o.tasks > 0 || o.inFlight > 0) {
			busy++
		}
	}
	return l.per.Tasks(l.res.usable(l.part.node)) / float64(max(busy, 1))
}

// decide asks the policy how many workers to have, and obeys.
func (l *lane) decide(policy scale.Policy, c scale.Config) {
	now := l.m.clock()
	s := l.signals(now)
	l.decision, l.state = policy(now, s, l.state, c)
	l.need = l.decision.Need
	if l.m.w.shadowed() { // the other policies do not tell the need
		var d scale.Decision
		d, l.shadow = scale.Decide(now, s, l.shadow, c)
		l.need = d.Need
	}
	if l.decision.Workers != l.workers {
		l.scale(l.decision.Workers)
	}
}

// shadowed reports whether the default policy only looks on.
func (w World) shadowed() bool { return policyName(w.Workers.Policy) != scale.Default }
