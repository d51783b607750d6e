package main

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

const (
	idleSettle = 12 * time.Second // until the partitions are spread and the first looks are over
	idleFor    = 20 * time.Second
)

// redisIdle is what nodes without work ask of a Redis.
func redisIdle(b *bench) {
	for _, partitions := range []int{8, 64} {
		for _, nodes := range []int{1, 3, 8} {
			what := fmt.Sprintf("%d idle nodes, %d partitions: ", nodes, partitions)
			b.told(1, "redis-idle", params{Items: nodes, Batch: partitions},
				claim{key: "commands", what: what + "commands per node and second", unit: "1/s", atMost: 5},
				claim{key: "blocked", what: what + "blocked connections per node", unit: "connections"},
				claim{key: "executed", what: what + "executed on the server, those of scripts included", unit: "1/s"},
				claim{key: "cpu", what: what + "CPU of the server", unit: "% of a core"})
		}
	}
}

// measureRedisIdle runs nodes without work, which have a resource with both limits; Items is
// their number, and Batch that of the partitions.
func measureRedisIdle(ctx context.Context, dir string, p params) figures {
	r := startRedis(ctx, dir, logEverysec)
	defer r.stop()
	var got arrivals
	chain := got.noting(weir.Resource{Name: "api", Rate: rateLimit, Concurrency: 8}, 0)
	for range p.Items {
		_, stop := r.node(ctx, logEverysec, engine.Options{Partitions: p.Batch}, chain)
		defer stop()
	}
	time.Sleep(idleSettle)
	cpu := r.cpu(ctx)
	sent, executed := r.monitor(ctx, idleFor)
	took := r.cpu(ctx) - cpu
	f := figures{"cpu": 100 * took / idleFor.Seconds(), "connections": r.number(ctx, "clients", "connected_clients") - 1,
		"blocked": r.number(ctx, "clients", "blocked_clients") / float64(p.Items)}
	per := float64(p.Items) * idleFor.Seconds()
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		f["commands"] += sent[name] / per
		f["each "+name] = sent[name] / per
	}
	f["executed"] = f["commands"] + executed/per
	return f
}

// monitor returns the commands that the server gets from clients in a time, by name, and how many its scripts execute.
func (r *redisServer) monitor(ctx context.Context, d time.Duration) (sent map[string]float64, byScripts float64) {
	conn := sure(new(net.Dialer).DialContext(ctx, "tcp", r.addr))
	defer func() { _ = conn.Close() }() // nothing was written but the one command
	sure(conn.Write([]byte("MONITOR\r\n")))
	must(conn.SetReadDeadline(time.Now().Add(d)))
	sent = map[string]float64{}
	for lines := bufio.NewScanner(conn); lines.Scan(); { // until the deadline
		_, rest, found := strings.Cut(lines.Text(), "] ") // +time [db address] "command" ...
		if !found {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(rest, `"`), `"`)
		if strings.Contains(lines.Text()[:len(lines.Text())-len(rest)], " lua]") {
			byScripts++
		} else {
			sent[strings.ToLower(name)]++
		}
	}
	return sent, byScripts
}

// cpu returns the CPU time of the server so far, in seconds.
func (r *redisServer) cpu(ctx context.Context) float64 {
	return r.number(ctx, "cpu", "used_cpu_user") + r.number(ctx, "cpu", "used_cpu_sys")
}
