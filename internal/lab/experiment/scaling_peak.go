package experiment

import (
	"math"
	"time"

	"github.com/weirhq/weir/internal/core/scale"
)

// peakModel returns a Friday evening from 19:50 to 20:10: 10 tasks/s, and 80 from 20:00 on.
func peakModel() laneModel {
	m := stepModel()
	m.policy, m.begin, m.length = scale.Decide, (19*time.Hour + 50*time.Minute).Seconds(), peakFrom+600
	m.rate = during(peakFrom, math.Inf(1), 80, 10)
	return m
}

const peakFrom = 600 // seconds from the begin of the model

// learned returns what two Fridays teach about the hours of the week.
func learned(seed uint64) scale.History {
	var h scale.History
	m := peakModel()
	for ago := int64(2); ago > 0; ago-- {
		for second, p := range m.run(seed + uint64(ago)).Lane {
			now := scalingEpoch + int64((m.begin+float64(second+1))*1e9)
			h = h.Observe(now-ago*int64(7*24*time.Hour), p.need)
		}
	}
	return h.Observe(scalingEpoch, 1) // a later hour closes the last one
}

// peakLines show what keeping workers ready for a known peak saves: the waits of
// its first minute.
func peakLines(size Size) []Line {
	plain, table, taught := peakModel(), peakModel(), peakModel()
	table.config.Timetable = scale.Timetable{{Day: time.Friday, At: 20 * time.Hour, Workers: 64}}
	h := learned(firstScaling + 5000)
	taught.floor = h.Floor
	first := wait99Within(peakFrom, peakFrom+60)
	return over(scalingSeeds(size, 0), func(seed uint64) []Line {
		const peak = "Friday 20:00 peak 8x, unprepared: slot wait p99 of the 1st min"
		return []Line{
			atLeast(14, peak, first(plain.run(seed)), 0.25, " s").taken(byMedian),
			atMost(14, `the same, timetable "`+table.config.Timetable.String()+`", worst`, first(table.run(seed)), 0.1, " s"),
			atMost(14, "the same, learned from two Fridays, worst", first(taught.run(seed)), 1, " s"),
		}
	})
}
