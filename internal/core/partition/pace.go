package partition

import (
	"github.com/weirhq/weir/internal/core/limit"
)

// pace is a bulk action's own rate at a step. A shard has its part of it.
type pace struct {
	own   *limit.Limiter // nil: none
	next  int64          // when the step is checked again; 0: no time is set
	busy  bool           // it has something to run
	waits bool           // only its rate holds the next task up
	part  int            // the part of the next task that its rate lets start now; 0: all of it
}

// rate returns the step's own rate, 0 if it has none.
func (p *pace) rate() float64 {
	if p.own == nil {
		return 0
	}
	return p.own.Rate()
}

// setPace reads the step's own rate from the rules. Starts at another rate still count, and
// after a takeover all that the last owner may have started.
func (s *step) setPace(now int64, b *bulk) {
	rate := b.spec.Rates[s.def.Name]
	if b.shard != nil {
		rate /= float64(len(b.spec.Shards))
	}
	if rate == 0 {
		s.pace = pace{}
		return
	}
	if s.pace.own == nil {
		s.pace.own = limit.New(limit.Config{Rate: rate})
	}
	s.pace.own.SetRate(now, rate)
	if b.loaded != 0 {
		_, window := limit.PerWindow(rate)
		s.pace.own.CloseUntil(b.loaded + int64(window))
	}
}

// slowDown makes steps with a rate of their own wait until the starts of the last owner have
// left the window. A held bulk action may have been started, too, by an owner that died before
// its commit.
func (m *Machine) slowDown(now int64, b *bulk) {
	b.loaded = now
	for _, s := range b.steps {
		s.setPace(now, b)
		m.offer(now, s)
	}
}

// confirmFirst holds a new bulk action with a rate of its own back until the commit that
// creates it is confirmed: until then a takeover would create it again, and start its first
// task again without knowing that the rate was already used.
func (m *Machine) confirmFirst(now int64, b *bulk) {
	for _, s := range b.steps {
		if s.pace.own != nil {
			b.opens = m.gen
			m.offer(now, s)
		}
	}
}

// look checks whether the step's own rate lets the next task start now, and schedules the next
// check for when it does.
func (m *Machine) look(now int64, s *step) {
	p := &s.pace
	if p.own == nil {
		return
	}
	p.part = 0
	n := s.size()
	if p.waits = n > 0 && s.bulk.opens != nil; n == 0 || p.waits {
		p.busy = p.busy && n > 0
		return
	}
	if !p.busy {
		p.busy = true
		p.own.Busy(now)
	}
	at := p.own.Ready(now, n)
	if s.marked == nil && !s.endangered() { // a marked task stays as it was marked
		if p.part, at = p.own.Part(now, n); p.part == n {
			p.part = 0
		}
	}
	if p.waits = at > now; p.waits && (p.next == 0 || at < p.next) {
		p.next = at
		m.waits.push(wait{due: at, paced: s})
	}
}

// spend counts the items of a task against the step's own rate.
func (s *step) spend(now int64, items int) {
	if s.pace.own != nil {
		s.pace.own.Take(now, items)
	}
}

// mayTry reports whether a suspect of n items may start, which runs out of turn.
func (s *step) mayTry(now int64, n int) bool {
	own := s.pace.own
	return !s.crowded() && s.held == 0 && (own == nil || s.bulk.opens == nil && own.Ready(now, n) <= now)
}

// waits reports whether nothing of the step may start now.
func (s *step) waits() bool { return s.pace.waits || s.held != 0 }

// holdStep lets no call of a step start before a time. Other steps on the resource continue:
// they may have another endpoint, or other credentials.
func (m *Machine) holdStep(now int64, s *step, until int64) {
	s.held = until
	m.waits.push(wait{due: until, paced: s})
	m.offer(now, s)
}

// stepDue resumes a step that its own rate or a wrong endpoint held up.
func (m *Machine) stepDue(now int64, s *step) {
	if now >= s.pace.next {
		s.pace.next = 0
	}
	if now >= s.held {
		s.held = 0
	}
	if s.filter != nil && now >= s.filter.after {
		s.filter.after = 0
	}
	m.offer(now, s)
}
