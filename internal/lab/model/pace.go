package model

import "github.com/weirhq/weir/internal/core/limit"

// setPace gives a step its part of the bulk action's own rate there.
func (s *step) setPace(pieces int) {
	if own := s.own(s.no); own > 0 {
		s.pace.Own = limit.New(float64(own) / float64(pieces))
	}
}

// setChunk says how many items a task of the step has at most.
func (s *step) setChunk() {
	s.chunk = s.lane.size.Under(s.pace.Rate(), s.batch(s.no))
}

// look asks the step's own rate whether the next task may start now, and has the
// step looked at again when it may.
func (s *step) look(m *machine) {
	if s.pace.Own == nil {
		return
	}
	if at := s.pace.Look(m.Now(), s.size, false, false); at != 0 {
		m.At(at, func() {
			s.pace.Checked(m.Now())
			s.askAgain()
		})
	}
}

// spend counts the items of a task against the step's own rate.
func (s *step) spend(m *machine, items int) {
	if s.pace.Own != nil {
		s.pace.Own.Take(m.Now(), items)
	}
}
