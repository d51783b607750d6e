package partition

import (
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/chain"
)

// A step with a filter checks its items before they are cut into calls. Items that need no call
// end there, or go on to the next step, and use up no limit. Calls are filled with the others.
//
// A filter needs the data of the items, so it runs outside the machine, as a task without a
// slot: one at a time in a partition, on all items that a block has at the step. Outcomes are
// committed like any result. The items left for calls are held in memory alone: a filter is
// deterministic, and the next owner runs it again. Retried items have already passed it.

// filterAgain is the delay after a filter whose items could not be read.
const filterAgain = int64(time.Second)

// filter holds the items that a step's filter has yet to check.
type filter struct {
	blocks chain.FIFO[*live] // with items to check
	items  int64             // of them, and in flight; also counted in the step's queued
	after  int64             // not before this time; 0: now
	wants  bool              // is in the machine's list
}

// unseen holds the items of a block that a step's filter has not checked.
type unseen struct {
	items  block.Set
	queued bool // in the filter's blocks
	flying bool // the filter is checking some
}

// ready makes items of a block ready at a step, or queues them for its filter first.
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

// lookFirst queues items that count as ready for the filter of a step.
func (l *live) lookFirst(no int) {
	if l.bulk.steps[no].filter == nil {
		return
	}
	items := l.steps[no].ready
	l.steps[no].ready = block.Set{}
	l.ready(no, &items)
}

// pending reports whether a filter has items to check.
func (u *unseen) pending() bool { return u != nil && (u.flying || !u.items.Empty()) }

// queueFilter adds a block with n new items to the queue of a step's filter.
func (s *step) queueFilter(l *live, n int) {
	s.filter.items += int64(n)
	if u := l.steps[s.no].unseen; !u.queued {
		u.queued = true
		s.filter.blocks.Push(l)
	}
}

// mayFilter reports whether the filter can run: it has items to check, and there is room for
// those left for calls, and for those that go on.
func (s *step) mayFilter() bool {
	f := s.filter
	return f != nil && f.after == 0 && s.bulk.state == weir.BulkRunning &&
		(f.blocks.Len() > 0 || s.first() && s.bulk.unopened() > 0) &&
		s.queued-f.items <= s.bound() && !s.crowded()
}

// wantFilter schedules the filter of a step.
func (m *Machine) wantFilter(s *step) {
	if s.mayFilter() && !s.filter.wants {
		s.filter.wants = true
		m.filters = append(m.filters, s)
	}
}

// wantFilters schedules the filters of all steps, after they were held back.
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
		if s.mayFilter() && !m.queue.Paused(s.bulk.spec.Tenant) { // offered again when that changes
			tasks = append(tasks, m.cutFilter(now, s))
		}
	}
	return tasks
}

// cutFilter cuts a filter task of all items that the next block has at the step.
func (m *Machine) cutFilter(now int64, s *step) *Task {
	if s.filter.blocks.Len() == 0 {
		l := m.openNext(now, s)
		l.lookFirst(s.no)
		s.queueFilter(l, l.left)
	}
	l := s.filter.blocks.Pop()
	u := l.steps[s.no].unseen
	t := m.newTask()
	t.at, t.l, t.started, t.Attempt, t.Filter = s, l, now, 1, true
	t.Items = u.items.Take(t.Items, block.Size)
	u.queued, u.flying = false, true
	t.describe()
	s.bulk.inFlight += int64(len(t.Items))
	m.feed(now, s.bulk)
	m.inFlight++
	m.filtering = true
	return t
}

// filtered applies the result of a filter. If the filter failed, the items go to calls.
func (m *Machine) filtered(now int64, r *Result) {
	t := r.Task
	s, l, b, n := t.at, t.l, t.at.bulk, len(t.Items)
	m.inFlight--
	m.filtering = false
	b.inFlight -= int64(n)
	l.steps[s.no].unseen.flying = false
	switch f := r.Failure; {
	case b.stopping(): // items that have not ended are cancelled
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
	var ended, over []uint16 // those without a call, and those of them that go no further
	for i, item := range t.Items {
		var o weir.Outcome
		if r.Failure == nil {
			o = r.Outcomes[i]
			o.Uncalled = true
		}
		switch o.Kind {
		case weir.OutcomeDone:
			m.itemPassed(t, item, &o)
		case weir.OutcomeFailed:
			m.itemFailed(t, item, 0, o.Code, o.Message)
		case weir.OutcomeLeftOut:
			m.itemLeftOut(t, item, &o)
		default:
			l.steps[s.no].ready.Add(int(item))
			continue
		}
		m.take(l, item) // the answer of the step before is not needed
		ended = append(ended, item)
		if o.Kind != weir.OutcomeDone || s.no == len(b.steps)-1 {
			over = append(over, item)
		}
	}
	n := len(ended)
	if !s.first() {
		s.arrived(int64(len(t.Items) - n))
	}
	if n == 0 {
		return
	}
	s.queued -= int64(n)
	l.survived(over) // what goes on to the next step stays at risk: it was not called here
	m.gen.results += n
	m.uncommitted += n
	m.dirty(l)
	m.touch(b)
}

// filterLater runs the filter on the items of a task again, after a delay.
func (m *Machine) filterLater(now int64, t *Task) {
	s := t.at
	for _, item := range t.Items {
		t.l.steps[s.no].unseen.items.Add(int(item))
	}
	s.queueFilter(t.l, 0)
	s.filter.after = now + filterAgain
	m.waits.push(wait{due: s.filter.after, paced: s})
}
