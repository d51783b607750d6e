package experiment

import (
	"fmt"

	"github.com/weirhq/weir/internal/lab/virtual"
)

// smallRate is the rate of the resource of E4.
const smallRate = 10_000

// besideFloods is one setting of E4.
type besideFloods struct {
	sizes  sizes
	load   float64
	floods int
	place  placement
	span   int64
	share  share
	seed   uint64

	service int64
}

// smallRun is what one setting came to.
type smallRun struct {
	items     []int64
	slow      []float64
	use, peak float64
}

// arrival is a bulk action that is submitted at a time after the start.
type arrival struct {
	tenant    string
	tier      int
	items, at int64
}

// arrivals draws the small ones: a Poisson process over all tenants.
func (c besideFloods) arrivals() (all []arrival) {
	rng := virtual.Chance(c.seed, 4)
	gap := c.sizes.mean() / (c.load * smallRate)
	for at := 2.0; at < float64(c.span)/1e9; at += gap * rng.ExpFloat64() {
		all = append(all, arrival{tenantName(rng.IntN(Tenants)), c.place.bulk(rng), c.sizes.draw(rng.Float64()), int64(at * 1e9)})
	}
	return all
}

// run keeps the number of floods: when one ends, another tenant sends the next.
func (c besideFloods) run(a *alone) (out smallRun) {
	b := newBulkRate(smallRate, c.service, c.share)
	sent := 0
	flood := func(tier int) {
		b.add(b.bulk(fmt.Sprint("flood", sent), tier, floodItems, b.Now()-b.start))
		sent++
	}
	for i := range c.floods {
		flood(c.place.flood(i))
	}
	b.onEnd = func(j *job) {
		if j.items == floodItems {
			flood(j.tier)
		}
	}
	var small []*job
	for _, x := range c.arrivals() {
		small = append(small, b.add(b.bulk(x.tenant, x.tier, x.items, x.at)))
	}
	b.run(c.span + 60*sec)
	for _, j := range small {
		out.items = append(out.items, j.items)
		out.slow = append(out.slow, b.took(j)/a.time(j.items))
	}
	out.use, out.peak = b.use(b.r), b.meters[b.r].peak()
	return out
}

// smallCase is one line of E4, over settings that may make no difference.
type smallCase struct {
	target int
	sizes  sizes
	load   float64
	floods []int
	span   int64
	want   float64

	service int64
	missed  string
	holds   float64
}

func smallCases(size Size) (cases []smallCase) {
	many, span := []int{1, 10, 100, 1000}, 600*sec
	if size == Small {
		many, span = []int{1, 1000}, 300*sec
	}
	for _, load := range []float64{0.1, 0.2} {
		for _, dist := range []func(float64) sizes{heavyTail, logUniform} {
			cases = append(cases,
				smallCase{target: 4, sizes: dist(1000), load: load, floods: many, span: span, want: 2, service: bulkService},
				smallCase{target: 5, sizes: dist(10_000), load: load, floods: []int{10}, span: 5 * span, want: 3, service: bulkService})
		}
	}
	return append(cases, smallCase{
		target: 4, sizes: heavyTail(1000), load: 0.2, floods: many, span: span, want: 2, service: 20 * ms, holds: 5,
		missed: "up to 60 ms for room in the window of the rate are three times as long as these tasks",
	})
}

// E4 is small bulk actions of many tenants beside floods: that these are there, how
// many they are, and in which tiers, is not to be felt. Slowdown is the time
// from submission to the end of the last item, in terms of what the same bulk
// action takes on the idle resource with the same tasks, the burst after idleness
// included.
//
// What is lost beside floods is a time, not a part: a task that does not fit into what
// is left of the rate's window waits until enough of the last second has left it, 60
// ms for one in a hundred. Where tasks are short that is many times their own length.
//
// Each line is the worst of all seeds, numbers of floods, and placements.
func E4(size Size) (lines []Line) {
	places, all := []placement{inTier(2), below(), inAllTiers()}, seeds(401, 10)
	if size == Small {
		places, all = places[1:], all[:1]
	}
	use, peak := 1.0, 0.0
	for _, c := range smallCases(size) {
		a := newAlone(smallRate, c.service)
		p99, runs := 0.0, 0
		for _, floods := range c.floods {
			for _, place := range places {
				for _, seed := range all {
					got := besideFloods{c.sizes, c.load, floods, place, c.span, asIs, seed, c.service}.run(a)
					p99 = max(p99, virtual.Quantile(got.slow, 0.99))
					use, peak = min(use, got.use), max(peak, got.peak)
					runs++
				}
			}
		}
		lines = append(lines, Line{
			Target: c.target, Got: p99, Want: c.want, Unit: "x", Missed: c.missed, Holds: c.holds,
			What: fmt.Sprintf("slowdown p99, sizes to %.0f, %s, load %.0f %%, tasks of %d ms, worst of %d", c.sizes.most,
				c.sizes.name, 100*c.load, c.service/ms, runs),
		})
	}
	return append(lines,
		Line{Target: 3, What: "use beside small bulk actions, least", Got: 100 * use, Want: 99, AtLeast: true, Unit: " %"},
		Line{Target: 2, What: "peak of any second beside small bulk actions", Got: peak, Want: 1, Unit: " C"})
}
