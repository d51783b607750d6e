package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

const (
	idleItems = 2000                   // of one bulk action each, one after the other
	idlePause = 2 * time.Millisecond   // between one that was handled and the next
	idleRest  = 500 * time.Millisecond // before the first
)

// idle is how soon one item reaches its handler when nothing else runs.
func idle(b *bench) {
	for _, name := range []string{"idle", "idle-redis"} {
		what := map[string]string{"idle": "embedded", "idle-redis": "Redis"}[name] + ", one item on an idle system, submit to handler: "
		b.told(b.repeat, name, params{Items: idleItems},
			claim{key: "p50_ms", what: what + "p50", unit: "ms", atMost: 0.5},
			claim{key: "p99_ms", what: what + "p99", unit: "ms", atMost: 3},
			claim{key: "submit_ms", what: what + "of that, until accepted, p50", unit: "ms"},
			claim{key: "again", what: what + "items that were called a second time", unit: "items"})
	}
}

func measureIdle(ctx context.Context, dir string, p params) figures {
	began := make(chan call, 1)
	chain := beginsAt(began)
	r := start(ctx, dir, engine.Options{}, chain)
	defer r.close()
	return oneByOne(ctx, r.Engine, chain, began, p.Items)
}

func measureIdleRedis(ctx context.Context, dir string, p params) figures {
	r := startRedis(ctx, dir, logEverysec)
	defer r.stop()
	began := make(chan call, 1)
	chain := beginsAt(began)
	e, stop := r.node(ctx, logEverysec, engine.Options{}, chain)
	defer stop()
	return oneByOne(ctx, e, chain, began, p.Items)
}

// call is one call of the handler.
type call struct {
	item string
	at   time.Time
}

// beginsAt returns a chain that says when its handler was called.
func beginsAt(began chan<- call) raw {
	return on(action("handle", 1), func(_ context.Context, b *batch) error {
		began <- call{b.Item(0).ID, time.Now()}
		b.DoneRest()
		return nil
	})
}

func oneByOne(ctx context.Context, e *engine.Engine, chain raw, began <-chan call, n int) figures {
	time.Sleep(idleRest)
	again := 0
	took, accepted := make([]float64, n), make([]float64, n)
	for i := range n {
		time.Sleep(idlePause)
		id := "user-" + strconv.Itoa(i)
		items := engine.Items([]weir.Item[json.RawMessage]{{ID: id, Value: appendReward(nil, i)}})
		begin := time.Now()
		sure(engine.Submit(ctx, e, chain, items, weir.Spec{Name: fmt.Sprintf("bulk action %d", i)}))
		accepted[i] = time.Since(begin).Seconds() * 1000
		c := <-began
		for ; c.item != id; c = <-began {
			again++
		}
		took[i] = c.at.Sub(begin).Seconds() * 1000
	}
	slices.Sort(took)
	slices.Sort(accepted)
	return figures{"p50_ms": took[n/2], "p99_ms": took[n*99/100], "submit_ms": accepted[n/2], "again": float64(again)}
}
