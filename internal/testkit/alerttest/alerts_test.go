package alerttest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store/memstore"
	"github.com/weirhq/weir/store/redisstore"
)

// TestEveryAlertFiresInAPrometheus creates the condition of every rule. Real servers
// have them, but for four that a healthy weir on a healthy machine does not have:
// those are fed by an exporter.
func TestEveryAlertFiresInAPrometheus(t *testing.T) {
	rules, names := shortened(t)
	m := watch(t, rules)
	d := newDownstream(t)
	n := weirNode(t, nil)
	quiet := feed(t, map[string]float64{
		"weir_store_regressions_total": 0, "weir_conservation_violations_total": 0, "weir_leases_lost_total": 0,
		`weir_schedule_lag_seconds_bucket{le="60"}`: 0, `weir_schedule_lag_seconds_bucket{le="120"}`: 0, `weir_schedule_lag_seconds_bucket{le="+Inf"}`: 0,
	})
	action(n, d, "normal", "/normal", `{"rate":"5/s"}`)
	action(n, d, "blocked", "/normal", `{"concurrency":8}`)
	submit(n, "default", "normal", 5000, "")
	submit(n, "default", "blocked", 1, "") // a circuit is of a resource that was used
	for _, url := range []string{n.URL, quiet.URL} {
		m.scrapes(url, true)
	}
	m.until("both are scraped a few times", func() bool {
		return m.number("min(count_over_time(up[5m]))") >= 4 && m.number("sum(up)") == 2
	})
	if early := m.firing(); len(early) > 0 {
		t.Fatalf("before anything is wrong these fire: %v", early)
	}

	// It takes a minute until a bulk action counts as stalled, and as long until workers have flapped: first of all.
	n.Call("POST", "/v1/resources/blocked/circuit", `{"do":"open","for":"1h"}`, 200, nil)
	action(n, d, "flapping", "/held", "")
	submit(n, "default", "flapping", 5, "")
	calm := repeat(t, time.Second, func(i int) { pin(n, "flapping", 2+3*(i%2)) })
	m.untilFiring([]string{"WeirCircuitOpen"})
	submit(n, "default", "blocked", 3, "")
	// More nodes than are needed, before there is much to do.
	second := &lazy{Store: memstore.New(memstore.Options{})}
	t.Cleanup(func() { _ = second.Close() })
	other := weirNode(t, second)
	m.scrapes(other.URL, true)
	m.untilFiring([]string{"WeirWorkersIdle"})

	third := weirNode(t, nil)
	redis := testenv.Redis(t)
	fourth := onRedis(t, redis)
	m.scrapes(third.URL, true)
	m.scrapes(fourth.URL, true)
	m.until("all five are scraped", func() bool { return m.number("sum(up)") == 5 })
	stop := trouble(t, n, other, d)
	third.Stop()
	redis.Do("CONFIG", "SET", "maxmemory", "1")
	second.slow.Store(true)
	d.slow.Store(true)
	quiet.set(map[string]float64{
		"weir_store_regressions_total": 1, "weir_conservation_violations_total": 1, "weir_leases_lost_total": 1,
		`weir_schedule_lag_seconds_bucket{le="120"}`: 5, `weir_schedule_lag_seconds_bucket{le="+Inf"}`: 5,
	})
	m.untilFiring(slices.DeleteFunc(slices.Clone(names), func(a string) bool { return a == "WeirWorkersIdle" || a == "WeirCircuitOpen" }))

	// What can be ended quickly resolves.
	redis.Do("CONFIG", "SET", "maxmemory", "0")
	m.scrapes(third.URL, false)
	second.slow.Store(false)
	n.Call("POST", "/v1/resources/blocked/circuit", `{"do":"close","for":"1h"}`, 200, nil)
	close(d.release)
	stop()
	calm()
	for _, lane := range []string{"pinned", "steep"} {
		pin(n, lane, 64)
	}
	over := []string{"WeirDown", "WeirStoreNotReady", "WeirCircuitOpen", "WeirStalled", "WeirNoWorkers", "WeirOldestReady", "WeirTenantStarved", "WeirStoreSlow",
		"WeirSLOBurnFast"}
	m.until(fmt.Sprint("these are resolved: ", over), func() bool {
		now := m.firing()
		return !slices.ContainsFunc(over, func(a string) bool { return slices.Contains(now, a) })
	})
}

// onRedis starts a node on a Redis.
func onRedis(t *testing.T, r *testenv.Server) *nodetest.Node {
	t.Helper()
	s, err := redisstore.Open(t.Context(), redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return weirNode(t, s)
}

// trouble creates what goes wrong with the work of servers, until it is stopped.
func trouble(t *testing.T, n, slow *nodetest.Node, d *downstream) (stop func()) {
	t.Helper()
	for _, path := range []string{"/away", "/gone"} { // events of what ends below
		n.Call("POST", "/v1/webhooks", fmt.Sprintf(`{"url":%q}`, d.URL+path), 201, nil)
	}
	action(n, d, "failing", "/failing", "")
	action(slow, d, "normal", "/normal", "")
	submit(n, "default", "failing", 20, `,"stop_on":{"max_failures":1}`) // is stopped
	action(n, d, "steep", "/steep", "")
	submit(n, "default", "steep", 5000, "")
	pin(n, "steep", 1) // needs more
	action(n, d, "held", "/held", `{"concurrency":1}`)
	submit(n, "flood", "held", 1, "") // has the only slot
	submit(n, "waits", "held", 101, "")
	action(n, d, "busy", "/busy", `{"concurrency":1}`)
	submit(n, "default", "busy", 2, "") // the second one has the only slot
	action(n, d, "pinned", "/held", `{"concurrency":1}`)
	submit(n, "default", "pinned", 5, "")
	pin(n, "pinned", 0)
	return repeat(t, 2*time.Second, func(int) {
		submit(n, "default", "failing", 20, "") // most fail, and pile up
		submit(n, "waits", "held", 10, "")      // the backlog grows
		submit(slow, "default", "normal", 1, "")
		submit(n, "late", "busy", 1, `,"tier":"critical"`) // begins after its target
	})
}

// repeat does something again and again until it is stopped.
func repeat(t *testing.T, every time.Duration, do func(i int)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			do(i)
			select {
			case <-ctx.Done():
			case <-time.After(every):
			}
		}
	})
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return stop
}
