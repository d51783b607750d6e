package main

import (
	"time"

	"gonum.org/v1/plot/plotter"

	"github.com/weirhq/weir/internal/core/sched"
)

// guest is a tenant that has endless work from one second to another.
type guest struct {
	name     string
	weight   int64 // in terms of an ordinary tenant
	tier     int
	from, to int
}

// serve lets tenants share a rate in virtual time, for so many seconds, and returns
// what each got in each second, in items.
func serve(rate float64, seconds int, guests []guest) [][]float64 {
	const chunk, began, took = 100, int64(1e18), int64(10 * time.Millisecond)
	q := sched.New(sched.Options{})
	r := q.AddResource(sched.ResourceConfig{Name: "r", Rate: rate})
	got, groups := make([][]float64, len(guests)), make([]*sched.Group, len(guests))
	for i := range guests {
		got[i] = make([]float64, seconds)
	}
	var running []sched.Pick // in the order of their ends, as all take the same time
	var ends []int64
	for now := began; now < began+int64(seconds)*1e9; {
		second := int((now - began) / 1e9)
		for i, g := range guests {
			switch {
			case groups[i] == nil && g.from <= second && second < g.to:
				t := q.Tenant(g.name)
				q.SetTenant(now, t, g.weight*sched.Unit, 0)
				groups[i] = q.AddGroup(t, sched.GroupConfig{Submit: now, Tier: g.tier})
				e := q.AddEntry(groups[i], r, 0)
				e.Data = i
				q.Update(now, e, chunk, 1e9)
			case groups[i] != nil && second >= g.to:
				q.RemoveGroup(now, groups[i])
				groups[i] = nil
			}
		}
		for len(ends) > 0 && ends[0] <= now {
			q.Done(now, running[0], took)
			running, ends = running[1:], ends[1:]
		}
		for p, ok := q.Next(now); ok; p, ok = q.Next(now) {
			got[p.Entry.Data.(int)][second] += float64(p.Cost)
			q.Update(now, p.Entry, chunk, 1e9)
			running, ends = append(running, p), append(ends, now+took)
		}
		now += int64(time.Millisecond)
	}
	return got
}

// over makes points of values by second, each of which lasts to the end of its second.
func over(values []float64, scale float64) plotter.XYs {
	return series(len(values)+1, func(i int) (float64, float64) {
		return float64(i), values[min(i, len(values)-1)] * scale
	})
}
