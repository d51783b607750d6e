package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/lab/virtual"
)

const (
	rateLimit = 500 // items per second
	rateBulks = 3
	rateItems = 5_000 // of each
)

// rate is three tenants on one resource with a limit.
func rate(b *bench) {
	ideal := float64(rateBulks*rateItems) / rateLimit
	what := fmt.Sprintf("%d x %s items at %d/s: ", rateBulks, number(rateItems), rateLimit)
	b.told(1, "rate", params{}, // half a minute
		claim{key: "seconds", what: what + "time, ideal " + number(ideal), unit: "s", atMost: ideal * 1.01},
		claim{key: "window", what: what + "most in any 1 s, by time of dispatch", unit: "items", atMost: rateLimit},
		claim{key: "seen", what: what + "most in any 1 s, as seen by the handler", unit: "items"},
		claim{key: "refused", what: what + "items refused by the downstream", unit: "items", none: true})
}

// arrival is one task at the handler.
type arrival struct {
	at    time.Time
	items int
}

// arrivals notes tasks by when the engine sent them and when the handler saw them.
type arrivals struct {
	mu         sync.Mutex
	sent, seen []arrival
}

func (a *arrivals) note(ctx context.Context, timeout time.Duration, items int) {
	now := time.Now()
	deadline, _ := ctx.Deadline() // a task's time begins when it is dispatched
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent = append(a.sent, arrival{deadline.Add(-timeout), items})
	a.seen = append(a.seen, arrival{now, items})
}

// most returns the largest number of items in any second.
func most(all []arrival) int {
	slices.SortFunc(all, func(a, b arrival) int { return a.at.Compare(b.at) })
	m := virtual.Meter{Window: int64(time.Second)}
	for _, x := range all {
		m.Add(x.at.UnixNano(), int64(x.items))
	}
	return int(m.Most)
}

// noting returns a chain of one limited action that notes its calls, which take some time.
func (a *arrivals) noting(r weir.Resource, takes time.Duration) raw {
	return a.named("noting", r, takes)
}

// named is noting with a name for the action.
func (a *arrivals) named(name string, r weir.Resource, takes time.Duration) raw {
	const timeout = 30 * time.Second
	act := action(name, 0)
	act.Timeout, act.Resource = timeout, r
	return on(act, func(ctx context.Context, b *batch) error {
		a.note(ctx, timeout, b.Len())
		time.Sleep(takes)
		b.DoneRest()
		return nil
	})
}

func measureRate(ctx context.Context, dir string, _ params) figures {
	var got arrivals
	chain := got.noting(weir.Resource{Name: "api", Rate: rateLimit}, 0)
	r := start(ctx, dir, engine.Options{}, chain)
	begin := time.Now()
	refused := runTenants(ctx, r.Engine, chain, rateBulks, rateItems)
	took := time.Since(begin)
	r.close()
	return figures{
		"seconds": took.Seconds(), "window": float64(most(got.sent)), "seen": float64(most(got.seen)), "refused": float64(refused),
	}
}

// runTenants submits a bulk action for each tenant and waits for all; it
// returns how many items were not done at the first attempt.
func runTenants(ctx context.Context, e *engine.Engine, chain raw, tenants, items int) (sentBack int) {
	var bulks []*engine.BulkAction
	for i := range tenants {
		bulks = append(bulks, sure(engine.Submit(ctx, e, chain, rewards(items), weir.Spec{Tenant: fmt.Sprint("tenant-", i)})))
	}
	for _, b := range bulks {
		for _, s := range sure(b.Wait(ctx)).Steps {
			sentBack += int(s.Refused+s.Retries-s.Done) + items
		}
	}
	return sentBack
}
