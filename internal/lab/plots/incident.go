package main

import (
	"fmt"
	"slices"

	"github.com/weirhq/weir/internal/chart"

	"github.com/weirhq/weir/internal/lab/model"
)

const (
	breaks, heals = 60, 180 // seconds
	watched       = 300
)

// crisis is the incident under one way to deal with it.
type crisis struct {
	push, mail []model.Second
}

// incident puts the default, with flow control, beside the plain depth policy, which
// has none.
func incident() figure {
	ours, depth := crisisWith("", model.FlowOn), crisisWith("depth", model.FlowOff)
	f := figure{
		name: "incident",
		Figure: chart.Figure{
			Title: "An incident downstream: weir steps back and returns, plain depth piles on",
			Note: "Push goes from 50 ms to 5 s at the 99th percentile, and 60 % of its calls fail. Mail shares 64 slots with " +
				"it. One partition.",
			Columns: 2, Height: 90,
			Legend: []chart.Key{
				{Colour: chart.Trouble, Area: true, Text: "incident"},
				{Colour: chart.Running, Text: "push"},
				{Colour: chart.Failed, Text: "push, failed items"},
				{Colour: chart.Done, Text: "mail, mean of 10 s"},
			},
		},
		claims: crisisClaims(ours, depth),
		table:  [][]string{{"", "default policy and flow control", "plain depth policy, no flow control"}},
	}
	left, right := ours.panels(), depth.panels()
	left[0].Title, right[0].Title = "Default policy and flow control", "Plain depth policy, no flow control"
	for i := range left {
		f.Panels = append(f.Panels, left[i], right[i])
	}
	for _, line := range []struct {
		what string
		of   func(crisis) float64
	}{
		{"most workers of push in the incident", func(c crisis) float64 { return float64(c.mostWorkers()) }},
		{"items of push sent into the incident", crisis.calls},
		{"of which failed", crisis.failed},
		{"seconds to the full rate of push after it", func(c crisis) float64 { return float64(c.back()) }},
		{"items of mail done in the incident", crisis.mailDone},
	} {
		f.table = append(f.table, []string{line.what, chart.Number(line.of(ours)), chart.Number(line.of(depth))})
	}
	return f
}

func crisisWith(policy, flow string) crisis {
	w := scenario("incident")
	w.Workers.Policy = policy
	w.Nodes, w.Partitions = []model.Node{{Slots: 64}}, 1
	for i := range w.Resources {
		w.Resources[i].Flow = flow
	}
	r := must(model.Run(w))
	return crisis{r.Resources[0].Seconds[:watched], r.Resources[1].Seconds[:watched]}
}

func crisisClaims(ours, depth crisis) []claim {
	return []claim{
		{"the default does not grow while it lasts", ours.mostWorkers() <= ours.push[breaks-1].Workers},
		{"depth grows to the maximum", depth.mostWorkers() == 64},
		{"the breaker opens within 15 s", ours.opens() >= 0 && ours.opens() <= 15},
		{"a tenth of the calls of depth", 10*ours.calls() <= depth.calls()},
		{"full rate again within 30 s", ours.back() > 0 && ours.back() <= 30},
		{"mail gets as much done as without the incident", ours.mailDone() >= 0.98*ours.mailAsked()},
	}
}

// mostWorkers returns the most that push has while the incident lasts.
func (c crisis) mostWorkers() int {
	return slices.MaxFunc(c.push[breaks:heals], func(a, b model.Second) int { return a.Workers - b.Workers }).Workers
}

// opens returns how many seconds after the beginning the breaker opens.
func (c crisis) opens() int {
	return slices.IndexFunc(c.push[breaks:], func(s model.Second) bool { return s.Breaker == "open" })
}

// calls and failed are how many items were sent into the incident, and failed there.
func (c crisis) calls() float64 {
	return during(c.push, func(s model.Second) float64 { return float64(s.Started) })
}
func (c crisis) failed() float64 {
	return during(c.push, func(s model.Second) float64 { return float64(s.Failed) })
}

// during sums up something over the time of the incident.
func during(seconds []model.Second, of func(model.Second) float64) (n float64) {
	for _, s := range seconds[breaks:heals] {
		n += of(s)
	}
	return n
}

// back returns how many seconds after the end the rate is full, 950 of 1,000 items/s.
func (c crisis) back() int {
	return slices.IndexFunc(c.push[heals:], func(s model.Second) bool { return s.Done >= 950 }) + 1
}

// mailDone returns what mail got done, and mailAsked what it was given to do, in tasks of ten items.
func (c crisis) mailDone() float64 {
	return during(c.mail, func(s model.Second) float64 { return float64(s.Done) })
}
func (c crisis) mailAsked() float64 {
	return during(c.mail, func(s model.Second) float64 { return 10 * float64(s.Load) })
}

// panels returns the rows of one column.
func (c crisis) panels() []chart.Panel {
	trouble := chart.Band{Colour: chart.Trouble, From: breaks, To: heals}
	by := func(of []model.Second, f func(model.Second) float64) []chart.XY {
		return series(len(of), func(i int) (float64, float64) { return float64(i), f(of[i]) })
	}
	above := chart.Axis{To: watched, Every: 60}
	last := chart.Axis{Title: "seconds", To: watched, Every: 60}
	phases := []string{"closed", "half-open", "open"}
	return []chart.Panel{
		{X: above, Y: chart.Axis{Title: "push: workers", To: 80, Every: 40}, Note: fmt.Sprintf("at most %d in the incident", c.mostWorkers()),
			Layers: []chart.Layer{
				trouble,
				stairs(chart.Running, by(c.push, func(s model.Second) float64 { return float64(s.Workers) })),
			}},
		{X: above, Y: chart.Axis{Title: "push: items/s", To: 1200, Every: 400},
			Note: fmt.Sprintf("%s failed, full rate after %d s", chart.Number(c.failed()), c.back()),
			Layers: []chart.Layer{
				trouble,
				line(chart.Running, by(c.push, func(s model.Second) float64 { return float64(s.Done) })),
				line(chart.Failed, by(c.push, func(s model.Second) float64 { return float64(s.Failed) })),
			}},
		{X: above, Y: chart.Axis{Title: "push: circuit breaker", To: 2, Names: phases}, Layers: []chart.Layer{
			trouble,
			stairs(chart.Running, by(c.push, func(s model.Second) float64 { return float64(slices.Index(phases, s.Breaker)) })),
		}},
		{X: last, Y: chart.Axis{Title: "mail: items/s", To: 1200, Every: 400}, Layers: []chart.Layer{
			trouble,
			line(chart.Done, smooth(by(c.mail, func(s model.Second) float64 { return float64(s.Done) }), 10)),
		}},
	}
}

// smooth returns the mean of so many values up to each.
func smooth(points []chart.XY, n int) []chart.XY {
	out := make([]chart.XY, len(points))
	for i, p := range points {
		sum := 0.0
		from := max(0, i-n+1)
		for _, q := range points[from : i+1] {
			sum += q.Y
		}
		out[i] = chart.XY{X: p.X, Y: sum / float64(i-from+1)}
	}
	return out
}
