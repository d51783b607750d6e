package model

import (
	"fmt"
	"math"
	"testing"
	"time"
)

func TestLatencyHasTheMeanAndTheP99ThatWereAskedFor(t *testing.T) {
	for _, tt := range []struct{ mean, p99 float64 }{{50, 50}, {50, 100}, {50, 200}, {50, 500}, {12_000, 18_000}} {
		s, rng := spreadOf(tt.mean, tt.p99), chance(7, ofDownstream, 0)
		const n = 200_000
		sum, below := 0.0, 0
		for range n {
			x := s.draw(rng)
			sum += x
			if x <= tt.p99*1.0001 {
				below++
			}
		}
		if got := sum / n; math.Abs(got/tt.mean-1) > 0.03 {
			t.Errorf("mean of %v is %.1f", tt, got)
		}
		if got := float64(below) / n; tt.p99 > tt.mean && math.Abs(got-0.99) > 0.002 {
			t.Errorf("%.4f of %v stay below the 99th percentile", got, tt)
		}
	}
}

// load sends calls of so many items at an even rate, and counts how they end.
func load(r Resource, from, span time.Duration, perSecond, items int) (ended map[outcome]int, longest time.Duration) {
	r.fill()
	d, ended := newDownstream(&r, chance(3, ofDownstream, 0)), map[outcome]int{}
	gap := second / int64(perSecond)
	for now := int64(from); now < int64(from+span); now += gap {
		took, how, _, _ := d.call(now, items)
		ended[how]++
		longest = max(longest, time.Duration(took))
	}
	return ended, longest
}

func TestDownstreamShowsItsHiddenSide(t *testing.T) {
	quick := Downstream{Latency: 20 * ms, P99: 20 * ms}
	with := func(change func(*Downstream)) Resource {
		d := quick
		change(&d)
		return Resource{Timeout: Span(time.Second), Downstream: d}
	}
	incident := with(func(d *Downstream) {
		d.Incidents = []Incident{{From: 60_000 * ms, For: 120_000 * ms, Latency: 500 * ms, Failures: 0.6}}
	})
	for _, tt := range []struct {
		name           string
		r              Resource
		from           time.Duration
		fails, refuses float64 // shares of 10 s with 100 calls of 10 items each second
		longest        time.Duration
	}{
		{"a healthy one answers", with(func(*Downstream) {}), 0, 0, 0, 20 * time.Millisecond},
		{"failures come as often as they should", with(func(d *Downstream) { d.Failures = 0.2 }), 0, 0.2, 0, 20 * time.Millisecond},
		{"before an incident nothing is wrong", incident, 40 * time.Second, 0, 0, 20 * time.Millisecond},
		{"an incident makes calls slow and fail", incident, 60 * time.Second, 0.6, 0, 500 * time.Millisecond},
		{"after it all is well again", incident, 180 * time.Second, 0, 0, 20 * time.Millisecond},
		{"half the capacity refuses half", with(func(d *Downstream) { d.Capacity = 500 }), 0, 0, 0.5, 20 * time.Millisecond},
		{"enough capacity refuses nothing", with(func(d *Downstream) { d.Capacity = 1000 }), 0, 0, 0, 20 * time.Millisecond},
		{"too little capacity may be slow instead, until calls time out", with(func(d *Downstream) { d.Capacity, d.Overload = 500, Slow }), 0, 0.9, 0, time.Second},
		{"a call ends at its timeout", with(func(d *Downstream) { d.Latency, d.P99 = 3000*ms, 3000*ms }), 0, 1, 0, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, longest := load(tt.r, tt.from, 10*time.Second, 100, 10)
			if f := float64(got[failed]) / 1000; math.Abs(f-tt.fails) > 0.05 {
				t.Errorf("%.3f of the calls failed, want %.2f", f, tt.fails)
			}
			if f := float64(got[refused]) / 1000; math.Abs(f-tt.refuses) > 0.05 {
				t.Errorf("%.3f of the calls were refused, want %.2f", f, tt.refuses)
			}
			if d := (longest - tt.longest).Abs(); d > time.Millisecond {
				t.Errorf("the longest call took %v, want %v", longest, tt.longest)
			}
		})
	}
}

func TestRejectedItemsAreNotTriedAgain(t *testing.T) {
	r := play(t, simple(20_000, Resource{Downstream: Downstream{Rejects: 0.05}}))
	if k := r.Kinds[0]; k.Failed < 850 || k.Failed > 1150 || r.Resources[0].Started != 20_000 {
		t.Errorf("%d of 20,000 items failed in %d attempts, want about 1,000 and one attempt each", k.Failed, r.Resources[0].Started)
	}
}

func TestFailedCallsAreTriedAgainUntilTheirLastAttempt(t *testing.T) {
	r := play(t, simple(5000, Resource{Flow: FlowOff, Downstream: Downstream{Failures: 0.3}}))
	if k := r.Kinds[0]; k.Failed > 50 {
		t.Errorf("%d of 5,000 items failed at 30 %% of calls: they were not tried often enough", k.Failed)
	}
	r = play(t, simple(5000, Resource{Flow: FlowOff, Attempts: 1, Downstream: Downstream{Failures: 0.3}}))
	if k := r.Kinds[0]; k.Failed < 1000 || k.Failed > 2000 {
		t.Errorf("%d of 5,000 items failed with one attempt each, want about 1,500", k.Failed)
	}
	r = play(t, simple(50, Resource{Downstream: Downstream{Failures: 1}}))
	if k := r.Kinds[0]; r.Finished || k.Failed != 0 {
		t.Errorf("of a downstream that is broken for ever %d of 50 items failed, finished %v", k.Failed, r.Finished)
	}
}

// The halves of a call that failed twice hardly wait where other calls get through, as in a partition.
func TestHalvesOfAFailedCallHardlyWaitBesideCallsThatPass(t *testing.T) {
	for seed := range uint64(5) {
		w := World{Seed: seed + 1, Partitions: 1, Nodes: []Node{{Slots: 64}}, Resources: []Resource{{
			Name: "r", Rate: 10_000, Downstream: Downstream{Latency: span(50 * time.Millisecond), Failures: 0.05},
		}}}
		for i := range 20 {
			w.BulkActions = append(w.BulkActions, BulkAction{Name: fmt.Sprint("b", i), Items: 20_000, Steps: []string{"r"}})
		}
		r, err := Run(w)
		if err != nil {
			t.Fatal(err)
		}
		work := float64(r.Resources[0].Started) / 10_000
		if late := seconds(r.End) - work; late > 1.5 { // the backoff after a second failure is 1 to 2 s
			t.Errorf("seed %d: it ended %.2f s after its work could have, want at most 1.5", seed+1, late)
		}
	}
}
