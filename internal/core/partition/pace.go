package partition

import (
	"github.com/weirhq/weir/internal/core/chain"
	"github.com/weirhq/weir/internal/core/limit"
)

// setPace reads the step's own rate from the rules. Starts at another rate still count, and
// after a takeover all that the last owner may have started.
func (s *step) setPace(now int64, b *bulk) {
	rate, shut := b.rate(s.no)
	s.shut = shut
	if rate == 0 {
		s.pace = chain.Pace{}
		return
	}
	if s.pace.Own == nil {
		s.pace.Own = limit.New(rate)
	}
	s.pace.Own.SetRate(now, rate)
	if b.loaded != 0 {
		_, window := limit.PerWindow(rate)
		s.pace.Own.CloseUntil(b.loaded + int64(window))
	}
}

// slowDown makes steps with a rate of their own wait until the starts of the last owner have
// left the window. A held bulk action may have been started, too, by an owner that died before
// its commit.
func (m *Machine) slowDown(now int64, b *bulk) {
	b.loaded = now
	m.settleAll(now, b)
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
		if s.pace.Own != nil {
			b.opens = m.gen
			m.offer(now, s)
		}
	}
}

// look checks whether the step's own rate lets the next task start now, and schedules the next
// check for when it does. A marked task stays as it was marked.
func (m *Machine) look(now int64, s *step) {
	if s.pace.Own == nil {
		return
	}
	if s.shut {
		s.pace.Waits, s.pace.Part = true, 0
		return
	}
	if at := s.pace.Look(now, s.size, s.bulk.opens != nil, s.marked != nil || s.endangered()); at != 0 {
		m.waits.push(wait{due: at, paced: s})
	}
	if b := s.bulk; s.pace.Waits && b.opens == nil {
		b.uses[1+s.no].note(now, b.part(1+s.no)) // its rate holds it up
	}
}

// spend counts the items of a task against the step's own rate.
func (s *step) spend(now int64, items int) {
	if s.pace.Own != nil {
		s.pace.Own.Take(now, items)
	}
}

// mayTry reports whether a suspect of n items may start, which runs out of turn.
func (s *step) mayTry(now int64, n int) bool {
	own := s.pace.Own
	return !s.crowded() && s.held == 0 && !s.shut && (own == nil || s.bulk.opens == nil && own.Ready(now, n) <= now)
}

// waits reports whether nothing of the step may start now.
func (s *step) waits() bool { return s.pace.Waits || s.held != 0 }

// holdStep lets no call of a step start before a time. Other steps on the resource continue:
// they may have another endpoint, or other credentials.
func (m *Machine) holdStep(now int64, s *step, until int64) {
	s.held = until
	m.waits.push(wait{due: until, paced: s})
	m.offer(now, s)
}

// stepDue resumes a step that its own rate or a wrong endpoint held up.
func (m *Machine) stepDue(now int64, s *step) {
	s.pace.Checked(now)
	if now >= s.held {
		s.held = 0
	}
	if s.filter != nil && now >= s.filter.after {
		s.filter.after = 0
	}
	m.offer(now, s)
}
