package redisstore

import "time"

// sight is the result of one check of a primary.
type sight struct {
	address string
	runID   string
	at      time.Time // before any server was asked
	// confirmed: a majority of the deciding servers names this server as the primary, in good
	// health.
	confirmed bool
	offset    int64   // of what it has written
	online    []int64 // offsets that its connected replicas have confirmed, up to a second ago
	// alive is the number of its replicas that the majority considers alive, connected or not.
	alive int
	known int // alive or not
	// noticedIn bounds how long a primary that is cut off from the majority may still count as
	// healthy there.
	noticedIn time.Duration
}

// judgement is the number of replicas that a server needs for an acknowledgement.
type judgement struct {
	address string
	need    int       // the promised number, unless the server is degraded
	until   time.Time // how long a lower need holds
	have    int       // replicas that were connected at the last check
	since   time.Time // when there were first fewer than promised; zero if there are enough
	lacking time.Time // when there were first fewer than needed, with only confirmed checks since
	offset  int64     // at the last check
}

// holdFor is how long a lower need of replicas holds. It is checked again several times
// meanwhile: a server that loses contact with the majority stops.
const holdFor = 2 * time.Second

// next returns the judgement after a check. A primary that is cut off must not acknowledge
// alone what its replica, once promoted, will not have. So fewer replicas than needed are
// enough only if the majority confirms the server, and either considers no other replica alive,
// or has had the time to notice if the server, not the replica, were cut off.
//
// A connected replica is waited for however slow it is. A replica that comes back is needed
// again once it has caught up.
func (j judgement) next(s sight, promised int) judgement {
	inStep := 0
	for _, acked := range s.online {
		if j.offset > 0 && acked >= j.offset {
			inStep++
		}
	}
	j.address, j.offset, j.have = s.address, s.offset, len(s.online)
	if j.have < promised && j.since.IsZero() {
		j.since = s.at
	}
	if !s.confirmed {
		j.lacking = time.Time{}
		return j
	}
	j.until = s.at.Add(holdFor)
	switch {
	case j.have >= j.need:
		j.lacking = time.Time{}
	case j.lacking.IsZero():
		j.lacking = s.at
	}
	switch {
	case inStep > j.need:
		j.need = min(inStep, promised)
	case j.have < j.need && (s.alive <= j.have || s.at.Sub(j.lacking) > s.noticedIn):
		j.need, j.lacking = j.have, time.Time{}
	}
	if j.have >= promised && j.need == promised {
		j.since = time.Time{}
	}
	return j
}

// needs returns how many replicas are needed at a moment.
func (j judgement) needs(promised int, now time.Time) int {
	if now.After(j.until) {
		return promised
	}
	return j.need
}
