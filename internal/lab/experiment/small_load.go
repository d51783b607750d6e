package experiment

import (
	"math"
	"math/rand/v2"

	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/core/sched"
)

// floodItems is the size of a flood.
const floodItems = 1_000_000

// bulkService is how long each task runs in E4 and E5, unless it is said.
const bulkService = 100 * ms

// sizes is a distribution of the sizes of bulk actions.
type sizes struct {
	name        string
	least, most float64
	alpha       float64 // of a Pareto distribution that is cut at most; 0 for log-uniform
}

func heavyTail(most float64) sizes  { return sizes{"heavy tail", 10, most, 1.1} }
func logUniform(most float64) sizes { return sizes{"log-uniform", 10, most, 0} }

// draw returns the size at a quantile.
func (s sizes) draw(u float64) int64 {
	if s.alpha == 0 {
		return int64(math.Round(s.least * math.Pow(s.most/s.least, u)))
	}
	return int64(min(s.most, s.least*math.Pow(1-u, -1/s.alpha)))
}

func (s sizes) mean() float64 {
	if s.alpha == 0 {
		return (s.most - s.least) / math.Log(s.most/s.least)
	}
	return s.least * (s.alpha - math.Pow(s.most/s.least, 1-s.alpha)) / (s.alpha - 1)
}

// placement says in which tiers floods and other bulk actions are.
type placement struct {
	name  string
	flood func(i int) int
	bulk  func(*rand.Rand) int
}

func inTier(k int) placement {
	return placement{"one tier", func(int) int { return k }, func(*rand.Rand) int { return k }}
}

// below returns the worst case for the tiers: all that is small is less important than
// all floods.
func below() placement {
	return placement{"floods above", func(int) int { return 0 }, func(*rand.Rand) int { return sched.Tiers - 1 }}
}

func inAllTiers() placement {
	return placement{"all tiers", func(i int) int { return i % sched.Tiers },
		func(rng *rand.Rand) int { return rng.IntN(sched.Tiers) }}
}

// sharing is how the rate is shared.
type sharing int

const (
	asIs  sharing = iota // by the queue as it is
	plain                // by fair sharing alone: no lanes, no credit
)

// newBulkRate makes one resource for bulk actions, whose tasks all take the same time.
func newBulkRate(rate float64, service int64, s sharing) *drive {
	const none = 1e-12
	d := newDrive(sched.Options{}, rate)
	if s == plain {
		d = newDrive(sched.Options{ExpressShare: none, AgedShare: none, Batch: 1}, 0)
		// Told that the resource is slow, the queue takes next to nothing for small.
		d.r = d.resource(sched.ResourceConfig{Name: "plain", Rate: 1, Gate: limit.NewGate(limit.GateConfig{Rate: rate})}, rate)
	}
	d.chunk, d.service = int64(limit.Chunk(rate, 100)), service
	return d
}

// alone is how long bulk actions take by themselves on an idle resource.
type alone struct {
	chunk int64
	rate  float64
	ends  []int64 // of the first tasks of a large one
}

// newAlone lets a large bulk action run: each of its tasks ends when a bulk action
// would end of which it were the last.
func newAlone(rate float64, service int64) *alone {
	d := newBulkRate(rate, service, asIs)
	a := &alone{chunk: d.chunk, rate: rate}
	d.onPick = func(sched.Pick, *job) { a.ends = append(a.ends, d.Now()-d.start+service) }
	d.add(job{tenant: "t", tier: 2, items: 100 * d.chunk})
	d.run(never / 4)
	return a
}

// time returns how long so many items take; beyond the tasks that were seen, each
// takes its part of the rate.
func (a *alone) time(items int64) float64 {
	n := int((items + a.chunk - 1) / a.chunk)
	seen := min(n, len(a.ends))
	return float64(a.ends[seen-1]) + float64(int64(n-seen)*a.chunk)*1e9/a.rate
}
