package partition

import "github.com/weirhq/weir/internal/core/retry"

// turns decides between first attempts and retries on a lane.
type turns struct {
	retry.Turns[*step]
	alarm bool // the next retry's turn is scheduled
}

// fresh reports whether the step has first attempts to make.
func (s *step) fresh() bool { return s.blocks.Len() > 0 || s.opens() }

// grant requests a turn for the step's next retry.
func (m *Machine) grant(now int64, s *step) {
	fresh := s.fresh()
	if len(s.retries) == 0 || fresh && !s.calls.Succeeded {
		return
	}
	s.lane.turns.Ask(now, s, &s.turn, fresh, min(s.most(), len(s.retries[0].items)), float64(s.lane.limits.Rate))
	m.awaitTurn(s.lane)
}

// noteFresh records whether first attempts of the step wait. When no step has any left, all
// retries get their turn.
func (m *Machine) noteFresh(now int64, s *step, fresh bool) {
	for _, again := range s.lane.turns.NoteFresh(&s.turn, fresh) {
		m.offer(now, again)
	}
}

// turnDue gives the next retry its turn.
func (m *Machine) turnDue(now int64, on *lane) {
	on.turns.alarm = false
	for s, ok := on.turns.Due(now); ok; s, ok = on.turns.Due(now) {
		m.offer(now, s)
	}
	m.awaitTurn(on)
}

func (m *Machine) awaitTurn(on *lane) {
	if at, any := on.turns.Next(); any && !on.turns.alarm {
		on.turns.alarm = true
		m.waits.push(wait{due: at, lane: on})
	}
}
