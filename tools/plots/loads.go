package main

import (
	"fmt"

	"gonum.org/v1/plot"

	"github.com/weirhq/weir/internal/core/scale"
	"github.com/weirhq/weir/internal/lab/experiment"
)

// loadSeed is the first of the seeds that judge the policies.
const loadSeed = 110_000

// load is a shape of E13 and what is to be seen under it.
type load struct {
	key, title, note string
	says             func(played) []claim
}

// played is what each policy did under a load, by name.
type played map[string]experiment.Lane

// loads returns one figure for each load, with one panel for each policy.
func loads() (figures []figure) {
	for _, l := range allLoads() {
		figures = append(figures, l.figure())
	}
	return figures
}

func (l load) figure() figure {
	f := figure{
		name: "load-" + l.key, title: l.title, columns: 3, row: 122,
		note: l.note + "  Line: workers. Grey: workers that the load needs.",
	}
	all := played{}
	for _, policy := range scale.Names() {
		all[policy] = must(experiment.ScalingSeries(l.key, policy, loadSeed))
	}
	seconds, workers := all.frame()
	for _, policy := range scale.Names() {
		f.panels = append(f.panels, lanePanel(all[policy], policy, seconds, 1.25*workers)) // words stand above the lines
	}
	f.claims = l.says(all)
	return f
}

func (p played) ours() experiment.Lane { return p[scale.Default] }

// others lists the other policies.
func (p played) others() (lanes []experiment.Lane) {
	for _, policy := range scale.Names() {
		if policy != scale.Default {
			lanes = append(lanes, p[policy])
		}
	}
	return lanes
}

// frame returns how long the longest run takes, and the most workers of all, had or needed.
func (p played) frame() (seconds, workers float64) {
	for _, l := range p {
		seconds = max(seconds, float64(len(l)))
		workers = max(workers, float64(most(l)))
		for _, s := range l {
			workers = max(workers, s.Needed)
		}
	}
	return seconds, workers
}

// lanePanel returns what happened under one policy.
func lanePanel(l experiment.Lane, policy string, seconds, most float64) panel {
	p := panel{title: policy, x: upTo("seconds", seconds), y: upTo("workers", most)}
	unit := 1.0
	if seconds > 1800 {
		unit = 60
		p.x = upTo("minutes", seconds/unit)
	}
	line := vermilion
	if policy == scale.Default {
		p.title, line = policy+" (the default)", blue
	}
	at := func(i int) float64 { return float64(l[i].Second-1) / unit }
	p.layers = []plot.Plotter{
		below(series(len(l), func(i int) (float64, float64) { return at(i), l[i].Needed })),
		stairs(line, series(len(l), func(i int) (float64, float64) { return at(i), float64(l[i].Workers) })),
		label{x: 0, y: most, text: inWords(l), hue: ink},
	}
	return p
}

// inWords returns what the panel says.
func inWords(l experiment.Lane) string {
	turns := "no turns"
	switch n := l.Reversals(); {
	case n == 1:
		turns = "1 turn"
	case n > 1:
		turns = fmt.Sprint(n, " turns")
	}
	return fmt.Sprintf("at most %d, %s", most(l), turns)
}

// most returns the most workers at any time.
func most(l experiment.Lane) int { return l.Most(0, len(l)) }
