package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/core/retry"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// plan is what a seed draws before anything happens.
type plan struct {
	nodes, partitions int
	slots             int
	lonely            bool // after the faults only one node stays
	lease, drain      int64
	healAt, bound     int64 // since the start; after that
	items             int
	chains            map[string][]weir.Step
	names             []string               // of chains, in order
	smaller           map[string][]weir.Step // the same with smaller tasks
	varies            bool                   // every other start of a node has smaller tasks
	stale             int                    // a node that does not know the last chain before the heal; -1: none
	store             storeFaults
	node              nodeFaults
	down              downFaults
	deadly            int  // how many bulk actions have an item that ends the process
	starts            bool // bulk actions can be held, scheduled, tried on a canary, paced, changed and told of
}

// storeFaults are probabilities per call.
type storeFaults struct {
	fail    float64 // an error before the effect
	unknown float64 // no answer: half of the time after the effect
	slow    float64 // takes up to five seconds
}

// nodeFaults are mean times between faults of one node; 0: never.
type nodeFaults struct{ crash, pause, drain int64 }

// downFaults are probabilities per item, or per task.
type downFaults struct {
	low, high                                   int64 // latency
	fail, retry, leaveOut, silent, refused, out float64
	taskFails, taskRefused, timeout, wrong      float64
	poison                                      float64 // share of bulk actions that have a poisonous item
}

const faultTime = 20 * second

// drawPlan lets the seed choose.
func drawPlan(seed uint64) plan {
	r := virtual.Named(seed, "plan", 0)
	p := plan{
		nodes: 1 + r.IntN(3), partitions: 1 + r.IntN(4), slots: 2 + r.IntN(7), lonely: chance(r, 0.25),
		lease: between(r, second, 3*second), drain: between(r, 200*millis, 3*second), healAt: faultTime, stale: -1,
		items: 120 + r.IntN(160),
	}
	p.drawChains(r)
	p.drawDownstream(r)
	calm := chance(r, 0.1)
	if !calm {
		p.drawFaults(r)
	}
	if !calm && p.nodes > 1 && chance(r, 0.1) {
		p.stale = r.IntN(p.nodes)
	}
	p.starts = !chance(virtual.Named(seed, "canaries", 0), 0.5)
	if r := virtual.Named(seed, "deadly", -1); chance(r, 0.15) {
		p.deadly = 1 + r.IntN(2)
	}
	p.bound = p.ideal() + 30*second + int64(p.deadly)*2*mostDeaths*40*second // starts, takeovers, and trials one after the other
	if p.starts {
		p.bound += 30*second + int64(p.items)*second // times to come, and stops that a changed rule makes
	}
	return p
}

// some draws a probability that is zero half of the time.
func some(r *rand.Rand, most float64) float64 {
	p := r.Float64() * most
	if chance(r, 0.5) {
		return 0
	}
	return p
}

func (p *plan) drawFaults(r *rand.Rand) {
	p.store = storeFaults{fail: some(r, 0.2), unknown: some(r, 0.2), slow: some(r, 0.1)}
	every := func() int64 {
		d := between(r, 3*second, 15*second)
		if chance(r, 0.5) {
			return 0
		}
		return d
	}
	p.node = nodeFaults{crash: every(), pause: every(), drain: every()}
}

func (p *plan) drawDownstream(r *rand.Rand) {
	p.down = downFaults{
		low: between(r, millis, 50*millis), high: between(r, 50*millis, 1500*millis),
		fail: some(r, 0.2), retry: some(r, 0.3), leaveOut: some(r, 0.1), silent: some(r, 0.05), refused: some(r, 0.1), out: r.Float64(),
		taskFails: some(r, 0.1), taskRefused: some(r, 0.2), timeout: some(r, 0.1), poison: some(r, 1), wrong: some(r, 0.01),
	}
}

// drawChains makes one to three chains of one to three steps over a few resources.
func (p *plan) drawChains(r *rand.Rand) {
	p.chains = map[string][]weir.Step{}
	var resources []weir.Resource
	for i := range 3 {
		res := weir.Resource{Name: fmt.Sprintf("r%d", i)}
		switch r.IntN(4) {
		case 0, 1:
			res.Rate = weir.Rate(10 + r.IntN(40))
		case 2:
			res.Concurrency = 1 + r.IntN(3)
		}
		resources = append(resources, res)
	}
	p.smaller, p.varies = map[string][]weir.Step{}, chance(r, 0.2)
	for c := range 1 + r.IntN(3) {
		name := fmt.Sprintf("c%d", c)
		p.names = append(p.names, name)
		for s := range 1 + r.IntN(3) {
			p.chains[name] = append(p.chains[name], weir.Step{
				Name: fmt.Sprintf("s%d", s), Action: "a", BatchSize: 1 + r.IntN(10),
				Timeout: time.Duration(between(r, second, 3*second)), Resource: resources[r.IntN(len(resources))],
				Retry: weir.Backoff{
					MaxAttempts: 1 + r.IntN(5), Base: time.Duration(between(r, 20*millis, 500*millis)), Cap: 2 * time.Second,
				},
			})
			if chance(r, 0.2) {
				p.chains[name][s].Filter = noFilter
			}
			less := p.chains[name][s]
			less.BatchSize = (less.BatchSize + 2) / 3
			p.smaller[name] = append(p.smaller[name], less)
		}
	}
}

// ideal is longer than the work takes when nothing fails but what the downstream
// answers: every item at the slowest chain's rates and latencies, one after the
// other, and one item that waits for every retry it has.
func (p *plan) ideal() int64 {
	d := &p.down
	more := d.retry + d.silent + d.refused + d.taskFails + d.taskRefused + d.timeout + d.wrong
	perItem, waits := 0.0, 0.0
	for _, name := range p.names {
		sum, wait := 0.0, 0.0
		for _, s := range p.chains[name] {
			again := min(more/(1-min(more, 0.9)), float64(maxCalls(s))) + 0.5 // calls after the first, and poison
			if s.Resource.Rate > 0 {
				sum += (1 + again/retry.Portion) / float64(s.Resource.Rate)
			}
			if p.starts { // the last of the work may all be in one of four shards
				sum += 4 * (1 + again) / leastRate
			}
			task := float64(d.high) + d.timeout*float64(s.Timeout)
			sum += (1 + again) * task / 1e9 / float64(limit.Chunk(float64(s.Resource.Rate), s.BatchSize))
			wait += float64(maxCalls(s)) * (s.Retry.Cap + s.Timeout).Seconds()
		}
		perItem, waits = max(perItem, sum), max(waits, wait)
	}
	return int64((perItem*float64(p.items) + waits) * 1e9)
}

// maxCalls returns how often an item may be sent at a step while no node dies and
// nothing is refused: its attempts, and the halvings of tasks that failed as a whole.
func maxCalls(s weir.Step) int {
	n := s.Retry.MaxAttempts
	if n == 1 {
		return n
	}
	for size := 1; size < s.BatchSize; size *= 2 {
		n++
	}
	return n + 2
}
