package main

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

const takeoverItems = 10 * million

// takeover is how long work stands still when a process is killed and started
// again over a large backlog: from opening the store to the first task.
func takeover(b *bench) error {
	dir, err := os.MkdirTemp(b.dir, "weir-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // in the temporary directory: the system removes what stays
	if _, err := b.measureIn(dir, "fill", params{Items: takeoverItems}); err != nil {
		return err
	}
	all, err := repeated(b.repeat, func() (figures, error) { return b.measureIn(dir, "takeover", params{}) })
	if err != nil {
		return err
	}
	// The worst counts: only the first finds a log to read back, as after a kill.
	b.judge(claim{what: "takeover of 10,000,000 pending items: store opened, worst", unit: "ms"}, slices.Max(all["open_ms"]))
	b.judge(claim{what: "takeover of 10,000,000 pending items: first task, worst", unit: "ms", atMost: 1000},
		slices.Max(all["first_ms"]))
	return nil
}

// measureFill leaves a backlog behind without closing anything: its process ends as if it were killed.
func measureFill(ctx context.Context, dir string, p params) (figures, error) {
	chain := noop(100)
	r, err := open(ctx, dir, engine.Options{}, chain)
	if err != nil {
		return nil, err
	}
	_, err = engine.Submit(ctx, r.Engine, chain, rewards(p.Items), weir.Spec{Duplicates: weir.KeepAll})
	return figures{}, err
}

// measureTakeover ends unclosed as well, with its first task in flight, so that the next one finds the same.
func measureTakeover(ctx context.Context, dir string, _ params) (figures, error) {
	first := make(chan time.Time, 1)
	var once sync.Once
	chain := on(action("handle", 100), func(ctx context.Context, _ *batch) error {
		once.Do(func() { first <- time.Now() })
		<-ctx.Done()
		return ctx.Err()
	})
	begin := time.Now()
	r, err := open(ctx, dir, engine.Options{}, chain)
	if err != nil {
		return nil, err
	}
	opened := time.Since(begin)
	r.start(ctx)
	took := (<-first).Sub(begin)
	return figures{
		"open_ms":  float64(opened.Microseconds()) / 1000,
		"first_ms": float64(took.Microseconds()) / 1000,
	}, nil
}
