package forecast

import (
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir/internal/lab/model"
)

// line is what was played: at full size, or at a smaller one and at half of that.
type line struct {
	full        float64 // items of all there is
	large, half sample
}

// sample is what the runs of one world at one size tell.
type sample struct {
	size float64   // items of all there is, as it was played
	took []float64 // seconds from the start to the end, by seed
	most []float64 // the same to the end of all but the last few items
	runs []model.Result
}

// play runs a world with so many seeds, at the sizes that the plan has chosen.
func (p *plan) play(w model.World, seeds int) (out line, err error) {
	out.full = size(w)
	if out.large, err = p.sample(scaled(w, p.shrink), seeds); err != nil || p.shrink == 1 {
		return out, err
	}
	out.half, err = p.sample(scaled(w, 2*p.shrink), seeds)
	return out, err
}

func (p *plan) sample(w model.World, seeds int) (s sample, err error) {
	s.size = size(w)
	w.MaxTasks, w.Length = int(beyond*p.tasks), model.Span(beyond*mostTime)
	seeds = min(seeds, max(1, int(mostTasks/p.tasks))) // many calls need no second try
	for i := range seeds {
		w.Seed = uint64(i + 1)
		r, err := run(w)
		if err != nil {
			return s, err
		}
		took, ended := took(r, w)
		s.add(r, took, w.BulkActions[0].At)
		if !ended {
			p.cut = true
			break // it takes long, and more of it tells little
		}
	}
	return s, nil
}

// run plays a world. What starts after its length does not matter, however late.
func run(w model.World) (model.Result, error) {
	for i := range w.BulkActions {
		w.BulkActions[i].At = min(w.BulkActions[i].At, w.Length)
	}
	return model.Run(w)
}

func (s *sample) add(r model.Result, took float64, start model.Span) {
	most := took * model.MostOf // a run that did not end is a straight line anyway
	if k := r.Kinds[0]; len(k.Each) > 0 && k.Open == 0 {
		most = time.Duration(k.Most - start).Seconds()
	}
	s.took, s.most, s.runs = append(s.took, took), append(s.most, most), append(s.runs, r)
}

// took returns how long the work took in a run, drawn out from what was done if it did not end.
func took(r model.Result, w model.World) (seconds float64, ended bool) {
	k, start := r.Kinds[0], w.BulkActions[0].At
	if len(k.Each) == 0 {
		return never, false
	}
	if k.Open == 0 {
		return time.Duration(k.Finish - start).Seconds(), true
	}
	part := float64(k.Done+k.Failed) / float64(k.Items)
	return min(time.Duration(r.End-start).Seconds()/max(part, 1e-9), never), false
}

// drawn returns the time at full size. What lies between both sizes tells how long more of
// the work takes, without the luck of the last items; the end is the same at all sizes.
func (l line) drawn() float64 {
	at := middle(l.large.took)
	if l.half.took == nil {
		return at
	}
	slope := max(middle(l.large.most)-middle(l.half.most), 0) / (l.large.size - l.half.size) / model.MostOf
	return min(at+slope*(l.full-l.large.size), never)
}

// middle returns the median.
func middle(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	return (s[len(s)/2] + s[(len(s)-1)/2]) / 2
}

// scaled returns a world with everything in it so many times smaller: work, backlog, and
// the time until it starts. Rates and the times of calls are what they are.
func scaled(w model.World, by float64) model.World {
	w.BulkActions = slices.Clone(w.BulkActions)
	for i := range w.BulkActions {
		b := &w.BulkActions[i]
		if b.Arrivals == 0 {
			at := b.At
			*b = resized(*b, max(1, int64(math.Round(float64(b.Items)/by))))
			b.At = model.Span(float64(at) / by)
			b.Deadline, b.Target = model.Span(float64(b.Deadline)/by), model.Span(float64(b.Target)/by)
		}
	}
	return w
}

// resized returns a bulk action with so many items, of which as large a part has begun.
func resized(b model.BulkAction, items int64) model.BulkAction {
	part := float64(items) / float64(b.Items)
	b.Items, b.Standing, b.Flying, b.Waiting = items, slices.Clone(b.Standing), slices.Clone(b.Flying), slices.Clone(b.Waiting)
	for _, list := range [][]int64{b.Standing, b.Flying, b.Waiting} {
		for i, n := range list {
			list[i] = int64(float64(n) * part)
		}
	}
	return b
}

// size returns how many items all there is has.
func size(w model.World) (items float64) {
	for _, b := range w.BulkActions {
		if b.Arrivals == 0 {
			items += float64(b.Items)
		}
	}
	return items
}

// whole plays the work as it is, unless that takes too long. Much may wait beside it
// and hardly matter.
func (p *plan) whole() (s sample, err error) {
	w := p.world(1)
	for _, b := range w.BulkActions {
		if b.Items > mostItems {
			return s, nil
		}
	}
	if time.Duration(w.BulkActions[0].At) > mostTime {
		return s, nil
	}
	w.Seed, w.MaxTasks, w.Length = 1, int(p.few), model.Span(mostTime)
	r, err := run(w)
	if err != nil {
		return s, err
	}
	if took, ended := took(r, w); ended {
		s.size = size(w)
		s.add(r, took, w.BulkActions[0].At)
	}
	return s, nil
}

// mostItems is the most that the model takes.
const mostItems = 1_000_000_000
