package sched

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Over any interval in which two tenants are both busy, what they got per weight
// differs by no more than one task of each.
func TestBusyTenantsStayWithinOneTaskOfEachOther(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const never = 1000 * time.Hour // the aged path is not part of the bound
		s := newSim(t, Options{AgedAfter: [Tiers]time.Duration{never, never, never, never}})
		rate := rapid.SampledFrom([]float64{0, 50, 5000}).Draw(rt, "rate")
		r := s.q.AddResource(ResourceConfig{Name: "r", Rate: rate})
		jobs := make([]*job, rapid.IntRange(2, 6).Draw(rt, "tenants"))
		bound := make([]float64, len(jobs))
		for i := range jobs {
			w := rapid.Int64Range(50, 10_000).Draw(rt, "weight")
			c := rapid.Int64Range(1, 40).Draw(rt, "cost")
			s.q.SetTenant(s.now, s.q.Tenant(fmt.Sprint(i)), w, 0)
			jobs[i] = s.add(job{tenant: fmt.Sprint(i), tier: 1, r: r, items: 1e12, chunk: c})
			bound[i] = float64(c) / float64(w)
		}
		per := func(i int) float64 { return float64(jobs[i].served) / float64(jobs[i].e.Bulk().Tenant().weight) }
		type span struct{ low, high float64 }
		gaps := make([]span, len(jobs)*len(jobs))
		for picks := range 300 {
			// Each charge is cut to a whole unit of the tags' fixed point.
			cut := float64(picks+1) / (1 << tagShift)
			for s.q.Wake() > s.now {
				s.now = s.q.Wake()
			}
			if _, ok := s.tryServe(); !ok {
				continue
			}
			for i := range jobs {
				for k := range i {
					gap, g := per(i)-per(k), &gaps[i*len(jobs)+k]
					g.low, g.high = min(g.low, gap), max(g.high, gap)
					if most := bound[i] + bound[k] + cut; g.high-g.low > most {
						rt.Fatalf("tenants %d and %d moved apart by %g, bound %g", i, k, g.high-g.low, most)
					}
				}
			}
		}
	})
}

func TestComingAndGoingEarnsNothing(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r"})
	flood := s.add(job{tenant: "flood", tier: 2, r: r, items: 1e9, chunk: 10})
	sly := s.add(job{tenant: "sly", tier: 2, r: r, items: 500, chunk: 10})
	var got int64
	for range 20_000 {
		if s.serve() == sly {
			got += 10
		}
		if sly.left == 0 { // gone, and back at once
			s.q.RemoveBulk(s.now, sly.e.Bulk())
			sly = s.add(job{tenant: "sly", tier: 2, r: r, items: 500, chunk: 10})
		}
	}
	if most := flood.served + 2*r.small; got > most {
		t.Errorf("a tenant that comes and goes got %d items beside a flood with %d, want <= %d", got, flood.served, most)
	}
}

func TestTenantInTwoTiersGetsNoMore(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r"})
	got := map[string]int64{}
	for _, j := range []job{{tenant: "both", tier: 1}, {tenant: "both", tier: 2}, {tenant: "high", tier: 1}, {tenant: "default", tier: 2}} {
		j.r, j.items, j.chunk = r, 1e9, 1
		s.add(j)
	}
	for range 9000 {
		got[s.serve().tenant]++
	}
	if got["both"] > got["high"]*21/20 {
		t.Errorf("served %v, want no more for the tenant in both tiers than for the one in the higher", got)
	}
}

func TestIdleTenantsAreForgotten(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r"})
	s.add(job{tenant: "flood", tier: 2, r: r, items: 1e12, chunk: 100})
	most := 0
	for i := range 20_000 {
		small := s.add(job{tenant: fmt.Sprint(i), tier: 2, r: r, items: 10, chunk: 10})
		for small.left > 0 {
			s.serve()
		}
		s.q.RemoveBulk(s.now, small.e.Bulk())
		s.serve() // the flood
		most = max(most, s.q.Tenants())
	}
	if most > 1000 {
		t.Errorf("tenants held at most = %d of 20,000 that came and went, want few", most)
	}
}

