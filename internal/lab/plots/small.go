package main

import (
	"fmt"

	"github.com/weirhq/weir/internal/chart"
	"github.com/weirhq/weir/internal/lab/experiment"
)

// small returns how bulk actions fare beside floods, by their size and by the way to share.
func small() figure {
	curves := experiment.SmallSeries()
	ours, fair, inOrder := curves[0].Points, curves[1].Points, curves[2].Points
	f := figure{
		name: "small",
		Figure: chart.Figure{
			Title: "Small bulk actions beside ten floods: with the express lane they hardly feel them",
			Note: "Slowdown: time to the end compared with an idle resource. 10,000 items/s, of which small ones need a fifth. " +
				"Logarithmic axes.",
			Columns: 2, Height: 200,
			Panels: []chart.Panel{
				slowdowns("Median", curves, func(p experiment.SmallPoint) float64 { return p.P50 }),
				slowdowns("99th percentile", curves, func(p experiment.SmallPoint) float64 { return p.P99 }),
			},
		},
		table: [][]string{{"items, up to"}},
	}
	for i, c := range curves {
		f.Legend = append(f.Legend, chart.Key{Colour: smallColours[i], Text: c.Name})
		f.table[0] = append(f.table[0], c.Name+": median", "99th percentile")
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
		row := []string{chart.Number(float64(p.Items))}
		for _, c := range curves {
			row = append(row, times(c.Points[i].P50), times(c.Points[i].P99))
		}
		f.table = append(f.table, row)
	}
	return f
}

// smallColours has the colours of the ways to share.
var smallColours = []chart.Colour{chart.Running, chart.Paused, chart.Waiting}

// times writes a slowdown.
func times(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.1f", v)
	}
	return chart.Number(float64(int(v)))
}

func slowdowns(title string, curves []experiment.SmallCurve, of func(experiment.SmallPoint) float64) chart.Panel {
	p := chart.Panel{
		Title: title, X: chart.Axis{Title: "items of the bulk action, up to", From: 20, To: 10_240, Log: true},
		Y: chart.Axis{Title: "slowdown, times", From: 0.5, To: 100_000, Log: true},
	}
	for i, c := range smallColours {
		points := curves[i].Points
		p.Layers = append(p.Layers, line(c, series(len(points), func(k int) (float64, float64) {
			return float64(points[k].Items), of(points[k])
		})))
	}
	return p
}
