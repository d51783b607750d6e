package model

import (
	"cmp"
	"time"

	"github.com/weirhq/weir/internal/core/chain"
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
	t := &task{step: s, pick: pick, started: m.Now(), again: s.cut(m, pick.Cost)}
	s.flying += int64(t.items)
	s.share.served += int64(t.items)
	m.curve.add(m.Now(), s.share.tenant.no, t.items)
	if s.first < 0 {
		s.first = m.Now()
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
	t.took, t.how, t.rejected, t.once = s.lane.res.call(m.Now(), t.items)
	m.After(t.took, func() { m.finish(t) })
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
	m.made++
	return again{seq: m.made, lot: l, items: n, attempt: 1}
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
		s.lane.works(m.Now())
		s.answered(m, t)
	case refused:
		if !t.begun {
			s.lane.part.queue.Refund(t.pick)
		}
		s.wait(m, t.again, time.Duration(s.lane.res.Downstream.RetryAfter))
	case failed:
		s.fail(m, t, free)
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
		b, u := s.lane.res.backoff(), s.lane.res.backoffs.Float64()
		if t.attempt < b.MaxAttempts {
			kept = t.once
			s.wait(m, again{seq: t.seq, lot: t.lot, items: kept, attempt: t.attempt + 1}, retry.Delay(b, t.attempt, u))
		} else {
			lost += t.once
		}
	}
	s.bulk.failed += int64(lost)
	gone := int64(t.items - kept)
	s.come(t.lot, -gone)
	s.pass(m, t.lot, gone-int64(lost))
}

// fail has a call that failed as a whole tried again, or fails its items. While the downstream is broken failures cost no
// attempt. Halves wait for the backoff, or hardly at all where another call of the lane gets through.
func (s *step) fail(m *machine, t *task, broken bool) {
	a, b, u := t.again, s.lane.res.backoff(), s.lane.res.backoffs.Float64()
	after := chain.AfterFailure(a.items, a.attempt, b.MaxAttempts, a.fails, broken)
	if after.Over {
		s.bulk.failed += int64(a.items)
		s.come(a.lot, -int64(a.items))
		return
	}
	tried, healthy := a.attempt, s.lane.healthy > cmp.Or(a.failed, t.started)
	a.attempt, a.fails, a.failed = after.Attempt, after.Fails, m.Now()
	if !after.Halves {
		s.wait(m, a, retry.Delay(b, tried, u))
		return
	}
	half, soon := a, retry.Delay(b, 1, u)/chain.Hasten
	half.items = a.items / 2
	a.items -= half.items
	for _, h := range []again{half, a} {
		if healthy {
			s.wait(m, h, soon)
			continue
		}
		back := once(func() { s.comeBack(h) })
		m.After(int64(retry.Delay(b, max(after.Fails, tried), u)), back)
		s.lane.halves = append(s.lane.halves, func() { m.After(int64(soon), back) })
	}
}

// wait lets items be tried again after a delay.
func (s *step) wait(m *machine, a again, delay time.Duration) {
	m.After(int64(delay), func() { s.comeBack(a) })
}

// comeBack lets items be tried again now.
func (s *step) comeBack(a again) {
	if s.cancelled {
		return
	}
	s.retried += int64(a.items)
	s.retries.Push(a)
	s.join()
	s.lane.became(1, false)
	s.offer(s)
}

// MostOf is the share of items after which a bulk action's [KindResult].Most is.
const MostOf = 0.97

// close ends a bulk action whose items have all ended, or of which nothing more will.
func (m *machine) close(b *bulk) {
	if b.most == 0 && float64(b.done+b.failed) >= MostOf*float64(b.items) {
		b.most = m.Now()
	}
	if b.end >= 0 || b.done+b.failed < b.items && !b.flown() {
		return
	}
	b.end = m.Now()
	m.open--
	for _, p := range b.pieces {
		for _, s := range p.steps {
			p.offer(s)
		}
		p.part.queue.RemoveBulk(m.clock(), p.queued)
	}
}
