package sched_test

import (
	"fmt"
	"testing"

	"github.com/weirhq/weir/internal/core/sched"
	"github.com/weirhq/weir/internal/lab/experiment"
)

func BenchmarkNext(b *testing.B) {
	for _, n := range []int{1, 1000, experiment.Tenants} {
		b.Run(fmt.Sprint(n, " tenants"), func(b *testing.B) {
			q, _ := experiment.Crowd(n)
			experiment.Picks(b, q, 64)
		})
	}
	b.Run("1 tenant, rate and slots", func(b *testing.B) {
		q := sched.New(sched.Options{Slots: 100})
		r := q.AddResource(sched.ResourceConfig{Name: "r", Rate: 1e9, Concurrency: 100})
		e := q.AddEntry(q.AddBulk(q.Tenant("t"), sched.BulkConfig{}), r, 0)
		q.Update(0, e, 100, 1e15)
		experiment.Picks(b, q, 64)
	})
	b.Run("1 tenant of 10000 bulk actions", func(b *testing.B) {
		q := sched.New(sched.Options{})
		r := q.AddResource(sched.ResourceConfig{Name: "r"})
		for i := range 10_000 {
			e := q.AddEntry(q.AddBulk(q.Tenant("t"), sched.BulkConfig{Submit: int64(i) * 1e9}), r, 0)
			q.Update(0, e, 100, 1e12)
		}
		experiment.Picks(b, q, 64)
	})
}

// BenchmarkArrival is a small bulk action from its arrival to its end, beside
// floods, and one task of a flood.
func BenchmarkArrival(b *testing.B) {
	q, es := experiment.Crowd(1000)
	r := es[0].Resource()
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprint("small-", i)
	}
	now := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		now += 1000
		g := q.AddBulk(q.Tenant(names[now/1000%1000]), sched.BulkConfig{Submit: now, Tier: 2})
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
		q.RemoveBulk(now, g)
	}
}

func BenchmarkMemory(b *testing.B) {
	var per float64
	for b.Loop() {
		per = experiment.CrowdBytes(experiment.Tenants)
	}
	b.ReportMetric(per, "B/tenant")
}

func BenchmarkPauseResume(b *testing.B) {
	q, es := experiment.Crowd(experiment.Tenants)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		g := es[i%len(es)].Bulk()
		if i/len(es)%2 == 0 {
			q.PauseBulk(0, g)
		} else {
			q.ResumeBulk(0, g)
		}
		i++
	}
}

func BenchmarkRemove(b *testing.B) {
	q, es := experiment.Crowd(experiment.Tenants)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if i == len(es) {
			b.StopTimer()
			q, es = experiment.Crowd(experiment.Tenants)
			i = 0
			b.StartTimer()
		}
		q.RemoveBulk(0, es[i].Bulk())
		i++
	}
}
