package partition

import (
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/sched"
)

// A bulk action with a deadline goes before others of its tenant when needed, and while the
// deadline can be met. The node's queue decides that, see package sched. This file reports the
// remaining work to the queue, and raises an event if the deadline will not be met.

// WordLate is shown for a bulk action that will not end by its deadline.
const WordLate = "late"

// mind starts to check the deadline of a running bulk action, and whether other nodes should work
// on it.
func (m *Machine) mind(now int64, b *bulk) {
	m.spreadLater(now, b)
	if b.spec.Deadline == 0 || b.state != weir.BulkRunning || b.lookAgain != 0 {
		return
	}
	b.lookAgain = now
	m.waits.push(wait{due: now, bulk: b.spec.ID})
}

// lookAhead checks whether the deadline will be met.
func (m *Machine) lookAhead(now int64, b *bulk) {
	if b.lookAgain == 0 || now < b.lookAgain {
		return
	}
	if b.lookAgain = 0; b.state != weir.BulkRunning {
		m.setLate(b, false)
		return
	}
	look := m.queue.Look(now, b.queued, m.rest(now, b))
	late := look.Late || b.atHome() && slices.Contains(b.shard.home.words(nil), WordLate)
	m.setLate(b, late)
	if late {
		m.tellLate(now, b)
	}
	b.lookAgain = look.Again
	m.waits.push(wait{due: b.lookAgain, bulk: b.spec.ID})
}

func (m *Machine) setLate(b *bulk, late bool) {
	if b.status.Behind != late {
		b.status.Behind = late
		m.touch(b)
	}
}

// rest returns the remaining work here. A step may go no faster than the bulk action's own
// rate, or than its measured rate if its own bound on tasks in flight holds it up.
func (m *Machine) rest(now int64, b *bulk) sched.Rest {
	r, parts := sched.Rest{InFlight: b.inFlight}, int64(1)
	if b.atHome() {
		parts = int64(len(b.spec.Shards))
	}
	for i, s := range b.steps {
		r.Pending = append(r.Pending, b.status.Steps[i].Pending/parts)
		rate := b.spec.Rates[b.spec.Steps[i]]
		if b.shard != nil {
			rate /= float64(len(b.spec.Shards))
		}
		if l := &b.status.Lately; rate == 0 && now-l.Since > int64(rateMemory) && m.queue.Cause(s.entry) == sched.CauseBulkCap {
			rate = l.Now(now)
		}
		r.Own = append(r.Own, rate)
	}
	if b.away() && len(r.Pending) > 0 {
		r.Pending[0] += b.shard.given + b.shard.rest/int64(len(b.spec.Shards))
	}
	return r
}

// words returns why a bulk action moves no faster, and whether that is too slow.
func (m *Machine) words(b *bulk) []string {
	words := m.causes(b)
	if b.status.Behind && b.state == weir.BulkRunning {
		words = append(words, WordLate)
	}
	return words
}

// tellLate sends one event that the deadline will not be met.
func (m *Machine) tellLate(now int64, b *bulk) {
	if !b.status.Late && !b.away() && m.tell(b, Event{ID: b.spec.ID, State: b.state, Late: true, At: now}) {
		b.status.Late = true
		b.turn(now, TurnLate, "")
		m.touch(b)
	}
}
