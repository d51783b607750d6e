package capacity

import (
	"math"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/flow"
	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/core/quota"
	"github.com/weirhq/weir/internal/core/sched"
)

// Resource is a downstream as one node uses it. It is the gate of its queue.
type Resource struct {
	node    *Node
	limits  weir.Resource
	gate    *limit.Gate
	entry   *sched.Resource
	control *control              // nil: flow control is off
	seen    map[string]int64      // tenants with something to run, and when they last had; see Wants
	needs   map[string]sched.Need // for the deadlines of tenants, as last sent to the other nodes
}

// Limits returns the limits over all nodes.
func (r *Resource) Limits() weir.Resource { return r.limits }

// InFlight returns the number of tasks in flight.
func (r *Resource) InFlight() int { return r.gate.InFlight() }

// Rate returns how many items a second this node may start now, 0 for unlimited: by the limit,
// the quota, or flow control.
func (r *Resource) Rate() float64 { return r.gate.Rate() }

// size returns what determines how many items a task should have.
func (r *Resource) size() limit.Size {
	s := limit.Size{Rate: r.gate.Rate(), Latency: float64(r.entry.Service()) / 1e9, InFlight: r.gate.Bound(),
		Full: r.limits.Pacing == weir.PacingFull}
	if room := r.node.queue.Room(r.entry); room > 0 && (s.InFlight == 0 || room < s.InFlight) {
		s.InFlight = room
	}
	if r.node.cfg.Shared {
		s.Grain = limit.Grain(float64(r.limits.Rate), math.MaxInt32)
		if r.limits.Rate > 0 && r.limits.Concurrency > 0 {
			s.Whole = limit.Whole{Rate: float64(r.limits.Rate), InFlight: r.limits.Concurrency}
		}
	}
	return s
}

// wake lets the queue ask the gate again, after it was opened further.
func (r *Resource) wake() {
	r.node.queue.WakeResource(0, r.entry)
	r.node.queue.Call()
}

// waitOut closes the gate until the starts of earlier owners have left the rate's window.
func (r *Resource) waitOut() {
	if w := r.gate.Window(); r.node.before != 0 && w > 0 && !r.node.cfg.Shared {
		r.gate.CloseUntil(r.node.before + w)
	}
}

// Peek implements sched.Gate.
func (r *Resource) Peek(now int64) int64 {
	if at, held := r.held(now, 1); held {
		return at
	}
	return r.gate.Peek(now)
}

// Take implements sched.Gate.
func (r *Resource) Take(now int64, cost int) (int64, bool) {
	if at, held := r.held(now, cost); held {
		return at, false
	}
	at, ok := r.gate.Take(now, cost)
	if ok && r.control != nil {
		r.control.windows.Sent(now, cost)
		r.control.closure.Sent(now)
		r.control.parallel.Sent(now, r.gate.InFlight())
	}
	return at, ok
}

// Fits implements sched.Gate.
func (r *Resource) Fits(now int64, cost, least int) (n int, at int64) {
	return r.gate.Fits(now, cost, least)
}

// Most implements sched.Gate.
func (r *Resource) Most(tenant string, step int) int {
	if c := r.control; c != nil && (c.breaker.State().Phase == flow.HalfOpen || c.circuits.probes(caller{tenant, step})) {
		return 1
	}
	if r.node.cfg.Shared && r.limits.Pacing == weir.PacingFull && r.limits.Rate > 0 {
		return r.size().Items(math.MaxInt32) // its quota may have become less since the task was offered
	}
	return r.gate.Most(tenant, step)
}

// Late implements sched.Gate.
func (r *Resource) Late(taken, now int64, cost int) { r.gate.Late(taken, now, cost) }

// held checks, before a task starts, whether the downstream is closed, and asks the breaker.
func (r *Resource) held(now int64, cost int) (at int64, held bool) {
	c := r.control
	if c == nil {
		return 0, false
	}
	if at := c.closure.Ready(now, r.gate.InFlight()); at > now {
		r.gate.Refuse(now, cost, limit.CauseClosed)
		return at, true
	}
	if c.freely() {
		return 0, false
	}
	ok, at := c.breaker.Allow(now, r.gate.InFlight())
	if ok {
		return 0, false
	}
	r.gate.Refuse(now, cost, limit.CauseCircuit)
	return at, true
}

// Bound implements sched.Gate.
func (r *Resource) Bound() int { return r.gate.Bound() }

// Release implements sched.Gate.
func (r *Resource) Release(now int64) { r.gate.Release(now) }

// Idle implements sched.Gate.
func (r *Resource) Idle(now int64) { r.gate.Idle(now) }

// Cause implements sched.Gate. A resource that flow control does not throttle is closed only to
// keep its rate, see waitOut, or held only until its first call has succeeded.
func (r *Resource) Cause() limit.Cause {
	c := r.gate.Cause()
	switch {
	case r.control != nil && r.control.troubled():
		return c
	case c == limit.CauseClosed:
		return limit.CauseRate
	case c == limit.CauseCircuit:
		return limit.CauseFirstCall
	}
	return c
}

// Observe describes the use of a resource with shared limits, for the caller that requests its
// quotas: of its rate, or of its concurrency if tasks is set.
func (r *Resource) Observe(now int64, tasks bool) quota.View {
	u := r.gate.Observe(now)
	v := quota.View{
		Used: u.Used, Busy: u.Busy, Short: u.Short, Cost: u.Cost, Permit: u.Permit, Weight: int64(r.entry.Part()),
		Backlog: r.entry.Backlog(),
	}
	if tasks {
		v.Used, v.Short = int64(u.InFlight), u.Cramped
	}
	return v
}

// SetQuota lets that many items start per window until a time, see [limit.Gate.SetQuota].
func (r *Resource) SetQuota(now, items, until int64) {
	if r.gate.SetQuota(now, items, until) {
		r.wake()
	}
}

// SetSlotQuota lets that many tasks be in flight until a time, see [limit.Gate.SetSlotQuota].
func (r *Resource) SetSlotQuota(now, tasks, until int64) {
	if r.gate.SetSlotQuota(now, tasks, until) {
		r.wake()
		return
	}
	if int(tasks) < r.gate.InFlight() {
		r.node.queue.Recall(now)
	}
}

// Permit lets items start beyond the quota, see [limit.Gate.Permit].
func (r *Resource) Permit(units, from, until int64) {
	r.gate.Permit(units, from, until)
	r.wake()
}
