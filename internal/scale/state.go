package scale

import (
	"math"
	"time"
)

const (
	step       = 5 * time.Second // between two releases or two cuts
	buckets    = 13              // of length step: a minute and the one that is filling
	maxPatient = 8
	coldBelow  = 5     // samples before a run time is believed
	doubtful   = 20    // cycles, or twice as many tasks
	memory     = 100.0 // tasks over which the failed share is taken
	telling    = 20    // tasks without which no share is taken
)

// State is what a policy remembers of a lane between cycles. The zero value is
// a lane that was never seen. All fields can be written down and read back; their
// meaning is the policy's own.
type State struct {
	// Since is when the lane was first seen: nothing is released before a window is over.
	Since int64
	// Tracks are the smoothed loads, in the order of Signals.Loads.
	Tracks []Track
	// Ended and Failed count recent tasks, fading with time and number. Failing
	// stays set until far fewer fail than it took to set it.
	Ended, Failed float64
	Failing       bool
	// Above and Waiting count cycles in a row that wanted growth, or saw tasks wait
	// for busy workers. Calm counts cycles in a row without.
	Above, Waiting, Calm int
	// Wishes is the highest wish of each span of five seconds, by its number.
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

// Track is the smoothed load of one resource.
type Track struct {
	Resource string
	// Arrivals is in tasks per second; High and Low count samples in a row that
	// were far off it, and Far is their sum.
	Arrivals  float64
	High, Low int
	Far       float64
	// Service is in seconds, 0 while unknown; Samples stops counting at a few.
	Service float64
	Samples int
	// Batch collects tasks until there are enough to judge a jump; Last is the
	// batch before.
	Batch, Last Batch
	// Doubt is set when Service jumps and runs out with time and tasks: whether
	// the slower tasks also fail shows only when some have ended.
	Doubt int
}

// Batch is a few tasks that ended: how many, how many failed, and their run time in seconds.
type Batch struct {
	Ended, Failed int
	Seconds       float64
}

// see returns the state after one more cycle's signals.
func (st State) see(now int64, s Signals) State {
	if st.Since == 0 {
		st.Since = now
	}
	old := st.Tracks
	st.Tracks = make([]Track, 0, len(s.Loads)) // a new one: the caller may keep the old state
	for _, l := range s.Loads {
		st.Tracks = append(st.Tracks, find(old, l.Resource).seeArrivals(l.Arrivals).seeService(l, s.Strained))
	}
	return st.seeFailures(s)
}

// seeFailures remembers a minute or two, and a hundred tasks besides this cycle's.
// When run times jump, what was before says nothing about the failures now.
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

// find returns the track of a resource, new if there is none.
func find(tracks []Track, resource string) Track {
	for _, t := range tracks {
		if t.Resource == resource {
			return t
		}
	}
	return Track{Resource: resource, Arrivals: -1}
}

// seeArrivals smooths by a tenth and jumps when chance no longer explains what
// it sees: counts of a second spread by the root of their mean.
func (t Track) seeArrivals(rate float64) Track {
	if t.Arrivals < 0 {
		t.Arrivals = rate
		return t
	}
	spread := 4 * math.Sqrt(max(t.Arrivals, 1))
	t.High, t.Low = streak(t.High, rate > t.Arrivals+spread), streak(t.Low, rate < t.Arrivals-spread)
	far := t.High + t.Low // one of them is 0
	switch {
	case far == 0:
		t.Far = 0
	case far == 1:
		t.Far = rate
	default:
		t.Far += rate
	}
	if t.High >= 2 || t.Low >= 5 {
		t.Arrivals, t.High, t.Low = t.Far/float64(far), 0, 0
		return t
	}
	t.Arrivals += 0.1 * (rate - t.Arrivals)
	return t
}

// seeService smooths by a fiftieth per task and jumps up when several tasks in a
// row took far longer. Slow tasks end seldom, so a batch may span cycles.
// Under strain only time ends the doubt: there, being wrong about it costs more.
func (t Track) seeService(l Load, strained bool) Track {
	t.Doubt = max(t.Doubt-1, 0)
	if !strained {
		t.Doubt = max(t.Doubt-l.Samples/2, 0)
	}
	if l.Samples == 0 {
		return t
	}
	mean, n := l.Service.Seconds(), l.Samples
	if t.Samples < coldBelow { // a plain mean until there is something to smooth
		total := t.Samples + n
		t.Service = (t.Service*float64(t.Samples) + mean*float64(n)) / float64(total)
		t.Samples = min(total, coldBelow)
		return t
	}
	t.Service += (1 - math.Pow(0.98, float64(n))) * (mean - t.Service)
	t.Batch = Batch{t.Batch.Ended + n, t.Batch.Failed + l.Failed, t.Batch.Seconds + mean*float64(n)}
	if t.Batch.Ended < coldBelow {
		return t
	}
	if recent := t.Batch.Seconds / float64(t.Batch.Ended); recent > 1.7*t.Service {
		t.Service, t.Doubt = recent, doubtful
	}
	t.Batch, t.Last = Batch{}, t.Batch
	return t
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

// errors is the share of recent tasks that failed. Too few to tell is none, so
// that a lane which gave way completely tries again after some silence.
func (st State) errors() float64 {
	if st.Ended < telling {
		return 0
	}
	return st.Failed / st.Ended
}

// wish notes what is wanted now and returns the most wanted within the window.
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

// patience is the factor on the cooldown at now.
func (st State) patience(now int64) float64 {
	return 1 + max(st.Patience-1, 0)*math.Exp(-seconds(now-st.PatientAt)/300)
}

// acted remembers a change of workers from n to m. A change of direction soon
// after the last one was a mistake one way or the other: be slower next time.
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
	} else {
		st.LoweredAt = now
	}
	return st
}

func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }

// span is a time for people: whole seconds.
func span(ns int64) time.Duration { return time.Duration(ns).Round(time.Second) }
