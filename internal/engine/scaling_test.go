package engine_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

// lanes is what all nodes say of their lanes.
func (r *rig) lanes(t *testing.T) (all []weir.Lane) {
	t.Helper()
	nodes, err := r.Operator().Nodes(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		all = append(all, n.Lanes...)
	}
	return all
}

// busiest is the lane with the most workers.
func (r *rig) busiest(t *testing.T) weir.Lane {
	t.Helper()
	all := r.lanes(t)
	if len(all) == 0 {
		t.Fatal("no lane is known")
	}
	return slices.MaxFunc(all, func(a, b weir.Lane) int { return cmp.Compare(a.Workers, b.Workers) })
}

func (r *rig) decisions(t *testing.T, lane weir.LaneID) []weir.Decision {
	t.Helper()
	all, err := r.Operator().Decisions(context.Background(), lane, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWorkersFollowTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := slow("call", 1050*time.Millisecond) // no multiple of the second at which the test looks
		r := start(t, memory(), engine.Options{Partitions: 1, Workers: 8, Slots: 64}, action(a))
		b := submit(t, r, spec(a), numbers(20_000)) // 2,000 tasks
		time.Sleep(2500 * time.Millisecond)
		first := r.busiest(t)
		if first.Ready == 0 || first.Eligible == 0 || first.InFlight == 0 || first.Busy < 7 || first.Started == 0 {
			t.Errorf("observed of a busy lane: %+v", first)
		}
		time.Sleep(8 * time.Second)
		if got := r.busiest(t).Workers; got != 64 {
			t.Errorf("%d workers ten seconds after 2,000 tasks came, want 64", got)
		}
		if _, err := b.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		lane := first.ID
		all := r.decisions(t, lane)
		if last := all[0]; last.To > 10 || last.Reason != "released" {
			t.Errorf("after five idle minutes: %+v, want a release to about 8 workers", last)
		}
		for i, d := range all {
			if d.Text == "" || d.Epoch == 0 || d.Inputs.Workers == 0 || d.Inputs.Busy > 1 {
				t.Errorf("decision %d: %+v", i, d)
			}
			if i > 0 && all[i-1].From != d.To {
				t.Errorf("decision %d starts from %d workers, the one before left %d", i-1, all[i-1].From, d.To)
			}
		}
	})
}

func TestWorkersAreKeptOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := slow("call", time.Second), memory()
		r := start(t, s, engine.Options{Partitions: 1, Workers: 8}, action(a))
		submit(t, r, spec(a), numbers(20_000))
		time.Sleep(10 * time.Second)
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		r = start(t, s, engine.Options{Partitions: 1, Workers: 8, Scaling: weir.Scaling{Policy: weir.PolicyOff}}, action(a))
		time.Sleep(1500 * time.Millisecond)
		if l := r.busiest(t); l.Workers != 64 || l.Busy < 60 {
			t.Errorf("after a restart without scaling: %d workers, %.1f busy; want 64 of both", l.Workers, l.Busy)
		}
	})
}

func TestWorkersSetByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := slow("call", time.Second)
		r := start(t, memory(), engine.Options{Partitions: 1, Workers: 8}, action(a))
		lane := weir.LaneID{Partition: 0, Resource: "call"}
		submit(t, r, spec(a), numbers(200_000))
		if err := r.Operator().Pin(t.Context(), lane, 3, time.Minute, "the other side is moving"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if l := r.busiest(t); l.Workers != 3 || l.InFlight > 3 {
			t.Errorf("pinned to 3: %d workers, %d in flight", l.Workers, l.InFlight)
		}
		if d := r.decisions(t, lane)[0]; d.Reason != "override" || d.To != 3 {
			t.Errorf("decided: %+v, want an override to 3", d)
		}
		time.Sleep(time.Minute)
		if l := r.busiest(t); l.Workers != 64 {
			t.Errorf("%d workers when the pin has run out, want 64", l.Workers)
		}
		if err := r.Operator().SetScaling(t.Context(), func(s *weir.Scaling) { s.Paused = "a look" }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if l := r.busiest(t); l.Workers != 64 {
			t.Errorf("%d workers while scaling is paused, want the 64 that there were", l.Workers)
		}
		if err := r.Operator().Pin(t.Context(), lane, -1, time.Minute, "x"); err == nil {
			t.Error("a pin to -1 workers was taken")
		}
		if err := r.Operator().SetScaling(t.Context(), func(s *weir.Scaling) { s.Policy = "magic" }); err == nil {
			t.Error("an unknown policy was taken")
		}
	})
}

