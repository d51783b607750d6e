package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/chart"
	"github.com/weirhq/weir/internal/engine"
	"golang.org/x/sync/errgroup"
)

const (
	// flatMost is how often the smallest cost the largest may be.
	flatMost = 1.5
	// flatSmall is how many bulk actions of one item measure what one costs.
	flatSmall   = 20_000
	flatTenants = 220_000
)

// bend is one thing of which more should not make anything dearer.
type bend struct {
	child  string
	title  string
	unit   string
	most   float64 // of the axis, µs
	points []int
	batch  int // what else the child is told
	costs  []chart.XY
}

func bends() []*bend {
	return []*bend{
		{child: "flat-items", title: "items in a bulk action", unit: "µs an item", most: 3, points: []int{1000, 10_000, 100_000, million, 10 * million}},
		{child: "flat-items", title: "partitions", unit: "µs an item", most: 3, points: []int{1, 2, 4, 8, 16, 32, 64}, batch: million / 10},
		{child: "flat-tenants", title: "tenants with a bulk action", unit: "µs a bulk action", most: 300, points: []int{1, 10, 100, 1000, 10_000, 100_000, flatTenants}},
		{child: "flat-kept", title: "bulk actions kept", unit: "µs a bulk action", most: 300, points: []int{0, 10_000, 100_000, million}},
	}
}

// flat is what an item or a bulk action costs the more there are of them, of their tenants, of what is kept and of
// partitions: one after the other grows, the rest stays.
func flat(b *bench) {
	all := bends()
	for _, x := range all {
		x.measure(b)
		low, high := slices.MinFunc(x.costs, byCost), slices.MaxFunc(x.costs, byCost)
		what := fmt.Sprintf("flat: 1 to %s %s, ", chart.Number(float64(x.points[len(x.points)-1])), x.title)
		b.judge(claim{what: what + "the dearest against the cheapest", unit: "times", atMost: flatMost}, high.Y/low.Y)
		for _, c := range x.costs {
			b.judge(claim{what: fmt.Sprintf("flat: %s %s", chart.Number(c.X), x.title), unit: x.unit}, c.Y)
		}
	}
	if b.plot != "" {
		must(os.WriteFile(b.plot, flatFigure(all).SVG(), 0o644))
	}
}

func byCost(a, b chart.XY) int {
	if a.Y < b.Y {
		return -1
	}
	return 1
}

// measure measures every point, each as often as asked, and keeps the medians.
func (x *bend) measure(b *bench) {
	if x.child == "flat-kept" { // one store that grows
		for n, cost := range b.measure(x.child, params{}) {
			if at, err := strconv.Atoi(n); err == nil {
				x.costs = append(x.costs, chart.XY{X: float64(at), Y: cost})
			}
		}
		slices.SortFunc(x.costs, func(a, b chart.XY) int { return int(a.X - b.X) })
		return
	}
	for _, n := range x.points {
		p := params{Items: n}
		if x.batch > 0 {
			p = params{Items: x.batch, Batch: n}
		}
		costs := b.times(b.repeat, x.child, p)["us_each"]
		slices.Sort(costs)
		x.costs = append(x.costs, chart.XY{X: float64(n), Y: costs[len(costs)/2]})
	}
}

// measureFlatItems runs bulk actions of a size, as many as make a million items, ten at once: Items is their size, and
// Batch the number of partitions.
func measureFlatItems(ctx context.Context, dir string, p params) figures {
	chain := noop(100)
	r := start(ctx, dir, engine.Options{Partitions: p.Batch}, chain)
	n := max(million/p.Items, 1)
	begin := time.Now()
	var g errgroup.Group
	g.SetLimit(10)
	for range n {
		g.Go(func() error {
			bulk, err := engine.Submit(ctx, r.Engine, chain, rewards(p.Items), weir.Spec{})
			if err != nil {
				return err
			}
			_, err = bulk.Wait(ctx)
			return err
		})
	}
	must(g.Wait())
	took := time.Since(begin)
	r.close()
	return figures{"us_each": each(took, n*p.Items)}
}

// measureFlatTenants has every tenant submit a bulk action, one item each, and runs them; of few tenants each has many.
func measureFlatTenants(ctx context.Context, dir string, p params) figures {
	chain := noop(1)
	r := start(ctx, dir, engine.Options{}, chain)
	n := max(p.Items, flatSmall)
	took := r.smalls(ctx, chain, n, p.Items)
	r.close()
	return figures{"us_each": each(took, n)}
}

// measureFlatKept measures small bulk actions beside more and more that have ended and are kept.
func measureFlatKept(ctx context.Context, dir string, _ params) figures {
	chain := noop(1)
	r := start(ctx, dir, engine.Options{}, chain)
	r.smalls(ctx, chain, flatSmall, flatTenants) // the first are dearer: the process is new
	f := figures{}
	kept := 0
	for _, n := range bends()[3].points {
		for ; kept < n; kept += flatSmall {
			r.smalls(ctx, chain, flatSmall, flatTenants)
		}
		f[strconv.Itoa(n)] = each(r.smalls(ctx, chain, flatSmall, flatTenants), flatSmall)
		kept += flatSmall
	}
	r.close()
	return f
}

// smalls runs n bulk actions of one item each, by 16 clients at once, and says how long that took.
func (r *rig) smalls(ctx context.Context, chain raw, n, tenants int) time.Duration {
	begin := time.Now()
	var g errgroup.Group
	for c := range smallClients {
		g.Go(func() error {
			for i := c; i < n; i += smallClients {
				items := engine.Items([]weir.Item[json.RawMessage]{{ID: "one", Value: appendReward(nil, i)}})
				if _, err := engine.Submit(ctx, r.Engine, chain, items, weir.Spec{Tenant: "tenant-" + strconv.Itoa(i%tenants)}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	must(g.Wait())
	for len(sure(r.Unfinished(ctx))) > 0 {
		pause(ctx, 5*time.Millisecond)
	}
	return time.Since(begin)
}

// each returns the µs of one of n.
func each(d time.Duration, n int) float64 { return d.Seconds() * 1e6 / float64(n) }

// flatFigure draws what was measured.
func flatFigure(all []*bend) *chart.Figure {
	f := &chart.Figure{
		Title:   "What one costs, the more there are",
		Note:    fmt.Sprintf("Embedded store, two cores, submit to last result. Above 1,000,000 items in all, below %s bulk actions of one item.", chart.Number(flatSmall)),
		Columns: 2, Height: 160,
	}
	for _, x := range all {
		costs := slices.Clone(x.costs)
		costs[0].X = max(costs[0].X, 1) // the axis is logarithmic
		f.Panels = append(f.Panels, chart.Panel{
			Title:  capital(x.title),
			X:      chart.Axis{Title: x.title, From: costs[0].X, To: costs[len(costs)-1].X, Log: true},
			Y:      chart.UpTo(x.unit, x.most),
			Layers: []chart.Layer{chart.Line{Colour: chart.Running, Points: costs}},
		})
	}
	return f
}

func capital(s string) string { return string(s[0]-'a'+'A') + s[1:] }
