package experiment

import (
	"fmt"
	"math/rand/v2"

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
	share  sharing
	seed   uint64

	service int64
}

// smallRun is what one setting came to.
type smallRun struct {
	items     []int64
	slow      []float64
	use, peak float64
}

// arrivals draws the small ones: a Poisson process over all tenants.
func (c besideFloods) arrivals() (all []job) {
	rng := virtual.Chance(c.seed, 4)
	gap := c.sizes.mean() / (c.load * smallRate)
	for at := 2.0; at < float64(c.span)/1e9; at += gap * rng.ExpFloat64() {
		all = append(all, drawBulk(rng, c.place, c.sizes, at))
	}
	return all
}

// drawBulk draws a bulk action of some tenant that comes at a second.
func drawBulk(rng *rand.Rand, p placement, s sizes, at float64) job {
	return job{tenant: tenantName(rng.IntN(Tenants)), tier: p.bulk(rng), items: s.draw(rng.Float64()), arrive: int64(at * 1e9)}
}

// run keeps the number of floods: when one ends, another tenant sends the next.
func (c besideFloods) run(a *alone) (out smallRun) {
	d := newBulkRate(smallRate, c.service, c.share)
	sent := 0
	flood := func(tier int) {
		d.add(job{tenant: fmt.Sprint("flood", sent), tier: tier, items: floodItems, arrive: d.Now() - d.start})
		sent++
	}
	for i := range c.floods {
		flood(c.place.flood(i))
	}
	d.onEnd = func(j *job) {
		if j.items == floodItems {
			flood(j.tier)
		}
	}
	coming := c.arrivals()
	small := d.many(len(coming), func(i int) job { return coming[i] })
	d.run(c.span + 60*sec)
	for _, j := range small {
		out.items = append(out.items, j.items)
		out.slow = append(out.slow, d.took(j)/a.time(j.items))
	}
	out.use, out.peak = d.use(), peakOf(d.meters)
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
	many, span := sized(size, []int{1, 1000}, []int{1, 10, 100, 1000}), sized(size, 300*sec, 600*sec)
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
	var limits [][]Line
	for _, c := range smallCases(size) {
		got := c.lines(size)
		lines, limits = append(lines, got[0]), append(limits, got[1:])
	}
	return append(lines, over(limits, func(l []Line) []Line { return l })...)
}

// lines returns those of one case: the slowdown, and how the rate was used.
func (c smallCase) lines(size Size) []Line {
	places := []placement{inTier(2), below(), inAllTiers()}
	var all []besideFloods
	for _, floods := range c.floods {
		for _, place := range sized(size, places[1:], places) {
			for _, seed := range seeds(401, sized(size, 1, 10)) {
				all = append(all, besideFloods{c.sizes, c.load, floods, place, c.span, asIs, seed, c.service})
			}
		}
	}
	what := fmt.Sprintf("slowdown p99, sizes to %.0f, %s, load %.0f %%, tasks of %d ms, worst of %d", c.sizes.most,
		c.sizes.name, 100*c.load, c.service/ms, len(all))
	a := newAlone(smallRate, c.service)
	return over(all, func(x besideFloods) []Line {
		got := x.run(a)
		return []Line{
			atMost(c.target, what, virtual.Quantile(got.slow, 0.99), c.want, "x").missed(c.missed, c.holds),
			useLine("use beside small bulk actions, least", got.use),
			atMost(2, "peak of any second beside small bulk actions", got.peak, 1, " C"),
		}
	})
}
