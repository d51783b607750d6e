package model

import (
	"time"

	"github.com/weirhq/weir/internal/retry"
	"github.com/weirhq/weir/internal/sched"
)

// linger is how long items of a later step wait for more of them to fill a task.
const linger = time.Second

// task is some items at one step, in flight.
type task struct {
	again
	*step
	pick     sched.Pick
	started  int64
	took     int64
	how      outcome
	rejected int
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
	} else if len(s.pieces) > 1 && s.rest < int64(s.chunk*len(s.pieces)) {
		for _, p := range s.pieces {
			p.offer(p.steps[0]) // what is left may be less than they offered
		}
	}
	s.lane.inFlight++
	t.took, t.how, t.rejected = s.lane.res.call(m.now, t.items)
	m.later(m.now+t.took, func() { m.finish(t) })
}

// cut takes the items of the next task.
func (s *step) cut(m *machine, items int) again {
	if s.granted {
		s.granted = false
		a := s.retries.Pop()
		if rest := a; a.items > items {
			a.items, rest.items = items, a.items-items
			s.retries.Push(rest)
		}
		s.retried -= int64(a.items)
		return a
	}
	if s.no == 0 {
		s.rest -= int64(items)
	} else {
		s.ready -= int64(items)
	}
	m.seq++
	return again{seq: m.seq, items: items, attempt: 1}
}

// finish applies what came of a task.
func (m *machine) finish(t *task) {
	s := t.step
	broken := s.lane.part.queue.Done(m.clock(), t.pick, s.lane.res.ending(t))
	s.lane.part.stirred = true
	s.flying -= int64(t.items)
	s.lane.ended(t.took, t.how)
	s.lane.res.ended(t)
	switch t.how {
	case answered:
		c := &s.calls[s.no]
		c.number, c.sum, c.longest = c.number+1, c.sum+t.took, max(c.longest, t.took)
		s.bulk.failed += int64(t.rejected)
		s.pass(m, int64(t.items-t.rejected))
	case refused:
		s.lane.part.queue.Refund(m.clock(), t.pick)
		s.wait(m, t.again, time.Duration(s.lane.res.Downstream.RetryAfter))
	case failed:
		s.fail(m, t.again, broken)
	}
	for _, later := range s.steps[s.no+1:] {
		later.gather(m) // what it waits for may not come any more
	}
	m.close(s.bulk)
}

// pass brings items to the next step, or to their end.
func (s *step) pass(m *machine, items int64) {
	if s.no+1 == len(s.steps) {
		s.bulk.done += items
		return
	}
	next := s.steps[s.no+1]
	next.loose += items
	next.gather(m)
}

// gather makes full tasks of loose items, and of all if no company will come.
func (s *step) gather(m *machine) {
	if s.loose == 0 {
		return
	}
	full := s.loose / int64(s.chunk) * int64(s.chunk)
	switch {
	case !s.upstream():
		full = s.loose
	case full < s.loose && !s.calling:
		s.calling = true
		m.later(m.now+int64(linger), func() {
			s.calling = false
			s.flush(s.loose)
		})
	}
	s.flush(full)
}

func (s *step) flush(items int64) {
	if items == 0 {
		return
	}
	s.loose -= items
	s.ready += items
	s.lane.became(s.tasksOf(items), false)
	s.offer(s)
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
	s.waiting += int64(a.items)
	m.later(m.now+int64(delay), func() {
		s.waiting -= int64(a.items)
		s.retried += int64(a.items)
		s.retries.Push(a)
		s.lane.became(1, false)
		s.offer(s)
	})
}

// close ends a bulk action whose items have all ended.
func (m *machine) close(b *bulk) {
	if b.done+b.failed < b.items {
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
