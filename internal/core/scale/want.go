package scale

import (
	"math"
	"time"
)

// wanted is the result of one cycle's signals.
type wanted struct {
	need, useful float64 // in workers; useful may be infinite
	bound        bool    // the concurrency bounds useful
	desired      float64 // within the bounds
	why          Reason  // of growing to desired
	floor        int
	floorWhy     Reason
}

// want applies Little's law to the usable rate, and then the floors and bounds.
func want(now int64, s Signals, st State, c Config) wanted {
	w := wanted{why: Grew}
	for i, t := range st.Tracks {
		l := s.Loads[i]
		usable := l.Usable
		switch {
		case l.Closed:
			continue
		case usable <= 0:
			usable = math.Inf(1)
		}
		arrivals := t.arriving()
		rate := min(arrivals+drained(float64(l.Backlog), arrivals, c.Drain.Seconds(), st.healthy(now)), usable)
		w.need += staff(rate * t.Service)
		if t.Service > 0 {
			usable = staff(usable * t.Service)
		}
		w.useful += usable
	}
	if b := float64(s.Bound); b > 0 && b < w.useful {
		w.useful, w.bound = b, true
	}
	n := float64(s.Workers)
	w.desired = min(w.need, w.useful)
	switch {
	case st.cold():
		limit := 2 * n // a run time from a few tasks may be far off
		if st.learning(now) {
			limit = n // a new leader keeps what it finds
		}
		w.desired = min(max(w.desired, coldWish(s)), limit)
		w.why = Cold
	case st.Waiting >= 3 && now-st.RaisedAt > int64(10*time.Second) && min(1.25*n, w.useful) > w.desired:
		w.desired, w.why = min(1.25*n, w.useful), Trimmed
	}
	w.floor, w.floorWhy = c.floor(now, s)
	w.desired = min(max(w.desired, float64(w.floor)), float64(s.most(c.Max)))
	return w
}

// floor returns how many workers are kept at any load, and why.
func (c Config) floor(now int64, s Signals) (int, Reason) {
	n, why := c.Min, AtMin
	if r := c.Reserved(now); r > n {
		n, why = r, AtReserve
	}
	if s.Floor > n {
		n, why = s.Floor, AtFloor
	}
	return min(n, s.most(c.Max)), why
}

// most returns how many of at most n workers could ever be used.
func (s Signals) most(n int) int {
	if s.Bound > 0 {
		return min(n, s.Bound)
	}
	return n
}

// staff returns the workers for an average number of busy ones. A share of idle ones keeps
// waits short in a large pool; in a small one chance takes more room, by the root of its size.
// Only with such room is a rate used fully, and does small work beside a flood find a worker.
func staff(busy float64) float64 {
	return max(busy/target, busy+room*(1-target)*math.Sqrt(busy))
}

// drained returns the rate at which a backlog is worked off. A backlog that piled up while
// workers were late for a stream is worked off slowly, because there will be too many workers
// afterwards. A bulk with nothing behind it is worked off fast, but not on a resource that has
// only just recovered.
func drained(backlog, arrivals, over float64, healthy bool) float64 {
	late := backlog
	if healthy {
		late = min(backlog, inStream*arrivals)
	}
	return late/over + (backlog-late)/(bulkShare*over)
}

// coldWish uses the queue alone: no task has ended, so Little's law has no run time.
func coldWish(s Signals) float64 {
	open := false
	for _, l := range s.Loads {
		open = open || !l.Closed
	}
	switch {
	case open && s.depth() > 4 && s.Busy > 0.95: // some of them idle: the limit is elsewhere
		return 2 * float64(s.Workers)
	case s.Busy > 0.5: // they are at work, on something long
		return float64(s.Workers)
	}
	return 0
}

// words describes where the wish comes from.
func (w wanted) words(c Config) string {
	text := "the load needs " + number(w.need)
	switch {
	case w.useful >= w.need:
	case w.bound:
		text += ", the concurrency allows " + number(w.useful)
	default:
		text += ", the usable rate allows " + number(w.useful)
	}
	if w.need > float64(c.Max) {
		text += ", the maximum is " + number(float64(c.Max))
	}
	return text
}
