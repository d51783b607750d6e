package partition

import (
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/heap"
)

// retryTask is a group of items of one task that are tried again together.
type retryTask struct {
	at      *step
	l       *live
	items   []uint16
	attempt int  // the next one
	fails   int  // failures of the whole task
	failing bool // the attempt before failed as a whole
	unlike  bool // it failed as a whole where others of its resource did not
	blamed  bool // the same where others of its step did not
	due     int64
	counted bool        // in its lane's waiting items
	crashes int         // processes that ended while it ran under a mark; see trial.go
	started bool        // a mark says that it may be running
	mark    *generation // carries the last mark
	unquiet int         // times that its node did not become quiet for it
	waited  int         // times that it got no permit while it was marked
	made    *generation // carries the result of the attempt before; nil: it is durable

	soon   time.Duration // delay of a half if its resource works
	failed int64         // when the whole task last failed
	turned int64         // when the whole task was last refused

	// Set only while a result is applied: these determine the delay.
	after   time.Duration
	refused bool
}

// wait is an entry with a due time: a retry, a lingering block, a deadline.
type wait struct {
	due   int64
	seq   uint64 // breaks ties
	retry *retryTask
	step  *step       // its oldest lingering block is due
	lane  *lane       // its retries have their share
	paced *step       // its own rate, or a wrong endpoint, lets it go on
	bulk  weir.BulkID // its deadline or alarm; an id, so that one that ended long before is not kept in memory
}

// Before orders waits by time, and equal times by creation.
func (w wait) Before(v wait) bool { return w.due < v.due || w.due == v.due && w.seq < v.seq }

// waits holds the entries with a due time, the earliest first.
type waits struct {
	heap heap.Heap[wait]
	seq  uint64
}

func (w *waits) next() int64 {
	if len(w.heap) == 0 {
		return Never
	}
	return w.heap[0].due
}

func (w *waits) push(e wait) {
	w.seq++
	e.seq = w.seq
	w.heap.Push(e)
}

// due handles every entry whose time has come.
func (m *Machine) due(now int64) {
	for m.waits.next() <= now {
		switch w := m.waits.heap.Pop(); {
		case w.retry != nil:
			if w.due == w.retry.due { // else it was hastened
				m.retryDue(now, w.retry)
			}
		case w.step != nil:
			m.lingerDue(now, w.step)
		case w.lane != nil:
			m.turnDue(now, w.lane)
		case w.paced != nil:
			m.stepDue(now, w.paced)
		case m.bulks[w.bulk] != nil:
			m.alarm(now, m.bulks[w.bulk])
		}
	}
}

// alarm handles a bulk action's deadline, or repeats the messages of a shared one.
func (m *Machine) alarm(now int64, b *bulk) {
	switch {
	case b.away():
		m.awayAlarm(now, b)
	case b.spec.Deadline != 0 && now >= b.spec.Deadline && b.state != weir.BulkCancelling:
		m.cancel(now, b, "deadline", "deadline")
		b.turn(now, TurnExpired, "")
	case b.state == weir.BulkScheduled && now >= b.status.StartAt:
		b.turn(now, TurnBegan, "")
		m.begin(now, b)
	}
	m.lookAhead(now, b)
	m.judgeCalls(now, b)
	m.showInFlight(now, b)
	m.spread(now, b)
	if b.atHome() {
		m.homeAlarm(now, b)
		m.partsDue(now, b)
	}
}

// retryDue puts waiting items back to their place. An attempt starts only when the one before
// is durable: the death of an owner must not undo two of them.
func (m *Machine) retryDue(now int64, r *retryTask) {
	b := r.at.bulk
	m.uncount(r)
	if b.state.Final() {
		return
	}
	if g := r.made; g != nil && (g == m.gen || g == m.flying) {
		g.retries = append(g.retries, r)
		return
	}
	r.made = nil
	m.leaveWait(r)
	r.at.queued += int64(len(r.items))
	r.at.retries.Push(r)
	r.at.join()
	m.offer(now, r.at)
}

// enterWait counts the items of a retry as waiting.
func (m *Machine) enterWait(r *retryTask) {
	if r.failing {
		r.at.calls.Failing += int64(len(r.items))
	}
	b, n := r.at.bulk, int64(len(r.items))
	if b.waiting == 0 {
		b.lastDue = 0
	}
	b.waiting += n
	b.lastDue = max(b.lastDue, r.due)
	r.at.lane.waiting, r.counted = r.at.lane.waiting+n, true
}

// dueLast returns when the last waiting item is due, here or in another shard; 0: none waits.
func (b *bulk) dueLast() (due int64) {
	if b.waiting > 0 {
		due = b.lastDue
	}
	if b.atHome() {
		for i := range b.shard.home.tallies {
			due = max(due, b.shard.home.tallies[i].Due)
		}
	}
	return due
}

// leaveWait counts the items of a retry as arrived at their step.
func (m *Machine) leaveWait(r *retryTask) {
	m.uncount(r)
	r.at.bulk.waiting -= int64(len(r.items))
	r.at.arrived(int64(len(r.items)))
}

// uncount removes the items of a retry from those that wait in their lane.
func (m *Machine) uncount(r *retryTask) {
	if r.counted {
		r.counted = false
		r.at.lane.waiting -= int64(len(r.items))
	}
}

// Before orders retries by how often they failed as a whole, and then by their position in the
// bulk action: possibly poisonous ones come last.
func (r *retryTask) Before(x *retryTask) bool {
	if r.fails != x.fails {
		return r.fails < x.fails
	}
	return r.l.no < x.l.no || r.l.no == x.l.no && r.items[0] < x.items[0]
}

// join merges the first due retries into one task, as far as they have the same block and
// attempt and fit: otherwise failures of single items would come back one by one. Tasks that
// failed as a whole stay separate, to be halved.
func (s *step) join() {
	for len(s.retries) > 1 {
		a := s.retries.Pop()
		b := s.retries[0] // in a statement of its own: only then is it read after the pop
		fits := a.l == b.l && a.attempt == b.attempt && a.fails == 0 && b.fails == 0 && a.failing == b.failing &&
			a.unlike == b.unlike && a.blamed == b.blamed && len(a.items)+len(b.items) <= s.most()
		if fits {
			s.retries.Pop()
			a.items = append(a.items, b.items...)
			slices.Sort(a.items)
			a.due = max(a.due, b.due)
			a.l.retries = slices.DeleteFunc(a.l.retries, func(x *retryTask) bool { return x == b })
		}
		s.retries.Push(a)
		if !fits {
			return
		}
	}
}

// set returns the items of a retry as the row stores them.
func (r *retryTask) set() (s block.Set) {
	for _, i := range r.items {
		s.Add(int(i))
	}
	return s
}
