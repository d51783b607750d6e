package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

const takeoverItems = 10 * million

// takeover is how long work stands still when a process is killed and started
// again over a large backlog: from opening the store to the first task.
func takeover(b *bench) {
	dir, remove := b.newDir()
	defer remove()
	other(b.ctx, "fill", params{Items: takeoverItems}, "-dir", dir)
	all := repeated(b.repeat, func() figures { return other(b.ctx, "takeover", params{}, "-dir", dir) })
	// The worst counts: only the first finds a log to read back, as after a kill.
	b.judge(claim{what: "takeover of 10,000,000 pending items: store opened, worst", unit: "ms"}, slices.Max(all["open_ms"]))
	b.judge(claim{what: "takeover of 10,000,000 pending items: first task, worst", unit: "ms", atMost: 1000},
		slices.Max(all["first_ms"]))
}

// measureFill leaves a backlog behind without closing anything: its process ends as if it were killed.
func measureFill(ctx context.Context, dir string, p params) figures {
	chain := noop(100)
	r := open(ctx, dir, engine.Options{}, chain)
	sure(engine.Submit(ctx, r.Engine, chain, rewards(p.Items), weir.Spec{Duplicates: weir.KeepAll}))
	return figures{}
}

// measureTakeover ends unclosed as well, with its first task in flight, so that the next one finds the same.
func measureTakeover(ctx context.Context, dir string, _ params) figures {
	first := make(chan time.Time, 1)
	var once sync.Once
	chain := on(action("handle", 100), func(ctx context.Context, _ *batch) error {
		once.Do(func() { first <- time.Now() })
		<-ctx.Done()
		return ctx.Err()
	})
	begin := time.Now()
	r := open(ctx, dir, engine.Options{}, chain)
	opened := time.Since(begin)
	r.start(ctx)
	took := (<-first).Sub(begin)
	return figures{
		"open_ms":  float64(opened.Microseconds()) / 1000,
		"first_ms": float64(took.Microseconds()) / 1000,
	}
}
