package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/internal/lab/model"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// deadlines is E20: one of four tenants has floods, and bulk actions with deadlines that come after
// them. They are met as far as that is possible, and no other tenant feels it.
func deadlines(s Size) (lines []Line) {
	draws := seeds(2000, sized(s, 3, 30))
	for _, p := range places {
		what := fmt.Sprintf("%v, %d draws", p, len(draws))
		lines = append(lines, over(draws, func(seed uint64) []Line {
			k := drawDeadlines(seed, p)
			return []Line{
				p.onNodes(atLeast(20, "deadlines met, of what knowing all would meet, "+what, 100*k.met, 95, " %").taken(byMean),
					"each node decides by itself which of its deadlines it gives up", 88),
				p.onNodes(atMost(20, "end of another tenant with and without the deadlines, in tasks, worst, "+what, k.apart, 1, ""),
					"when the weight of a tenant moves to another node, the tenants there feel it for a moment", 8),
				p.onNodes(atMost(20, "until one that cannot be met says so, worst, "+what, k.told, 1, " s"),
					"nodes hear of each other every half second, and cannot report it before", 2.5),
				atMost(20, "deadlines met if they did not count, "+what, 100*k.blind, 50, " %").taken(byMean),
				atMost(20, "said to be late, and met, of what can be, "+what, 100*k.wrong, 3, " %").taken(byMean),
			}
		})...)
	}
	return lines
}

// timely is how one draw went.
type timely struct {
	met   float64 // deadlines that were met, of as many as can be
	blind float64 // the same if deadlines do not change the order
	wrong float64 // the same of those that were said to be late, and were not
	apart float64 // how far the end of another tenant moved because of the deadlines, in tasks
	told  float64 // seconds until the one that cannot be met said so
}

const (
	dueRate  = 300
	dueFrom  = 20 * time.Second  // when the bulk actions with deadlines come
	dueOver  = 150 * time.Second // when other tenants have been busy for longer than all deadlines
	dueMany  = 12
	dueBatch = 20
)

func drawDeadlines(seed uint64, p place) timely {
	rng := virtual.Chance(seed, 20)
	r := api(dueRate, 50*time.Millisecond)
	r.Downstream.P99 = r.Downstream.Latency
	w := p.world(seed, r)
	w.Length = model.Span(10 * time.Minute)
	add := func(name, tenant string, items int64, at time.Duration) *model.BulkAction {
		w.BulkActions = append(w.BulkActions, model.BulkAction{
			Name: name, Tenant: tenant, Items: items, At: model.Span(at), Batch: dueBatch, Steps: []string{"api"},
		})
		return &w.BulkActions[len(w.BulkActions)-1]
	}
	one := fmt.Sprint("one-", seed) // another tenant lies in other partitions
	var weights []float64
	all := 0.0
	for range 4 {
		weights = append(weights, float64(1+rng.IntN(4)))
		all += weights[len(weights)-1]
	}
	for i, weight := range weights {
		name := fmt.Sprint("other-", i)
		if i == 0 {
			name = one
			for j := range 2 {
				add(fmt.Sprint("flood-", j), one, dueRate*600/2, 0).Priority = 100 // they would go first
			}
		} else {
			add(name, name, int64(dueRate*weight/all*dueOver.Seconds()), 0)
		}
		w.Tenants = append(w.Tenants, model.Tenant{Name: name, Weight: weight})
	}
	share := dueRate * weights[0] / all
	var jobs []dueJob
	for range dueMany { // more than can be met: about 12 x 9 s of work in 100 s
		items := int64(share * (3 + 12*rng.Float64()))
		jobs = append(jobs, dueJob{items, time.Duration((20 + 80*rng.Float64()) * float64(time.Second))})
	}
	for i, j := range append(jobs, dueJob{int64(share * 100), 60 * time.Second}) {
		add(fmt.Sprint("due-", i), one, j.items, dueFrom).Deadline = model.Span(j.within)
	}
	return judgeDeadlines(w, jobs, share)
}

// dueJob is a bulk action with a deadline.
type dueJob struct {
	items  int64
	within time.Duration
}

// possible returns how many of the jobs can be met at a rate: the largest are given up first.
func possible(jobs []dueJob, rate float64) int {
	jobs = slices.SortedFunc(slices.Values(jobs), func(a, b dueJob) int { return cmp.Compare(a.within, b.within) })
	var sizes []int64
	sum := int64(0)
	for _, j := range jobs {
		sizes = append(sizes, j.items)
		if sum += j.items; float64(sum) > rate*j.within.Seconds() {
			most := slices.Index(sizes, slices.Max(sizes))
			sum -= sizes[most]
			sizes = slices.Delete(sizes, most, most+1)
		}
	}
	return len(sizes)
}

// judgeDeadlines plays a world with its deadlines and without.
func judgeDeadlines(w model.World, jobs []dueJob, share float64) (k timely) {
	with := run(w)
	w.BulkActions = slices.Clone(w.BulkActions)
	for i := range w.BulkActions {
		w.BulkActions[i].Deadline = 0
	}
	without := run(w)
	first := len(w.BulkActions) - len(jobs) - 1
	for i, j := range jobs {
		x, y := with.Kinds[first+i].Each[0], without.Kinds[first+i].Each[0]
		if x.Done == x.Items {
			k.met++
			if x.Late > 0 {
				k.wrong++
			}
		}
		if y.Finish >= 0 && time.Duration(y.Finish-y.At) <= j.within {
			k.blind++
		}
	}
	most := float64(possible(jobs, share))
	k.met, k.blind, k.wrong = k.met/most, k.blind/most, k.wrong/most
	hopeless := with.Kinds[len(with.Kinds)-1].Each[0]
	k.told = time.Duration(hopeless.Late - hopeless.At).Seconds()
	if hopeless.Late == 0 {
		k.told = time.Duration(w.Length).Seconds()
	}
	for i, x := range with.Kinds {
		if y := without.Kinds[i]; x.Tenant != with.Kinds[len(with.Kinds)-1].Tenant {
			apart := time.Duration(x.Finish - y.Finish).Abs().Seconds()
			k.apart = max(k.apart, apart*float64(x.Items)/dueOver.Seconds()/dueBatch)
		}
	}
	return k
}
