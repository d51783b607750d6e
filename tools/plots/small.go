package main

import (
	"gonum.org/v1/plot"

	"github.com/weirhq/weir/internal/lab/experiment"
)

// small returns how bulk actions fare beside floods, by their size and by the way to share.
func small() figure {
	curves := experiment.SmallSeries()
	ours, fair, inOrder := curves[0].Points, curves[1].Points, curves[2].Points
	f := figure{
		name:  "small",
		title: "Small bulk actions beside ten floods: with the express lane they hardly feel them",
		note:  "Slowdown: time to the end in terms of the same on an idle resource. 10,000 items/s, of which small ones need a fifth.",
		row:   220, columns: 2,
		panels: []panel{
			slowdowns("Median", curves, func(p experiment.SmallPoint) float64 { return p.P50 }),
			slowdowns("99th percentile", curves, func(p experiment.SmallPoint) float64 { return p.P99 }),
		},
	}
	for i, p := range ours {
		worse := 2.0 // one task is all that the smallest have
		if p.Items > 100 {
			worse = 20
		}
		f.claims = append(f.claims,
			claim{"slowdown of at most 3 at the 99th percentile for every size", p.P99 <= 3},
			claim{"plain fair sharing is twice as bad at the 99th percentile, and from 100 items on 20 times", fair[i].P99 >= worse*p.P99},
			claim{"first come, first served is hundreds of times worse", inOrder[i].P99 >= 300*p.P99},
		)
	}
	return f
}

func slowdowns(title string, curves []experiment.SmallCurve, of func(experiment.SmallPoint) float64) panel {
	p := panel{
		title: title, x: axis{label: "items of the bulk action, up to", from: 20, to: 10_240, log: true},
		y: axis{label: "slowdown", from: 0.8, to: 30_000, log: true},
	}
	for i, h := range []hue{blue, purple, vermilion} {
		points := curves[i].Points
		end := points[len(points)-1]
		name := label{x: float64(end.Items), y: 1.25 * of(end), text: curves[i].Name, hue: h, left: true, above: true}
		if of(points[0]) > of(end) { // it falls: the room is below its beginning
			name = label{x: float64(points[0].Items), y: of(points[0]) / 1.25, text: curves[i].Name, hue: h}
		}
		p.layers = append(p.layers, plot.Plotter(line(h, series(len(points), func(k int) (float64, float64) {
			return float64(points[k].Items), of(points[k])
		}))), name)
	}
	return p
}
