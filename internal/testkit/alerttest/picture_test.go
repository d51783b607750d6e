package alerttest

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir/internal/chart"
	"github.com/weirhq/weir/internal/lab/grafana"
)

// colours are those of the lines of a panel, which has no more of them.
var colours = []chart.Colour{chart.Running, chart.Waiting, chart.Done, chart.Failed, chart.Paused, chart.Ink, chart.Faint}

// picture draws a dashboard with the values that Prometheus has.
func picture(m *monitor, d *grafana.Dashboard, from, to time.Time) *chart.Figure {
	f := &chart.Figure{
		Title: d.Title, Note: "Three nodes on one Redis: three tenants share a service that takes 60 items/s, and one calls another " +
			"service that fails now and then. Drawn from the queries of the dashboard.",
		Columns: 2, Height: 120,
	}
	for i := range d.Panels {
		p := &d.Panels[i]
		var lines []line
		for _, q := range p.Queries {
			lines = append(lines, m.series(&q, from, to)...)
		}
		f.Panels = append(f.Panels, panel(p, lines, to.Sub(from).Seconds()))
	}
	return f
}

// panel draws the series of a panel; of many, those with the highest values.
func panel(p *grafana.Panel, lines []line, span float64) chart.Panel {
	if len(lines) > len(colours) {
		slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(b.most(), a.most()) })
		lines = lines[:len(colours)]
	}
	most, words, by := 0.0, p.Unit.Words, 1.0
	if words == "bytes" {
		words, by = "MB", 1e6
	}
	out := chart.Panel{Title: p.Title, X: chart.UpTo("seconds", math.Ceil(span))}
	for i, l := range lines {
		most = max(most, l.most()/by)
		for _, run := range l.runs(by) {
			out.Layers = append(out.Layers, chart.Line{Colour: colours[i], Points: run})
		}
		out.Legend = append(out.Legend, chart.Key{Colour: colours[i], Text: l.name})
	}
	out.Y = chart.Around(words, most)
	return out
}

// most returns the highest value of a series.
func (l *line) most() (most float64) {
	for _, p := range l.points {
		if !math.IsNaN(p.value) && !math.IsInf(p.value, 0) {
			most = max(most, p.value)
		}
	}
	return most
}

// runs returns the points between which every value is known, with values divided.
func (l *line) runs(by float64) (runs [][]chart.XY) {
	open := false
	for _, p := range l.points {
		if math.IsNaN(p.value) || math.IsInf(p.value, 0) {
			open = false
			continue
		}
		if !open {
			runs, open = append(runs, nil), true
		}
		last := len(runs) - 1
		runs[last] = append(runs[last], chart.XY{X: p.at, Y: p.value / by})
	}
	return runs
}
