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
func fairness(b *bench) {
	for _, batch := range []int{1, 10} {
		idle, beside := b.times(b.repeat, "fairness", params{Batch: batch}), b.times(b.repeat, "fairness", params{Batch: batch, Flood: true})
		what := fmt.Sprintf("%d tenants x %d items, batch %d: ", fairTenants, fairItems, batch)
		b.judge(claim{what: what + "p99 to the end, idle engine", unit: "ms"}, idle["p99_ms"]...)
		b.judge(claim{what: what + "p99 beside 1,000,000 items", unit: "ms"}, beside["p99_ms"]...)
		b.judge(claim{what: what + "beside the flood against idle", unit: "times", atMost: 2},
			slices.Min(beside["p99_ms"])/slices.Min(idle["p99_ms"]))
	}
}

func measureFairness(ctx context.Context, dir string, p params) figures {
	chain := slow(p.Batch, fairService)
	r := start(ctx, dir, engine.Options{Slots: fairSlots}, chain)
	var flood *engine.BulkAction
	if p.Flood {
		flood = sure(engine.Submit(ctx, r.Engine, chain, rewards(million), weir.Spec{Tenant: "flood"}))
		begun(ctx, flood)
	}
	var took []time.Duration
	for range fairRounds {
		took = append(took, sure(smallOnes(ctx, r, chain))...)
	}
	if flood != nil {
		if now := sure(flood.Now(ctx)); now.State.Final() {
			must(fmt.Errorf("the flood ended before the small ones: %v", now.State))
		}
		must(flood.Cancel(ctx, "measured"))
	}
	r.close()
	slices.Sort(took)
	at := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000 }
	return figures{"p50_ms": at(0.5), "p99_ms": at(0.99)}
}

// begun waits until the first items of a bulk action have ended.
func begun(ctx context.Context, b *engine.BulkAction) {
	for p := range b.Progress(ctx) {
		if p.Counts.Done > 0 {
			return
		}
	}
	must(errors.New("it ended before it began"))
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
