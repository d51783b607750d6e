package experiment

import (
	"math"

	"github.com/weirhq/weir/internal/lab/virtual"
)

// SmallCurve is how slowdown depends on size under one way to share.
type SmallCurve struct {
	Name   string
	Points []SmallPoint
}

// SmallPoint is the slowdown of bulk actions of up to so many items, and more than
// the point before.
type SmallPoint struct {
	Items    int64
	P50, P99 float64
}

// SmallSeries returns the slowdown of small bulk actions by their size, beside ten floods
// in all tiers and at a load of 20 %: as the queue shares, by plain fair sharing, and
// first come, first served.
func SmallSeries() []SmallCurve {
	a := newAlone(smallRate, bulkService)
	c := besideFloods{sizes: logUniform(10_000), load: 0.2, floods: 10, place: inAllTiers(), span: 3600 * sec, seed: 411,
		service: bulkService}
	asItIs := c.run(a)
	c.share = plain
	fair := c.run(a)
	return []SmallCurve{
		{"express path", bySize(asItIs)},
		{"fair sharing", bySize(fair)},
		{"first come, first served", bySize(c.inOrder(a))},
	}
}

// inOrder is the same load served in the order of arrival.
func (c besideFloods) inOrder(a *alone) (out smallRun) {
	coming := c.arrivals()
	total := len(coming)
	var queue []job
	for range c.floods {
		queue = append(queue, job{items: floodItems})
	}
	for now := int64(0); len(out.slow) < total; queue = queue[1:] {
		if len(queue) == 0 {
			queue, coming = append(queue, coming[0]), coming[1:]
			now = max(now, queue[0].arrive)
		}
		x := queue[0]
		now += x.items * 1e9 / smallRate
		for ; len(coming) > 0 && coming[0].arrive <= now; coming = coming[1:] {
			queue = append(queue, coming[0])
		}
		if x.items == floodItems {
			queue = append(queue, x) // the next one
			continue
		}
		last := min(x.items, a.chunk) * 1e9 / smallRate // its last task starts before its items are paid for
		out.items = append(out.items, x.items)
		out.slow = append(out.slow, float64(now-last+c.service-x.arrive)/a.time(x.items))
	}
	return out
}

// bySize sorts slowdowns into sizes that double: to 20 items, 40, and so on.
func bySize(r smallRun) (points []SmallPoint) {
	var slow [64][]float64
	for i, items := range r.items {
		k := max(0, int(math.Ceil(math.Log2(float64(items)/20))))
		slow[k] = append(slow[k], r.slow[i])
	}
	for k, s := range slow {
		if len(s) > 0 {
			points = append(points, SmallPoint{20 << k, virtual.Quantile(s, 0.5), virtual.Quantile(s, 0.99)})
		}
	}
	return points
}
