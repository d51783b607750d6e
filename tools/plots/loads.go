package main

import (
	"fmt"
	"slices"

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
type played map[string]lane

// loads is one figure for each load, with one panel for each policy.
func loads() ([]figure, error) {
	var figures []figure
	for _, l := range allLoads() {
		f, err := l.figure()
		if err != nil {
			return nil, err
		}
		figures = append(figures, f)
	}
	return figures, nil
}

func (l load) figure() (figure, error) {
	f := figure{
		name: "load-" + l.key, title: l.title, columns: 3, row: 122,
		note: l.note + "  Line: workers. Grey: workers that the load needs.",
	}
	all := played{}
	for _, policy := range scale.Names() {
		points, err := experiment.ScalingSeries(l.key, policy, loadSeed)
		if err != nil {
			return f, err
		}
		all[policy] = points
	}
	seconds, workers := all.frame()
	for _, policy := range scale.Names() {
		f.panels = append(f.panels, all[policy].panel(policy, seconds, 1.25*workers)) // words stand above the lines
	}
	f.claims = l.says(all)
	return f, nil
}

func (p played) ours() lane { return p[scale.Default] }

// others lists the other policies.
func (p played) others() (lanes []lane) {
	for _, policy := range scale.Names() {
		if policy != scale.Default {
			lanes = append(lanes, p[policy])
		}
	}
	return lanes
}

// frame is how long the longest run takes, and the most workers of all, had or needed.
func (p played) frame() (seconds, workers float64) {
	for _, l := range p {
		seconds = max(seconds, float64(len(l)))
		workers = max(workers, float64(l.most()))
		for _, s := range l {
			workers = max(workers, s.Needed)
		}
	}
	return seconds, workers
}

// lane is what happened under one policy.
type lane []experiment.Point

func (l lane) panel(policy string, seconds, most float64) panel {
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
		label{x: 0, y: most, text: l.figures(), hue: ink},
	}
	return p
}

// figures is what the panel says in words.
func (l lane) figures() string {
	turns := "no turns"
	switch n := l.reversals(); {
	case n == 1:
		turns = "1 turn"
	case n > 1:
		turns = fmt.Sprint(n, " turns")
	}
	return fmt.Sprintf("at most %d, %s", l.most(), turns)
}

func (l lane) most() int { return l.mostIn(0, len(l)) }

// mostIn is the most workers from one second to another.
func (l lane) mostIn(from, to int) int {
	return slices.MaxFunc(l[from:to], func(a, b experiment.Point) int { return a.Workers - b.Workers }).Workers
}

// reversals is how often growing turned into shrinking or back.
func (l lane) reversals() (n int) {
	grew, moved := false, false
	for i := 1; i < len(l); i++ {
		if l[i].Workers == l[i-1].Workers {
			continue
		}
		grows := l[i].Workers > l[i-1].Workers
		if moved && grows != grew {
			n++
		}
		grew, moved = grows, true
	}
	return n
}

// reaches is how many seconds after one second there are so many workers; the length if never.
func (l lane) reaches(from int, workers float64) int {
	for i := from; i < len(l); i++ {
		if float64(l[i].Workers) >= workers {
			return i - from
		}
	}
	return len(l)
}

// good is how many tasks ended well from one second to another.
func (l lane) good(from, to int) (n int) {
	for _, p := range l[from:to] {
		n += p.Done
	}
	return n
}
