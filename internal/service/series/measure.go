package series

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/series"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/records"
)

// opened is the record that this node writes now.
type opened struct {
	start     time.Time
	all       *series.Series
	resources map[string]*series.Series
}

// windowName names a record: by its time, so that an hour is read without the day before it.
func windowName(start time.Time, node string) string {
	return fmt.Sprintf("%013d/%s", start.UnixMilli(), node)
}

// windowStart returns when a record begins.
func windowStart(name string) (time.Time, bool) {
	text, _, _ := strings.Cut(name, "/")
	ms, err := strconv.ParseInt(text, 10, 64)
	return time.UnixMilli(ms).UTC(), err == nil
}

// measure adds a step to this node's record, and writes it.
func (s *Series) measure(ctx context.Context, at time.Time) error {
	step := at.Add(-1).Truncate(s.every) // the one that ends at a multiple, or lasts
	start := step.Truncate(s.windowLen())
	fresh := s.open == nil || !s.open.start.Equal(start)
	if fresh {
		s.open = &opened{start, series.New(fleetMeasures, start, s.every, 0), map[string]*series.Series{}}
	}
	var failure error
	steps := s.step()
	if s.engine.Leads() {
		failure = s.lead(ctx, at, steps, fresh)
	}
	i := s.open.all.Index(step)
	s.open.add(i, "", steps[""])
	for _, name := range slices.Sorted(maps.Keys(steps)) {
		if name != "" {
			s.open.add(i, name, steps[name])
		}
	}
	_, err := s.windows.Put(ctx, windowName(start, s.engine.Name()), func(w *window, _ bool) error {
		*w = s.open.encode()
		return nil
	})
	return errors.Join(failure, err)
}

// step returns what this node counted since the last sample, by resource. Resources at which
// nothing happened are left out.
func (s *Series) step() map[string][]float64 {
	now := s.engine.Tallies()
	out := map[string][]float64{"": counts(fleetMeasures, less(now[""], s.was[""]))}
	for name, t := range now {
		if t != s.was[name] {
			out[name] = counts(fleetMeasures, less(t, s.was[name]))
		}
	}
	s.was = now
	return out
}

// lead adds what all nodes together have, which the leader measures for all, and looks after the
// records of all nodes.
func (s *Series) lead(ctx context.Context, at time.Time, steps map[string][]float64, fresh bool) error {
	all, resources, err := s.fleet.Levels(ctx)
	if err != nil {
		return err
	}
	levels(steps[""], &all)
	for name, l := range resources {
		if steps[name] == nil {
			steps[name] = counts(fleetMeasures, engine.Tally{})
		}
		levels(steps[name], l)
	}
	if fresh {
		return s.tidy(ctx, at)
	}
	return nil
}

// add adds a step of a resource; the empty name stands for all together.
func (o *opened) add(i int, name string, values []float64) {
	to := o.all
	if name != "" {
		if to = o.resources[name]; to == nil {
			if len(o.resources) == mostResources {
				return
			}
			to = series.New(fleetMeasures, o.all.Start, o.all.Step, 0)
			o.resources[name] = to
		}
	}
	to.Extend(i + 1)
	to.Add(i, values)
}

func (o *opened) encode() window {
	w := window{All: o.all.Encode(), Resources: make(map[string][]byte, len(o.resources))}
	for name, r := range o.resources {
		w.Resources[name] = r.Encode()
	}
	return w
}

// tidy makes one step of each record that is older than an hour, and removes those older than a
// day. A record that is damaged is removed.
func (s *Series) tidy(ctx context.Context, now time.Time) error {
	hourAgo := now.Add(-inHour*s.every - s.windowLen())
	dayAgo := now.Add(-inDay*s.windowLen() - s.windowLen())
	for e, err := range s.windows.All(ctx, "") {
		if e.Name == "" {
			return err // the list ended
		}
		start, ok := windowStart(e.Name)
		switch {
		case err != nil || !ok || start.Before(dayAgo):
			err = records.IgnoreGone(s.windows.Delete(ctx, e.Name))
		case start.Before(hourAgo) && s.fine(e.Value.All):
			_, err = s.windows.UpdateIf(ctx, e.Name, e.Version, s.coarsen)
		case !start.Before(hourAgo):
			return nil // and so are the rest
		}
		if err != nil && !errors.Is(err, records.ErrChanged) && !errors.Is(err, weir.ErrNotFound) {
			return err
		}
	}
	return nil
}

// coarsen makes one step of a record.
func (s *Series) coarsen(w *window) error {
	one := func(b []byte) ([]byte, error) {
		x, err := series.Decode(fleetMeasures, b)
		if err != nil {
			return nil, err
		}
		return x.Coarser(s.windowLen()).Encode(), nil
	}
	all, err := one(w.All)
	if err != nil {
		return err
	}
	w.All = all
	for name, b := range w.Resources {
		if w.Resources[name], err = one(b); err != nil {
			return err
		}
	}
	return nil
}

// fine reports whether a record still has its short steps, or cannot be read.
func (s *Series) fine(all []byte) bool {
	x, err := series.Decode(fleetMeasures, all)
	return err != nil || x.Step < s.windowLen()
}
