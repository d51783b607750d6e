package main

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

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
		name:  "incident",
		title: "An incident downstream: weir steps back and returns, plain depth piles on",
		note: "Shaded: push goes from 50 ms to 5 s at the 99th percentile, and 60 % of its calls fail. mail shares 64 " +
			"slots with it. One partition.",
		row: 112, columns: 2, claims: crisisClaims(ours, depth),
	}
	left, right := ours.panels(), depth.panels()
	left[0].title, right[0].title = "Default policy and flow control", "Plain depth policy, no flow control"
	for i := range left {
		f.panels = append(f.panels, left[i], right[i])
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
func (c crisis) panels() []panel {
	trouble := band{breaks, heals, rose.color()}
	by := func(of []model.Second, f func(model.Second) float64) plotter.XYs {
		return series(len(of), func(i int) (float64, float64) { return float64(i), f(of[i]) })
	}
	above := axis{to: watched, every: 60}
	last := axis{label: "seconds", to: watched, every: 60}
	phases := []string{"closed", "half-open", "open"}
	calls := []plot.Plotter{
		trouble,
		line(blue, by(c.push, func(s model.Second) float64 { return float64(s.Done) })),
		line(vermilion, by(c.push, func(s model.Second) float64 { return float64(s.Failed) })),
		label{x: 0, y: 1250, text: "done", hue: blue},
		label{x: heals, y: 1250, text: fmt.Sprintf("full rate after %d s", c.back()), hue: blue},
		label{x: breaks, y: 1250, text: fmt.Sprintf("failed: %s items", number(c.failed())), hue: vermilion},
	}
	return []panel{
		{x: above, y: axis{label: "push: workers", to: 80, every: 20}, layers: []plot.Plotter{
			trouble,
			stairs(blue, by(c.push, func(s model.Second) float64 { return float64(s.Workers) })),
			label{x: breaks, y: 80, text: fmt.Sprintf("at most %d workers", c.mostWorkers()), hue: blue},
		}},
		{x: above, y: axis{label: "push: items/s", to: 1250, every: 500}, layers: calls},
		{x: above, y: axis{label: "push: breaker", from: -0.4, to: 2.4, names: phases}, layers: []plot.Plotter{
			trouble,
			stairs(purple, by(c.push, func(s model.Second) float64 { return float64(slices.Index(phases, s.Breaker)) })),
		}},
		{x: last, y: axis{label: "mail: items/s", to: 1250, every: 500}, layers: []plot.Plotter{
			trouble,
			line(green, smooth(by(c.mail, func(s model.Second) float64 { return float64(s.Done) }), 10)),
			label{x: breaks, y: 1250, text: "mail, mean of 10 s", hue: green},
		}},
	}
}

// smooth returns the mean of so many values up to each.
func smooth(points plotter.XYs, n int) plotter.XYs {
	out := make(plotter.XYs, len(points))
	for i, p := range points {
		sum := 0.0
		from := max(0, i-n+1)
		for _, q := range points[from : i+1] {
			sum += q.Y
		}
		out[i] = plotter.XY{X: p.X, Y: sum / float64(i-from+1)}
	}
	return out
}
