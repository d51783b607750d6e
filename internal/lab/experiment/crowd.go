package experiment

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/weirhq/weir/internal/core/sched"
)

// Tenants is how many tenants the big experiments have.
const Tenants = 220_000

func tenantName(i int) string { return fmt.Sprint("tenant-", i) }

// Crowd returns a queue with n tenants of one endless group each, in all tiers, on a
// resource without limits.
func Crowd(n int) (*sched.Queue, []*sched.Entry) {
	q := sched.New(sched.Options{})
	r := q.AddResource(sched.ResourceConfig{Name: "r"})
	names := make([]string, n)
	for i := range names {
		names[i] = tenantName(i)
	}
	es := make([]*sched.Entry, n)
	for i := range es {
		g := q.AddBulk(q.Tenant(names[i]), sched.BulkConfig{Submit: int64(i), Tier: i % sched.Tiers})
		es[i] = q.AddEntry(g, r, 0)
		q.Update(0, es[i], 100, 1e9)
	}
	return q, es
}

// Picks is the loop of a benchmark: pick a task, say what is left, and end the task
// that was picked so many tasks ago.
func Picks(b *testing.B, q *sched.Queue, inFlight int) {
	b.Helper()
	ring := make([]sched.Pick, 0, inFlight)
	now, left := int64(0), int64(1e15)
	b.ReportAllocs()
	for b.Loop() {
		now += 1000
		p, ok := q.Next(now)
		if !ok {
			b.Fatal("nothing to run")
		}
		left -= 100
		q.Update(now, p.Entry, 100, left)
		if len(ring) < inFlight {
			ring = append(ring, p)
			continue
		}
		i := int(now/1000) % inFlight
		q.Done(now, ring[i], 1000)
		ring[i] = p
	}
}

// CrowdBytes returns what a tenant with its flow and its group takes in memory, among n.
func CrowdBytes(n int) float64 {
	before := heapInUse()
	q, es := Crowd(n)
	after := heapInUse()
	runtime.KeepAlive(q)
	runtime.KeepAlive(es)
	return (float64(after-before) - float64(8*n) - float64(16*n)) / float64(n) // the slice and the names are not the queue's
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// cost is the benchmark behind target 16: what a pick costs in time and memory.
func cost(size Size) (lines []Line) {
	n := sized(size, 1000, Tenants)
	q, _ := Crowd(n)
	r := testing.Benchmark(func(b *testing.B) { Picks(b, q, 64) })
	pick := float64(r.T.Nanoseconds()) / float64(r.N) / 1e3
	return []Line{
		atMost(16, fmt.Sprintf("Next, Update and Done at %d tenants", n), pick, 1.5, " us").timed(),
		atMost(16, "allocations of these", float64(r.AllocsPerOp()), 0, ""),
		atMost(16, fmt.Sprintf("bytes of a tenant, its flow and its group, of %d", n), CrowdBytes(n), 450, " B").timed(),
	}
}
