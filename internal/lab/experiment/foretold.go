package experiment

import (
	"fmt"
	"math"
)

// The targets of forecasts and ETAs: nine of ten are off by no more than a tenth, and
// eight of ten end between the forecast, less a tenth, and its p90.
const (
	offTenth = 0.10
	nineOf10 = 90
	eightOf  = 80
	// forLuck is why a target is missed that the system itself misses with other luck,
	// and forNodes what is known of those that are missed with three nodes.
	forLuck  = "in part chance: how often the last items are retried; the line below is the best that a forecast can do"
	forNodes = "a forecast plays one node with all slots and limits; three take longer than that"
)

// foretell is E21: drawn systems, each run by the real machines of its partitions, and
// what was forecast before the start and told as ETA meanwhile; with three nodes, by the
// model of all of them. The seeds are others than those that were looked at while the
// model was made.
func foretell(size Size) (lines []Line) {
	n := sized(size, 12, 40)
	for _, partitions := range []int{1, 8} {
		what := fmt.Sprintf("%v, %d systems", place{partitions, 1}, n)
		lines = append(lines, over(seeds(2701, n), func(seed uint64) []Line {
			return foreseen(seed, partitions, size == Whole).lines(what, forLuck)
		})...)
	}
	what := fmt.Sprintf("8 partitions, 3 nodes, %d systems", n)
	return append(lines, over(seeds(2701, n), func(seed uint64) []Line {
		return foreseenOnNodes(seed).lines(what, forNodes)
	})...)
}

// told is how far off forecasts were, as a share of what it took from then on. NaN is
// what was not asked.
type told struct {
	warm, cold, tenth, half       float64
	bestWarm, bestTenth, bestHalf float64 // what could be known
	took, p50, p90                float64 // seconds that it took, and that were forecast
}

// before returns what was forecast before the start; nothing else was asked.
func before(took, p50, p90 float64) told {
	none := math.NaN()
	return told{p50/took - 1, none, none, none, none, none, none, took, p50, p90}
}

// lines returns the shares of all systems of which a forecast was near, over these runs.
func (t told) lines(what, why string) []Line {
	near := func(name string, off, holds float64) Line {
		what := fmt.Sprintf("%s: off by 10 %% at most, %s", name, what)
		return portion(what, math.Abs(off) <= offTenth, nineOf10, math.IsNaN(off)).missed(why, holds)
	}
	best := func(off float64) Line {
		return portion("the same by the system itself with other seeds, "+what, math.Abs(off) <= offTenth, 0, math.IsNaN(off))
	}
	inTime := t.took <= t.p90
	const short = "the middle of so few systems may be one of the short ones that luck decides"
	return []Line{
		near("forecast, calls seen before", t.warm, 65), best(t.bestWarm),
		near("forecast, nothing called yet", t.cold, 80),
		near("ETA after a tenth of the time", t.tenth, 65), best(t.bestTenth),
		near("ETA after half of the time", t.half, 50), best(t.bestHalf),
		portion("ended from p50, less 10 %, to p90, "+what, inTime && t.took >= 0.9*t.p50, eightOf, false).missed(why, 65),
		portion("ended by p90, "+what, inTime, eightOf, false).missed(why, 65),
		atMost(20, "p90 above p50, median, "+what, 100*(t.p90/t.p50-1), 25, " %").taken(byMedian).missed(short, 40),
	}
}

// portion returns the line about how many systems, of those that were asked, something is true of, in percent.
func portion(what string, is bool, want float64, unasked bool) Line {
	l := atLeast(20, what, 0, want, " %").taken(byMean)
	switch {
	case unasked:
		l.Got = math.NaN()
	case is:
		l.Got = 100
	}
	return l
}
