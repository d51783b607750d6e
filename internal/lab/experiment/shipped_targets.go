package experiment

import (
	"fmt"
	"math"
	"time"

	"github.com/weirhq/weir/internal/core/route"
	"github.com/weirhq/weir/internal/core/sched"
	"github.com/weirhq/weir/internal/lab/model"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// slowJobs is E1: 15,000 single items of three tenants end when their low limits say.
func slowJobs(p place, seed uint64) (lines []Line) {
	for _, c := range []struct {
		what      string
		resources int
		rate      model.Rate
	}{{"three resources of 10/s", 3, 10}, {"one resource of 30/s", 1, 30}} {
		w := p.world(seed)
		for i := range c.resources {
			r := api(c.rate, 50*time.Millisecond)
			r.Name = fmt.Sprint("r", i)
			w.Resources = append(w.Resources, r)
		}
		for i := range 3 {
			w.BulkActions = append(w.BulkActions, model.BulkAction{
				Name: fmt.Sprint("b", i), Items: 5000, Batch: 1, Steps: []string{w.Resources[i%c.resources].Name},
			})
		}
		r := run(w)
		lines = append(lines, atMost(1, "15,000 jobs, time over the ideal 500 s, "+c.what, beyond(r.End, 500), 1, " %"),
			peakIn(r, c.what))
	}
	return lines
}

// bulkRates is E2 there: 50 tenants of all tiers use all of a rate.
func bulkRates(p place, seed uint64) (lines []Line) {
	for _, c := range []struct {
		rate    model.Rate
		batch   int
		latency time.Duration
	}{{10_000, 100, 20 * time.Millisecond}, {10_000, 1, 3 * time.Millisecond}, {100_000, 100, 20 * time.Millisecond}} {
		w := p.world(seed, api(c.rate, c.latency))
		w.Length, w.BulkActions = model.Span(30*time.Second), each(50, "t", int64(c.rate)*30)
		for i := range w.BulkActions {
			w.BulkActions[i].Tier, w.BulkActions[i].Batch = tierNames[i%sched.Tiers], c.batch
		}
		r := run(w)
		what := fmt.Sprintf("%v/s in batches of %d", c.rate, c.batch)
		lines = append(lines, p.onNodes(useAfter(r, 10, what), "quotas follow the work a moment later", 98), peakIn(r, what))
	}
	return lines
}

// smallBesideFloods is E4 there: small bulk actions of a thousand tenants take as long
// beside ten floods as they do without them. Both worlds have the same luck.
func smallBesideFloods(p place, seed uint64) []Line {
	play := func(floods int) model.Result {
		x := api(10_000, 100*time.Millisecond)
		x.Downstream.P99 = x.Downstream.Latency // it is not the luck of calls that is compared
		w := p.world(seed, x)
		w.Length = model.Span(100 * time.Second)
		small := onAPI("small", 200)
		small.Spread, small.Arrivals, small.ItemsP99, small.Until = 1000, 5, 1000, model.Span(90*time.Second)
		w.BulkActions = append([]model.BulkAction{small}, each(floods, "flood", floodItems)...)
		for i := range floods {
			w.BulkActions[1+i].Tier = tierNames[i%sched.Tiers]
		}
		return run(w)
	}
	alone, beside := play(0), play(10)
	var slow []float64
	for i, b := range beside.Kinds[0].Each {
		a := alone.Kinds[0].Each[i]
		if took := b.Finish - b.At; b.Finish > 0 {
			slow = append(slow, float64(took)/float64(a.Finish-a.At))
		} else {
			slow = append(slow, math.Inf(1))
		}
	}
	what := "small ones beside ten floods"
	p99 := atMost(4, "slowdown p99, "+what, virtual.Quantile(slow, 0.99), 2, "x")
	if p.partitions == 1 {
		p99 = p99.missed("one partition gets few workers for this rate, and at times all of them have a task", 3)
	}
	return []Line{
		p.onNodes(p99, "the node on which a small one lies has only its part of the rate", 7),
		useLine("use, "+what, beside.Resources[0].Use), peakIn(beside, what),
	}
}

// fourTiers and crowdedTiers are E7 there.
func fourTiers(p place, seed uint64) []Line { return tiersIn(p, seed, 25, 25, 25, 25) }

func crowdedTiers(p place, seed uint64) []Line { return tiersIn(p, seed, 200, 20, 50, 5) }

// inTasks is why small shares of nodes are not exact.
const inTasks = "a node's quota is used in whole tasks, so one with a small part of the rate has less of it"

// tiersIn lets so many tenants of each tier share a rate for ten minutes.
func tiersIn(p place, seed uint64, tenants ...int) []Line {
	w := p.world(seed, api(10_000, 20*time.Millisecond))
	w.Length = model.Span(10 * time.Minute)
	var kinds []kind
	for tier, n := range tenants {
		for _, b := range each(n, fmt.Sprintf("t%d-", tier), 10_000*600) {
			b.Tier = tierNames[tier]
			w.BulkActions = append(w.BulkActions, b)
			kinds = append(kinds, kind{tier, 1})
		}
	}
	r := run(w)
	var got, due [sched.Tiers]float64
	all, off := 0.0, 0.0
	for i, share := range ideal(kinds) {
		done := float64(r.Kinds[i].Done)
		got[kinds[i].tier] += done
		due[kinds[i].tier] += share
		all += done
	}
	for tier := range got {
		off = max(off, 100*math.Abs(got[tier]/all/due[tier]-1))
	}
	what := fmt.Sprintf("%v tenants", tenants)
	return []Line{
		p.onNodes(atMost(8, "tiers' shares off their ideal, "+what, off, 0.5, " %"), inTasks, 3),
		useLine("use, "+what, r.Resources[0].Use), peakIn(r, what),
	}
}

// failures is E9: one call or one item in twenty fails for a moment. What is tried again takes its share of the rate, and
// the end comes soon after the last of the work.
func failures(p place, seed uint64) (lines []Line) {
	for _, c := range []struct {
		what         string
		calls, items model.Percent
		missed       string
		waits        float64 // seconds
	}{
		{"5 % of calls fail", 0.05, 0,
			"a call that fails twice at the very end waits 1 and 2 s; the wait does not grow with the work", 1 + 2},
		{"5 % of items are retried", 0, 0.05, "of a million items a few need their fourth or fifth attempt at the very end, and " +
			"wait up to 1, 2, 4 and 8 s for them; the wait does not grow with the work", 1 + 2 + 4 + 8},
	} {
		r := api(10_000, 50*time.Millisecond)
		r.Downstream.Failures, r.Downstream.Retries = c.calls, c.items
		w := p.world(seed, r)
		w.BulkActions = each(50, "t", 20_000)
		out := run(w)
		end := atMost(10, "end over the work done, "+c.what, beyond(out.End, float64(out.Resources[0].Started)/10_000), 1.5, " %")
		lines = append(lines, end.missed(c.missed, 100*c.waits/105), failedIn(out, c.what, 10), peakIn(out, c.what))
	}
	return lines
}

// longChain is E17: a chain over three resources runs at the pace of the slowest, and what waits between the steps stays
// little.
func longChain(p place, seed uint64) []Line {
	w := p.world(seed)
	b := model.BulkAction{Name: "chain", Items: 500_000}
	rates := []model.Rate{10_000, 5000, 8000}
	for i, rate := range rates {
		r := api(rate, 50*time.Millisecond)
		r.Name = fmt.Sprint("r", i)
		w.Resources, b.Steps = append(w.Resources, r), append(b.Steps, r.Name)
	}
	w.BulkActions = []model.BulkAction{b}
	r := run(w)
	what := "chain of 3, 500,000 items"
	lines := []Line{atMost(19, "end over the slowest step's ideal, "+what, beyond(r.End, 100), 2, " %"), peakIn(r, what)}
	parts := route.ShardsFor(b.Items, route.MostShards(p.partitions)) // each has room for itself
	for i, rate := range rates[1:] {
		most, sent := 0, r.Kinds[0].Steps[i+1]
		for _, s := range r.Resources[i+1].Seconds {
			most = max(most, s.Ready)
		}
		waiting := float64(most) * float64(sent.Items) / float64(sent.Calls) / float64(parts)
		lines = append(lines, atMost(19, fmt.Sprintf("waiting before step %d in a partition, at the rate of the step", i+2),
			waiting/float64(rate), 2, " s"))
	}
	return lines
}
