package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

// shareSpan is for how long each of the measurements of shares lasts, and shareWarm how much of it does not
// count: workers are added and rates are learned meanwhile.
const (
	shareSpan = 30 * time.Second
	shareWarm = 8 * time.Second
)

// shares are the promises about fairness and limits by the clock on the wall, with the partitions that
// an engine has by default, judged by what handlers write down.
func shares(b *bench) {
	const half = 1 // half a minute each
	b.told(half, "tiers", params{}, claim{key: "off", what: "tiers 6:3:2:1 at 1,200/s, share off its ideal", unit: "%", atMost: 1})
	b.told(half, "weights", params{}, claim{key: "off", what: "weights 5:2:1 at 1,200/s, share off its ideal", unit: "%", atMost: 1})
	for _, percent := range []int{5, 20} {
		b.told(half, "refusing", params{Items: percent}, claim{key: "kept", unit: "%", atLeast: 95,
			what: fmt.Sprintf("%d %% of calls refused at random, 1,000/s: of what could pass", percent)})
	}
	b.told(half, "own", params{}, claim{key: "use", what: "a bulk action's own rate of 300/s: use", unit: "%", atLeast: 99})
	alone, beside := b.times(b.repeat, "hung", params{}), b.times(b.repeat, "hung", params{Flood: true})
	b.judge(claim{what: "20 items of 50 ms beside 5,000 calls that hang, against alone", unit: "times", atMost: 2},
		beside["ms"][0]/alone["ms"][0])
}

// notes is what the handlers of a measurement write down, by tenant.
type notes struct {
	mu    sync.Mutex
	from  time.Time // what comes before does not count
	items map[string]float64
	all   float64
}

func newNotes() *notes { return &notes{from: time.Now().Add(shareWarm), items: map[string]float64{}} }

func (n *notes) add(tenant string, items int) {
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.After(n.from) && now.Before(n.from.Add(shareSpan-shareWarm)) {
		n.items[tenant] += float64(items)
		n.all += float64(items)
	}
}

// off returns the largest distance of a tenant from its part, in percent of that; one task more or less is not unfair.
func (n *notes) off(parts map[string]float64, task float64) (worst float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	sum := 0.0
	for _, p := range parts {
		sum += p
	}
	for tenant, p := range parts {
		due := n.all * p / sum
		worst = max(worst, 100*(math.Abs(n.items[tenant]-due)-task)/due)
	}
	return worst
}

// use returns the part of a rate that was used, in percent.
func (n *notes) use(rate float64) float64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return 100 * n.all / rate / (shareSpan - shareWarm).Seconds()
}

// limitedBy returns a chain of one action on a resource that calls f.
func limitedBy(name string, r weir.Resource, size int, f func(context.Context, *batch) error) raw {
	a := action(name, size)
	a.Resource = r
	return on(a, f)
}

// flood runs an engine with the default options while all of the specs' bulk actions have work, and ends them.
func flood(ctx context.Context, dir string, chain raw, limits map[string]weir.TenantLimits, specs ...weir.Spec) {
	r := start(ctx, dir, engine.Options{}, chain)
	must(r.Operator().SetLimits(ctx, func(l *weir.Limits) { maps.Copy(l.Tenants, limits) }))
	var bulks []*engine.BulkAction
	for _, s := range specs {
		bulks = append(bulks, sure(engine.Submit(ctx, r.Engine, chain, rewards(80_000), s)))
	}
	time.Sleep(shareSpan)
	for _, b := range bulks {
		must(b.Cancel(ctx, "measured"))
	}
	r.close()
}

func measureTiers(ctx context.Context, dir string, _ params) figures {
	n := newNotes()
	var specs []weir.Spec
	parts := map[string]float64{}
	for i, tier := range []weir.Tier{weir.TierCritical, weir.TierHigh, weir.TierDefault, weir.TierLow} {
		tenant := fmt.Sprint(tier)
		parts[tenant] = []float64{6, 3, 2, 1}[i]
		specs = append(specs, weir.Spec{Tenant: tenant, Tier: tier})
	}
	flood(ctx, dir, noted(n, 1200), nil, specs...)
	return figures{"off": n.off(parts, 60), "use": n.use(1200)}
}

func measureWeights(ctx context.Context, dir string, _ params) figures {
	n := newNotes()
	parts, limits := map[string]float64{"a": 5, "b": 2, "c": 1}, map[string]weir.TenantLimits{}
	var specs []weir.Spec
	for tenant, w := range parts {
		limits[tenant] = weir.TenantLimits{Weight: w}
		specs = append(specs, weir.Spec{Tenant: tenant})
	}
	flood(ctx, dir, noted(n, 1200), limits, specs...)
	return figures{"off": n.off(parts, 60), "use": n.use(1200)}
}

// noted returns a chain whose calls take 50 ms.
func noted(n *notes, rate weir.Rate) raw {
	return limitedBy("noted", weir.Resource{Name: "api", Rate: rate}, 100, func(_ context.Context, b *batch) error {
		n.add(b.Tenant(), b.Len())
		time.Sleep(50 * time.Millisecond)
		b.DoneRest()
		return nil
	})
}

// measureRefusing has p.Items percent of the calls refused at random.
func measureRefusing(ctx context.Context, dir string, p params) figures {
	n := newNotes()
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(11, 6))
	chain := limitedBy("refusing", weir.Resource{Name: "api", Rate: 1000}, 10,
		func(_ context.Context, b *batch) error {
			mu.Lock()
			bad := rng.IntN(100) < p.Items
			mu.Unlock()
			time.Sleep(20 * time.Millisecond)
			if bad {
				return &weir.RefusedError{Err: errors.New("try again later")}
			}
			n.add("", b.Len())
			b.DoneRest()
			return nil
		})
	flood(ctx, dir, chain, nil, weir.Spec{Tenant: "t"})
	return figures{"kept": n.use(1000 * float64(100-p.Items) / 100)}
}

func measureOwn(ctx context.Context, dir string, _ params) figures {
	n := newNotes()
	flood(ctx, dir, noted(n, 20_000), nil, weir.Spec{Tenant: "t", Rates: map[string]weir.Rate{"noted": 300}})
	return figures{"use": n.use(300)}
}

// measureHung returns how long twenty items take, alone or beside a tenant whose calls hang.
func measureHung(ctx context.Context, dir string, p params) figures {
	sleep := func(d time.Duration) func(context.Context, *batch) error {
		return func(ctx context.Context, b *batch) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(d):
			}
			b.DoneRest()
			return nil
		}
	}
	quick, hung := limitedBy("quick", weir.Resource{Name: "quick"}, 1, sleep(50*time.Millisecond)), limitedBy("hung",
		weir.Resource{Name: "hung"}, 1, sleep(time.Hour))
	r := start(ctx, dir, engine.Options{}, quick, hung)
	if p.Flood {
		b := sure(engine.Submit(ctx, r.Engine, hung, rewards(5000), weir.Spec{Tenant: "hung"}))
		time.Sleep(shareWarm) // it takes all the slots that it gets
		defer func() { _ = b.Cancel(ctx, "measured") }()
	}
	begin := time.Now()
	sure(sure(engine.Submit(ctx, r.Engine, quick, rewards(20), weir.Spec{Tenant: "healthy"})).Wait(ctx))
	return figures{"ms": float64(time.Since(begin).Microseconds()) / 1000}
}
