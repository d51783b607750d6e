package main

import (
	"math"
	"time"

	"github.com/weirhq/weir/internal/chart"
	"github.com/weirhq/weir/internal/lab/model"
)

// bulkRun is the articles' experiment under one rule about workers.
type bulkRun struct {
	name    string
	colour  chart.Colour
	took    float64 // seconds
	seconds []model.Second
	turns   int
}

// article is 100,000 items with the default policy, with 8 workers throughout, and
// with all 64 from the first moment, as with perfect knowledge.
func article() figure {
	few := bulkWith("8 workers throughout", chart.Waiting, model.Workers{Start: 8, Min: 8, Max: 8})
	ours := bulkWith("default policy", chart.Running, model.Workers{Start: 8, Max: 64})
	knowing := bulkWith("all-knowing scaler", chart.Done, model.Workers{Start: 64, Min: 64, Max: 64})
	runs := []bulkRun{few, knowing, ours}
	f := figure{
		name: "article",
		Figure: chart.Figure{
			Title:   "100,000 items, 8 workers at first: done in a seventh of the time, as if one had known",
			Note:    "Calls of 100 items that take 12 s, at most 64 workers. The all-knowing scaler has 64 from the first moment.",
			Columns: 2, Height: 180,
			Panels: []chart.Panel{workersOf(runs), leftOf(runs)},
		},
		claims: []claim{
			{"a seventh of the time with 8 workers", 7*ours.took <= few.took},
			{"at least 84 % less time than with 8 workers", ours.took <= 0.16*few.took},
			{"within 10 % of the all-knowing", ours.took <= 1.1*knowing.took},
			{"at most 5 reversals", ours.turns <= 5},
		},
		table: [][]string{{"workers", "time to the end, s"}},
	}
	for _, r := range runs {
		f.Legend = append(f.Legend, chart.Key{Colour: r.colour, Dashed: r.colour == knowing.colour, Text: r.name})
		f.table = append(f.table, []string{r.name, chart.Number(math.Round(r.took))})
	}
	return f
}

func bulkWith(name string, c chart.Colour, workers model.Workers) bulkRun {
	w := scenario("article")
	w.Workers = workers
	r := must(model.Run(w))
	res := r.Resources[0]
	return bulkRun{name, c, time.Duration(r.End).Seconds(), res.Seconds, res.Reversals}
}

func workersOf(runs []bulkRun) chart.Panel {
	p := chart.Panel{Title: "The first minute", X: chart.UpTo("seconds", 60), Y: chart.Around("workers", 64)}
	for _, r := range runs {
		n := min(61, len(r.seconds))
		l := stairs(r.colour, series(n, func(i int) (float64, float64) {
			return float64(i), float64(r.seconds[i].Workers)
		}))
		l.Dashed = r.colour == chart.Done
		p.Layers = append(p.Layers, l)
	}
	return p
}

func leftOf(runs []bulkRun) chart.Panel {
	p := chart.Panel{Title: "To the end", X: chart.UpTo("seconds", 1600), Y: chart.Axis{Title: "items left", To: 100_000, Every: 50_000}}
	for _, r := range runs {
		left := 100_000.0
		l := line(r.colour, series(len(r.seconds)+1, func(i int) (float64, float64) {
			if i > 0 {
				left -= float64(r.seconds[i-1].Done)
			}
			return float64(i), left
		}))
		l.Dashed = r.colour == chart.Done
		p.Layers = append(p.Layers, l)
	}
	few, knowing, ours := runs[0], runs[1], runs[2]
	p.Layers = append(p.Layers,
		chart.Label{X: 800, Y: 52_000, Text: chart.Number(math.Round(few.took)) + " s", Colour: few.colour, Above: true},
		chart.Label{X: 230, Y: 34_000, Text: chart.Number(math.Round(ours.took)) + " s", Colour: ours.colour},
		chart.Label{X: 230, Y: 22_000, Text: chart.Number(math.Round(knowing.took)) + " s", Colour: knowing.colour},
	)
	return p
}
