package experiment

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir/internal/lab/model"
)

// criticalBesideLow plays a critical bulk action that comes while five low tenants flood.
func criticalBesideLow(p place, seed uint64) []Line {
	w := p.world(seed, api(500, 50*time.Millisecond))
	w.BulkActions = append(each(5, "low", 60_000), onAPI("critical", 5000))
	for i := range 5 {
		w.BulkActions[i].Tier = "low"
	}
	w.BulkActions[5].Tier, w.BulkActions[5].At, w.StopAfter = "critical", model.Span(10*time.Second), "critical"
	r := run(w)
	x := r.Kinds[5].Each[0]
	what := "5,000 critical items beside five low floods at 500/s"
	return []Line{
		atMost(8, "end over six sevenths of the rate, "+what, beyond(x.Finish-x.At, 5000/(500*6/7.0)), 10, " %"),
		peakIn(r, what),
	}
}

// weights lets three tenants share 5:2:1.
func weights(p place, seed uint64) []Line {
	w := p.world(seed, api(1000, 50*time.Millisecond))
	w.Length, w.BulkActions = model.Span(5*time.Minute), each(3, "t", 300_000)
	weights := []float64{5, 2, 1}
	for i, weight := range weights {
		w.Tenants = append(w.Tenants, model.Tenant{Name: fmt.Sprint("t", i), Weight: weight})
	}
	r := run(w)
	got, all := gotAfter(r, mixWarm)
	off := 0.0
	for i, weight := range weights {
		off = max(off, 100*(math.Abs(got[i]-all*weight/8)-mixTask)/(all*weight/8))
	}
	what := "weights 5:2:1"
	return []Line{
		p.onNodes(atMost(8, "share of a tenant off its ideal, "+what, off, 1, " %"), inTasks, 4),
		useLine("use, "+what, r.Resources[0].Use), peakIn(r, what),
	}
}

// manyResources plays a tenant that spreads over sixteen resources, beside one with a
// single bulk action, while slots are scarce.
func manyResources(p place, seed uint64) []Line {
	w := p.world(seed)
	w.Length = model.Span(time.Minute)
	for i := range w.Nodes {
		w.Nodes[i].Slots = 16
	}
	for i := range 17 {
		r := api(0, 200*time.Millisecond)
		r.Name = fmt.Sprint("r", i)
		w.Resources = append(w.Resources, r)
		// As large as it takes to be on all nodes: what one node can do is not all tenants' doing.
		w.BulkActions = append(w.BulkActions, model.BulkAction{
			Name: fmt.Sprint("b", i), Tenant: "many", Items: 2_000_000, Steps: []string{r.Name},
		})
	}
	w.BulkActions[16].Tenant = "one"
	got, _ := gotAfter(run(w), mixWarm)
	return []Line{atMost(8, "what a tenant gets on 16 resources, of one with one", got[0]/got[1], 1.1, "x")}
}

// hungEndpoint plays a tenant's endpoint that does not answer. Another tenant's twenty
// items are to take what they take alone.
func hungEndpoint(p place, seed uint64) []Line {
	play := func(others ...model.BulkAction) float64 {
		slow := api(0, 200*time.Second)
		slow.Name, slow.Timeout = "hung", model.Span(30*time.Second)
		w := p.world(seed, api(0, 50*time.Millisecond), slow)
		b := onAPI("healthy", 20)
		b.Batch, b.At = 1, model.Span(10*time.Second)
		w.BulkActions, w.StopAfter = append([]model.BulkAction{b}, others...), b.Name
		x := run(w).Kinds[0].Each[0]
		return float64(x.Finish - x.At)
	}
	hung := model.BulkAction{Name: "hung", Items: 5000, Batch: 1, Steps: []string{"hung"}}
	return []Line{atMost(12, "20 items beside a hung endpoint, of the time alone", play(hung)/play(), 2, "x")}
}

// slowCalls are low rates with calls that take long.
func slowCalls(p place, seed uint64) (lines []Line) {
	for _, c := range []struct {
		rate        model.Rate
		latency     time.Duration
		concurrency int
	}{{300, 2 * time.Second, 0}, {100, 5 * time.Second, 0}, {300, 500 * time.Millisecond, 10}} {
		r := api(c.rate, c.latency)
		r.Concurrency = c.concurrency
		w := p.world(seed, r)
		w.Length, w.BulkActions = model.Span(2*time.Minute), []model.BulkAction{onAPI("b", 300*120)}
		out := run(w)
		what := fmt.Sprintf("%v/s, calls of %v, concurrency %d", c.rate, c.latency, c.concurrency)
		use := useAfter(out, 30, what).missed("when many calls take long at once all workers have one for a moment", 98)
		const given = "the node with the work is not given all of a low rate, or of a few calls at once, at every moment"
		lines = append(lines, p.onNodes(use, given, 85), peakIn(out, what))
	}
	return lines
}

