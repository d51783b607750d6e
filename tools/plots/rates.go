package main

import (
	"fmt"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

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
		name:  "rate",
		title: "A limit of 1,000 items/s: never more in any second, while fixed windows let through double",
		note:  "2,000 items come at 0.9 s and 1,500 at 3.6 s, in tasks of 10.",
		row:   130, columns: 2,
		panels: append(windows("Exact sliding window (weir)", exact, blue),
			windows("Windows that begin with each second", fixed, vermilion)...),
		claims: []claim{
			{"peak of at most 1.0", peak(exact) <= allowed},
			{"fixed windows reach at least 1.9", peak(fixed) >= 1.9*allowed},
			{"both start everything", total(exact) == 3500 && total(fixed) == 3500},
		},
	}
	f.panels = []panel{f.panels[0], f.panels[2], f.panels[1], f.panels[3]}
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
func windows(title string, starts []int, h hue) []panel {
	const step = 20 // ticks to a point
	within := sliding(starts)
	n := len(starts) / step
	at := func(i int) float64 { return float64(i*step) * tick.Seconds() }
	limit := plotter.XYs{{X: 0, Y: allowed}, {X: rateSpan.Seconds(), Y: allowed}}
	return []panel{
		{
			title: title, x: axis{label: "seconds", to: rateSpan.Seconds(), every: 1}, y: axis{label: "items in 20 ms", to: 650, every: 200},
			layers: []plot.Plotter{stairs(h, series(n, func(i int) (float64, float64) {
				return at(i), float64(total(starts[i*step : (i+1)*step]))
			}))},
		},
		{
			x: axis{label: "seconds", to: rateSpan.Seconds(), every: 1}, y: axis{label: "items in the last second", to: 2500, every: 500},
			layers: []plot.Plotter{
				line(h, series(n, func(i int) (float64, float64) { return at(i), float64(within[i*step]) })),
				dashed(line(ink, limit)),
				label{x: 6, y: allowed, text: "the limit", hue: ink, left: true, above: true},
				label{x: 0, y: 2500, text: fmt.Sprintf("at most %.2f of the limit", float64(peak(starts))/allowed), hue: h},
			},
		},
	}
}
