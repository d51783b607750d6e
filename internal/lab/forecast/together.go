package forecast

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir/internal/core/route"
	"github.com/weirhq/weir/internal/lab/model"
)

const (
	// MostTogether is how many works [Together] takes.
	MostTogether = 50
	// togetherTasks is how many tasks a run of several works should have, about.
	togetherTasks = 6_000
)

// Together tells how long what is left of several works takes that are done beside each other,
// and beside the others of the load: from one simulation of all of them, whatever their number, at
// about the cost of one call of [Left]. Everything is played so many times smaller that the runs
// stay short, and the times are drawn out in proportion. So the ends of the works of one tenant,
// which depend on turns, are rough. 0 stands for work that would not end as things are. The order
// is that of the works, of which there are at most [MostTogether].
func Together(works []Work, l Load) ([]time.Duration, error) {
	p, err := newJoint(works, l)
	if err != nil {
		return nil, err
	}
	w := p.world(1)
	w.StopAfter = "" // all of them matter
	played, err := p.joint(scaled(w, p.shrink), len(works))
	if err != nil {
		return nil, err
	}
	out := make([]time.Duration, len(works))
	for i := range works {
		took := played[i] * p.shrink
		if took < never && !p.without(&works[i]) {
			out[i] = max(seconds(took), time.Millisecond)
		}
	}
	return out, nil
}

// newJoint makes several works ready to be played together.
func newJoint(works []Work, l Load) (*plan, error) {
	works = slices.Clone(works[:min(len(works), MostTogether)])
	l.Nodes, l.Slots = cmp.Or(l.Nodes, 1), cmp.Or(l.Slots, 64)
	l.Partitions = cmp.Or(l.Partitions, l.Nodes)
	l.Workers, l.MaxWorkers = cmp.Or(l.Workers, 8), cmp.Or(l.MaxWorkers, 64)
	l.Resources = slices.Clone(l.Resources)
	p := &plan{l: l, few: togetherTasks}
	items := int64(0)
	for i := range works {
		w := &works[i]
		if err := check(w, &l); err != nil {
			return nil, err
		}
		w.Weight, w.Steps = cmp.Or(w.Weight, 1), slices.Clone(w.Steps)
		for k := range w.Steps {
			s := &w.Steps[k]
			s.Batch = sized(s.Batch)
			if r := p.l.resource(s.Resource); !slices.Contains(p.used, r) {
				p.settle(r)
				p.used = append(p.used, r)
			}
		}
		items += w.Items
	}
	p.shards = route.ShardsFor(items, route.MostShards(l.Partitions))
	p.w = works[0]
	p.choose(l.Others)
	p.merge()
	p.joined = works[1:]
	p.others = slices.Concat(p.joined, p.others)
	p.sizeJoint()
	return p, nil
}

// sizeJoint chooses how much smaller than they are all works are played.
func (p *plan) sizeJoint() {
	tasks, busy := 0.0, map[string]float64{}
	all := p.joined
	for i := -1; i < len(all); i++ {
		w := &p.w
		if i >= 0 {
			w = &all[i]
		}
		for _, s := range w.Steps {
			r := p.l.resource(s.Resource)
			sent := float64(w.Items) * r.sent()
			tasks += sent / p.chunk(r, s.Batch, s.Rate)
			busy[s.Resource] += sent / p.speed(r, s.Batch, 0)
		}
	}
	longest := 0.0
	for _, s := range busy { // the maximum: order does not reach the output
		longest = max(longest, s)
	}
	p.shrink = max(1, math.Ceil(tasks/p.few), math.Ceil(longest/mostTime.Seconds()))
	p.tasks = max(tasks/p.shrink, leastTasks)
}

// joint plays several works once, and returns how long each took, in seconds.
func (p *plan) joint(w model.World, works int) ([]float64, error) {
	w.Seed, w.MaxTasks, w.Length = 1, int(beyond*p.tasks), model.Span(beyond*mostTime)
	r, err := run(w)
	if err != nil {
		return nil, err
	}
	out := make([]float64, 0, works)
	for i, b := range w.BulkActions {
		if b.Arrivals > 0 || len(out) == works {
			continue
		}
		k := r.Kinds[i]
		took := never
		switch part := float64(k.Done+k.Failed) / float64(max(k.Items, 1)); {
		case len(k.Each) > 0 && k.Open == 0:
			took = time.Duration(k.Finish - b.At).Seconds()
		case part > 0:
			took = min(time.Duration(r.End-b.At).Seconds()/part, never)
		}
		out = append(out, took)
	}
	return out, nil
}

// without reports whether no call of one of the work's steps succeeds as things are.
func (p *plan) without(w *Work) bool {
	return slices.ContainsFunc(w.Steps, func(s Step) bool { return p.l.resource(s.Resource).Failures >= 1 })
}
