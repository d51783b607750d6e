package scale

import "math"

const (
	coldBelow  = 5    // samples before a run time is believed
	settling   = 10   // cycles over which arrivals are a plain mean
	doubtful   = 60   // cycles that a doubt lasts at most, unless failures feed it
	listening  = 4    // first cycles of a doubt, in which flow control may still report strain
	convinced  = -6.9 // evidence that ends a doubt: a thousand to one
	fade       = 0.99 // of the evidence that is left after a cycle
	noArrivals = 1e-3 // tasks per second that count as none
)

// Track is the smoothed load of one resource.
type Track struct {
	Resource string
	// Arrivals is in tasks per second; High and Low count samples in a row that were far off
	// it, and Far is their sum. Cycles is counted only up to a few.
	Arrivals  float64
	High, Low int
	Far       float64
	Cycles    int
	// Service is in seconds, 0 while unknown; Samples is counted only up to a few.
	Service float64
	Samples int
	// Batch collects tasks until there are enough to judge a jump; Last is the batch before.
	Batch, Last Batch
	// Doubt counts down the cycles in which growth has to be earned: run times are new or have
	// jumped, or tasks hang, and whether they also fail shows only when some have ended.
	// Evidence is the result so far, above 0 for failures, and Cleared reports that it was
	// enough.
	Doubt    int
	Fresh    bool // the doubt is about a resource that was never seen: nothing has jumped or hung
	Cleared  bool
	Evidence float64
}

// Batch is a group of tasks that ended: their number, how many failed, and their run time in
// seconds.
type Batch struct {
	Ended, Failed int
	Seconds       float64
}

// find returns the track of a resource, a new one if it is missing.
func find(tracks []Track, resource string) Track {
	for _, t := range tracks {
		if t.Resource == resource {
			return t
		}
	}
	return Track{Resource: resource, Doubt: doubtful - listening, Fresh: true}
}

// seeArrivals smooths by a tenth and jumps when chance no longer explains what it sees: counts
// of a second spread by the root of their mean. A single high count is a bulk, not a rate: it
// moves the mean no further than chance could.
func (t Track) seeArrivals(rate float64) Track {
	t.Cycles = min(t.Cycles+1, settling)
	if t.Cycles == 1 || t.Cycles == 2 && t.Arrivals > rate+spread(rate) {
		t.Arrivals = rate
		return t
	}
	wide := spread(t.Arrivals)
	t.High, t.Low = streak(t.High, rate > t.Arrivals+wide), streak(t.Low, rate < t.Arrivals-wide)
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
		t.Arrivals, t.High, t.Low, t.Cycles = t.Far/float64(far), 0, 0, far
		return t
	}
	t.Arrivals += (min(rate, t.Arrivals+wide) - t.Arrivals) / float64(t.Cycles)
	if t.Arrivals < noArrivals {
		t.Arrivals = 0
	}
	return t
}

// arriving returns the rate to plan for: a suspected jump counts at once, as growth has to be
// confirmed in any case.
func (t Track) arriving() float64 {
	if t.High > 0 {
		return t.Far / float64(t.High)
	}
	return t.Arrivals
}

// spread returns how far a count of a second may be off its mean by chance.
func spread(mean float64) float64 { return 4 * math.Sqrt(max(mean, 1)) }

// seeService smooths by a fiftieth per task and jumps up when several tasks in a
// row took far longer. Slow tasks end seldom, so a batch may span cycles.
func (t Track) seeService(l Load, strained bool) Track {
	t = t.weigh(l.Samples, l.Failed, strained)
	if l.Samples == 0 {
		return t
	}
	mean, n := l.Service.Seconds(), l.Samples
	if t.Samples < coldBelow { // a plain mean until there is enough to smooth
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
		t.Service = recent
		t = t.suspect(evidence(t.Batch.Ended, t.Batch.Failed))
	}
	t.Batch, t.Last = Batch{}, t.Batch
	return t
}

// suspect begins a doubt. A doubt that is open keeps its evidence.
func (t Track) suspect(evidence float64) Track {
	if t.Doubt == 0 || t.Cleared {
		t.Evidence = evidence
	}
	t.Doubt, t.Cleared, t.Fresh = doubtful, false, false
	return t
}

// weigh adds the tasks that ended to the evidence of a doubt. Good ones clear it; time ends it
// only if failures do not prevail. Under strain only time ends it: there, a wrong decision
// costs more.
func (t Track) weigh(ended, failed int, strained bool) Track {
	if t.Doubt == 0 {
		return t
	}
	t.Evidence = fade*t.Evidence + evidence(ended, failed)
	t.Cleared = t.Cleared || t.Evidence < convinced && t.Doubt <= doubtful-listening && !strained
	if t.Doubt > 1 || t.Evidence <= 0 {
		t.Doubt--
	}
	return t
}

// unproven reports whether growth has to wait for tasks to end well. On a resource that was
// never seen, growth by doubling is allowed until tasks fail.
func (t Track) unproven() bool { return t.Doubt > 0 && !t.Cleared && (!t.Fresh || t.Evidence > 0) }

// evidence returns the log likelihood ratio of these ends for a failure rate of four in ten
// against one in ten.
func evidence(ended, failed int) float64 {
	const bad, good = 0.4, 0.1
	return float64(failed)*math.Log(bad/good) + float64(ended-failed)*math.Log((1-bad)/(1-good))
}
