package experiment

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir/internal/lab/model"
)

// criticalBesideLow is a critical bulk action that comes while five low tenants flood.
func criticalBesideLow(p place, seed uint64) []Line {
	w := p.world(seed, api(500, 50*time.Millisecond))
	for i := range 5 {
		b := onAPI(fmt.Sprint("low", i), 60_000)
		b.Tier = "low"
		w.BulkActions = append(w.BulkActions, b)
	}
	b := onAPI("critical", 5000)
	b.Tier, b.At = "critical", model.Span(10*time.Second)
	w.BulkActions, w.StopAfter = append(w.BulkActions, b), b.Name
	r := run(w)
	x := r.Kinds[5].Each[0]
	what := "5,000 critical items beside five low floods at 500/s"
	return []Line{
		{Target: 8, What: "end over six sevenths of the rate, " + what, Got: over(x.Finish-x.At, 5000/(500*6/7.0)), Want: 10, Unit: " %"},
		peakOf(r, what),
	}
}

// inTasks is why small shares of nodes are not exact.
const inTasks = "a node's quota is used in whole tasks, so one with a small part of the rate has less of it"

// weights lets three tenants share 5:2:1.
func weights(p place, seed uint64) []Line {
	w := p.world(seed, api(1000, 50*time.Millisecond))
	w.Length = model.Span(5 * time.Minute)
	weights := []float64{5, 2, 1}
	for i, weight := range weights {
		name := fmt.Sprint("t", i)
		w.Tenants = append(w.Tenants, model.Tenant{Name: name, Weight: weight})
		w.BulkActions = append(w.BulkActions, onAPI(name, 300_000))
	}
	r := run(w)
	got, all := gotAfter(r, mixWarm*time.Second)
	off := 0.0
	for i, weight := range weights {
		off = max(off, 100*(math.Abs(got[i]-all*weight/8)-mixTask)/(all*weight/8))
	}
	what := "weights 5:2:1"
	share := Line{Target: 8, What: "share of a tenant off its ideal, " + what, Got: off, Want: 1, Unit: " %"}
	if p.nodes > 1 {
		share.Missed, share.Holds = inTasks, 4
	}
	return []Line{
		share,
		{Target: 3, What: "use, " + what, Got: 100 * r.Resources[0].Use, Want: 99, AtLeast: true, Unit: " %"},
		peakOf(r, what),
	}
}

// manyResources is a tenant that spreads over sixteen resources, beside one with a
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
		tenant := "many"
		if i == 16 {
			tenant = "one"
		}
		// As large as it takes to be on all nodes: what one node can do is not all tenants' doing.
		w.BulkActions = append(w.BulkActions, model.BulkAction{Name: fmt.Sprint("b", i), Tenant: tenant, Items: 2_000_000,
			Steps: []string{r.Name}})
	}
	r := run(w)
	got, _ := gotAfter(r, mixWarm*time.Second)
	return []Line{{Target: 8, What: "what a tenant gets on 16 resources, of one with one", Got: got[0] / got[1], Want: 1.1, Unit: "x"}}
}

// hungEndpoint is a tenant's endpoint that does not answer. Another tenant's twenty
// items are to take what they take alone.
func hungEndpoint(p place, seed uint64) []Line {
	play := func(hung int64) time.Duration {
		slow := api(0, 200*time.Second)
		slow.Name, slow.Timeout = "hung", model.Span(30*time.Second)
		w := p.world(seed, api(0, 50*time.Millisecond), slow)
		b := onAPI("healthy", 20)
		b.Batch, b.At = 1, model.Span(10*time.Second)
		w.BulkActions, w.StopAfter = append(w.BulkActions, b), b.Name
		if hung > 0 {
			w.BulkActions = append(w.BulkActions, model.BulkAction{Name: "hung", Items: hung, Batch: 1, Steps: []string{"hung"}})
		}
		x := run(w).Kinds[0].Each[0]
		return time.Duration(x.Finish - x.At)
	}
	return []Line{{Target: 12, What: "20 items beside a hung endpoint, of the time alone",
		Got: float64(play(5000)) / float64(play(0)), Want: 2, Unit: "x"}}
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
		w.Length = model.Span(2 * time.Minute)
		w.BulkActions = []model.BulkAction{onAPI("b", 300*120)}
		out := run(w)
		what := fmt.Sprintf("%v/s, calls of %v, concurrency %d", c.rate, c.latency, c.concurrency)
		use := Line{
			Target: 3, What: "use from 30 s on, " + what, Got: usedAfter(out, 30), Want: 99, AtLeast: true, Unit: " %",
			Missed: "when many calls take long at once all workers have one for a moment", Holds: 98,
		}
		if p.nodes > 1 {
			use.Missed, use.Holds = "the node with the work is not given all of a low rate, or of a few calls at once, at every moment", 85
		}
		lines = append(lines, use, peakOf(out, what))
	}
	return lines
}

// slowFloods are six tenants with floods on a low rate and a few calls at once.
func slowFloods(p place, seed uint64) []Line {
	r := api(300, 500*time.Millisecond)
	r.Concurrency = 10
	w := p.world(seed, r)
	w.Length = model.Span(time.Minute)
	for i := range 6 {
		name := fmt.Sprint("t", i)
		w.Tenants = append(w.Tenants, model.Tenant{Name: name, Weight: 1})
		w.BulkActions = append(w.BulkActions, onAPI(name, 300*60))
	}
	out := run(w)
	got, all := gotAfter(out, 20*time.Second)
	what := "six tenants, 300/s, calls of 500ms, concurrency 10"
	use := Line{Target: 3, What: "use from 20 s on, " + what, Got: usedAfter(out, 20), Want: 99, AtLeast: true, Unit: " %"}
	least := Line{Target: 1, What: "least share of a tenant, of the ideal, " + what,
		Got: 100 * slices.Min(got[:6]) / (all / 6), Want: 95, AtLeast: true, Unit: " %"}
	if p.nodes > 1 {
		use.Missed, use.Holds = "calls at once and rate are divided between nodes in whole numbers", 85
		least.Missed, least.Holds = use.Missed, 85
	}
	return []Line{use, least, peakOf(out, what)}
}

