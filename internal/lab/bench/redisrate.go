package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

// redisRate is rate on a Redis that was started for it, by how the server keeps its log.
func redisRate(b *bench) {
	ideal := float64(rateBulks*rateItems) / rateLimit
	for _, syncs := range []string{logAlways, logEverysec, logNone} {
		what := fmt.Sprintf("%d x %s items at %d/s, fresh Redis, log %s: ", rateBulks, number(rateItems), rateLimit, syncs)
		most := ideal * 1.01
		if syncs == logNone { // nothing tells it from one that has lost what it granted
			most = 0
		}
		b.told(1, "redis-rate", params{Log: syncs},
			claim{key: "seconds", what: what + "time, ideal " + number(ideal), unit: "s", atMost: most},
			claim{key: "first_ms", what: what + "submit to first call", unit: "ms"},
			claim{key: "second_ms", what: what + "the same for another resource, later", unit: "ms"},
			claim{key: "window", what: what + "most in any 1 s, by time of dispatch", unit: "items", atMost: rateLimit},
			claim{key: "refused", what: what + "items refused by the downstream", unit: "items", none: true})
	}
}

func measureRedisRate(ctx context.Context, dir string, p params) figures {
	r := startRedis(ctx, dir, p.Log)
	defer r.stop()
	var got, later arrivals
	chain := got.noting(weir.Resource{Name: "api", Rate: rateLimit}, 0)
	second := later.named("second", weir.Resource{Name: "other", Rate: rateLimit}, 0)
	e, stop := r.node(ctx, p.Log, engine.Options{}, chain, second)
	begin := time.Now()
	refused := runTenants(ctx, e, chain, rateBulks, cmp.Or(p.Items, rateItems))
	took := time.Since(begin)
	again := time.Now()
	runTenants(ctx, e, second, 1, 100)
	stop()
	return figures{
		"seconds": took.Seconds(), "window": float64(most(got.sent)), "refused": float64(refused),
		"first_ms": first(got.sent).Sub(begin).Seconds() * 1000, "second_ms": first(later.sent).Sub(again).Seconds() * 1000,
	}
}

// first returns when the first task was sent.
func first(all []arrival) time.Time {
	return slices.MinFunc(all, func(a, b arrival) int { return a.at.Compare(b.at) }).at
}
