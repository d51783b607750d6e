package sched

import (
	"fmt"
	"runtime"
	"testing"
)

const manyTenants = 220_000

// crowd is a queue with n tenants of one endless group each.
func crowd(n int) (*Queue, []*Entry) {
	q := New(Options{})
	r := q.AddResource(ResourceConfig{Name: "r"})
	es := make([]*Entry, n)
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("tenant-", i)
	}
	for i := range es {
		g := q.AddGroup(q.Tenant(names[i]), GroupConfig{Submit: int64(i), Tier: i % Tiers})
		es[i] = q.AddEntry(g, r, 0)
		q.Update(0, es[i], 100, 1e9)
	}
	return q, es
}

func benchNext(b *testing.B, q *Queue, inFlight int) {
	var ring []Pick
	now := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		now += 1000
		p, ok := q.Next(now)
		if !ok {
			b.Fatal("nothing to run")
		}
		q.Update(now, p.Entry, 100, p.Entry.key[byRemaining]-200)
		if len(ring) < inFlight {
			ring = append(ring, p)
			continue
		}
		i := int(now/1000) % inFlight
		q.Done(now, ring[i], 1000)
		ring[i] = p
	}
}

func BenchmarkNext(b *testing.B) {
	for _, n := range []int{1, 1000, manyTenants} {
		b.Run(fmt.Sprint(n, " tenants"), func(b *testing.B) {
			q, _ := crowd(n)
			benchNext(b, q, 64)
		})
	}
	b.Run("1 tenant, rate and slots", func(b *testing.B) {
		q := New(Options{Slots: 100})
		r := q.AddResource(ResourceConfig{Name: "r", Rate: 1e9, Concurrency: 100})
		e := q.AddEntry(q.AddGroup(q.Tenant("t"), GroupConfig{}), r, 0)
		q.Update(0, e, 100, 1e15)
		benchNext(b, q, 64)
	})
	b.Run("1 tenant of 10000 groups", func(b *testing.B) {
		q := New(Options{})
		r := q.AddResource(ResourceConfig{Name: "r"})
		for i := range 10_000 {
			e := q.AddEntry(q.AddGroup(q.Tenant("t"), GroupConfig{Submit: int64(i) * 1e9}), r, 0)
			q.Update(0, e, 100, 1e12)
		}
		benchNext(b, q, 64)
	})
}

// BenchmarkArrival is a small bulk action from its arrival to its end, beside
// floods, and one task of a flood.
func BenchmarkArrival(b *testing.B) {
	q, es := crowd(1000)
	r := es[0].Resource()
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprint("small-", i)
	}
	now := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		now += 1000
		g := q.AddGroup(q.Tenant(names[now/1000%1000]), GroupConfig{Submit: now, Tier: 2})
		e := q.AddEntry(g, r, 0)
		q.Update(now, e, 1, 0)
		for range 2 {
			p, _ := q.Next(now)
			if p.Entry == e {
				q.Update(now, e, 0, 0)
			} else {
				q.Update(now, p.Entry, 100, 1e9)
			}
			q.Done(now, p, 1000)
		}
		q.RemoveGroup(now, g)
	}
}

func BenchmarkMemory(b *testing.B) {
	var before, after runtime.MemStats
	var per float64
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		q, es := crowd(manyTenants)
		runtime.GC()
		runtime.ReadMemStats(&after)
		// The names and the slice of entries belong to the benchmark.
		mine := float64(8*len(es)) + float64(manyTenants)*16
		per = (float64(after.HeapAlloc-before.HeapAlloc) - mine) / manyTenants
		runtime.KeepAlive(q)
		runtime.KeepAlive(es)
	}
	b.ReportMetric(per, "B/tenant")
}

func BenchmarkPauseResume(b *testing.B) {
	q, es := crowd(manyTenants)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		g := es[i%len(es)].group
		if g.state == groupRunning {
			q.PauseGroup(0, g)
		} else {
			q.ResumeGroup(0, g)
		}
		i++
	}
}

func BenchmarkRemove(b *testing.B) {
	q, es := crowd(manyTenants)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if i == len(es) {
			b.StopTimer()
			q, es = crowd(manyTenants)
			i = 0
			b.StartTimer()
		}
		q.RemoveGroup(0, es[i].group)
		i++
	}
}
