package flow

import (
	"math"
	"slices"
)

// gaugeSamples bounds the samples that a gauge keeps for the median.
const gaugeSamples = 64

// gauge measures the tasks that end within a span.
type gauge struct {
	from    int64 // 0: nothing yet
	ends    int
	peak    int
	flights int64 // sum of the tasks in flight at each end
	samples [gaugeSamples]int64
}

// reading is the result of a gauge.
type reading struct {
	rate   float64 // ends a second
	median float64 // run time in nanoseconds
	mean   float64 // tasks in flight
	peak   int
}

func (g *gauge) add(now, service int64, inFlight int, chance *uint64) {
	if g.from == 0 {
		g.from = now - min(service, watchSpan)
	}
	switch {
	case g.ends < gaugeSamples:
		g.samples[g.ends] = service
	default: // reservoir sampling: every end is equally likely to be kept
		if i := int(draw(chance) * float64(g.ends+1)); i < gaugeSamples {
			g.samples[i] = service
		}
	}
	g.ends++
	g.peak = max(g.peak, inFlight)
	g.flights += int64(inFlight)
}

func (g *gauge) read(now int64) reading {
	s := g.samples
	kept := s[:min(g.ends, gaugeSamples)]
	slices.Sort(kept)
	return reading{
		rate:   float64(g.ends) / max(float64(now-g.from)/1e9, 1e-3),
		median: float64(kept[len(kept)/2]),
		mean:   float64(g.flights) / float64(g.ends),
		peak:   g.peak,
	}
}

func (g *gauge) reset(now int64) { *g = gauge{from: now} }

// covariance tells over a minute whether more tasks in flight get more done.
type covariance struct {
	n                int
	x, y, xx, yy, xy float64
}

// varies is the number of windows covered.
const varies = 60

func (c *covariance) add(m reading) {
	if c.n == varies {
		*c = covariance{}
	}
	c.n++
	c.x += m.mean
	c.y += m.rate
	c.xx += m.mean * m.mean
	c.yy += m.rate * m.rate
	c.xy += m.mean * m.rate
}

// idle reports that over the last minute the number in flight changed by more than a tenth, and
// less got done when it was higher. A number that hardly changes proves nothing.
func (c *covariance) idle() bool {
	if c.n < varies {
		return false
	}
	n := float64(c.n)
	varX, varY, cov := c.xx/n-c.x*c.x/n/n, c.yy/n-c.y*c.y/n/n, c.xy/n-c.x*c.y/n/n
	if math.Sqrt(max(varX, 0)) < 0.1*c.x/n {
		return false
	}
	return cov < -0.3*math.Sqrt(max(varX, 0)*max(varY, 0))
}
