package model

import (
	"testing"
	"time"
)

// A downstream that takes half of what it is allowed to get: flow control finds
// that out, is seldom refused after that, and loses little.
func TestFlowControlFindsTheHiddenCapacity(t *testing.T) {
	for seed := uint64(3100); seed < 3104; seed++ {
		on := simple(180_000, Resource{Rate: 3000, Downstream: Downstream{Capacity: 1500, Latency: 20 * ms}})
		on.Seed = seed
		off := on.clone()
		off.Resources[0].Flow = FlowOff
		with, without := play(t, on), play(t, off)
		target(t, seed, "refused share with flow control", float64(with.Resources[0].Refused)/180_000, 0.02)
		target(t, seed, "time against the hidden capacity", seconds(with.End)/120, 1.15)
		if r := float64(without.Resources[0].Refused) / 180_000; r < 0.2 {
			t.Errorf("seed %d: without flow control %.3f of the items were refused: the world shows no difference", seed, r)
		}
	}
}

// While a breaker is open nothing is sent, and what it says is written down.
func TestOpenBreakerSendsNothing(t *testing.T) {
	w := simple(100_000, Resource{Rate: 1000, Downstream: Downstream{
		Latency: 20 * ms, Incidents: []Incident{{From: 20_000 * ms, For: 30_000 * ms, Failures: 1}},
	}})
	r := play(t, w)
	x := r.Resources[0]
	sent := int64(0)
	for _, s := range x.Seconds[25:45] {
		sent += s.Started
		if s.Breaker == "closed" || s.Waiting != "circuit_open" {
			t.Errorf("at %d s the breaker is %s and work waits for %q", s.At, s.Breaker, s.Waiting)
		}
	}
	if sent > 200 {
		t.Errorf("%d items were sent in 20 s of an open breaker, want a few to find out", sent)
	}
	if k := r.Kinds[0]; k.Failed != 0 || k.Done != 100_000 {
		t.Errorf("%d items failed: an incident of 30 s must cost none", k.Failed)
	}
}

// A task of a later step does not wait for company that will not come.
func TestLastItemsOfAStepDoNotLinger(t *testing.T) {
	w := simple(50, Resource{Downstream: Downstream{Latency: 50 * ms, P99: 50 * ms}})
	w.Resources = append(w.Resources, w.Resources[0])
	w.Resources[1].Name = "then"
	w.BulkActions[0].Steps = []string{"api", "then"}
	if end := time.Duration(play(t, w).End); end > 110*time.Millisecond {
		t.Errorf("two calls of 50 ms end after %v", end)
	}
}
