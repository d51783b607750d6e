package scale

import (
	"math"
	"time"
)

const (
	hours     = 7 * 24
	weeks     = 4
	learned   = 0.8             // of the need that is kept ready
	quantile  = 0.95            // of an hour's need that counts as its peak
	ahead     = 2 * time.Minute // workers for a peak are ready this long before it
	grades    = 64              // of the histogram of the running hour
	gradeStep = 0.25            // doublings per grade: fine to 19 %, up to 55,000 workers
)

// History records what each hour of the week needed during the last four weeks. The zero value
// has seen nothing. It is a value of about 3 kB: 168 hours in four weeks and the histogram of
// the running hour. Hours are in UTC.
type History struct {
	// Peaks holds the 95th percentile of the need, in workers, by hour and week.
	Peaks [hours][weeks]float32 `json:"peaks"`
	// Hour is the running hour, counted from the Unix epoch, and Seen its histogram.
	Hour int64          `json:"hour"`
	Seen [grades]uint32 `json:"seen"`
}

// Observe returns the history after one more cycle that needed so many workers.
func (h History) Observe(now int64, need float64) History {
	if hour := now / int64(time.Hour); hour != h.Hour {
		h = h.turn(hour)
	}
	h.Seen[grade(need)]++
	return h
}

// turn closes the running hour and opens another. Hours without observations are cleared: a
// lane that slept for a month starts afresh.
func (h History) turn(hour int64) History {
	if h.Hour != 0 {
		h.Peaks[h.Hour%hours][h.Hour/hours%weeks] = float32(h.peak())
	}
	for skipped := max(h.Hour+1, hour-hours*weeks); h.Hour != 0 && skipped < hour; skipped++ {
		h.Peaks[skipped%hours][skipped/hours%weeks] = 0
	}
	h.Hour, h.Seen = hour, [grades]uint32{}
	return h
}

// Floor returns the number of workers to keep ready at now: four fifths of the highest peak
// that this hour, or the one about to begin, had in the last four weeks. An hour counts from
// its second week on: a single Friday does not make a habit.
func (h History) Floor(now int64) int {
	need := max(h.usual(now), h.usual(now+int64(ahead)))
	return int(learned * need)
}

func (h History) usual(now int64) float64 {
	peaks, top, seen := h.Peaks[now/int64(time.Hour)%hours], float32(0), 0
	for _, p := range peaks {
		top = max(top, p)
		if p > 0 {
			seen++
		}
	}
	if seen < 2 {
		return 0
	}
	return float64(top)
}

// peak returns the quantile of the running hour's histogram.
func (h History) peak() float64 {
	total := uint64(0)
	for _, n := range h.Seen {
		total += uint64(n)
	}
	rest := uint64(float64(total) * (1 - quantile))
	for g := grades - 1; g > 0; g-- {
		if n := uint64(h.Seen[g]); n > rest {
			return math.Exp2(float64(g-1) * gradeStep)
		} else {
			rest -= n
		}
	}
	return 0
}

// grade returns the place of a need in the histogram; 0 is less than one worker. A grade stands
// for its lower end, so the learned need is never too high.
func grade(need float64) int {
	if !(need >= 1) { // also if it is NaN
		return 0
	}
	return min(1+int(math.Log2(need)/gradeStep), grades-1)
}
