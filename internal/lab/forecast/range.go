package forecast

import (
	"math"
	"slices"
	"time"
)

const (
	// periods is how many parts of the past are compared with each other.
	periods = 6
	// soonest and latest bound a range: from half of what is likely to twice as much.
	soonest, latest = 0.5, 2
	// even is the width of a range that tells nothing more than its middle, as a part of it.
	even = 0.05
)

// Range returns between which durations the rest of some work probably takes, of which the model says left. It is wide if
// the speed varied, which a model of the present does not know, and if the tenant has other work on the same resources:
// they run by turns, and which of them ends first is luck. Speeds are those of the last steps of equal length, oldest
// first. Both durations are 0 if the end is rather certain.
func Range(left time.Duration, speeds []float64, w *Work, l *Load) (from, to time.Duration) {
	sooner, later := varied(speeds)
	first, last := turns(w, l)
	low := max(1-math.Hypot(sooner, first), soonest)
	high := min(1+math.Hypot(later, last), latest)
	if high-low < even {
		return 0, 0
	}
	return time.Duration(low * float64(left)), time.Duration(high * float64(left))
}

// varied returns by which part the work would end sooner at the speed of the fastest period, and later at that of the
// slowest. Periods are longer than steps, because calls end in lumps.
func varied(speeds []float64) (sooner, later float64) {
	per := len(speeds) / periods
	if per == 0 {
		return 0, 0 // it says too little
	}
	speeds = speeds[len(speeds)-per*periods:]
	slow, fast, sum := math.Inf(1), 0.0, 0.0
	for period := range slices.Chunk(speeds, per) {
		speed := 0.0
		for _, v := range period {
			speed += v / float64(per)
		}
		slow, fast, sum = min(slow, speed), max(fast, speed), sum+speed
	}
	if sum == 0 {
		return 0, 0
	}
	mean := sum / periods
	return 1 - mean/fast, min(mean/slow, latest) - 1
}

// turns returns by which part the work may end sooner or later than it should, because other work of the tenant goes
// after or before it: half of the way to the ends that are possible.
func turns(w *Work, l *Load) (sooner, later float64) {
	own := float64(w.Items)
	shared, all := own, own // done by the end, if both have turns; and if the others go first
	for i := range l.Others {
		o := &l.Others[i]
		if o.Tenant == w.Tenant && o.Delay == 0 && w.meets(o) {
			shared, all = shared+min(own, float64(o.Items)), all+float64(o.Items)
		}
	}
	if own == 0 {
		return 0, 0
	}
	return (1 - own/shared) / 2, (all/shared - 1) / 2
}

// meets reports whether two bulk actions use a resource in common.
func (w *Work) meets(o *Work) bool {
	return slices.ContainsFunc(w.Steps, func(s Step) bool { return o.step(s.Resource) >= 0 })
}
