package main

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/internal/chart"

	"github.com/weirhq/weir/internal/core/limit"
)

const (
	allowed  = 1000 // items per second
	perTask  = 10
	tick     = time.Millisecond
	rateSpan = 6 * time.Second
)

// gate lets tasks start or not: it counts a task that may start now, and hears of work that comes.
type gate struct {
	busy  func(now time.Duration)
	start func(now time.Duration) bool
}

// rates shows an exact sliding window beside windows that begin with each second.
func rates() figure {
	exact, fixed := starts(exactWindow()), starts(fixedWindow())
	f := figure{
		name: "rate",
		Figure: chart.Figure{
			Title:   "A limit of 1,000 items/s: never more in any second; fixed windows let through double",
			Note:    "2,000 items come at 0.9 s and 1,500 at 3.6 s, in tasks of 10.",
			Columns: 2, Height: 110,
		},
		claims: []claim{
			{"peak of at most 1.0", peak(exact) <= allowed},
			{"fixed windows reach at least 1.9", peak(fixed) >= 1.9*allowed},
			{"both start everything", total(exact) == 3500 && total(fixed) == 3500},
		},
		table: [][]string{
			{"windows", "most items in any second", "items in all"},
			{"exact sliding window (weir)", chart.Number(float64(peak(exact))), chart.Number(float64(total(exact)))},
			{"windows that begin with each second", chart.Number(float64(peak(fixed))), chart.Number(float64(total(fixed)))},
		},
	}
	left := windows("Exact sliding window (weir)", exact, chart.Running)
	right := windows("Windows that begin with each second", fixed, chart.Waiting)
	f.Panels = []chart.Panel{left[0], right[0], left[1], right[1]}
	return f
}

// starts returns how many items start in each tick.
func starts(g gate) []int {
	arriving := map[time.Duration]int{900 * time.Millisecond: 2000, 3600 * time.Millisecond: 1500}
	out := make([]int, rateSpan/tick)
	waiting := 0
	for i := range out {
		now := time.Duration(i) * tick
		if n := arriving[now]; n > 0 {
			waiting += n
			g.busy(now)
		}
		for n := 0; n < 3 && waiting > 0 && g.start(now); n++ { // a dispatcher of 30,000 items/s
			waiting -= perTask
			out[i] += perTask
		}
	}
	return out
}

// exactWindow returns the limiter of weir.
func exactWindow() gate {
	lim := limit.New(allowed)
	return gate{func(now time.Duration) { lim.Busy(int64(now)) }, func(now time.Duration) bool {
		if lim.Ready(int64(now), perTask) > int64(now) {
			return false
		}
		lim.Take(int64(now), perTask)
		return true
	}}
}

// fixedWindow counts anew with each second.
func fixedWindow() gate {
	used := map[time.Duration]int{}
	return gate{func(time.Duration) {}, func(now time.Duration) bool {
		second := now / time.Second
		if used[second] >= allowed {
			return false
		}
		used[second] += perTask
		return true
	}}
}

// sliding returns how many items started in the second that ends with each tick.
func sliding(starts []int) []int {
	out, within := make([]int, len(starts)), 0
	for i, n := range starts {
		within += n
		if old := i - int(time.Second/tick); old >= 0 {
			within -= starts[old]
		}
		out[i] = within
	}
	return out
}

func peak(starts []int) (most int) {
	for _, n := range sliding(starts) {
		most = max(most, n)
	}
	return most
}

func total(starts []int) (sum int) {
	for _, n := range starts {
		sum += n
	}
	return sum
}

// windows returns the two panels of a column: what starts, and what any second holds.
func windows(title string, starts []int, colour chart.Colour) []chart.Panel {
	const step = 20 // ticks to a point
	within := sliding(starts)
	n := len(starts) / step
	at := func(i int) float64 { return float64(i*step) * tick.Seconds() }
	limit := line(chart.Second, []chart.XY{{X: 0, Y: allowed}, {X: rateSpan.Seconds(), Y: allowed}})
	limit.Dashed = true
	return []chart.Panel{
		{
			Title: title,
			X:     chart.Axis{To: rateSpan.Seconds(), Every: 1}, Y: chart.Axis{Title: "items that start in 20 ms", To: 600, Every: 200},
			Layers: []chart.Layer{stairs(colour, series(n, func(i int) (float64, float64) {
				return at(i), float64(total(starts[i*step : (i+1)*step]))
			}))},
		},
		{
			Note: fmt.Sprintf("at most %.2f of the limit", float64(peak(starts))/allowed),
			X:    chart.Axis{Title: "seconds", To: rateSpan.Seconds(), Every: 1}, Y: chart.Axis{Title: "items in the last second", To: 2000, Every: 1000},
			Layers: []chart.Layer{
				limit,
				line(colour, series(n, func(i int) (float64, float64) { return at(i), float64(within[i*step]) })),
				chart.Label{X: 6, Y: allowed, Text: "limit", Colour: chart.Second, Left: true, Above: true},
			},
		},
	}
}
