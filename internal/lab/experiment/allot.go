package experiment

import (
	"time"

	"github.com/weirhq/weir/internal/core/quota"
)

// leader sets targets every 250 ms.
type leader struct {
	w     *owners
	plan  *quota.Planner
	epoch uint64
	wrote int64
	dead  bool
}

func (w *owners) elect() {
	var epoch uint64 = 1
	if w.lead != nil {
		epoch = w.lead.epoch + 1
	}
	w.lead = &leader{w: w, plan: quota.NewPlanner(w.limit, w.chunk), epoch: epoch}
	w.lead.cycle()
}

func (l *leader) cycle() {
	w := l.w
	if l.dead {
		return
	}
	w.call(func() func() {
		hs := w.table.Holdings(w.Now())
		return func() {
			targets, changed := l.plan.Plan(w.Now(), w.members(), hs, nil)
			if !l.dead && (changed || w.Now()-l.wrote > sec) {
				l.wrote = w.Now()
				w.call(func() func() { _ = w.table.SetTargets(l.epoch, targets); return func() {} })
			}
		}
	})
	w.At(w.Now()+250*ms, l.cycle)
}

func (w *owners) members() (names []string) {
	for _, n := range w.nodes {
		if !n.dead {
			names = append(names, n.name)
		}
	}
	return names
}

// failOver replaces the books by empty ones that learn.
func (w *owners) failOver() {
	w.table = quota.New(w.limit)
	w.table.Learn(w.Now() + int64(w.ttl+w.limit.Window))
}

// peak is the most that started in any window.
func (w *owners) peak() int64 {
	var most, sum int64
	first := 0
	for _, x := range w.log {
		sum += x.cost
		for w.log[first].at <= x.at-int64(w.limit.Window) {
			sum -= w.log[first].cost
			first++
		}
		most = max(most, sum)
	}
	return most
}

// use is the share of the limit that was used between two times.
func (w *owners) use(from, to int64) float64 {
	var sum int64
	for _, x := range w.log {
		if x.at > from && x.at <= to {
			sum += x.cost
		}
	}
	return float64(sum) / (float64(w.limit.Units) * float64(to-from) / float64(w.limit.Window))
}

// back is how long after a time the trailing window was below a share of the
// limit for good: until it had reached that again after its lowest.
func (w *owners) back(from, to int64, share float64) time.Duration {
	lowest, least := from, 2.0
	for t := from; t <= min(to, from+3*sec); t += 10 * ms {
		if u := w.use(t-sec, t); u < least {
			lowest, least = t, u
		}
	}
	for t := lowest; t <= to; t += 10 * ms {
		if w.use(t-sec, t) >= share {
			return time.Duration(t - from)
		}
	}
	return time.Duration(never)
}

// perWeight is what tenants got since before, by weight.
func (w *owners) perWeight(before []float64) (xs []float64) {
	for _, n := range w.nodes {
		for _, t := range n.tenants {
			xs = append(xs, (w.served[t.no]-before[t.no])/float64(t.weight))
		}
	}
	return xs
}
