package experiment

import (
	"time"

	"github.com/weirhq/weir/internal/core/scale"
)

// peakModel is a Friday evening from 19:50 to 20:10: 10 tasks/s, and 80 from 20:00 on.
func peakModel() laneModel {
	m := stepModel()
	m.policy, m.begin, m.length = scale.Decide, (19*time.Hour + 50*time.Minute).Seconds(), peakFrom+600
	m.rate = func(t float64) float64 {
		if t >= peakFrom {
			return 80
		}
		return 10
	}
	return m
}

const peakFrom = 600 // seconds from the begin of the model

// learned is what two Fridays teach about the hours of the week.
func learned(seed uint64) scale.History {
	var h scale.History
	m := peakModel()
	for ago := int64(2); ago > 0; ago-- {
		for second, need := range m.run(seed + uint64(ago)).needs {
			now := scalingEpoch + int64((m.begin+float64(second+1))*1e9)
			h = h.Observe(now-ago*int64(7*24*time.Hour), need)
		}
	}
	return h.Observe(scalingEpoch, 1) // a later hour closes the last one
}

// peakLines show what keeping workers ready for a known peak saves: the waits of
// its first minute.
func peakLines(seeds int) []Line {
	firstMinute := func(t laneTrace, _ uint64) float64 { return t.wait99Within(peakFrom, peakFrom+60) }
	plain, table, taught := peakModel(), peakModel(), peakModel()
	table.config.Timetable = scale.Timetable{{Day: time.Friday, At: 20 * time.Hour, Workers: 64}}
	h := learned(scalingSeeds + 5000)
	taught.floor = h.Floor
	return []Line{
		{
			Target: 14, What: "Friday 20:00 peak 8x, unprepared: slot wait p99 of the 1st min", Unit: " s",
			Got: plain.spread(scalingSeeds, seeds, firstMinute)[0].median(), Want: 0.25, AtLeast: true,
		},
		{
			Target: 14, What: `the same, timetable "` + table.config.Timetable.String() + `", worst`, Unit: " s",
			Got: table.spread(scalingSeeds, seeds, firstMinute)[0].worst(), Want: 0.1,
		},
		{
			Target: 14, What: "the same, learned from two Fridays, worst", Unit: " s",
			Got: taught.spread(scalingSeeds, seeds, firstMinute)[0].worst(), Want: 1,
		},
	}
}
