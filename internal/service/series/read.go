package series

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/core/near"
	"github.com/weirhq/weir/internal/core/series"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store"
)

// Hour returns the series of the last hour, in steps of 10 s; Day that of the last day, in steps of
// 5 min. Without a resource they are of all resources together. They end with the last step that
// all nodes have had the time to write.
func (s *Series) Hour(ctx context.Context, resource string) (api.Series, error) {
	return s.fleetSeries(ctx, resource, s.every, inHour, time.Now())
}

// Day is described with [Series.Hour].
func (s *Series) Day(ctx context.Context, resource string) (api.Series, error) {
	return s.fleetSeries(ctx, resource, s.windowLen(), inDay, time.Now())
}

func (s *Series) fleetSeries(ctx context.Context, resource string, step time.Duration, n int, now time.Time) (api.Series, error) {
	end := now.Add(-s.every / 2).Truncate(step)
	out := series.New(fleetMeasures, end.Add(-time.Duration(n)*step), step, n)
	names, err := s.gather(ctx, out, resource)
	if err != nil {
		return api.Series{}, err
	}
	if resource != "" && !names[resource] {
		if err := s.exists(ctx, resource, names); err != nil {
			return api.Series{}, err
		}
	}
	return viewFleet(out, resource), nil
}

// gather merges the records of all nodes into a series, and returns the resources that they name.
func (s *Series) gather(ctx context.Context, out *series.Series, resource string) (map[string]bool, error) {
	names := map[string]bool{}
	after := windowName(out.Start.Truncate(s.windowLen()).Add(-time.Millisecond), "~")
	for e, err := range s.windows.After(ctx, after) {
		switch {
		case err != nil && e.Name == "":
			return nil, err
		case err != nil:
			continue // it is damaged: unknown, and the others are not
		}
		if err := mergeWindow(out, &e.Value, resource, names); err != nil {
			s.log.LogAttrs(ctx, slog.LevelWarn, "a stored time series was not read", slog.String("record", e.Name), slog.Any("error", err))
		}
	}
	return names, nil
}

// mergeWindow adds what one node measured.
func mergeWindow(out *series.Series, w *window, resource string, names map[string]bool) error {
	all, err := decode(fleetMeasures, "of all", w.All)
	if err != nil {
		return err
	}
	for name := range w.Resources {
		names[name] = true
	}
	of := all
	if resource != "" {
		of = series.New(fleetMeasures, all.Start, all.Step, all.Len())
		if b, ok := w.Resources[resource]; ok {
			if of, err = decode(fleetMeasures, resource, b); err != nil {
				return err
			}
			of.Extend(all.Len())
		}
		of.Quiet(all)
	}
	switch {
	case of.Step < out.Step:
		of = of.Coarser(out.Step)
	case of.Step > out.Step:
		return nil // of more than an hour ago
	}
	out.Merge(of)
	return nil
}

// exists returns an error for a resource that was not used, and that no action and no limit names.
func (s *Series) exists(ctx context.Context, resource string, names map[string]bool) error {
	all, err := s.fleet.ResourceNames(ctx)
	if err != nil {
		return err
	}
	for _, name := range all {
		names[name] = true
	}
	if names[resource] {
		return nil
	}
	fix := "list the resources: weir resources (GET /v1/resources), or omit it for all together"
	if meant := near.Word(resource, slices.Sorted(maps.Keys(names))); meant != "" {
		fix = "did you mean " + meant + "? " + fix
	}
	return &weir.FieldError{Code: "unknown_resource", Field: "resource",
		Problem: fmt.Sprintf("%.64q is not a resource", resource), Fix: fix}
}

// Bulk returns the series of a bulk action, from its start to its end or to now, in at most
// mostPoints points. A draft, and one that was not started, has no points.
func (s *Series) Bulk(ctx context.Context, id string) (api.BulkSeries, error) {
	b, draft, err := s.bulks.Find(ctx, id)
	if err != nil {
		return api.BulkSeries{}, err
	}
	empty := viewBulk(series.New(bulkMeasures, time.Time{}, s.every, 0), time.Time{})
	if draft != nil {
		return empty, nil
	}
	p, err := b.Now(ctx)
	if err != nil || p.Started.IsZero() || p.State == weir.BulkSealed || p.State == weir.BulkScheduled {
		return empty, err
	}
	l, err := s.life(ctx, id, &p)
	if err != nil {
		return empty, err
	}
	now := p.Finished
	if now.IsZero() {
		now = time.Now()
	}
	s.catchUp(l, &engine.Moved{At: now, Tally: engine.TallyOf(&p), InFlight: p.Counts.InFlight})
	return viewBulk(&l.Series, now), nil
}

// catchUp adds what was counted since the newest stored sample. The owner of a bulk action has stored what happened in the
// steps before this one: what is not stored was counted since, and not in the pause before it.
func (s *Series) catchUp(l *series.Life, m *engine.Moved) {
	m.Since, m.From = l.Until, m.At.Add(-s.every/2).Truncate(s.every)
	l.Add(sampleOf(m))
}

// CallTime returns how long calls of a resource took on average in the last hour, and of how many calls that is known; 0:
// too few. It is kept through restarts.
func (s *Series) CallTime(ctx context.Context, resource string) (took time.Duration, of int64, err error) {
	end := time.Now().Add(-s.every / 2).Truncate(s.every)
	out := series.New(fleetMeasures, end.Add(-inHour*s.every), s.every, inHour)
	if _, err := s.gather(ctx, out, resource); err != nil {
		return 0, 0, err
	}
	view := viewFleet(out, resource)
	if took, known := view.CallTime(); known {
		return took, int64(view.Calls.Sum()), nil
	}
	return 0, 0, nil
}

// lately is how many steps [Series.Speeds] returns at most.
const lately = 30

// Speeds returns how many items of a bulk action ended per second in its last steps, oldest first. Steps of which nothing
// is known are left out, and so are the first, in which it got going, and the last, which has not ended.
func (s *Series) Speeds(ctx context.Context, id string, p *weir.Progress) (speeds []float64, err error) {
	l, err := s.life(ctx, id, p)
	if err != nil {
		return nil, err
	}
	for i := max(l.Len()-1-lately, 1); i < l.Len()-1; i++ {
		if n := l.Columns[done][i] + l.Columns[failed][i]; series.Known(n) {
			speeds = append(speeds, n/l.Step.Seconds())
		}
	}
	return speeds, nil
}

// life returns what is stored of a bulk action's series. A series that is missing or damaged begins
// with the bulk action.
func (s *Series) life(ctx context.Context, id string, p *weir.Progress) (*series.Life, error) {
	l := s.begin(p.Started)
	e, err := s.lives.Get(ctx, id)
	switch {
	case errors.Is(err, weir.ErrNotFound) || errors.Is(err, store.ErrCorrupt):
		return l, nil
	case err != nil:
		return nil, err
	}
	e.Value.continues(l, id)
	return l, nil
}
