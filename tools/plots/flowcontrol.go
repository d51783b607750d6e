package main

import (
	"fmt"
	"time"

	"gonum.org/v1/plot"

	"github.com/weirhq/weir/internal/core/flow"
	"github.com/weirhq/weir/internal/lab/experiment"
)

// course is how one rule fared under one hidden capacity.
type course []experiment.FlowPoint

// flowControl puts both rules of the rate beside each other, under every profile.
func flowControl() figure {
	f := figure{
		name:  "flow",
		title: "A rate that follows a hidden capacity: the estimate is refused less often than AIMD",
		note:  "Grey: what the downstream takes. Line: the rate that the rule sets; 10,000 items/s are configured. Work never ends.",
		row:   100, columns: 2,
	}
	for i, p := range experiment.FlowProfiles() {
		ours := course(experiment.FlowSeries(p, 100*time.Millisecond, flow.Estimate))
		aimd := course(experiment.FlowSeries(p, 100*time.Millisecond, flow.AIMD))
		left, right := ours.panel(p, blue), aimd.panel(p, vermilion)
		if i == 0 {
			left.title, right.title = "Estimate (the default)", "AIMD"
		}
		f.panels = append(f.panels, left, right)
		f.claims = append(f.claims, claim{p.Name + ": fewer refusals than with AIMD", ours.refused() < aimd.refused()})
		if !p.Steps { // which are faster than a rule that does not ask too often
			f.claims = append(f.claims, claim{p.Name + ": at least 95 % used", ours.used() >= 95})
		}
	}
	return f
}

func (c course) panel(p experiment.Profile, h hue) panel {
	const most = 14.0
	at := func(i int) float64 { return c[i].At.Minutes() }
	return panel{
		x: upTo("minutes", p.For.Minutes()), y: axis{label: "1,000 items/s", to: most, every: 5},
		layers: []plot.Plotter{
			below(series(len(c), func(i int) (float64, float64) { return at(i), c[i].Capacity / 1000 })),
			line(h, series(len(c), func(i int) (float64, float64) { return at(i), c[i].Rate / 1000 })),
			label{x: 0, y: most, text: fmt.Sprintf("%s: %.1f %% used, %.1f %% refused", p.Name, c.used(), c.refused()), hue: ink},
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
