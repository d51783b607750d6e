package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

const (
	rateLimit = 500 // items per second
	rateBulks = 3
	rateItems = 5_000 // of each
)

// rate is three tenants on one resource with a limit.
func rate(b *bench) error {
	all, err := b.times(1, "rate", params{}) // half a minute
	if err != nil {
		return err
	}
	ideal := float64(rateBulks*rateItems) / rateLimit
	what := fmt.Sprintf("%d x %s items at %d/s: ", rateBulks, number(rateItems), rateLimit)
	b.judge(claim{what: what + "time, ideal " + number(ideal), unit: "s", atMost: ideal * 1.01}, all["seconds"]...)
	b.judge(claim{what: what + "most in any 1 s, by time of dispatch", unit: "items", atMost: rateLimit}, all["window"]...)
	b.judge(claim{what: what + "most in any 1 s, as seen by the handler", unit: "items"}, all["seen"]...)
	b.judge(claim{what: what + "items taken and sent back", unit: "items", none: true}, all["refused"]...)
	return nil
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

// most is the largest number of items in any second.
func most(all []arrival) (peak int) {
	slices.SortFunc(all, func(a, b arrival) int { return a.at.Compare(b.at) })
	sum, from := 0, 0
	for _, x := range all {
		sum += x.items
		for ; x.at.Sub(all[from].at) >= time.Second; from++ {
			sum -= all[from].items
		}
		peak = max(peak, sum)
	}
	return peak
}

func measureRate(ctx context.Context, dir string, _ params) (figures, error) {
	const timeout = 30 * time.Second
	var got arrivals
	chain := weir.Start(weir.Action[json.RawMessage, struct{}]{
		Name: "limited", Timeout: timeout, Resource: weir.Resource{Name: "api", Rate: rateLimit},
		Handle: func(ctx context.Context, b *weir.Batch[json.RawMessage, struct{}]) error {
			got.note(ctx, timeout, b.Len())
			b.DoneRest()
			return nil
		},
	})
	r, err := open(ctx, dir, engine.Options{}, chain)
	if err != nil {
		return nil, err
	}
	r.start(ctx)
	begin := time.Now()
	refused, err := runTenants(ctx, r, chain, rateBulks, rateItems)
	if err != nil {
		return nil, err
	}
	took := time.Since(begin)
	if err := r.close(); err != nil {
		return nil, err
	}
	return figures{
		"seconds": took.Seconds(), "window": float64(most(got.sent)), "seen": float64(most(got.seen)), "refused": float64(refused),
	}, nil
}

// runTenants submits a bulk action for each tenant and waits for all; it
// returns how many items were not done at the first attempt.
func runTenants(ctx context.Context, r *rig, chain raw, tenants, items int) (sentBack int, err error) {
	var bulks []*engine.BulkAction
	for i := range tenants {
		b, err := engine.Submit(ctx, r.Engine, chain, rewards(items), weir.Spec{Tenant: fmt.Sprint("tenant-", i)})
		if err != nil {
			return 0, err
		}
		bulks = append(bulks, b)
	}
	for _, b := range bulks {
		rep, err := b.Wait(ctx)
		if err != nil {
			return 0, err
		}
		for _, s := range rep.Steps {
			sentBack += int(s.Refused+s.Retries-s.Done) + items
		}
	}
	return sentBack, nil
}
