package main

import (
	"context"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/route"
	"github.com/weirhq/weir/internal/engine"
)

// cancelPartitions decides in how many of them a bulk action is.
const cancelPartitions = 8

// cancel ends a large bulk action: it takes effect at once, and costs the same for any number of items in
// each partition that it is in.
func cancel(b *bench) {
	for _, n := range []int{10_000, million} {
		what := "cancel of " + number(float64(n)) + " items: "
		others := route.ShardsFor(int64(n), route.MostShards(cancelPartitions)) - 1 // each is told, and answers
		b.told(b.repeat, "cancel", params{Items: n},
			claim{key: "stopped_ms", what: what + "until nothing more starts", unit: "ms", atMost: 1000},
			claim{key: "ended_ms", what: what + "until ended", unit: "ms", atMost: 1000},
			claim{key: "rows", what: what + "rows written, tasks under way included", unit: "rows", atMost: 100},
			claim{key: "paused_rows", what: what + "rows written when paused before", unit: "rows", atMost: float64(8 + 16*others)})
	}
}

func measureCancel(ctx context.Context, dir string, p params) figures {
	chain := slow(10, 10*time.Millisecond)
	r := start(ctx, dir, engine.Options{Partitions: cancelPartitions}, chain)
	f := figures{}
	cancelPaused(ctx, r, chain, p.Items, f)
	cancelRunning(ctx, r, chain, p.Items, f)
	r.close()
	return f
}

// submitBegun submits and waits until tasks run.
func submitBegun(ctx context.Context, r *rig, chain raw, n int) *engine.BulkAction {
	b := sure(engine.Submit(ctx, r.Engine, chain, rewards(n), weir.Spec{}))
	begun(ctx, b)
	return b
}

func cancelRunning(ctx context.Context, r *rig, chain raw, n int, f figures) {
	b := submitBegun(ctx, r, chain, n)
	before, begin := r.store.rows.Load(), time.Now()
	must(b.Cancel(ctx, "measured"))
	for p := range b.Progress(ctx) {
		if _, noted := f["stopped_ms"]; !noted && (p.State == weir.BulkCancelling || p.State.Final()) {
			f["stopped_ms"] = float64(time.Since(begin).Microseconds()) / 1000
		}
	}
	f["ended_ms"] = float64(time.Since(begin).Microseconds()) / 1000
	f["rows"] = float64(r.store.rows.Load() - before)
}

// cancelPaused measures the cancel alone: nothing runs beside it.
func cancelPaused(ctx context.Context, r *rig, chain raw, n int, f figures) {
	b := submitBegun(ctx, r, chain, n)
	must(b.Pause(ctx, "measured"))
	for p := range b.Progress(ctx) {
		if p.State == weir.BulkPaused && p.Counts.InFlight == 0 {
			break
		}
	}
	before := r.store.rows.Load()
	must(b.Cancel(ctx, "measured"))
	sure(b.Wait(ctx))
	f["paused_rows"] = float64(r.store.rows.Load() - before)
}
