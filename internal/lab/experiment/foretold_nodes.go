package experiment

import (
	"fmt"
	"math"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/lab/forecast"
	"github.com/weirhq/weir/internal/lab/model"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// foreseenOnNodes draws a system of three nodes that share their limits through a store,
// and tells how far off its forecast was, which reckons with one node. Workers begin at
// eight in each lane, as they do in an engine.
func foreseenOnNodes(seed uint64) (t told) {
	w, work, load := drawNodes(seed)
	f := sure(forecast.Of(work, load))
	return before(time.Duration(run(w).Kinds[0].Finish).Seconds(), f.P50.Seconds(), f.P90.Seconds())
}

func drawNodes(seed uint64) (model.World, forecast.Work, forecast.Load) {
	rng := virtual.Chance(seed, 3)
	w := model.World{Seed: seed, Partitions: 8, Nodes: []model.Node{{Slots: 64}, {Slots: 64}, {Slots: 64}}, StopAfter: "x"}
	x := model.BulkAction{Name: "x"}
	work, load := forecast.Work{Tenant: "x"}, forecast.Load{Nodes: 3, Slots: 64, Partitions: 8}
	slowest := math.Inf(1)
	for i := range 1 + rng.IntN(3) {
		name, batch := fmt.Sprint("s", i), []int{10, 50, 100}[rng.IntN(3)]
		latency := between(rng, 0.02, 1)
		r := model.Resource{Name: name, Downstream: model.Downstream{
			Latency: model.Span(latency * 1e9), P99: model.Span(latency * 1e9 * (1.5 + 2*rng.Float64())),
			Retries: model.Percent(0.15 * rng.Float64() * float64(rng.IntN(2))), Rejects: model.Percent(0.1 * rng.Float64()),
		}}
		speed := 0.0
		if rng.IntN(3) > 0 {
			r.Rate = model.Rate(math.Round(between(rng, 50, 2000)))
			speed = float64(r.Rate)
		} else {
			r.Concurrency = 6 + rng.IntN(20)
			speed = float64(r.Concurrency*batch) / latency
		}
		slowest = min(slowest, speed)
		skips := 0.0
		if i > 0 && rng.IntN(3) == 0 {
			skips = 0.9 * rng.Float64()
		}
		w.Resources = append(w.Resources, r)
		x.Steps, x.Batches, x.Skips = append(x.Steps, name), append(x.Batches, batch), append(x.Skips, model.Percent(skips))
		work.Steps = append(work.Steps, forecast.Step{Resource: name, Batch: batch, Conditional: skips > 0, Skips: skips})
		load.Resources = append(load.Resources, forecast.Resource{
			Name: name, Rate: weir.Rate(r.Rate), Concurrency: r.Concurrency, Samples: 1000,
			Service: time.Duration(r.Downstream.Latency), Retries: float64(r.Downstream.Retries), Rejects: float64(r.Downstream.Rejects),
		})
	}
	x.Items = max(200, int64(slowest*between(rng, 8, 120)))
	work.Items = x.Items
	w.BulkActions = []model.BulkAction{x}
	for i := range rng.IntN(3) {
		o := x
		o.Name, o.Items = fmt.Sprint("flood", i), max(100, int64(float64(x.Items)*between(rng, 0.1, 3)))
		w.BulkActions = append(w.BulkActions, o)
		load.Others = append(load.Others, forecast.Work{Name: o.Name, Tenant: o.Name, Items: o.Items, Steps: work.Steps})
	}
	return w, work, load
}
