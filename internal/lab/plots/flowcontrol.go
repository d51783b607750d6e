package main

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/internal/chart"
	"github.com/weirhq/weir/internal/core/flow"
	"github.com/weirhq/weir/internal/lab/experiment"
)

// course is how one rule fared under one hidden capacity.
type course []experiment.FlowPoint

// flowControl puts both rules of the rate beside each other, under every profile.
func flowControl() figure {
	f := figure{
		name: "flow",
		Figure: chart.Figure{
			Title: "A rate that follows a hidden capacity: the estimate is refused less often than AIMD",
			Note:  "10,000 items/s are configured, and work never ends.",
			Legend: []chart.Key{
				{Colour: chart.Behind, Area: true, Text: "what the downstream takes"},
				{Colour: chart.Running, Text: "rate set by the estimate (the default)"},
				{Colour: chart.Waiting, Text: "rate set by AIMD"},
			},
			Columns: 2, Height: 80,
		},
		table: [][]string{{"capacity", "estimate: used, %", "refused, %", "AIMD: used, %", "refused, %"}},
	}
	for _, p := range experiment.FlowProfiles() {
		ours := course(experiment.FlowSeries(p, 100*time.Millisecond, flow.Estimate))
		aimd := course(experiment.FlowSeries(p, 100*time.Millisecond, flow.AIMD))
		f.Panels = append(f.Panels, ours.panel(p, "estimate", chart.Running), aimd.panel(p, "AIMD", chart.Waiting))
		f.table = append(f.table, []string{p.Name, decimals(ours.used()), decimals(ours.refused()), decimals(aimd.used()), decimals(aimd.refused())})
		f.claims = append(f.claims, claim{p.Name + ": fewer refusals than with AIMD", ours.refused() < aimd.refused()})
		if !p.Steps { // which are faster than a rule that does not ask too often
			f.claims = append(f.claims, claim{p.Name + ": at least 95 % used", ours.used() >= 95})
		}
	}
	last := f.Panels[len(f.Panels)-2:]
	last[0].X.Title, last[1].X.Title = "minutes", "minutes"
	return f
}

func (c course) panel(p experiment.Profile, rule string, colour chart.Colour) chart.Panel {
	at := func(i int) float64 { return c[i].At.Minutes() }
	return chart.Panel{
		Title: p.Name + ": " + rule, Note: fmt.Sprintf("%.1f %% used, %.1f %% refused", c.used(), c.refused()),
		X: chart.UpTo("", p.For.Minutes()), Y: chart.Axis{Title: "items/s", To: 15_000, Every: 5000},
		Layers: []chart.Layer{
			chart.Area{Colour: chart.Behind, Points: series(len(c), func(i int) (float64, float64) { return at(i), c[i].Capacity })},
			line(colour, series(len(c), func(i int) (float64, float64) { return at(i), c[i].Rate })),
		},
	}
}

// used returns what passed in per cent of what could have.
func (c course) used() float64 {
	passed, could := 0.0, 0.0
	for _, p := range c {
		passed, could = passed+p.Passed, could+p.Capacity
	}
	return 100 * passed / could
}

// refused is in per cent of what was sent.
func (c course) refused() float64 {
	passed, refused := 0.0, 0.0
	for _, p := range c {
		passed, refused = passed+p.Passed, refused+p.Refused
	}
	return 100 * refused / (passed + refused)
}

// decimals writes a value with two of them.
func decimals(v float64) string { return fmt.Sprintf("%.2f", v) }
