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
func throughput(b *bench) {
	for _, c := range []struct {
		batch        int
		target, goal float64
	}{{100, 700_000, 2_000_000}, {1, 150_000, 500_000}} {
		what := fmt.Sprintf("1,000,000 items, batch %d: ", c.batch)
		aim := what + "submit to last result, aim " + number(c.goal)
		b.told(b.repeat, "throughput-redis", params{Items: million, Batch: c.batch},
			claim{key: "per_second", what: "Redis, " + what + "submit to last result", unit: "items/s"})
		b.told(b.repeat, "throughput", params{Items: million, Batch: c.batch},
			claim{key: "per_second", what: aim, unit: "items/s", atLeast: c.target},
			claim{key: "peak_mib", what: what + "peak memory", unit: "MiB", atMost: 300},
			claim{key: "submit_ms", what: what + "of that time, until accepted", unit: "ms"},
			claim{key: "make_ms", what: what + "of that time, making the items", unit: "ms"})
	}
}

func measureThroughput(ctx context.Context, dir string, p params) figures {
	dry := time.Now()
	for range rewards(p.Items) {
	}
	made := time.Since(dry)
	chain := noop(p.Batch)
	r := start(ctx, dir, engine.Options{}, chain)
	f := through(ctx, r.Engine, chain, p.Items)
	r.close()
	f["make_ms"] = float64(made.Microseconds()) / 1000
	return f
}

// measureThroughputRedis is the same on a redis-server beside it, which syncs its log every second.
func measureThroughputRedis(ctx context.Context, dir string, p params) figures {
	r := startRedis(ctx, dir, logEverysec)
	defer r.stop()
	chain := noop(p.Batch)
	e, stop := r.node(ctx, logEverysec, engine.Options{}, chain)
	defer stop()
	return through(ctx, e, chain, p.Items)
}

// through submits items and waits for their results.
func through(ctx context.Context, e *engine.Engine, chain raw, items int) figures {
	begin := time.Now()
	bulk := sure(engine.Submit(ctx, e, chain, rewards(items), weir.Spec{}))
	accepted := time.Since(begin)
	rep := sure(bulk.Wait(ctx))
	took := time.Since(begin)
	if rep.Counts != (weir.Counts{Total: int64(items), Done: int64(items)}) {
		must(fmt.Errorf("counts are %+v, want all of %d done", rep.Counts, items))
	}
	return figures{
		"per_second":  float64(items) / took.Seconds(),
		"ns_per_item": float64(took.Nanoseconds()) / float64(items),
		"submit_ms":   float64(accepted.Microseconds()) / 1000,
	}
}
