package main

import (
	"fmt"
	"math"

	"github.com/weirhq/weir/internal/lab/experiment"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

const shared = 10_000.0 // items per second

// tiers lets 25 tenants of each tier share, of which the critical ones pause for a minute.
func tiers() figure {
	const each, from, to, end = 25, 60, 120, 180
	names, weights, hues := []string{"critical", "high", "default", "low"}, []float64{6, 3, 2, 1},
		[]hue{vermilion, purple, blue, green}
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
	f := figure{
		name: "tiers", title: "Tiers share 6:3:2:1, and what one leaves the others share in the same way",
		note: "25 tenants in each tier, all with endless work; the critical ones have none in the second minute.",
		row:  230, columns: 1,
	}
	p := panel{x: axis{label: "seconds", to: end, every: 30}, y: axis{label: "share of 10,000 items/s, %", to: 65, every: 10}}
	for tier, h := range hues {
		sum, due := make([]float64, end), make([]float64, end)
		for i, g := range guests {
			for s := range sum {
				if g.Tier == tier {
					sum[s] += got[i][s]
				}
			}
		}
		for s := range due {
			due[s] = shared * weights[tier] / 12
			if away := s >= from && s < to; away && tier == 0 {
				due[s] = 0
			} else if away {
				due[s] = shared * weights[tier] / 6
			}
		}
		p.layers = append(p.layers, plot.Plotter(stairs(h, over(sum, 100/shared))),
			label{x: 2, y: 100*weights[tier]/12 + 1, text: fmt.Sprintf("%s: %.1f %%", names[tier],
				100*mean(sum[10:from])/shared), hue: h, above: true},
			label{x: from + 2, y: 100*due[from]/shared + 1, text: fmt.Sprintf("%s: %.1f %%", names[tier],
				100*mean(sum[from+10:to])/shared), hue: h, above: true})
		for _, span := range [][2]int{{10, from}, {from + 10, to}, {to + 10, end}} {
			f.claims = append(f.claims, claim{
				fmt.Sprintf("%s within a hundredth of the rate of its part, %d to %d s", names[tier], span[0], span[1]),
				math.Abs(mean(sum[span[0]:span[1]])-mean(due[span[0]:span[1]])) <= shared/100,
			})
		}
	}
	f.panels = []panel{p}
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
	hues := []hue{blue, orange, green, purple, sky}
	words := []hue{white, ink, white, white, ink}
	got := experiment.ShareSeries(shared, end, guests)
	f := figure{
		name: "tenants", title: "Tenants come and go: at each moment the rate is shared by weight and used whole",
		note: "All with endless work while they are there. Stacked: what each tenant gets of 10,000 items/s.",
		row:  230, columns: 1,
	}
	p := panel{x: axis{label: "seconds", to: end, every: 15}, y: axis{label: "1,000 items/s", to: 10.5, every: 2}}
	sum := make([]float64, end)
	for i, g := range guests {
		for s := range sum {
			sum[s] += got[i][s]
		}
		middle := (g.From + g.To) / 2
		area := area{over(sum, 0.001), hues[i].color()}
		p.layers = append([]plot.Plotter{area}, p.layers...)
		p.layers = append(p.layers, label{x: float64(middle), y: (sum[middle] - got[i][middle]/2) / 1000, text: g.Name,
			hue: words[i], center: true})
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
	f.panels = []panel{p}
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
func over(values []float64, scale float64) plotter.XYs {
	return series(len(values)+1, func(i int) (float64, float64) {
		return float64(i), values[min(i, len(values)-1)] * scale
	})
}
