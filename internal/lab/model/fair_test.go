package model

import (
	"testing"
	"time"

	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/core/route"
)

func TestTenantsShareByWeight(t *testing.T) {
	w := World{
		Resources: []Resource{{Name: "api", Rate: 2000, Downstream: Downstream{Latency: 20 * ms}}},
		Tenants:   []Tenant{{Name: "big", Weight: 3}},
		Length:    Span(2 * time.Minute),
	}
	for _, name := range []string{"big", "a", "b"} {
		w.BulkActions = append(w.BulkActions, BulkAction{Name: name, Items: 1_000_000, Steps: []string{"api"}})
	}
	r := play(t, w)
	if r.Jain < 0.999 {
		t.Errorf("Jain's index per weight = %.4f, want nearly 1", r.Jain)
	}
	done := map[string]float64{}
	for _, x := range r.Tenants {
		done[x.Name] = float64(x.Done)
	}
	if ratio := done["big"] / done["a"]; ratio < 2.85 || ratio > 3.15 {
		t.Errorf("weight 3 got %.2f times what weight 1 got", ratio)
	}
	if sum := done["big"] + done["a"] + done["b"]; sum < 0.98*2000*120 {
		t.Errorf("%.0f items in two minutes at 2,000/s: the rate is not used", sum)
	}
}

// A few hundred items are little work for most resources. They are much for one that bears
// only a few slow calls at once, whatever its rate: there, too, equal tenants get equal shares, and
// one gains nothing by splitting its work.
func TestTenantsShareASlowResourceWithLittleWork(t *testing.T) {
	for name, rate := range map[string]Rate{"no rate": 0, "a rate that is never reached": 1000} {
		t.Run(name, func(t *testing.T) {
			w := World{Resources: []Resource{{Name: "api", Rate: rate, Concurrency: 9, Downstream: Downstream{Latency: 300 * ms}}}, Length: Span(time.Minute)}
			for _, name := range []string{"a", "b", "c", "d"} {
				w.BulkActions = append(w.BulkActions, BulkAction{Name: name, Items: 600, Batch: 1, Steps: []string{"api"}})
			}
			for i := range 10 {
				w.BulkActions = append(w.BulkActions, BulkAction{Name: "part" + string(rune('0'+i)), Tenant: "split", Items: 60, Batch: 1, Steps: []string{"api"}})
			}
			if r := play(t, w); r.Jain < 0.999 {
				t.Errorf("Jain's index = %.4f, want nearly 1: %+v", r.Jain, r.Tenants)
			}
		})
	}
}

// Where nodes share a low rate and calls are to be few, the part of a node may become less than a call
// that it has offered. Nothing may wait for that.
func TestNodesShareALowRateInFewCalls(t *testing.T) {
	w := World{
		Nodes: []Node{{Slots: 64}, {Slots: 64}, {Slots: 64}}, Tenants: []Tenant{{Name: "gold", Weight: 3}, {Name: "silver", Weight: 2}}, Length: Span(time.Minute),
		Resources: []Resource{{Name: "api", Rate: 100, Pacing: "full", Downstream: Downstream{Latency: 20 * ms}}},
	}
	for _, name := range []string{"gold", "silver", "bronze"} {
		w.BulkActions = append(w.BulkActions, BulkAction{Name: name, Items: 10_000, Steps: []string{"api"}})
	}
	r := play(t, w)
	done := map[string]float64{}
	for _, x := range r.Tenants {
		done[x.Name] = float64(x.Done)
	}
	all := done["gold"] + done["silver"] + done["bronze"]
	if all < 0.9*100*60 || r.Resources[0].Calls > int64(all/5) {
		t.Errorf("%.0f items in a minute at 100/s, in %d calls", all, r.Resources[0].Calls)
	}
	for name, share := range map[string]float64{"gold": 3. / 6, "silver": 2. / 6, "bronze": 1. / 6} {
		if got := done[name] / all; got < 0.9*share || got > 1.1*share {
			t.Errorf("%s got %.0f%% of what was done, want about %.0f%%", name, 100*got, 100*share)
		}
	}
}

// A chain ends when its slowest step does, and in no partition do the steps before run ahead.
func TestChainEndsWithItsSlowestStep(t *testing.T) {
	w := World{BulkActions: []BulkAction{{Name: "chain", Items: 300_000, Steps: []string{"a", "b", "c"}}}}
	for i, rate := range []Rate{10_000, 5000, 8000} {
		w.Resources = append(w.Resources, Resource{Name: w.BulkActions[0].Steps[i], Rate: rate, Downstream: Downstream{Latency: 20 * ms, Rejects: 0.01}})
	}
	r := play(t, w)
	ideal := 300_000 * 0.99 / 5000
	shards := route.ShardsFor(300_000, route.MostShards(8))
	if got := seconds(r.End); got > 1.02*ideal {
		t.Errorf("three steps end after %.1f s, the slowest alone takes %.1f s", got, ideal)
	}
	for i, x := range r.Resources {
		for _, s := range x.Seconds {
			if i > 0 && s.Ready*x.chunk() > shards*(2*int(x.Rate)+4000) {
				t.Fatalf("%d items wait for step %s at %d s: the step before runs ahead", s.Ready*x.chunk(), x.Name, s.At)
			}
		}
	}
	if a, b := r.Resources[0].Done, r.Resources[1].Started; b >= a {
		t.Errorf("%d items came to the second step, of %d in the first with rejects", b, a)
	}
}

// chunk returns how many items a task of the resource has, for batches of a hundred.
func (x ResourceResult) chunk() int { return limit.Chunk(float64(x.Rate), 100) }

// The slowdown measures what other tenants cost, and is 1 for a tenant that is alone.
func TestSlowdownIsAgainstBeingAlone(t *testing.T) {
	alone := simple(20_000, Resource{Rate: 1000})
	if got := play(t, alone).Kinds[0].SlowdownP50; got < 0.99 || got > 1.02 {
		t.Errorf("slowdown alone = %.3f, want 1", got)
	}
	two := alone
	two.BulkActions = append(two.BulkActions, BulkAction{Name: "other", Items: 20_000, Steps: []string{"api"}})
	if got := play(t, two).Kinds[0].SlowdownP50; got < 1.9 || got > 2.1 {
		t.Errorf("slowdown of two that share = %.3f, want 2", got)
	}
}

// Several nodes keep a rate together, use it, and spread a huge bulk action.
func TestNodesShareARate(t *testing.T) {
	w := simple(600_000, Resource{Rate: 6000})
	w.Nodes, w.Partitions = []Node{{64}, {64}, {64}}, 12
	w.BulkActions = append(w.BulkActions, BulkAction{Name: "second", Items: 400_000, Steps: []string{"api"}})
	r := play(t, w)
	if x := r.Resources[0]; x.Peak > 6000 || x.Use < 0.9 {
		t.Errorf("three nodes started up to %.0f/s of 6000/s and used %.2f of it", x.Peak, x.Use)
	}
	if n := len(r.Kinds); n != 2 || r.Kinds[0].Done != 600_000 || r.Kinds[1].Done != 400_000 {
		t.Errorf("not all items of the shards are done: %+v", r.Kinds)
	}
}
