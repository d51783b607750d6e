package main

import (
	"context"
	"errors"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/route"
	"github.com/weirhq/weir/internal/engine"
)

// cancelPartitions decides in how many of them a bulk action is.
const cancelPartitions = 8

// cancel ends a large bulk action: it takes effect at once, and costs the same for any number of items in
// each partition that it is in.
func cancel(b *bench) error {
	var errs error
	for _, n := range []int{10_000, million} {
		what := "cancel of " + number(float64(n)) + " items: "
		others := route.ShardsFor(int64(n), route.MostShards(cancelPartitions)) - 1 // each is told, and answers
		errs = errors.Join(errs, b.told(b.repeat, "cancel", params{Items: n},
			claim{key: "stopped_ms", what: what + "until nothing more starts", unit: "ms", atMost: 1000},
			claim{key: "ended_ms", what: what + "until ended", unit: "ms", atMost: 1000},
			claim{key: "rows", what: what + "rows written, tasks under way included", unit: "rows", atMost: 100},
			claim{key: "paused_rows", what: what + "rows written when paused before", unit: "rows", atMost: float64(8 + 16*others)}))
	}
	return errs
}

func measureCancel(ctx context.Context, dir string, p params) (figures, error) {
	chain := slow(10, 10*time.Millisecond)
	r, err := start(ctx, dir, engine.Options{Partitions: cancelPartitions}, chain)
	if err != nil {
		return nil, err
	}
	f := figures{}
	if err := cancelPaused(ctx, r, chain, p.Items, f); err != nil {
		return nil, err
	}
	if err := cancelRunning(ctx, r, chain, p.Items, f); err != nil {
		return nil, err
	}
	return f, r.close()
}

// submitBegun submits and waits until tasks run.
func submitBegun(ctx context.Context, r *rig, chain raw, n int) (*engine.BulkAction, error) {
	b, err := engine.Submit(ctx, r.Engine, chain, rewards(n), weir.Spec{})
	if err != nil {
		return nil, err
	}
	return b, begun(ctx, b)
}

func cancelRunning(ctx context.Context, r *rig, chain raw, n int, f figures) error {
	b, err := submitBegun(ctx, r, chain, n)
	if err != nil {
		return err
	}
	before, begin := r.store.rows.Load(), time.Now()
	if err := b.Cancel(ctx, "measured"); err != nil {
		return err
	}
	for p := range b.Progress(ctx) {
		if _, noted := f["stopped_ms"]; !noted && (p.State == weir.BulkCancelling || p.State.Final()) {
			f["stopped_ms"] = float64(time.Since(begin).Microseconds()) / 1000
		}
	}
	f["ended_ms"] = float64(time.Since(begin).Microseconds()) / 1000
	f["rows"] = float64(r.store.rows.Load() - before)
	return nil
}

// cancelPaused measures the cancel alone: nothing runs beside it.
func cancelPaused(ctx context.Context, r *rig, chain raw, n int, f figures) error {
	b, err := submitBegun(ctx, r, chain, n)
	if err != nil {
		return err
	}
	if err := b.Pause(ctx, "measured"); err != nil {
		return err
	}
	for p := range b.Progress(ctx) {
		if p.State == weir.BulkPaused && p.Counts.InFlight == 0 {
			break
		}
	}
	before := r.store.rows.Load()
	if err := b.Cancel(ctx, "measured"); err != nil {
		return err
	}
	if _, err := b.Wait(ctx); err != nil {
		return err
	}
	f["paused_rows"] = float64(r.store.rows.Load() - before)
	return nil
}
