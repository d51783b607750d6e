package model

import (
	"time"

	"github.com/weirhq/weir/internal/core/retry"
	"github.com/weirhq/weir/internal/core/sched"
)

// task is some items at one step, in flight.
type task struct {
	again
	*step
	pick     sched.Pick
	started  int64
	took     int64
	how      outcome
	rejected int
	once     int  // items that are to be tried once more
	begun    bool // it began before the world did, and holds no limit
}

// start runs a task that the queue picked.
func (m *machine) start(pick sched.Pick) {
	m.tasks++
	s := pick.Entry.Data.(*step)
	t := &task{step: s, pick: pick, started: m.now, again: s.cut(m, pick.Cost)}
	s.flying += int64(t.items)
	s.share.served += int64(t.items)
	m.curve.add(m.now, s.share.tenant.no, t.items)
	if s.first < 0 {
		s.first = m.now
	}
	s.spend(m, t.items)
	s.offer(s)
	if s.no > 0 {
		s.offer(s.steps[s.no-1]) // room in this step lets the one before go on
	}
	s.lane.inFlight++
	s.lane.second.started++
	s.lane.second.items += int64(t.items)
	s.sent[s.no].Calls++
	s.sent[s.no].Items += int64(t.items)
	t.took, t.how, t.rejected, t.once = s.lane.res.call(m.now, t.items)
	m.later(m.now+t.took, func() { m.finish(t) })
}

// cut takes the items of the next task.
func (s *step) cut(m *machine, items int) again {
	if s.turn.Granted {
		s.turn.Granted = false
		a := s.retries.Pop()
		if rest := a; a.items > items {
			a.items, rest.items = items, a.items-items
			s.retries.Push(rest)
		}
		s.join()
		s.retried -= int64(a.items)
		return a
	}
	l, n := s.take(m, items)
	m.seq++
	return again{seq: m.seq, lot: l, items: n, attempt: 1}
}

// join makes one task of the first retries that are due, as far as they are of one
// block and attempt and fit. What failed as a whole stays apart, to be halved.
func (s *step) join() {
	for len(s.retries) > 1 {
		a := s.retries.Pop()
		b := s.retries[0]
		fits := a.lot == b.lot && a.attempt == b.attempt && a.fails == 0 && b.fails == 0 && a.items+b.items <= s.chunk
		if fits {
			s.retries.Pop()
			a.items += b.items
		}
		s.retries.Push(a)
		if !fits {
			return
		}
	}
}

// finish applies what came of a task.
func (m *machine) finish(t *task) {
	s, free := t.step, false
	if !t.begun {
		broken := s.lane.part.queue.Done(m.clock(), t.pick, s.lane.res.ending(t))
		free = broken.Downstream || broken.Tenant
		s.lane.ended(t.took, t.how)
		s.lane.res.ended(t)
	}
	s.lane.part.stirred = true
	s.flying -= int64(t.items)
	switch t.how {
	case answered:
		c := &s.calls[s.no]
		c.number, c.sum, c.longest = c.number+1, c.sum+t.took, max(c.longest, t.took)
		s.answered(m, t)
	case refused:
		if !t.begun {
			s.lane.part.queue.Refund(t.pick)
		}
		s.wait(m, t.again, time.Duration(s.lane.res.Downstream.RetryAfter))
	case failed:
		s.fail(m, t.again, free)
	}
	for _, later := range s.steps[s.no+1:] {
		later.place(m, t.lot) // what it waits for may not come any more
		later.offer(later)
	}
	m.close(s.bulk)
}

// answered lets go on what passed, fails what was rejected, and has the rest tried again.
func (s *step) answered(m *machine, t *task) {
	lost, kept := t.rejected, 0
	if t.once > 0 {
		delay, more := retry.Decide(s.lane.res.backoff(), t.attempt, 0, s.lane.res.backoffs.Float64())
		if more {
			kept = t.once
			s.wait(m, again{seq: t.seq, lot: t.lot, items: kept, attempt: t.attempt + 1}, delay)
		} else {
			lost += t.once
		}
	}
	s.bulk.failed += int64(lost)
	gone := int64(t.items - kept)
	s.come(t.lot, -gone)
	s.pass(m, t.lot, gone-int64(lost))
}

// fail decides about a call that failed as a whole: from the second time on it is
// tried in halves, so that one poisonous item would end up alone; until then such
// failures cost no attempt. Nor do those while the downstream is broken. This is what
// a partition does.
func (s *step) fail(m *machine, a again, broken bool) {
	backoff := s.lane.res.backoff()
	delay, more := retry.Decide(backoff, a.attempt, 0, m.resources[s.lane.res.no].backoffs.Float64())
	free := broken && backoff.MaxAttempts > 1
	if !more && !free && (a.items == 1 || backoff.MaxAttempts == 1) {
		s.bulk.failed += int64(a.items)
		s.come(a.lot, -int64(a.items))
		return
	}
	a.fails++
	if !more {
		delay = retry.Delay(backoff, max(a.fails, a.attempt), 0.5)
	}
	if !free && (a.items == 1 || a.fails <= 2) {
		a.attempt = min(a.attempt+1, backoff.MaxAttempts)
	}
	if a.items == 1 || a.fails < 2 {
		s.wait(m, a, delay)
		return
	}
	half := a
	half.items = a.items / 2
	a.items -= half.items
	s.wait(m, half, delay)
	s.wait(m, a, delay)
}

// wait lets items be tried again after a delay.
func (s *step) wait(m *machine, a again, delay time.Duration) {
	m.later(m.now+int64(delay), func() {
		if s.cancelled {
			return
		}
		s.retried += int64(a.items)
		s.retries.Push(a)
		s.join()
		s.lane.became(1, false)
		s.offer(s)
	})
}

// MostOf is the share of items after which a bulk action's [KindResult].Most is.
const MostOf = 0.97

// close ends a bulk action whose items have all ended, or of which nothing more will.
func (m *machine) close(b *bulk) {
	if b.most == 0 && float64(b.done+b.failed) >= MostOf*float64(b.items) {
		b.most = m.now
	}
	if b.end >= 0 || b.done+b.failed < b.items && !b.flown() {
		return
	}
	b.end = m.now
	m.open--
	for _, p := range b.pieces {
		for _, s := range p.steps {
			p.offer(s)
		}
		p.part.queue.RemoveGroup(m.clock(), p.group)
	}
}
