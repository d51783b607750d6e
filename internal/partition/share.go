package partition

import "github.com/weirhq/weir/internal/retry"

// turns is whose turn it is on a lane, of first attempts and retries. While both wait,
// retries have a part of the rate; alone, they may use all of it.
type turns struct {
	share retry.Share
	fresh int     // steps whose first attempts wait
	held  []*step // steps whose retries wait for their share
	alarm bool    // a time is set at which the next of them has its turn
}

// turn is what a step has of its lane's turns.
type turn struct {
	fresh   bool // its first attempts wait
	granted bool // its next retry has its turn
	held    bool // its retries wait for their share
}

// fresh reports whether the step has first attempts to make.
func (s *step) fresh() bool { return s.ready.len() > 0 || s.opens() }

// grant asks whether the next task of the step may be a retry.
func (m *Machine) grant(now int64, s *step) {
	lane, fresh := s.lane, s.fresh()
	switch {
	case len(s.retries) == 0 || s.turn.granted || s.turn.held || fresh && !s.calls.Succeeded:
		return
	case lane.limits.Rate == 0, !fresh && lane.turns.fresh == 0:
		s.turn.granted = true
	case lane.turns.share.Take(now, min(s.most(), len(s.retries[0].items)), float64(lane.limits.Rate)):
		s.turn.granted = true
	default:
		s.turn.held = true
		lane.turns.held = append(lane.turns.held, s)
		m.awaitShare(lane)
	}
}

// noteFresh takes note whether first attempts of the step wait. If those of no step do
// any more, all retries have their turn.
func (m *Machine) noteFresh(now int64, s *step, fresh bool) {
	if fresh == s.turn.fresh {
		return
	}
	t := &s.lane.turns
	s.turn.fresh = fresh
	if fresh {
		t.fresh++
		return
	}
	if t.fresh--; t.fresh == 0 {
		held := t.held
		t.held = nil
		for _, s := range held {
			s.turn.held = false
			m.offer(now, s)
		}
	}
}

// shareDue gives the next retry its turn.
func (m *Machine) shareDue(now int64, lane *resource) {
	t := &lane.turns
	t.alarm = false
	for len(t.held) > 0 && t.share.Next() <= now {
		s := t.held[0]
		t.held = t.held[1:]
		s.turn.held = false
		m.offer(now, s)
	}
	m.awaitShare(lane)
}

func (m *Machine) awaitShare(lane *resource) {
	if t := &lane.turns; len(t.held) > 0 && !t.alarm {
		t.alarm = true
		m.waits.push(wait{due: t.share.Next(), lane: lane})
	}
}
