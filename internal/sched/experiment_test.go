package sched

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Fifteen thousand jobs in three groups end when their limits say, and none is
// taken and put back.
func TestLimitedGroupsEndOnTime(t *testing.T) {
	for _, tt := range []struct {
		name      string
		resources int
		rate      float64
	}{{"a resource each, 10/s", 3, 10}, {"one resource, 30/s", 1, 30}} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSim(t, Options{})
			var rs []*Resource
			for i := range tt.resources {
				rs = append(rs, s.q.AddResource(ResourceConfig{Name: fmt.Sprint("r", i), Rate: tt.rate}))
			}
			var jobs []*job
			for i := range 3 {
				jobs = append(jobs, s.add(job{tenant: fmt.Sprint("t", i), tier: 2, r: rs[i%len(rs)], items: 5000, service: 50 * ms}))
			}
			s.run(math.MaxInt64 / 4)
			for i, j := range jobs {
				took := float64(j.done-s.start) / 1e9
				s.target(j.done > 0 && took <= 505, "group %d: 5,000 jobs took %.2f s, ideal 500 s", i, took)
			}
			s.target(s.spins == 0, "empty-handed calls of Next that were due: %d", s.spins)
			for _, r := range rs {
				s.withinRate(r)
			}
		})
	}
}

// Small bulk actions do not feel the floods beside them. Slowdown is against having
// the whole rate to itself, without the burst after idleness. Sizes have a heavy
// tail: where bulks of several thousand items are common, at a load of 20%, they use up
// the express budget among themselves and the last case does not hold (p99 about 6).
func TestSmallBulksBesideFloods(t *testing.T) {
	for _, tt := range []struct {
		name   string
		floods int
		load   float64
		most   float64
		bound  float64
	}{
		{"one flood, load 10%", 1, 0.10, 1000, 2},
		{"300 floods, load 10%", 300, 0.10, 1000, 2},
		{"300 floods, load 20%", 300, 0.20, 1000, 2},
		{"10 floods, sizes to 10,000", 10, 0.20, 10_000, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const rate, service = 10_000, 100 * ms
			s := newSim(t, Options{})
			r := s.q.AddResource(ResourceConfig{Name: "r", Rate: rate})
			for i := range tt.floods {
				s.add(job{tenant: fmt.Sprint("flood", i), tier: i % Tiers, r: r, items: 1e7, chunk: 100, service: service})
			}
			rng := rand.New(rand.NewPCG(1, 2))
			var small []*job
			size := func() float64 { return min(tt.most, 10*math.Pow(1-rng.Float64(), -1/1.1)) } // heavy tail
			mean := 10 * (11 - 10*math.Pow(tt.most/10, -0.1))
			for at := 2.0; at < 120; at += rng.ExpFloat64() * mean / (tt.load * rate) {
				n := size()
				small = append(small, s.add(job{
					tenant: fmt.Sprint("small", rng.IntN(10_000)), tier: rng.IntN(Tiers),
					r: r, items: int64(n), chunk: 100, service: service, arrive: int64(at * 1e9),
				}))
			}
			s.run(150 * sec)
			var slow []float64
			for _, j := range small {
				idle := float64(service)/1e9 + max(0, float64(j.items)-100)/rate // with the whole rate to itself
				took := float64(j.done-s.start-j.arrive) / 1e9
				if j.done == 0 {
					took = math.Inf(1)
				}
				slow = append(slow, took/idle)
			}
			slices.Sort(slow)
			p99 := slow[len(slow)*99/100]
			s.target(p99 <= tt.bound, "%d small bulks beside %d floods: slowdown p50 %.2f, p99 %.2f, worst %.2f, target p99 <= %.0f",
				len(slow), tt.floods, slow[len(slow)/2], p99, slow[len(slow)-1], tt.bound)
			s.target(s.use(r) >= 0.99, "use of the rate: %.2f%%, target 99%%", 100*s.use(r))
			s.withinRate(r)
		})
	}
}

// Backlogged tenants advance together.
func TestManyTenantsShareEqually(t *testing.T) {
	const tenants = 20_000
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r"})
	rng := rand.New(rand.NewPCG(3, 4))
	jobs := make([]*job, tenants)
	for i := range jobs {
		name := fmt.Sprint(i)
		s.q.SetTenant(s.now, s.q.Tenant(name), int64(Unit/2+rng.IntN(Unit)), 0)
		jobs[i] = s.add(job{tenant: name, tier: 2, r: r, items: 1e6, chunk: 50 + rng.Int64N(50)})
	}
	picks := 0
	for _, n := range []int{6, 18} {
		for ; picks < n*tenants; picks++ {
			p, _ := s.q.Next(s.now)
			j := p.Entry.Data.(*job)
			j.left -= int64(p.Cost)
			j.served += int64(p.Cost)
			s.update(j)
			s.q.Done(s.now, p, ms)
		}
		var sum, squares float64
		for _, j := range jobs {
			x := float64(j.served) / float64(j.e.Group().Tenant().weight)
			sum += x
			squares += x * x
		}
		jain := sum * sum / (squares * tenants)
		want := 1 - 0.3/float64(n*n)
		s.target(jain >= want, "Jain index of %d tenants after %d tasks each: %.5f, target %.5f", tenants, n, jain, want)
	}
}

