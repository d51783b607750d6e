package model

import "github.com/weirhq/weir/internal/core/limit"

// pace is a rate that a bulk action has of its own at a step. This is what a partition does.
type pace struct {
	own   *limit.Limiter // of this piece; nil: none
	next  int64          // when the step is looked at again; 0: no time is set
	busy  bool           // it has something to run
	waits bool           // its rate alone holds the next task up
	part  int            // of the next task that its rate lets start now; 0: all of it
}

// setPace gives a step its part of the bulk action's own rate there.
func (s *step) setPace(pieces int) {
	own := s.own(s.no)
	if own == 0 {
		return
	}
	s.pace.own = limit.New(limit.Config{Rate: float64(own) / float64(pieces)})
}

// setChunk says how many items a task of the step has at most, as a partition does.
func (s *step) setChunk() {
	s.chunk = s.lane.size.Under(s.pace.rate(), s.batch(s.no))
}

// rate returns the step's own rate, 0 for none.
func (p *pace) rate() float64 {
	if p.own == nil {
		return 0
	}
	return p.own.Rate()
}

// look asks the step's own rate whether the next task may start now, and has the
// step looked at again when it may.
func (s *step) look(m *machine) {
	p := &s.pace
	if p.own == nil {
		return
	}
	p.part = 0
	n := s.size()
	if n == 0 {
		p.busy, p.waits = false, false
		return
	}
	if !p.busy {
		p.busy = true
		p.own.Busy(m.now)
	}
	part, at := p.own.Part(m.now, n)
	if part < n {
		p.part = part
	}
	if p.waits = at > m.now; !p.waits || p.next != 0 && p.next <= at {
		return
	}
	p.next = at
	m.later(at, func() {
		p.next = 0
		if s.end < 0 {
			s.offer(s)
		}
	})
}

// spend counts the items of a task against the step's own rate.
func (s *step) spend(m *machine, items int) {
	if s.pace.own != nil {
		s.pace.own.Take(m.now, items)
	}
}
