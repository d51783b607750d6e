package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/weirhq/weir/internal/chart"
	"github.com/weirhq/weir/internal/lab/experiment"
)

const shared = 10_000.0 // items per second

// tiers lets 25 tenants of each tier share, of which the critical ones pause for a minute.
func tiers() figure {
	const each, from, to, end = 25, 60, 120, 180
	names, weights, colours := []string{"critical", "high", "default", "low"}, []float64{6, 3, 2, 1},
		[]chart.Colour{chart.Waiting, chart.Paused, chart.Running, chart.Done}
	var guests []experiment.Guest
	for tier := range names {
		for i := range each {
			name := fmt.Sprint(names[tier], i)
			if tier == 0 {
				guests = append(guests,
					experiment.Guest{Name: name, Weight: 1, Tier: tier, To: from},
					experiment.Guest{Name: name, Weight: 1, Tier: tier, From: to, To: end})
				continue
			}
			guests = append(guests, experiment.Guest{Name: name, Weight: 1, Tier: tier, To: end})
		}
	}
	got := experiment.ShareSeries(shared, end, guests)
	spans := [][2]int{{10, from}, {from + 10, to}, {to + 10, end}}
	f := figure{
		name: "tiers",
		Figure: chart.Figure{
			Title:   "Tiers share 6:3:2:1, and what one leaves the others share in the same way",
			Note:    "25 tenants in each tier, all with endless work; the critical ones have none in the second minute.",
			Columns: 1, Height: 220,
		},
		table: [][]string{{"tier", "first minute, %", "second minute, %", "third minute, %"}},
	}
	p := chart.Panel{
		X: chart.Axis{Title: "seconds", To: end, Every: 30},
		Y: chart.Axis{Title: "share of 10,000 items/s, %", To: 60, Every: 20},
	}
	for tier, c := range colours {
		sum := make([]float64, end)
		for i, g := range guests {
			for s := range sum {
				if g.Tier == tier {
					sum[s] += got[i][s]
				}
			}
		}
		p.Layers = append(p.Layers, stairs(c, over(sum, 100/shared)))
		f.Legend = append(f.Legend, chart.Key{Colour: c, Text: names[tier]})
		row := []string{names[tier]}
		for i, span := range spans {
			due := shared * weights[tier] / 12
			if away := i == 1; away && tier == 0 {
				due = 0
			} else if away {
				due = shared * weights[tier] / 6
			}
			has := mean(sum[span[0]:span[1]])
			row = append(row, fmt.Sprintf("%.1f", 100*has/shared))
			f.claims = append(f.claims, claim{
				fmt.Sprintf("%s within a hundredth of the rate of its part, %d to %d s", names[tier], span[0], span[1]),
				math.Abs(has-due) <= shared/100,
			})
			if due > 0 {
				p.Layers = append(p.Layers, chart.Label{X: float64(span[0] - 8), Y: 100*due/shared + 1, Text: row[i+1] + " %", Colour: c, Above: true})
			}
		}
		f.table = append(f.table, row)
	}
	f.Panels = []chart.Panel{p}
	return f
}

// tenants come and go; one of them has twice the weight.
func tenants() figure {
	const end = 120
	guests := []experiment.Guest{
		{Name: "A", Weight: 1, Tier: 2, To: 120},
		{Name: "B", Weight: 1, Tier: 2, From: 15, To: 90},
		{Name: "C, weight 2", Weight: 2, Tier: 2, From: 30, To: 75},
		{Name: "D", Weight: 1, Tier: 2, From: 45, To: 60},
		{Name: "E", Weight: 1, Tier: 2, From: 90, To: 120},
	}
	colours := []chart.Colour{chart.Running, chart.Waiting, chart.Done, chart.Paused, chart.Second}
	got := experiment.ShareSeries(shared, end, guests)
	f := figure{
		name: "tenants",
		Figure: chart.Figure{
			Title:   "Tenants come and go: at each moment the rate is shared by weight and used whole",
			Note:    "All with endless work while they are there. Stacked: what each tenant gets of 10,000 items/s.",
			Columns: 1, Height: 220,
		},
		table: [][]string{{"tenant", "from, s", "to, s", "least, items/s", "most, items/s"}},
	}
	p := chart.Panel{X: chart.Axis{Title: "seconds", To: end, Every: 15}, Y: chart.Axis{Title: "items/s", To: 10_000, Every: 5000}}
	sum := make([]float64, end)
	for i, g := range guests {
		for s := range sum {
			sum[s] += got[i][s]
		}
		middle := (g.From + g.To) / 2
		p.Layers = append([]chart.Layer{chart.Area{Colour: colours[i], Points: over(sum, 1)}}, p.Layers...)
		p.Layers = append(p.Layers, chart.Label{X: float64(middle), Y: sum[middle] - got[i][middle]/2, Text: g.Name,
			Colour: chart.Ground, Centred: true})
		has := got[i][g.From+1 : g.To]
		f.table = append(f.table, []string{g.Name, fmt.Sprint(g.From), fmt.Sprint(g.To), chart.Number(slices.Min(has)), chart.Number(slices.Max(has))})
	}
	for s := range end {
		weight := int64(0)
		for _, g := range guests {
			if g.From <= s && s < g.To {
				weight += g.Weight
			}
		}
		for i, g := range guests {
			due := 0.0
			if g.From <= s && s < g.To {
				due = shared * float64(g.Weight) / float64(weight)
			}
			if s > 0 {
				f.claims = append(f.claims, claim{fmt.Sprintf("%s has its part in second %d", g.Name, s), math.Abs(got[i][s]-due) <= shared/50})
			}
		}
		f.claims = append(f.claims, claim{fmt.Sprintf("the rate is used in second %d", s), sum[s] >= 0.98*shared && sum[s] <= shared})
	}
	f.Panels = []chart.Panel{p}
	return f
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// over makes points of values by second, each of which lasts to the end of its second.
func over(values []float64, scale float64) []chart.XY {
	return series(len(values)+1, func(i int) (float64, float64) {
		return float64(i), values[min(i, len(values)-1)] * scale
	})
}