// skipping is 4,000 items of which nine tenths are skipped, at 200/s.
func skipping(p place, seed uint64) []Line {
	w := p.world(seed, api(200, 50*time.Millisecond))
	b := onAPI("b", 4000)
	b.Skips = []model.Share{0.9}
	w.BulkActions = []model.BulkAction{b}
	r := run(w)
	what := "4,000 items, one in ten called, 200/s"
	return []Line{
		{Target: 3, What: "end, of the items that go at the full rate, " + what,
			Got: time.Duration(r.End).Seconds() / (float64(r.Resources[0].Started) / 200), Want: 2, Unit: "x"},
		peakOf(r, what),
	}
}

// notYet is a healthy endpoint that asks for every second item once more.
func notYet(p place, seed uint64) []Line {
	x := api(100, 50*time.Millisecond)
	x.Downstream.Retries, x.Attempts = 0.5, 100
	w := p.world(seed, x)
	w.BulkActions = []model.BulkAction{onAPI("b", 2000)}
	r := run(w)
	what := "every second answer is retry, 100/s"
	return []Line{
		// The last few items wait for their turn again and again.
		{Target: 10, What: "items called per second until nine tenths are done, of the rate, " + what,
			Got: 100 * usedUntil(r, 1800) / 100, Want: 95, AtLeast: true, Unit: " %"},
		{Target: 10, What: "items that failed for good, " + what, Got: float64(failedIn(r)), Want: 0},
		peakOf(r, what),
	}
}

// usedUntil is how many items per second were called until so many had ended.
func usedUntil(r model.Result, items int64) float64 {
	got, _ := r.Resources[0], int64(0)
	ended, started := int64(0), int64(0)
	for i, s := range got.Seconds {
		ended, started = ended+s.Done/2, started+s.Started
		if ended >= items {
			return float64(started) / float64(i+1)
		}
	}
	return 0
}

// outage is a downstream that fails for minutes.
func outage(p place, seed uint64) (lines []Line) {
	for _, d := range []time.Duration{time.Minute, 150 * time.Second} {
		r := api(1000, 50*time.Millisecond)
		r.Downstream.Incidents = []model.Incident{{From: model.Span(10 * time.Second), For: model.Span(d), Failures: 1}}
		w := p.world(seed, r)
		for i := range 20 {
			w.BulkActions = append(w.BulkActions, onAPI(fmt.Sprint("t", i), 3000))
		}
		out := run(w)
		what := fmt.Sprintf("outage of %v", d)
		lines = append(lines,
			Line{Target: 10, What: "items that failed for good, " + what, Got: float64(failedIn(out)), Want: 0},
			Line{Target: 15, What: "seconds lost besides it, " + what, Got: time.Duration(out.End).Seconds() - 60 - d.Seconds(),
				Want: 30, Unit: " s"})
	}
	return lines
}

// ownRate is a bulk action with a rate of its own, on a resource that would take more.
func ownRate(p place, seed uint64) (lines []Line) {
	for _, rate := range []model.Rate{20, 300, 5000} {
		w := p.world(seed, api(20_000, 50*time.Millisecond))
		b := onAPI("b", int64(rate)*60)
		b.Rates = []model.Rate{rate}
		w.BulkActions = []model.BulkAction{b}
		r := run(w)
		lines = append(lines, Line{
			Target: 3, What: fmt.Sprintf("a bulk action's own rate of %v/s", rate),
			Got: 100 * 60 / time.Duration(r.End).Seconds(), Want: 99, AtLeast: true, Unit: " %",
		})
	}
	return append(lines, ownRateBesideFlood(p, seed))
}

// ownRateBesideFlood has bulk actions with rates of their own, less than is due to their tenants, on a resource that another one floods.
func ownRateBesideFlood(p place, seed uint64) Line {
	w := p.world(seed, api(600, 40*time.Millisecond))
	w.Length = model.Span(time.Minute)
	rates := []model.Rate{150, 23, 0}
	for i, rate := range rates {
		name := fmt.Sprint("t", i)
		w.Tenants = append(w.Tenants, model.Tenant{Name: name, Weight: 1})
		w.BulkActions = append(w.BulkActions, model.BulkAction{
			Name: name, Tenant: name, Items: 100_000, Batch: 50, Steps: []string{"api"}, Rates: []model.Rate{rate},
		})
	}
	const warm = 10
	got, _ := gotAfter(run(w), warm*time.Second)
	least := 1.0
	for i, rate := range rates[:2] {
		least = min(least, got[i]/float64(rate)/(60-warm))
	}
	line := Line{Target: 3, What: "own rates of 150/s and 23/s beside a flood at 600/s", Got: 100 * least, Want: 99, AtLeast: true, Unit: " %"}
	switch {
	case p.nodes > 1:
		line.Missed, line.Holds = "a node with such work at times holds a smaller quota than it needs", 92
	case p.partitions > 1:
		line.Missed, line.Holds = "a task that waits a moment for its turn begins its own window later", 97
	}
	return line
}
