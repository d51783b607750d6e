package sched

import (
	"fmt"
	"testing"
)

// newcomers keeps a number of small bulk actions waiting, each of a tenant that was
// never seen before; size says how many items the n-th one has.
type newcomers struct {
	*sim
	r    *Resource
	tier int
	n    int
	size func(n int) int64
}

func (c *newcomers) come() {
	c.n++
	c.add(job{tenant: fmt.Sprint("new", c.n), tier: c.tier, r: c.r, items: c.size(c.n), chunk: 10})
}

// serve starts one task and lets the next one come if it was the last of a newcomer.
func (c *newcomers) serve(stays ...*job) *job {
	j := c.sim.serve()
	for _, s := range stays {
		if s == j {
			return j
		}
	}
	if j.left == 0 {
		c.q.RemoveBulk(c.now, j.e.Bulk())
		c.come()
	}
	return j
}

// Ever new tenants in the tier of a flood, some with more to do than others: the flood
// gets a quarter of its fair share of what the paths leave.
func TestSmallestFirstDoesNotStarveAFlood(t *testing.T) {
	const at = 4
	for _, tt := range []struct {
		name string
		size func(n int) int64
	}{
		{"all of one task", func(int) int64 { return 10 }},
		{"all the same", func(int) int64 { return 500 }},
		{"one in four is large", func(n int) int64 { return []int64{10, 10, 10, 900}[n%4] }},
		{"one in forty is large", func(n int) int64 { return []int64{10, 900}[(n%40)/39] }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSim(t, Options{})
			r := s.q.AddResource(ResourceConfig{Name: "r"})
			flood := s.add(job{tenant: "flood", tier: 2, r: r, items: 1e12, chunk: 10})
			c := &newcomers{sim: s, r: r, tier: 2, size: tt.size}
			for range at {
				c.come()
			}
			total := int64(0)
			for range 50_000 {
				c.serve(flood)
				total += 10
			}
			share, least := float64(flood.served)/float64(total), 0.65/(at+1)/creditPace
			if share < 0.95*least {
				t.Errorf("share of the flood = %.4f, want >= %.4f", share, least)
			}
		})
	}
}

// Smaller ones that keep coming do not keep a larger express flow waiting for ever.
func TestLargerExpressFlowGetsTurnsOfItsOwn(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r"})
	s.add(job{tenant: "flood", tier: 2, r: r, items: 1e12, chunk: 10})
	large := s.add(job{tenant: "large", tier: 2, r: r, items: 900, chunk: 10})
	c := &newcomers{sim: s, r: r, tier: 2, size: func(int) int64 { return 10 }}
	for range 5 {
		c.come()
	}
	picks := 0
	for ; large.left > 0 && picks < 10_000; picks++ {
		c.serve(large)
	}
	// Its 90 tasks share every fourth turn with five others. Another third goes to the
	// smaller ones by the path, and at first what the path has saved.
	if most := 90*ownTurn*6*3/2 + int(r.depths[PathExpress])/10; picks > most {
		t.Errorf("90 tasks beside smaller ones took %d picks, want <= %d", picks, most)
	}
}

// A crowd of equals is served in rounds: after each, all of them have had the same.
func TestACrowdTakesTurns(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r"})
	jobs := make([]*job, 2*crowd)
	for i := range jobs {
		jobs[i] = s.add(job{tenant: fmt.Sprint(i), tier: 2, r: r, items: 100, chunk: 10})
	}
	for round := range 9 {
		for range jobs {
			s.serve()
		}
		for i, j := range jobs {
			if got, want := j.served, int64(round+1)*10; got < want-10 || got > want+10 {
				t.Fatalf("tenant %d has had %d items after round %d, want %d, give or take a task", i, got, round+1, want)
			}
		}
	}
}

// A few equals are served one after the other: none ends later than in rounds, and
// half of them end much earlier.
func TestAFewAreServedToTheirEnd(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r"})
	var jobs []*job
	for i := range 4 {
		jobs = append(jobs, s.add(job{tenant: fmt.Sprint(i), tier: 2, r: r, items: 1000, chunk: 100}))
	}
	under := 0
	for range 40 {
		s.serve()
		begun := 0
		for _, j := range jobs {
			if j.left > 0 && j.left < j.items {
				begun++
			}
		}
		under = max(under, begun)
	}
	if under > 2 {
		t.Errorf("%d bulk actions were under way at once, want one and the one that takes its own turn", under)
	}
}

// However much small work there is in the low tier, a critical flood keeps what the
// paths and the tiers' weights leave it, less what the paths had saved up.
func TestExpressLaneSavesUpNoMoreThanItMay(t *testing.T) {
	const rate, seconds = 1000, 60
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r", Rate: rate})
	flood := s.add(job{tenant: "flood", tier: 0, r: r, items: 1e12, chunk: 10})
	s.now += 100 * sec // the budgets are full
	c := &newcomers{sim: s, r: r, tier: 3, size: func(int) int64 { return 100 }}
	for range 50 {
		c.come()
	}
	saved := r.depths[PathExpress] + r.depths[PathAged]
	for end := s.now + seconds*sec; s.now < end; s.now = max(s.now, s.q.Wake()) {
		for s.q.Wake() <= s.now {
			if j, ok := s.tryServe(); ok && j != flood && j.left == 0 {
				s.q.RemoveBulk(s.now, j.e.Bulk())
				c.come()
			}
		}
	}
	least := 0.65*6/7*rate*seconds - saved - 20
	if float64(flood.served) < least || saved > 5*float64(r.small) {
		t.Errorf("flood got %d items in %d s, want >= %.0f; the paths save up %.0f", flood.served, seconds, least, saved)
	}
}

// A task that does not fit yet does not block a smaller one that fits.
func TestSmallerWorkFitsIntoWhatIsLeftOfTheWindow(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r", Rate: 100})
	s.add(job{tenant: "flood", tier: 2, r: r, items: 1e6, chunk: 32})
	for end := s.now + 19*sec/20; s.now < end; s.now = max(s.now, min(end, s.q.Wake())) {
		for {
			if _, ok := s.tryServe(); !ok {
				break
			}
		}
	}
	if _, ok := s.tryServe(); ok {
		t.Fatal("the window was meant to be short of room")
	}
	s.add(job{tenant: "medium", tier: 2, r: r, items: 20, chunk: 20})
	if _, ok := s.tryServe(); ok {
		t.Fatal("the window was meant to have no room for a good part of 20")
	}
	s.add(job{tenant: "small", tier: 2, r: r, items: 4, chunk: 4})
	if j, ok := s.tryServe(); !ok || j.tenant != "small" {
		t.Error("the small one did not start, though there is room for it")
	}
}
