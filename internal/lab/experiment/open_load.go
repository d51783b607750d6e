package experiment

import (
	"math"

	"github.com/weirhq/weir/internal/lab/virtual"
)

const (
	openPerHour = 430_000
	openFloods  = 3 // per hour
	openLoad    = 0.9
	openSmall   = 1000
	openLarge   = 10_000
)

// openArrivals draws a number of hours.
func openArrivals(seed uint64, hours float64, place placement) (all []job, rate float64) {
	rng := virtual.Chance(seed, 5)
	n := int(openPerHour * hours)
	floods := max(1, int(math.Round(openFloods*hours)))
	at, total := 0.0, int64(0)
	for i := range n {
		at += rng.ExpFloat64() * 3600 / openPerHour
		x := drawBulk(rng, place, heavyTail(floodItems), at)
		if i%(n/(floods+1)) == 0 && i > 0 && i/(n/(floods+1)) <= floods {
			x.items = floodItems
		}
		total += x.items
		all = append(all, x)
	}
	return all, math.Round(float64(total) / (3600 * hours) / openLoad)
}

// openRun is what came of it.
type openRun struct {
	small []float64 // slowdowns
	only  []float64 // those of tenants that had nothing else under way
	large float64   // mean time in seconds
	peak  float64
}

func runOpen(all []job, rate float64, a *alone, s sharing) (out openRun) {
	d := newBulkRate(rate, bulkService, s)
	jobs := d.many(len(all), func(i int) job { return all[i] })
	d.run(never / 4)
	n, until := 0, map[string]int64{} // when the last one so far of a tenant ends
	for _, j := range jobs {
		switch {
		case j.items <= openSmall:
			slow := d.took(j) / a.time(j.items)
			out.small = append(out.small, slow)
			if until[j.tenant] <= d.start+j.arrive {
				out.only = append(out.only, slow)
			}
		case j.items > openLarge:
			out.large += d.took(j) / 1e9
			n++
		}
		until[j.tenant] = max(until[j.tenant], j.done)
	}
	out.large /= float64(n)
	out.peak = peakOf(d.meters)
	return out
}

// E5 plays an hour of an open system at a load of 0.9: bulk actions of many tenants with
// sizes of a heavy tail, and three floods among them. Small ones are to be served as
// if there were little else, and large ones to pay little for it. It is run with all in
// one tier, and spread over all.
func E5(size Size) (lines []Line) {
	// The first eight have the worst case that is known; the others were drawn when the
	// queue was done.
	all := sized(size, seeds(61, 1), append(seeds(61, 8), seeds(501, 8)...))
	for _, place := range []placement{inTier(2), inAllTiers()} {
		lines = append(lines, overSeeds(all, func(seed uint64) []Line { return openLines(seed, sized(size, 0.4, 1), place) })...)
	}
	return lines
}

func openLines(seed uint64, hours float64, place placement) []Line {
	arrivals, rate := openArrivals(seed, hours, place)
	a := newAlone(rate, bulkService)
	got, fair := runOpen(arrivals, rate, a, asIs), runOpen(arrivals, rate, a, plain)
	at := ", " + place.name
	return []Line{
		atMost(6, "load 0.9, slowdown p99 to 1,000 items"+at, virtual.Quantile(got.small, 0.99), 2, "x"),
		atMost(6, "load 0.9, slowdown max to 1,000 items"+at, virtual.Quantile(got.small, 1), 50, "x").missed(
			"one in ten thousand comes while a large one of its own tenant is under way, "+
				"and in the low tier waits for that tenant's turn", 500),
		atMost(6, "the same, tenants with nothing else under way"+at, virtual.Quantile(got.only, 1), 50, "x"),
		atMost(6, "load 0.9, time over 10,000 items above fair sharing's, mean"+at, 100*(got.large/fair.large-1), 10, " %"),
		peakLine("load 0.9"+at, got.peak),
	}
}
