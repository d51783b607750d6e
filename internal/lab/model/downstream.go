package model

import (
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir"
)

// outcome is how a call ended.
type outcome uint8

const (
	answered outcome = iota
	failed           // in a way that blames the downstream
	refused          // it has too much to do; nothing was done
)

// downstream is how a resource truly behaves.
type downstream struct {
	Downstream
	timeout int64
	normal  spread
	during  []spread // by incident
	rng     *rand.Rand
	free    int64 // when it has worked off what it took
}

func newDownstream(r *Resource, rng *rand.Rand) *downstream {
	d := &downstream{Downstream: r.Downstream, timeout: int64(r.Timeout), rng: rng}
	d.normal = spreadOf(float64(d.Latency), float64(d.P99))
	for _, in := range d.Incidents {
		d.during = append(d.during, spreadOf(float64(in.Latency), float64(in.P99)))
	}
	return d
}

// call returns what happens to a call of so many items that starts at now, counted
// from the beginning: how long it takes, how it ends, and how many items it rejects
// and wants to see again.
func (d *downstream) call(now int64, items int) (took int64, how outcome, rejected, again int) {
	shape, failures, capacity := d.normal, d.Failures, d.Capacity
	for i, in := range d.Incidents {
		if now >= int64(in.From) && now < int64(in.From+in.For) {
			shape, failures, capacity = d.during[i], in.Failures, in.Capacity
		}
	}
	// Always the same number of draws, so that two worlds stay in step.
	took = max(int64(shape.draw(d.rng)), int64(time.Microsecond))
	bad := d.rng.Float64() < float64(failures)
	queue := d.take(now, items, float64(capacity))
	if queue < 0 || d.Refusals > 0 && d.rng.Float64() < float64(d.Refusals) {
		return int64(d.normal.median()), refused, 0, 0
	}
	took += queue
	switch {
	case took >= d.timeout:
		return d.timeout, failed, 0, 0
	case bad:
		return took, failed, 0, 0
	}
	rejected = some(d.rng, items, float64(d.Rejects))
	return took, answered, rejected, some(d.rng, items-rejected, float64(d.Retries))
}

// take uses the capacity and returns how long the call queues downstream, or -1 if
// it is refused. The limit is GCRA, as most rate limits of services are.
func (d *downstream) take(now int64, items int, capacity float64) int64 {
	if capacity == 0 {
		return 0
	}
	cost := int64(float64(items) / capacity * 1e9)
	queue := max(d.free-now, 0)
	if d.Overload == Refuse && queue > 0 && queue+cost > int64(d.Burst) {
		return -1
	}
	d.free = now + queue + cost
	if d.Overload == Refuse {
		return 0
	}
	return queue
}

// backoff returns when items of the resource are tried again.
func (r *Resource) backoff() weir.Backoff {
	return weir.Backoff{MaxAttempts: r.Attempts, Base: time.Duration(r.Backoff), Cap: time.Duration(r.BackoffCap)}.WithDefaults()
}
