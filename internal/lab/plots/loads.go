package main

import (
	"fmt"

	"github.com/weirhq/weir/internal/chart"

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
		name: "load-" + l.key,
		Figure: chart.Figure{
			Title: l.title, Note: l.note, Columns: 3, Height: 96,
			Legend: []chart.Key{
				{Colour: chart.Running, Text: "workers, default policy"},
				{Colour: chart.Waiting, Text: "workers, other policies"},
				{Colour: chart.Behind, Area: true, Text: "workers that the load needs"},
			},
		},
		table: [][]string{{"policy", "most workers", "turns", "seconds"}},
	}
	all := played{}
	for _, policy := range scale.Names() {
		all[policy] = must(experiment.ScalingSeries(l.key, policy, loadSeed))
	}
	seconds, workers := all.frame()
	for _, policy := range scale.Names() {
		lane := all[policy]
		f.Panels = append(f.Panels, lanePanel(lane, policy, seconds, workers))
		f.table = append(f.table, []string{policy, fmt.Sprint(most(lane)), fmt.Sprint(lane.Reversals()), chart.Number(float64(len(lane)))})
	}
	for i := range f.Panels[:len(f.Panels)-f.Columns] {
		f.Panels[i].X.Title = "" // the row below has it
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
func lanePanel(l experiment.Lane, policy string, seconds, workers float64) chart.Panel {
	p := chart.Panel{Title: policy, Note: inWords(l), X: chart.UpTo("seconds", seconds), Y: chart.Around("workers", workers)}
	unit := 1.0
	if seconds > 1800 {
		unit = 60
		p.X = chart.UpTo("minutes", seconds/unit)
	}
	colour := chart.Waiting
	if policy == scale.Default {
		p.Title, colour = policy+" (the default)", chart.Running
	}
	at := func(i int) float64 { return float64(l[i].Second-1) / unit }
	p.Layers = []chart.Layer{
		chart.Area{Colour: chart.Behind, Points: series(len(l), func(i int) (float64, float64) { return at(i), l[i].Needed })},
		stairs(colour, series(len(l), func(i int) (float64, float64) { return at(i), float64(l[i].Workers) })),
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
