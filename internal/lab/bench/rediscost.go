package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/chart"
	"github.com/weirhq/weir/internal/engine"
	"golang.org/x/sync/errgroup"
)

// redisSizes are the sizes of bulk actions of which the load on a Redis is measured.
var redisSizes = []int{1, 10, 100, 1000, 10_000, 100_000}

// redisCost is what an item costs the server of a Redis, which has one core for commands: how many a second fill it.
func redisCost(b *bench) {
	f := &chart.Figure{
		Title:   "When one Redis is full",
		Note:    "Items a second, submitted and run, that take all of the one core on which a Redis runs commands. Its log is synced every second.",
		Columns: 1, Height: 220,
		Legend: []chart.Key{{Colour: chart.Running, Text: "100 items a task"}, {Colour: chart.Waiting, Text: "1 item a task"}},
	}
	p := chart.Panel{
		Title: "Capacity of one Redis",
		X:     chart.Axis{Title: "items of a bulk action", From: 1, To: float64(redisSizes[len(redisSizes)-1]), Log: true},
		Y:     chart.Axis{Title: "items a second", From: 1000, To: 10 * million, Log: true},
	}
	for i, batch := range []int{100, 1} {
		l := chart.Line{Colour: f.Legend[i].Colour}
		for _, n := range redisSizes {
			costs := b.times(b.repeat, "redis-cost", params{Items: n, Batch: batch})
			what := fmt.Sprintf("Redis, bulk actions of %s, %d a task: ", chart.Number(float64(n)), batch)
			b.judge(claim{what: what + "CPU of the server for an item", unit: "µs"}, costs["server_us"]...)
			b.judge(claim{what: what + "items/s that fill one core of it", unit: "items/s"}, costs["full"]...)
			b.judge(claim{what: what + "memory for an item that waits", unit: "bytes"}, costs["bytes"]...)
			slices.Sort(costs["full"])
			l.Points = append(l.Points, chart.XY{X: float64(n), Y: costs["full"][len(costs["full"])/2]})
		}
		p.Layers = append(p.Layers, l)
	}
	f.Panels = []chart.Panel{p}
	if b.plot != "" {
		must(os.WriteFile(b.plot, f.SVG(), 0o644))
	}
}

// measureRedisCost submits bulk actions to a node that does not run yet, and then runs them.
func measureRedisCost(ctx context.Context, dir string, p params) figures {
	n := min(max(200_000/p.Items, 2), 10_000)
	r := startRedis(ctx, dir, logEverysec)
	defer r.stop()
	gate := make(chan struct{})
	chain := on(action("handle", p.Batch), func(ctx context.Context, b *batch) error {
		select {
		case <-gate:
			b.DoneRest()
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	e, stop := r.node(ctx, logEverysec, engine.Options{}, chain)
	defer stop()
	pause(ctx, time.Second) // until it owns its partitions
	memory, cpu := r.number(ctx, "memory", "used_memory"), r.cpu(ctx)
	var g errgroup.Group
	g.SetLimit(smallClients)
	for i := range n {
		g.Go(func() error {
			_, err := engine.Submit(ctx, e, chain, rewards(p.Items), weir.Spec{Tenant: fmt.Sprintf("tenant-%d", i%100)})
			return err
		})
	}
	must(g.Wait())
	items := float64(n * p.Items)
	memory = (r.number(ctx, "memory", "used_memory") - memory) / items
	close(gate)
	for len(sure(e.Unfinished(ctx))) > 0 {
		pause(ctx, 5*time.Millisecond)
	}
	server := (r.cpu(ctx) - cpu) * 1e6 / items
	return figures{"server_us": server, "full": 1e6 / server, "bytes": memory}
}