func TestExpressKeepsItsShareWithoutARate(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r"})
	flood := s.add(job{tenant: "flood", tier: 0, r: r, items: 1e12, chunk: 10})
	n, total := 0, int64(0)
	fresh := func() *job {
		n++
		return s.add(job{tenant: fmt.Sprint("small", n), tier: 3, r: r, items: 50, chunk: 10})
	}
	for range 20 { // always something small, from ever new tenants
		fresh()
	}
	for range 20_000 {
		j := s.serve()
		total += 10
		if j != flood && j.left == 0 {
			s.q.RemoveBulk(s.now, j.e.Bulk())
			fresh()
		}
	}
	// The low tier's own share is 1/7 at most; the paths add 30% and 5%.
	if share := 1 - float64(flood.served)/float64(total); share > 0.35+0.65/7+0.02 || share < 0.25 {
		t.Errorf("share of the small ones = %.2f, want about a third", share)
	}
}

func TestTagsSurviveRebasing(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r"})
	r.tiers[2].v = rebaseAt - 1<<34
	r.vRoot = rebaseAt - 1<<34
	for _, name := range []string{"a", "b", "c"} {
		s.add(job{tenant: name, tier: 2, r: r, items: 1e9, chunk: 7})
	}
	got := map[string]int{}
	for range 9000 {
		got[s.serve().tenant]++
	}
	if r.tiers[2].v > rebaseAt/2 || r.vRoot > rebaseAt/2 {
		t.Errorf("virtual times %d and %d were not rebased", r.tiers[2].v, r.vRoot)
	}
	for name, n := range got {
		if n < 2999 || n > 3001 {
			t.Errorf("%s was served %d times of 9000, want a third", name, n)
		}
	}
}

func TestRefundGivesTheTurnBack(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r"})
	a := s.add(job{tenant: "a", tier: 2, r: r, items: 1e6, chunk: 10})
	b := s.add(job{tenant: "b", tier: 2, r: r, items: 1e6, chunk: 10})
	for range 10 {
		s.serve()
	}
	before := [2]int64{a.served, b.served}
	for range 100 { // every task of a is refused once
		p, _ := s.q.Next(s.now)
		j := p.Entry.Data.(*job)
		s.update(j)
		if j == a && a.inFlight == 0 {
			a.inFlight = 1
			s.q.Done(s.now, p, ms)
			s.q.Refund(p)
			continue
		}
		j.served += 10
		a.inFlight = 0
		s.q.Done(s.now, p, ms)
	}
	gotA, gotB := a.served-before[0], b.served-before[1]
	if gotA < gotB-20 {
		t.Errorf("a ran %d items, b %d: refusals were charged to a", gotA, gotB)
	}
}

// A tenant whose every task is refused takes its turns and no more: others are served between them.
func TestATenantThatAloneIsRefusedDoesNotStayFirst(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r"})
	a := s.add(job{tenant: "a", tier: 2, r: r, items: 1e6, chunk: 10})
	s.add(job{tenant: "b", tier: 2, r: r, items: 1e6, chunk: 10})
	refused := 0
	for range 100 {
		p, _ := s.q.Next(s.now)
		j := p.Entry.Data.(*job)
		s.update(j)
		s.q.Done(s.now, p, ms)
		if j == a {
			refused++
			s.q.Refund(p)
		}
	}
	if refused < 45 || refused > 55 {
		t.Errorf("%d of 100 tasks were of the tenant that is refused, want half", refused)
	}
}

func TestCreditIsOneQuantum(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r"})
	flood := s.add(job{tenant: "flood", tier: 2, r: r, items: 1e12, chunk: 10})
	late := s.add(job{tenant: "late", tier: 2, r: r, items: 0})
	for range 20_000 {
		s.serve()
	}
	late.chunk = 10
	before := flood.served
	for flood.served == before {
		late.left = 900 // always little, and never done
		s.update(late)
		s.serve()
	}
	if most := r.small + 20; late.served > most {
		t.Errorf("after long idleness a tenant got %d items before any other tenant, want <= %d", late.served, most)
	}
}

// What the tiers weigh follows from who is in the tree, not from how it came to be so.
func TestTierWeightsAreRightAfterATenantLeavesOneOfTwoTiers(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r"})
	for _, tier := range []int{1, 2, 2} {
		s.add(job{tenant: "both", tier: tier, r: r, items: 1e6})
	}
	s.add(job{tenant: "high", tier: 1, r: r, items: 1e6})
	leaves := s.add(job{tenant: "both", tier: 3, r: r, items: 1e6})
	s.add(job{tenant: "low", tier: 3, r: r, items: 1e6})
	s.q.Update(s.now, leaves.e, 0, 0)
	var got, want [Tiers]float64
	for k := range r.tiers {
		got[k] = r.tiers[k].perItem
	}
	r.guardTiers()
	for k := range r.tiers {
		want[k] = r.tiers[k].perItem
	}
	if got != want {
		t.Errorf("cost per item of the tiers = %v, want %v", got, want)
	}
}
