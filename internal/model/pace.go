package model

import "math"

// pace is a rate that a bulk action has of its own at a step: after each task so
// much time passes as its items take at that rate. This is what a partition does.
type pace struct {
	rate  float64 // items per second of this piece; 0: none
	next  int64   // when the next task may start
	waits bool    // that has not come
}

// setPace gives a step its part of the bulk action's own rate there. A task is no
// larger than what that allows in a moment.
func (s *step) setPace(pieces int) {
	own := s.own(s.no)
	if own == 0 {
		return
	}
	s.pace.rate = float64(own) / float64(pieces)
	part := Resource{Rate: Rate(s.pace.rate)}
	s.chunk = min(s.chunk, part.chunk(s.batch(s.no)))
}

// spend counts the items of a task against the step's own rate.
func (s *step) spend(m *machine, items int) {
	p := &s.pace
	if p.rate == 0 {
		return
	}
	p.next = max(p.next, m.now) + int64(math.Ceil(float64(items)/p.rate*float64(second)))
	p.waits = true
	m.later(p.next, func() {
		p.waits = false
		if s.end < 0 {
			s.offer(s)
		}
	})
}

// held reports whether the step has something to run, and its own rate alone is in the way.
func (s *step) held() bool {
	return s.pace.waits && s.fresh()+s.retried > 0 && !s.crowded()
}
