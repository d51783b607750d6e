package main

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

const million = 1_000_000

// throughput is a million items through a handler that does nothing, from submit to the last result.
func throughput(b *bench) error {
	for _, c := range []struct {
		batch        int
		target, goal float64
	}{{100, 700_000, 2_000_000}, {1, 150_000, 500_000}} {
		all, err := b.times(b.repeat, "throughput", params{Items: million, Batch: c.batch})
		if err != nil {
			return err
		}
		what := fmt.Sprintf("1,000,000 items, batch %d: ", c.batch)
		b.judge(claim{what: what + "submit to last result, aim " + number(c.goal), unit: "items/s", atLeast: c.target}, all["per_second"]...)
		b.judge(claim{what: what + "peak memory", unit: "MiB", atMost: 300}, all["peak_mib"]...)
		b.judge(claim{what: what + "of that time, until accepted", unit: "ms"}, all["submit_ms"]...)
		b.judge(claim{what: what + "of that time, making the items", unit: "ms"}, all["make_ms"]...)
	}
	return nil
}

// flat compares the cost of an item in a large bulk action with that in a small one.
func flat(b *bench) error {
	small, err := b.times(b.repeat, "throughput", params{Items: 100_000, Batch: 100})
	if err != nil {
		return err
	}
	large, err := b.times(b.repeat, "throughput", params{Items: 10 * million, Batch: 100})
	if err != nil {
		return err
	}
	least := func(of map[string][]float64) (v float64) {
		v = of["ns_per_item"][0]
		for _, x := range of["ns_per_item"] {
			v = min(v, x)
		}
		return v
	}
	b.judge(claim{what: "100,000 items, batch 100: cost of an item", unit: "ns"}, small["ns_per_item"]...)
	b.judge(claim{what: "10,000,000 items, batch 100: cost of an item", unit: "ns"}, large["ns_per_item"]...)
	b.judge(claim{what: "10,000,000 items, batch 100: peak memory", unit: "MiB"}, large["peak_mib"]...)
	b.judge(claim{what: "flat: 10,000,000 against 100,000 items, cost of an item", unit: "times", atMost: 1.2}, least(large)/least(small))
	return nil
}

func measureThroughput(ctx context.Context, dir string, p params) (figures, error) {
	dry := time.Now()
	for range rewards(p.Items) {
	}
	made := time.Since(dry)
	chain := noop(p.Batch)
	r, err := open(ctx, dir, engine.Options{}, chain)
	if err != nil {
		return nil, err
	}
	r.start(ctx)
	begin := time.Now()
	bulk, err := engine.Submit(ctx, r.Engine, chain, rewards(p.Items), weir.Spec{})
	if err != nil {
		return nil, err
	}
	accepted := time.Since(begin)
	rep, err := bulk.Wait(ctx)
	if err != nil {
		return nil, err
	}
	took := time.Since(begin)
	if rep.Counts != (weir.Counts{Total: int64(p.Items), Done: int64(p.Items)}) {
		return nil, fmt.Errorf("counts are %+v, want all of %d done", rep.Counts, p.Items)
	}
	return figures{
		"per_second":  float64(p.Items) / took.Seconds(),
		"ns_per_item": float64(took.Nanoseconds()) / float64(p.Items),
		"submit_ms":   float64(accepted.Microseconds()) / 1000,
		"make_ms":     float64(made.Microseconds()) / 1000,
		"commits":     float64(r.store.commits.Load()),
	}, r.close()
}