// Tiers share 6:3:2:1, and no tenant does better in a lower tier.
func TestTiersShareByWeight(t *testing.T) {
	for _, tt := range []struct {
		name    string
		tenants [Tiers]int
		exact   bool
	}{
		{"25 tenants in each tier", [Tiers]int{25, 25, 25, 25}, true},
		{"crowded above", [Tiers]int{1000, 0, 0, 1}, false},
		{"crowded below", [Tiers]int{1, 0, 0, 1000}, false},
		{"mixed", [Tiers]int{200, 20, 50, 5}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSim(t, Options{})
			r := s.q.AddResource(ResourceConfig{Name: "r", Rate: 10_000})
			var jobs [Tiers][]*job
			for k, n := range tt.tenants {
				for i := range n {
					jobs[k] = append(jobs[k], s.add(job{tenant: fmt.Sprint(k, "/", i), tier: k, r: r, items: 1e9, chunk: 100, service: 10 * ms}))
				}
			}
			s.run(600 * sec)
			var sums [Tiers]float64
			total := 0.0
			for k := range jobs {
				for _, j := range jobs[k] {
					sums[k] += float64(j.served)
				}
				total += sums[k]
			}
			below := 0.0
			for k := Tiers - 1; k >= 0; k-- {
				if tt.tenants[k] == 0 {
					continue
				}
				each := sums[k] / float64(tt.tenants[k]) / float64(s.q.opt.TierWeights[k])
				s.target(each >= 0.95*below, "tier %d: %.0f items per tenant and weight, below it %.0f", k, each, below)
				below = each
				if want := float64(s.q.opt.TierWeights[k]) / 12; tt.exact {
					s.target(math.Abs(sums[k]/total/want-1) <= 0.005, "tier %d: share %.3f%%, target %.3f%%", k, 100*sums[k]/total, 100*want)
				}
			}
			s.target(s.use(r) >= 0.99, "use of the rate: %.2f%%, target 99%%", 100*s.use(r))
			s.withinRate(r)
		})
	}
}

// A crowd of low tenants is not starved by critical floods, and the aged lane helps.
func TestAgedTenantsAreServed(t *testing.T) {
	const low = 2000
	var waits []float64
	for _, share := range []float64{0.05, 1e-12} {
		s := newSim(t, Options{AgedShare: share})
		r := s.q.AddResource(ResourceConfig{Name: "r", Rate: 10_000})
		for i := range 10 {
			s.add(job{tenant: fmt.Sprint("critical", i), tier: 0, r: r, items: 1e9, chunk: 100, service: 10 * ms})
		}
		var jobs []*job
		for i := range low {
			jobs = append(jobs, s.add(job{tenant: fmt.Sprint("low", i), tier: 3, r: r, items: 1e6, chunk: 100, service: 10 * ms}))
		}
		s.run(900 * sec)
		longest := int64(0)
		for _, j := range jobs {
			longest = max(longest, j.longest, s.now-j.last)
		}
		waits = append(waits, float64(longest)/1e9)
	}
	bound := 120 + low*100/((1.0/7+0.05)*10_000)
	t.Logf("longest wait of a low tenant: %.1f s, bound %.0f s; %.1f s without the aged lane", waits[0], bound, waits[1])
	if waits[0] > bound || waits[0] >= waits[1] {
		t.Errorf("longest wait = %.1f s, want <= %.0f s and less than the %.1f s without the aged lane", waits[0], bound, waits[1])
	}
}

// A tenant at its cap stays there, and the others use what it leaves.
func TestCapIsKeptAndRateIsUsed(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r", Rate: 1000})
	s.q.SetTenant(s.now, s.q.Tenant("t0"), Unit, 2)
	for i := range 10 {
		s.add(job{tenant: fmt.Sprint("t", i), tier: 2, r: r, items: 1e9, chunk: 10, service: 200 * ms})
	}
	most := 0
	s.onPick = func(Pick) { most = max(most, s.q.Tenant("t0").InFlight()) }
	s.run(120 * sec)
	s.target(most == 2, "most tasks of the capped tenant in flight: %d, cap 2", most)
	s.target(s.use(r) >= 0.99, "use of the rate beside a capped tenant: %.2f%%, target 99%%", 100*s.use(r))
}

// A tenant with slow tasks does not take all slots.
func TestSlowTenantDoesNotSinkThePool(t *testing.T) {
	s := newSim(t, Options{Slots: 100})
	r := s.q.AddResource(ResourceConfig{Name: "r", Rate: 25_000})
	for i, service := range []int64{10 * sec, 200 * ms, 200 * ms} {
		s.add(job{tenant: fmt.Sprint("t", i), tier: 2, r: r, items: 1e9, chunk: 100, service: service})
	}
	s.run(300 * sec)
	s.target(s.use(r) >= 0.95, "use of the rate beside 10 s tasks on 100 slots: %.2f%%, target 95%%", 100*s.use(r))
}
