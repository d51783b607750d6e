package partition

import (
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
)

// A step with a filter looks at its items before they are cut into calls: those that
// need no call end there, or go on to the next step, and take nothing of any limit.
// Calls are filled with the others.
//
// A filter needs the data of the items, so it runs outside, as a task without a slot: one
// at a time in a partition, and all that a block has at the step at once. What ends is
// committed like any result. Which items are left for calls is held in memory alone: a
// filter says the same whenever it is asked, and the next owner asks again. Items that
// are tried again have been through it.

// filterAgain is how long a filter waits whose items could not be read.
const filterAgain = int64(time.Second)

// filter is what a step with a filter has to look at.
type filter struct {
	blocks queue // with items to look at
	items  int64 // of them, and in flight; they are in the step's queued, too
	after  int64 // not before this time; 0: now
	wants  bool  // it is in the machine's list
}

// unseen is the items of a block that a step's filter has not looked at.
type unseen struct {
	items  block.Set
	queued bool // in the filter's blocks
	flying bool // the filter looks at some
}

// ready makes items of a block ready at a step, or has its filter look at them first.
func (l *live) ready(no int, items *block.Set) {
	at := &l.steps[no]
	if l.bulk.steps[no].filter == nil {
		at.ready.Or(items)
		return
	}
	if at.unseen == nil {
		at.unseen = &unseen{}
	}
	at.unseen.items.Or(items)
}

// lookFirst has the filter of a step look at items that count as ready.
func (l *live) lookFirst(no int) {
	if l.bulk.steps[no].filter == nil {
		return
	}
	items := l.steps[no].ready
	l.steps[no].ready = block.Set{}
	l.ready(no, &items)
}

// pending reports whether a filter has items to look at.
func (u *unseen) pending() bool { return u != nil && (u.flying || !u.items.Empty()) }

// queueFilter puts a block with n new items for the filter of a step in its queue.
func (s *step) queueFilter(l *live, n int) {
	s.filter.items += int64(n)
	if u := l.steps[s.no].unseen; !u.queued {
		u.queued = true
		s.filter.blocks.push(queued{l: l})
	}
}

// mayFilter reports whether the filter has something to do: items to look at, and
// room for those that are left for calls, and for those that go on.
func (s *step) mayFilter() bool {
	f := s.filter
	return f != nil && f.after == 0 && s.bulk.state == weir.BulkRunning && (f.blocks.len() > 0 || s.first() && s.bulk.unopened() > 0) &&
		s.queued-f.items <= s.bound() && !s.crowded()
}

// wantFilter has the filter of a step run when it is its turn.
func (m *Machine) wantFilter(s *step) {
	if s.mayFilter() && !s.filter.wants {
		s.filter.wants = true
		m.filters = append(m.filters, s)
	}
}

// wantFilters is wantFilter for all steps, after something that held them back is over.
func (m *Machine) wantFilters(b *bulk) {
	for _, s := range b.steps {
		m.wantFilter(s)
	}
}

// startFilter appends the next filter task, unless one runs.
func (m *Machine) startFilter(now int64, tasks []*Task) []*Task {
	for m.offers && !m.filtering && len(m.filters) > 0 {
		s := m.filters[0]
		m.filters = m.filters[1:]
		s.filter.wants = false
		if s.mayFilter() && !m.queue.Paused(s.bulk.spec.Tenant) { // it is offered again when that changes
			tasks = append(tasks, m.cutFilter(now, s))
		}
	}
	return tasks
}

// cutFilter makes a filter task of all that the next block has at the step.
func (m *Machine) cutFilter(now int64, s *step) *Task {
	if s.filter.blocks.len() == 0 {
		l := m.openNext(s)
		l.lookFirst(s.no)
		s.queueFilter(l, l.left)
	}
	l := s.filter.blocks.pop().l
	u := l.steps[s.no].unseen
	t := m.newTask()
	t.at, t.l, t.started, t.Attempt, t.Filter = s, l, now, 1, true
	t.Items = u.items.Take(t.Items, block.Size)
	u.queued, u.flying = false, true
	t.describe()
	s.bulk.inFlight += int64(len(t.Items))
	m.inFlight++
	m.filtering = true
	return t
}

// filtered applies what a filter found. One that failed has found nothing: the call decides.
func (m *Machine) filtered(now int64, r *Result) {
	t := r.Task
	s, l, b, n := t.at, t.l, t.at.bulk, len(t.Items)
	m.inFlight--
	m.filtering = false
	b.inFlight -= int64(n)
	l.steps[s.no].unseen.flying = false
	switch f := r.Failure; {
	case b.stopping(): // what has not ended is cancelled
	case f != nil && f.Uncalled:
		m.filterLater(now, t)
	default:
		s.filter.items -= int64(n)
		failed := b.status.Failed
		m.sort(t, r)
		if b.status.Failed > failed {
			m.judge(now, b)
		}
		m.place(now, s, l)
		m.flush(now, l, s.no+1)
	}
	m.offer(now, s)
	if s.no > 0 {
		m.offer(now, b.steps[s.no-1])
	}
	if !r.Lost {
		m.recycle(t)
	}
	m.settle(now, b)
}

// sort ends the items that need no call, and makes the others ready.
func (m *Machine) sort(t *Task, r *Result) {
	s, l, b := t.at, t.l, t.at.bulk
	var ended []uint16
	for i, item := range t.Items {
		var o weir.Outcome
		if r.Failure == nil {
			o = r.Outcomes[i]
			o.Uncalled = true
		}
		switch o.Kind {
		case weir.Done:
			m.itemPassed(t, item, &o)
		case weir.Failed:
			m.itemFailed(t, item, 0, o.Code, o.Message)
		case weir.LeftOut:
			m.itemLeftOut(t, item, &o)
		default:
			l.steps[s.no].ready.Add(int(item))
			continue
		}
		m.take(l, item) // nobody needs what the step before answered
		ended = append(ended, item)
	}
	n := len(ended)
	if !s.first() {
		s.arrived(int64(len(t.Items) - n))
	}
	if n == 0 {
		return
	}
	s.queued -= int64(n)
	l.survived(ended)
	m.gen.results += n
	m.uncommitted += n
	m.dirty(l)
	m.touch(b)
}

// filterLater has the filter look at the items of a task again, after a while.
func (m *Machine) filterLater(now int64, t *Task) {
	s := t.at
	for _, item := range t.Items {
		t.l.steps[s.no].unseen.items.Add(int(item))
	}
	s.queueFilter(t.l, 0)
	s.filter.after = now + filterAgain
	m.waits.push(wait{due: s.filter.after, paced: s})
}
