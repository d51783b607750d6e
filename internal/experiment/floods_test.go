package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weirhq/weir/internal/sched"
)

// Small bulk actions do not feel the floods beside them. Slowdown is against having
// the whole rate to itself, without the burst after idleness. Sizes have a heavy
// tail: where bulks of several thousand items are common, at a load of 20 %, they use up
// the express budget among themselves and the last case does not hold (p99 about 6).
func TestSmallBulksBesideFloods(t *testing.T) {
	for _, tt := range []struct {
		name   string
		floods int
		load   float64
		most   float64
		bound  float64
	}{
		{"one flood, load 10 %", 1, 0.10, 1000, 2},
		{"300 floods, load 10 %", 300, 0.10, 1000, 2},
		{"300 floods, load 20 %", 300, 0.20, 1000, 2},
		{"10 floods, sizes to 10,000", 10, 0.20, 10_000, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDrive(sched.Options{})
			r := d.resource(sched.ResourceConfig{Name: "r", Rate: 10_000})
			slow := slowdowns(d, r, tt.floods, tt.load, tt.most)
			p99 := slow[len(slow)*99/100]
			t.Logf("%d small bulks: slowdown p50 %.2f, p99 %.2f, worst %.2f", len(slow), slow[len(slow)/2], p99, slow[len(slow)-1])
			if p99 > tt.bound {
				t.Errorf("p99 of the slowdown = %.2f, want <= %v", p99, tt.bound)
			}
			if use := d.use(r); use < 0.99 {
				t.Errorf("use of the rate = %.4f, want >= 0.99", use)
			}
			if l := d.peak(tt.name, r); !l.OK() {
				t.Error(l)
			}
		})
	}
}

// slowdowns runs two minutes of small bulks beside floods, and returns how much longer
// than alone each took, sorted.
func slowdowns(d *drive, r *sched.Resource, floods int, load, most float64) (slow []float64) {
	const rate, service = 10_000, 100 * ms
	for i := range floods {
		d.add(job{tenant: fmt.Sprint("flood", i), tier: i % sched.Tiers, r: r, items: 1e7, chunk: 100, service: service})
	}
	rng := rand.New(rand.NewPCG(1, 2))
	mean := 10 * (11 - 10*math.Pow(most/10, -0.1))
	var small []*job
	for at := 2.0; at < 120; at += rng.ExpFloat64() * mean / (load * rate) {
		items := int64(min(most, 10*math.Pow(1-rng.Float64(), -1/1.1)))
		small = append(small, d.add(job{
			tenant: fmt.Sprint("small", rng.IntN(10_000)), tier: rng.IntN(sched.Tiers),
			r: r, items: items, chunk: 100, service: service, arrive: int64(at * 1e9),
		}))
	}
	d.run(150 * sec)
	for _, j := range small {
		alone := float64(service)/1e9 + max(0, float64(j.items)-100)/rate
		took := float64(j.done-d.start-j.arrive) / 1e9
		if j.done == 0 {
			took = math.Inf(1)
		}
		slow = append(slow, took/alone)
	}
	slices.Sort(slow)
	return slow
}
