package scale

import (
	"math"
	"strings"
	"time"
)

const (
	step       = 5 * time.Second // between two releases or two cuts
	buckets    = 13              // of length step: a minute and the one that is filling
	maxPatient = 8
	longest    = 3600  // upper bound on counted cycles at work
	memory     = 100.0 // tasks over which the failed share is taken
	telling    = 20    // tasks without which no share is taken
)

// State is a policy's memory of a lane between cycles. The zero value stands for a lane that
// was never seen. All fields can be stored and read back; each policy defines their meaning.
type State struct {
	// Since is when the lane was first seen: nothing is released before a window is over.
	Since int64
	// Inherited reports that the lane had more than its minimum then: an earlier leader had a
	// reason.
	Inherited bool
	// Tracks are the smoothed loads, in the order of Signals.Loads.
	Tracks []Track
	// Ended and Failed count recent tasks, fading with time and number. Failing
	// stays set until far fewer fail than it took to set it.
	Ended, Failed float64
	Failing       bool
	// FailedAt is when Failing was last set.
	FailedAt int64
	// Working counts cycles in a row with tasks at work, up to an hour.
	Working int
	// Above and Waiting count cycles in a row that wanted growth, or saw tasks wait
	// for busy workers. Calm counts cycles in a row without.
	Above, Waiting, Calm int
	// Wishes holds the highest wish of each span of five seconds, by its number.
	Wishes [buckets]Wish
	// RaisedAt and LoweredAt are when workers were last added and taken away.
	RaisedAt, LoweredAt int64
	// Patience multiplies the cooldown, as of PatientAt.
	Patience  float64
	PatientAt int64
	// Base is the shortest smoothed run time known, in seconds (congestion control).
	Base float64
}

// Wish is the most workers wanted during one span of five seconds.
type Wish struct {
	Span int64
	Most float64
}

// see returns the state after one more cycle's signals. least is the lane's minimum.
func (st State) see(now int64, s Signals, least int) State {
	if st.Since == 0 {
		st.Since, st.Inherited = now, s.Workers > least
	}
	old := st.Tracks
	st.Tracks = make([]Track, 0, len(s.Loads)) // a new one: the caller may keep the old state
	for _, l := range s.Loads {
		t := find(old, l.Resource)
		t.Fresh = t.Fresh && !st.Inherited // to another leader it was not
		st.Tracks = append(st.Tracks, t.seeArrivals(l.Arrivals).seeService(l, s.Strained))
	}
	st = st.seeFailures(s)
	if st.Failing {
		st.FailedAt = now
	}
	st.Working = min(streak(st.Working, s.Busy > 0.3), longest)
	if _, _, hang := stall(s, st); hang {
		for i, t := range st.Tracks {
			st.Tracks[i] = t.suspect(0)
		}
	}
	return st
}

// healthy reports whether nothing has failed for a while.
func (st State) healthy(now int64) bool {
	return st.FailedAt == 0 || now-st.FailedAt > int64(recovery)
}

// learning reports whether the leader has seen the lane only for a moment, while an earlier
// leader knew it longer.
func (st State) learning(now int64) bool {
	return st.Inherited && now-st.Since < int64(newLeader)
}

// seeFailures remembers a minute or two, and a hundred tasks besides this cycle's. When run
// times jump, earlier tasks say nothing about the failures now.
func (st State) seeFailures(s Signals) State {
	ended, failed := s.samples()
	keep := min(0.99, memory/max(st.Ended, 1))
	st.Ended, st.Failed = st.Ended*keep+float64(ended), st.Failed*keep+float64(failed)
	for _, t := range st.Tracks {
		if t.Doubt == doubtful { // it jumped in this cycle
			st.Ended, st.Failed = float64(t.Last.Ended), float64(t.Last.Failed)
		}
	}
	bear, again := cutErrors, calmErrors
	if s.Strained {
		bear, again = vetoErrors, vetoErrors/2
	}
	e := st.errors()
	st.Failing = e > bear || st.Failing && e > again
	return st
}

// streak counts how often in a row something held.
func streak(n int, holds bool) int {
	if !holds {
		return 0
	}
	return n + 1
}

// cold reports whether the run times of a lane with work are still unknown.
func (st State) cold() bool {
	n := 0
	for _, t := range st.Tracks {
		n += t.Samples
	}
	return n < coldBelow
}

// errors returns the share of recent tasks that failed, 0 if there are too few tasks, so that a
// lane that was cut completely tries again after a while.
func (st State) errors() float64 {
	if st.Ended < telling {
		return 0
	}
	return st.Failed / st.Ended
}

// wish records the present wish and returns the highest within the window.
func (st State) wish(now int64, window time.Duration, desired float64) (State, float64) {
	span := now / int64(step)
	w := &st.Wishes[span%buckets] // the array is a copy, as st is
	if w.Span != span {
		*w = Wish{Span: span}
	}
	w.Most = max(w.Most, desired)
	most, from := desired, (now-int64(window))/int64(step)
	for _, w := range st.Wishes {
		if w.Span >= from && w.Span <= span {
			most = max(most, w.Most)
		}
	}
	return st, most
}

// patience returns the factor on the cooldown at now.
func (st State) patience(now int64) float64 {
	return 1 + max(st.Patience-1, 0)*math.Exp(-seconds(now-st.PatientAt)/300)
}

// acted records a change of workers from n to m. A change of direction soon after the last one
// was a mistake: the next change comes more slowly.
func (st State) acted(now int64, n, m int) State {
	if m == n {
		return st
	}
	other := st.LoweredAt
	if m < n {
		other = st.RaisedAt
	}
	last := max(st.RaisedAt, st.LoweredAt)
	if other == last && other != 0 && now-other < int64(2*time.Minute) {
		st.Patience, st.PatientAt = min(2*st.patience(now), maxPatient), now
	}
	if m > n {
		st.RaisedAt, st.Above, st.Waiting = now, 0, 0
		for i := range st.Tracks { // see allocated them, so they may be changed
			st.Tracks[i].Evidence, st.Tracks[i].Cleared = 0, false // each step has to be earned
		}
	} else {
		st.LoweredAt = now
	}
	return st
}

func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }

// span writes a time for people: 45s, 1m, 1h59m.
func span[T int64 | time.Duration](t T) string {
	d := time.Duration(t).Round(time.Second)
	if d >= time.Hour {
		d = d.Round(time.Minute)
	}
	text := d.String()
	for _, nothing := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, nothing) {
			text = text[:len(text)-2]
		}
	}
	return text
}
