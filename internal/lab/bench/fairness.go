package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"golang.org/x/sync/errgroup"
)

const (
	fairSlots   = 32
	fairTenants = 20
	fairItems   = 100
	fairRounds  = 5
	fairService = time.Millisecond // of a task
)

// fairness compares small tenants beside a flood with the same on an idle engine.
func fairness(b *bench) error {
	for _, batch := range []int{1, 10} {
		idle, err := b.times(b.repeat, "fairness", params{Batch: batch})
		if err != nil {
			return err
		}
		beside, err := b.times(b.repeat, "fairness", params{Batch: batch, Flood: true})
		if err != nil {
			return err
		}
		what := fmt.Sprintf("%d tenants x %d items, batch %d: ", fairTenants, fairItems, batch)
		b.judge(claim{what: what + "p99 to the end, idle engine", unit: "ms"}, idle["p99_ms"]...)
		b.judge(claim{what: what + "p99 beside 1,000,000 items", unit: "ms"}, beside["p99_ms"]...)
		b.judge(claim{what: what + "beside the flood against idle", unit: "times", atMost: 2},
			slices.Min(beside["p99_ms"])/slices.Min(idle["p99_ms"]))
	}
	return nil
}

func measureFairness(ctx context.Context, dir string, p params) (figures, error) {
	chain := slow(p.Batch, fairService)
	r, err := start(ctx, dir, engine.Options{Slots: fairSlots}, chain)
	if err != nil {
		return nil, err
	}
	var flood *engine.BulkAction
	if p.Flood {
		spec := weir.Spec{Tenant: "flood"}
		if flood, err = engine.Submit(ctx, r.Engine, chain, rewards(million), spec); err != nil {
			return nil, err
		}
		if err := begun(ctx, flood); err != nil {
			return nil, err
		}
	}
	var took []time.Duration
	for range fairRounds {
		round, err := smallOnes(ctx, r, chain)
		if err != nil {
			return nil, err
		}
		took = append(took, round...)
	}
	if flood != nil {
		if now, err := flood.Now(ctx); err != nil || now.State.Final() {
			return nil, fmt.Errorf("the flood ended before the small ones: %v %w", now.State, err)
		}
		if err := flood.Cancel(ctx, "measured"); err != nil {
			return nil, err
		}
	}
	slices.Sort(took)
	at := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000 }
	return figures{"p50_ms": at(0.5), "p99_ms": at(0.99)}, r.close()
}

// begun waits until the first items of a bulk action have ended.
func begun(ctx context.Context, b *engine.BulkAction) error {
	for p := range b.Progress(ctx) {
		if p.Counts.Done > 0 {
			return nil
		}
	}
	return errors.New("it ended before it began")
}

// smallOnes submits for all small tenants at once and returns how long each took from submit to end.
func smallOnes(ctx context.Context, r *rig, chain raw) ([]time.Duration, error) {
	took := make([]time.Duration, fairTenants)
	var g errgroup.Group
	for i := range took {
		g.Go(func() error {
			begin := time.Now()
			b, err := engine.Submit(ctx, r.Engine, chain, rewards(fairItems), weir.Spec{Tenant: fmt.Sprint("small-", i)})
			if err == nil {
				_, err = b.Wait(ctx)
			}
			took[i] = time.Since(begin)
			return err
		})
	}
	return took, g.Wait()
}