// slowFloods are six tenants with floods on a low rate and a few calls at once.
func slowFloods(p place, seed uint64) []Line {
	r := api(300, 500*time.Millisecond)
	r.Concurrency = 10
	w := p.world(seed, r)
	w.Length, w.BulkActions = model.Span(time.Minute), each(6, "t", 300*60)
	out := run(w)
	got, all := gotAfter(out, 20)
	what := "six tenants, 300/s, calls of 500ms, concurrency 10"
	least := atLeast(1, "least share of a tenant, of the ideal, "+what, 100*slices.Min(got[:6])/(all/6), 95, " %")
	const whole = "calls at once and rate are divided between nodes in whole numbers"
	return []Line{p.onNodes(useAfter(out, 20, what), whole, 85), p.onNodes(least, whole, 85), peakIn(out, what)}
}

// skipping is 4,000 items of which nine tenths are skipped, at 200/s.
func skipping(p place, seed uint64) []Line {
	w := p.world(seed, api(200, 50*time.Millisecond))
	b := onAPI("b", 4000)
	b.Skips = []model.Percent{0.9}
	w.BulkActions = []model.BulkAction{b}
	r := run(w)
	what := "4,000 items, one in ten called, 200/s"
	took := time.Duration(r.End).Seconds() / (float64(r.Resources[0].Started) / 200)
	return []Line{atMost(3, "end, of the items that go at the full rate, "+what, took, 2, "x"), peakIn(r, what)}
}

// notYet plays a healthy endpoint that asks for every second item once more.
func notYet(p place, seed uint64) []Line {
	x := api(100, 50*time.Millisecond)
	x.Downstream.Retries, x.Attempts = 0.5, 100
	w := p.world(seed, x)
	w.BulkActions = []model.BulkAction{onAPI("b", 2000)}
	r := run(w)
	what := "every second answer is retry, 100/s"
	return []Line{
		// The last few items wait for their turn again and again.
		atLeast(10, "items called per second until nine tenths are done, of the rate, "+what, 100*usedUntil(r, 1800)/100, 95, " %"),
		failedIn(r, what, 0), peakIn(r, what),
	}
}

// usedUntil returns how many items per second were called until so many had ended.
func usedUntil(r model.Result, items int64) float64 {
	ended, started := int64(0), int64(0)
	for i, s := range r.Resources[0].Seconds {
		ended, started = ended+s.Done/2, started+s.Started
		if ended >= items {
			return float64(started) / float64(i+1)
		}
	}
	return 0
}

// outage plays a downstream that fails for minutes.
func outage(p place, seed uint64) (lines []Line) {
	for _, d := range []time.Duration{time.Minute, 150 * time.Second} {
		r := api(1000, 50*time.Millisecond)
		r.Downstream.Incidents = []model.Incident{{From: model.Span(10 * time.Second), For: model.Span(d), Failures: 1}}
		w := p.world(seed, r)
		w.BulkActions = each(20, "t", 3000)
		out := run(w)
		what := fmt.Sprintf("outage of %v", d)
		lines = append(lines, failedIn(out, what, 0),
			atMost(15, "seconds lost besides it, "+what, time.Duration(out.End).Seconds()-60-d.Seconds(), 30, " s"))
	}
	return lines
}

// ownRate plays a bulk action with a rate of its own, on a resource that would take more.
func ownRate(p place, seed uint64) (lines []Line) {
	for _, rate := range []model.Rate{20, 300, 5000} {
		w := p.world(seed, api(20_000, 50*time.Millisecond))
		b := onAPI("b", int64(rate)*60)
		b.Rates = []model.Rate{rate}
		w.BulkActions = []model.BulkAction{b}
		lines = append(lines, useLine(fmt.Sprintf("a bulk action's own rate of %v/s", rate), 60/time.Duration(run(w).End).Seconds()))
	}
	return append(lines, ownRateBesideFlood(p, seed))
}

// ownRateBesideFlood has bulk actions with rates of their own, less than is due to their tenants, on a
// resource that another one floods.
func ownRateBesideFlood(p place, seed uint64) Line {
	w := p.world(seed, api(600, 40*time.Millisecond))
	w.Length, w.BulkActions = model.Span(time.Minute), each(3, "t", 100_000)
	rates := []model.Rate{150, 23, 0}
	for i, rate := range rates {
		w.BulkActions[i].Batch, w.BulkActions[i].Rates = 50, []model.Rate{rate}
	}
	const warm = 10
	got, _ := gotAfter(run(w), warm)
	least := 1.0
	for i, rate := range rates[:2] {
		least = min(least, got[i]/float64(rate)/(60-warm))
	}
	line := useLine("own rates of 150/s and 23/s beside a flood at 600/s", least)
	if p.partitions > 1 {
		line = line.missed("a task that waits a moment for its turn begins its own window later", 97)
	}
	return p.onNodes(line, "a node with such work at times holds a smaller quota than it needs", 92)
}
