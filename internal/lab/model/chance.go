package model

import (
	"math"
	"math/rand/v2"

	"github.com/weirhq/weir/internal/lab/virtual"
)

// spread is a log-normal distribution: most values a little below the mean, a few far above.
type spread struct{ mu, sigma float64 }

const (
	// z99 is how many standard deviations lie below the 99th percentile.
	z99 = 2.3263478740408408
	// widest is how far the 99th percentile may be above the mean. The shape itself ends at 14.97.
	widest = 10
)

// spreadOf has the given mean and 99th percentile, from the mean to widest times
// that. From ln p99 = mu + z sigma and ln mean = mu + sigma²/2 follows sigma.
func spreadOf(mean, p99 float64) spread {
	if mean <= 0 {
		return spread{mu: math.Inf(-1)}
	}
	sigma := z99 - math.Sqrt(max(0, z99*z99-2*math.Log(max(p99/mean, 1))))
	return spread{math.Log(mean) - sigma*sigma/2, sigma}
}

// median returns what half of the values stay below.
func (s spread) median() float64 { return math.Exp(s.mu) }

func (s spread) draw(rng *rand.Rand) float64 { return math.Exp(s.mu + s.sigma*rng.NormFloat64()) }

// chance returns a source of random numbers of its own for one part of the world.
func chance(seed uint64, kind, no int) *rand.Rand {
	return virtual.Chance(seed, uint64(kind)<<32|uint64(no))
}

// The kinds of streams.
const (
	ofArrivals = iota + 1
	ofDownstream
	ofBackoff
	ofFlow
	ofSkips
)

// some returns how many of n come up if each does with probability p.
func some(rng *rand.Rand, n int, p float64) (k int) {
	if p <= 0 {
		return 0
	}
	for range n {
		if rng.Float64() < p {
			k++
		}
	}
	return k
}