func TestAShadowPolicyDecidesAndIsNotObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := slow("call", time.Second)
		r := start(t, memory(), engine.Options{Partitions: 1, Workers: 8, Scaling: weir.Scaling{Policy: weir.PolicyOff, Shadow: "littles-law"}}, action(a))
		submit(t, r, spec(a), numbers(20_000))
		time.Sleep(20 * time.Second)
		if l := r.busiest(t); l.Workers != 8 {
			t.Errorf("%d workers although nothing decides, want 8", l.Workers)
		}
		all := r.decisions(t, weir.LaneID{Partition: 0, Resource: "call"})
		if len(all) == 0 {
			t.Fatal("the shadow decided nothing")
		}
		for _, d := range all {
			if !d.Shadow || d.Inputs.Workers != 8 {
				t.Errorf("decision %+v, want a shadow's beside the 8 workers that there are", d)
			}
		}
		if d := all[0]; d.To != 64 {
			t.Errorf("the shadow would have %d workers at last, want 64", d.To)
		}
	})
}

func TestALeadersDeathChangesOnlyTheDeciding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := slow("call", time.Second), several{memory()}
		var all []*rig
		for range 3 {
			all = append(all, start(t, s, engine.Options{Partitions: 6, Workers: 8, LeaseFor: 2 * time.Second}, action(a)))
			time.Sleep(time.Second)
		}
		for range 6 {
			submit(t, all[0], spec(a), numbers(50_000))
		}
		time.Sleep(3 * time.Second)
		if err := all[0].stop(); err != nil { // the first one leads
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		total := 0
		for _, l := range all[1].lanes(t) {
			total += l.Workers
			var epochs []uint64
			for _, d := range all[1].decisions(t, l.ID) {
				epochs = append(epochs, d.Epoch)
			}
			if !slices.IsSortedFunc(epochs, func(a, b uint64) int { return cmp.Compare(b, a) }) {
				t.Errorf("%v: leaders decided in turns: %v", l.ID, epochs)
			}
		}
		if total < 64 {
			t.Errorf("%d workers after the leader left in mid-ramp, want at least 64", total)
		}
	})
}

func TestNoWorkersAreAskedForThatTheConcurrencyCannotUse(t *testing.T) {
	for _, partitions := range []int{1, 8} {
		synctest.Test(t, func(t *testing.T) {
			a := slow("call", 530*time.Millisecond) // no multiple of the second at which the test looks
			a.Resource = weir.Resource{Name: "call", Concurrency: 10}
			r := start(t, memory(), engine.Options{Partitions: partitions, Workers: 1, Slots: 64}, action(a))
			for range 4 * partitions {
				submit(t, r, spec(a), numbers(2000/partitions))
			}
			time.Sleep(20 * time.Second)
			workers, inFlight := 0, 0
			for _, l := range r.lanes(t) {
				workers, inFlight = workers+l.Workers, inFlight+l.InFlight
			}
			if workers != 10 || inFlight != 10 {
				t.Errorf("%d partitions: %d workers, %d in flight; want the 10 calls at once that the resource takes", partitions, workers, inFlight)
			}
			plan, err := r.Operator().Plan(t.Context())
			if err != nil || plan.NodesDesired != 1 || plan.WorkersNeeded > 10 {
				t.Errorf("%d partitions: %d nodes and %d workers are desired (%v), want one node", partitions, plan.NodesDesired, plan.WorkersNeeded, err)
			}
		})
	}
}
