package cli

import (
	"context"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	foresee "github.com/weirhq/weir/internal/lab/forecast"
	"github.com/weirhq/weir/internal/service"
)

const (
	// etaEvery is how often the ETA of a run is computed; in between it is counted down.
	etaEvery = time.Second
	// etaRest is the minimum pause after a computation, as a multiple of its duration.
	etaRest = 19
)

// etas computes when bulk actions of an engine in this process end, with the model that makes
// the forecasts of a server.
type etas struct {
	engine *engine.Engine
	seen   foresee.Seen
	tracks []*track
	told   map[*track]eta
}

// eta holds when a bulk action ends, and when to compute it again. A zero end is unknown.
type eta struct{ end, next time.Time }

// left returns how long a bulk action still takes; 0 if unknown. One that does
// not run, or whose calls fail, does not get nearer to its end.
func (e *etas) left(ctx context.Context, t *track, p *weir.Progress) time.Duration {
	now := time.Now()
	if p.State != weir.BulkRunning || p.Failing() || p.Counts.Total == p.Counts.Ended() {
		delete(e.told, t)
		return 0
	}
	x := e.told[t]
	if !now.Before(x.next) {
		x.end = time.Time{}
		if left, ok := e.reckon(ctx, t, p, now); ok {
			x.end = now.Add(left)
		}
		x.next = now.Add(max(etaEvery, etaRest*time.Since(now)))
		e.told[t] = x
	}
	if x.end.IsZero() {
		return 0
	}
	return max(x.end.Sub(now), p.Due.Sub(now), time.Millisecond)
}

// reckon plays what is left, once something is known of how fast that can go.
func (e *etas) reckon(ctx context.Context, t *track, p *weir.Progress, now time.Time) (time.Duration, bool) {
	nodes, err := e.engine.Operator().Nodes(ctx)
	if err != nil || len(nodes) == 0 {
		return 0, false
	}
	slots := nodes[0].Slots
	load := foresee.Load{Slots: slots, Workers: slots, MaxWorkers: slots, Resources: e.seen.Add(nodes)}
	work := foresee.Work{Items: p.Counts.Total - p.Counts.Ended()}
	known := false
	for i := range t.steps {
		s := &t.steps[i]
		work.Steps = append(work.Steps, foresee.Step{Name: s.Name, Resource: s.Resource.Name, Batch: s.BatchSize, Conditional: s.Filter != nil})
		at := slices.IndexFunc(load.Resources, func(r foresee.Resource) bool { return r.Name == s.Resource.Name })
		if at < 0 {
			at = len(load.Resources)
			load.Resources = append(load.Resources, foresee.Resource{Name: s.Resource.Name})
		}
		r := &load.Resources[at]
		r.Rate, r.Concurrency, r.Pacing = s.Resource.Rate, s.Resource.Concurrency, s.Resource.Pacing
		r.Timeout, r.Backoff = s.Timeout, s.Retry
		known = known || r.Samples > 0 || r.Rate > 0
	}
	if !known {
		return 0, false
	}
	for _, o := range e.tracks {
		if o != t && o.now.State == weir.BulkRunning {
			load.Others = append(load.Others, o.beside())
		}
	}
	foresee.Underway(&work, &load, p, now)
	left, ends, err := foresee.Left(work, load)
	return left, err == nil && ends
}

// beside is a bulk action as others see it.
func (t *track) beside() foresee.Other {
	o := foresee.Other{Name: t.label, Items: t.now.Counts.Total - t.now.Counts.Ended()}
	for i := range min(len(t.steps), len(t.now.Steps)) {
		o.Steps, o.Batches = append(o.Steps, t.steps[i].Resource.Name), append(o.Batches, t.steps[i].BatchSize)
		o.Standing = append(o.Standing, foresee.Standing(&t.now, i))
	}
	return o
}

// etaOf asks a server in this process.
func etaOf(s *service.Service) func(context.Context, *track, *weir.Progress) time.Duration {
	return func(ctx context.Context, t *track, p *weir.Progress) time.Duration {
		if t.bulk == nil || p.State.Final() {
			return 0
		}
		told, err := s.Progress(ctx, string(t.bulk.ID()))
		if err != nil {
			return 0
		}
		return time.Duration(told.ETA)
	}
}
