package main

import (
	"fmt"
	"math"
	"time"

	"gonum.org/v1/plot"

	"github.com/weirhq/weir/internal/lab/model"
)

// bulkRun is the articles' experiment under one rule about workers.
type bulkRun struct {
	hue     hue
	took    float64 // seconds
	seconds []model.Second
	turns   int
}

// article is 100,000 items with the default policy, with 8 workers throughout, and
// with all 64 from the first moment, as with perfect knowledge.
func article() figure {
	few := bulkWith(vermilion, model.Workers{Start: 8, Min: 8, Max: 8})
	ours := bulkWith(blue, model.Workers{Start: 8, Max: 64})
	knowing := bulkWith(green, model.Workers{Start: 64, Min: 64, Max: 64})
	runs := []bulkRun{few, knowing, ours}
	return figure{
		name:  "article",
		title: "100,000 items, 8 workers at first: done in a seventh of the time, as if one had known",
		note:  "Calls of 100 items that take 12 s, at most 64 workers. The all-knowing scaler has 64 from the first moment.",
		row:   200, columns: 2,
		panels: []panel{workersOf(runs), leftOf(runs)},
		claims: []claim{
			{"a seventh of the time with 8 workers", 7*ours.took <= few.took},
			{"at least 84 % less time than with 8 workers", ours.took <= 0.16*few.took},
			{"within 10 % of the all-knowing", ours.took <= 1.1*knowing.took},
			{"at most 5 reversals", ours.turns <= 5},
		},
	}
}

func bulkWith(h hue, workers model.Workers) bulkRun {
	w := scenario("article")
	w.Workers = workers
	r := must(model.Run(w))
	res := r.Resources[0]
	return bulkRun{h, time.Duration(r.End).Seconds(), res.Seconds, res.Reversals}
}

func workersOf(runs []bulkRun) panel {
	p := panel{title: "Workers, the first minute", x: upTo("seconds", 60), y: upTo("workers", 75)}
	for _, r := range runs {
		n := min(61, len(r.seconds))
		p.layers = append(p.layers, stairs(r.hue, series(n, func(i int) (float64, float64) {
			return float64(i), float64(r.seconds[i].Workers)
		})))
	}
	p.layers = append(p.layers,
		label{x: 20, y: 8, text: "8 workers throughout", hue: vermilion, above: true},
		label{x: 20, y: 64, text: "all-knowing", hue: green, above: true},
		label{x: 20, y: 62, text: "default", hue: blue},
	)
	return p
}

func leftOf(runs []bulkRun) panel {
	p := panel{title: "Items left", x: upTo("seconds", 1600), y: upTo("items, in thousands", 105)}
	for _, r := range runs {
		left := 100_000.0
		l := line(r.hue, series(len(r.seconds)+1, func(i int) (float64, float64) {
			if i > 0 {
				left -= float64(r.seconds[i-1].Done)
			}
			return float64(i), left / 1000
		}))
		if r.hue == green {
			l = dashed(l)
		}
		p.layers = append(p.layers, plot.Plotter(l))
	}
	few, knowing, ours := runs[0], runs[1], runs[2]
	p.layers = append(p.layers,
		label{x: 800, y: 52, text: fmt.Sprintf("8 workers: %s s", number(math.Round(few.took))), hue: vermilion, above: true},
		label{x: 230, y: 30, text: fmt.Sprintf("default: %.0f s", ours.took), hue: blue},
		label{x: 230, y: 19, text: fmt.Sprintf("all-knowing: %.0f s", knowing.took), hue: green},
	)
	return p
}
