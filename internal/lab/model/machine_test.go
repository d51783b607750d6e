package model

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/core/scale"
)

const ms = Span(time.Millisecond)

// play runs a world that has to be valid.
func play(t *testing.T, w World) Result {
	t.Helper()
	r, err := Run(w)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// simple returns one bulk action on one resource.
func simple(items int64, r Resource) World {
	if r.Name == "" {
		r.Name = "api"
	}
	if r.Downstream.Latency == 0 {
		r.Downstream.Latency = 50 * ms
	}
	return World{Resources: []Resource{r}, BulkActions: []BulkAction{{Name: "bulk", Items: items, Steps: []string{r.Name}}}}
}

// anyWorld draws a world: one to three nodes, resources with and without limits,
// failures, refusals and incidents, single bulk actions, streams and chains.
func anyWorld(seed uint64) World {
	rng, own := rand.New(rand.NewPCG(seed, 99)), rand.New(rand.NewPCG(seed, 98))
	pick := func(n int) int { return rng.IntN(n) }
	w := World{Seed: seed, Workers: Workers{Start: 1 + pick(8), Min: 1, Max: 8 + pick(40), Policy: scale.Names()[pick(len(scale.Names()))]}}
	for range 1 + pick(3) {
		w.Nodes = append(w.Nodes, Node{Slots: 4 + pick(60)})
	}
	w.Partitions = len(w.Nodes) + pick(6)
	for i := range 1 + pick(3) {
		r := Resource{
			Name: fmt.Sprintf("r%d", i), Rate: Rate([]float64{0, 2.5, 90, 700, 4000}[pick(5)]), Concurrency: []int{0, 1, 7, 30}[pick(4)],
			Flow: []string{FlowOn, FlowOff, FlowAIMD}[pick(3)], Timeout: Span(5 * time.Second),
			Downstream: Downstream{
				Latency: Span(1+pick(300)) * ms, Failures: Percent([]float64{0, 0.02, 0.3}[pick(3)]), Rejects: Percent([]float64{0, 0.01}[pick(2)]),
				Capacity: Rate([]float64{0, 0, 60, 1000}[pick(4)]), Overload: []string{Refuse, Slow}[pick(2)],
			},
		}
		if pick(2) == 0 {
			r.Downstream.Incidents = []Incident{{From: Span(pick(20)) * 1000 * ms, For: 10_000 * ms, Latency: 2000 * ms, Failures: 0.7}}
		}
		w.Resources = append(w.Resources, r)
	}
	for i := range 1 + pick(4) {
		b := BulkAction{Name: fmt.Sprintf("b%d", i), Tenant: fmt.Sprintf("t%d", pick(3)), Items: int64(1 + pick(3000)), Batch: 1 + pick(200), Tier: []string{"critical", "default", "low"}[pick(3)]}
		for _, r := range rng.Perm(len(w.Resources))[:1+pick(len(w.Resources))] {
			b.Steps = append(b.Steps, w.Resources[r].Name)
		}
		if own.IntN(3) == 0 {
			b.Rates = []Rate{Rate(20 + own.IntN(400))}
		}
		if pick(2) == 0 {
			b.Arrivals, b.Until, b.Items, b.ItemsP99, b.Spread = 2, Span(20*time.Second), 40, 200, 5
		}
		w.BulkActions = append(w.BulkActions, b)
	}
	return w
}

func TestEveryItemEndsOnceAndNoLimitIsBroken(t *testing.T) {
	for seed := uint64(1000); seed < 1024; seed++ {
		w := anyWorld(seed)
		r := play(t, w)
		for _, k := range r.Kinds {
			for i, b := range k.Each {
				ended := b.Done + b.Failed
				if ended > b.Items || b.Done < 0 || b.Failed < 0 || (ended == b.Items) != (b.Finish >= 0) {
					t.Errorf("seed %d: %s %d: done %d + failed %d of %d items, finish %v", seed, k.Name, i, b.Done, b.Failed, b.Items, b.Finish)
				}
				if b.Finish >= 0 && (b.Start < b.At || b.Finish < b.Start) {
					t.Errorf("seed %d: %s %d came at %v, started at %v, ended at %v", seed, k.Name, i, b.At, b.Start, b.Finish)
				}
			}
			if !r.Finished {
				t.Errorf("seed %d: %s has %d of %d bulk actions open after a day", seed, k.Name, k.Open, k.Count)
			}
		}
		for i, x := range r.Resources {
			withinLimits(t, seed, w, w.Resources[i], x)
		}
	}
}

func withinLimits(t *testing.T, seed uint64, w World, r Resource, x ResourceResult) {
	t.Helper()
	if r.Rate > 0 {
		items, window := limit.PerWindow(float64(r.Rate))
		if most := float64(items) / window.Seconds(); x.Peak > most+1e-9 {
			t.Errorf("seed %d: %s started %.3f/s within a window, want at most %.3f/s", seed, r.Name, x.Peak, most)
		}
	}
	for _, s := range x.Seconds {
		if r.Concurrency > 0 && s.InFlight > r.Concurrency {
			t.Errorf("seed %d: %s has %d calls at once at %d s, want at most %d", seed, r.Name, s.InFlight, s.At, r.Concurrency)
		}
		low := 0
		if s.Ready+s.InFlight > 0 {
			low = w.Workers.Min
		}
		if high := w.Workers.Max * w.Partitions; s.Workers < low || s.Workers > high {
			t.Errorf("seed %d: %s has %d workers at %d s, want %d to %d", seed, r.Name, s.Workers, s.At, low, high)
		}
	}
}

func TestSameSeedSameResult(t *testing.T) {
	for seed := uint64(1100); seed < 1104; seed++ {
		if a, b := play(t, anyWorld(seed)), play(t, anyWorld(seed)); !reflect.DeepEqual(a, b) {
			t.Errorf("seed %d gives two results: it ends at %v and %v", seed, a.End, b.End)
		}
	}
	w := simple(1000, Resource{})
	other := w
	other.Seed = 2
	if play(t, w).End == play(t, other).End {
		t.Error("two seeds end at the same nanosecond: chance has no effect")
	}
}

// More of anything never makes one bulk action on one resource later, but for the
// luck of other calls meeting other latencies.
func TestMoreIsNeverLater(t *testing.T) {
	const noise = 1.05
	for seed := uint64(1200); seed < 1210; seed++ {
		last := Span(0)
		for _, rate := range []Rate{100, 200, 400, 800} {
			w := simple(20_000, Resource{Rate: rate, Downstream: Downstream{Latency: 80 * ms, P99: 400 * ms}})
			w.Seed = seed
			end := play(t, w).End
			if last > 0 && float64(end) > noise*float64(last) {
				t.Errorf("seed %d: rate %v ends after %s, half of it after %s", seed, rate, spanText(end), spanText(last))
			}
			last = end
		}
		last = 0
		for _, n := range []int{2, 4, 8, 16, 32} {
			w := simple(50_000, Resource{Downstream: Downstream{Latency: 80 * ms, P99: 400 * ms}})
			w.Seed, w.Workers = seed, Workers{Start: n, Max: n}
			end := play(t, w).End
			if last > 0 && float64(end) > noise*float64(last) {
				t.Errorf("seed %d: %d workers end after %s, half of them after %s", seed, n, spanText(end), spanText(last))
			}
			last = end
		}
	}
}

// The model has no rules of its own: what lanes do is what the policy said.
func TestDecisionsAreThoseOfThePolicy(t *testing.T) {
	w := simple(60_000, Resource{Rate: 3000, Downstream: Downstream{Capacity: 1500}}).withDefaults()
	m := newMachine(w)
	told := []int{}
	m.policy = func(now int64, s scale.Signals, st scale.State, c scale.Config) (scale.Decision, scale.State) {
		d, st := scale.Decide(now, s, st, c)
		if len(told) > 0 && s.Workers != told[len(told)-1] {
			t.Errorf("the policy is told of %d workers after it asked for %d", s.Workers, told[len(told)-1])
		}
		told = append(told, d.Workers)
		return d, st
	}
	m.play()
	r := m.result()
	limited := 0
	for i, s := range r.Resources[0].Seconds {
		if s.Workers != told[i] {
			t.Errorf("second %d has %d workers, the policy said %d", s.At, s.Workers, told[i])
		}
		if s.Rate < 3000 {
			limited++
		}
	}
	if limited == 0 {
		t.Error("the rate never followed the refusals")
	}
}

func TestWorldMayEndBeforeItsWork(t *testing.T) {
	w := simple(10_000, Resource{Rate: 100})
	w.Length = Span(30 * time.Second)
	r := play(t, w)
	k := r.Kinds[0]
	if r.Finished || r.End != w.Length || k.Open != 1 || k.Done < 2900 || k.Done > 3100 {
		t.Errorf("after 30 s at 100/s: finished %v, end %v, %d open, %d done", r.Finished, r.End, k.Open, k.Done)
	}
	if n := len(r.Resources[0].Seconds); n != 30 {
		t.Errorf("%d seconds were written down, want 30", n)
	}
}

func BenchmarkBusyHour(b *testing.B) {
	w := World{
		Length: Span(time.Hour),
		Resources: []Resource{
			{Name: "a", Rate: 10_000, Downstream: Downstream{Latency: 100 * ms, Failures: 0.01}},
			{Name: "b", Rate: 5000, Downstream: Downstream{Latency: 100 * ms, Failures: 0.01}},
		},
		BulkActions: []BulkAction{
			{Name: "x", Spread: 1000, Arrivals: 20, Items: 300, ItemsP99: 3000, Steps: []string{"a"}},
			{Name: "y", Spread: 1000, Arrivals: 5, Items: 300, ItemsP99: 3000, Steps: []string{"a", "b"}},
		},
	}
	for b.Loop() {
		if _, err := Run(w); err != nil {
			b.Fatal(err)
		}
	}
}
