package own

import "time"

// A node looks at the store four times a second while any node has something to do, and once a second while none has:
// it is at rest then. What it must learn at once is told on the notice board, and the end of a silent node's
// announcement is known beforehand. What it has read of the limits holds until the next look in both cases.

// rest is when this node has to look again.
type rest struct {
	at      time.Time // of the last look
	expires time.Time // when the first announcement of another node ends unless it is repeated; zero: never
	worked  time.Time // when there was something to do last
}

// looked takes note of a look that began at a time.
func (r *rest) looked(asked time.Time, expires time.Duration) {
	r.at, r.expires = asked, time.Time{}
	if expires > 0 {
		r.expires = time.Now().Add(expires)
	}
}

// settle finds out whether this node is at rest now, and reports whether its rest has just ended by work of its own,
// which the others do not know of yet.
func (m *Member) settle(now time.Time, looked bool) (news bool) {
	was, works := m.fleet.Resting(), m.works()
	if !looked || works || m.unsettled(now) || m.fleet.busy() {
		m.rest.worked = now
	}
	m.fleet.rest(m.Shared && now.Sub(m.rest.worked) >= awakeFor)
	return was && works && looked
}

// canWait reports whether the next look can wait a little longer.
func (m *Member) canWait(now time.Time) bool {
	every := min(restEvery, m.LeaseFor/4) - announceEvery/2
	return m.fleet.Resting() && !m.works() && now.Sub(m.rest.at) < every &&
		(m.rest.expires.IsZero() || now.Before(m.rest.expires))
}

// works reports whether this node has items to do.
func (m *Member) works() bool {
	for i := range m.running {
		if t := m.Running(i); t != nil && t.Pending.Load() > 0 {
			return true
		}
	}
	return false
}

// unsettled reports whether partitions are about to change hands, or the map of them is, or a loss is open.
func (m *Member) unsettled(now time.Time) bool {
	l := m.layout.Now()
	if l.Closing || now.Before(m.doubt.until) || len(m.sole) > 0 || len(m.owned) != len(m.Owned()) {
		return true
	}
	if _, stopped := m.Losses.Any(); stopped {
		return true
	}
	for p, node := range m.fleet.assign(l.Most) { // any of them: order does not reach it
		if _, owned := m.owned[p]; owned != (node == m.Node) {
			return true
		}
	}
	return false
}

// Seldom is what a node does at every tick of a clock, and less often at rest.
type Seldom struct {
	Fleet *Fleet
	Every time.Duration // at rest
	last  time.Time
}

// TooSoon reports whether nothing is to be done at this tick.
func (s *Seldom) TooSoon(now time.Time) bool {
	if s.Fleet.Resting() && now.Sub(s.last) < s.Every-s.Every/10 {
		return true
	}
	s.last = now
	return false
}
