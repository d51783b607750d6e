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

// counted returns what was counted until a time, by resource: all that was counted when it was called last, and that
// part of what came since then, if it came evenly.
func (s *Series) counted(at, now time.Time) map[string]engine.Tally {
	left, part := !at.Before(s.seenAt), 1.0
	if at.Before(now) {
		part = max(float64(at.Sub(s.seenAt))/float64(now.Sub(s.seenAt)), 0)
	}
	out := map[string]engine.Tally{}
	for name, t := range s.engine.Tallies() {
		n := each(less(t, s.seen[name]), engine.Tally{}, func(n, _ int64) int64 { return int64(float64(n) * part) })
		if left {
			n = each(n, less(s.seen[name], s.was[name]), add)
		}
		s.seen[name], s.was[name] = t, each(s.was[name], n, add)
		out[name] = n
	}
	s.seenAt = now
	return out
}

func add(a, b int64) int64 { return a + b }

// measure adds what was counted since it was called last to this node's records, and writes them. At the end of a step,
// the leader adds what all nodes have.
func (s *Series) measure(ctx context.Context, at time.Time, counted map[string]engine.Tally, ends bool) error {
	if !at.After(s.until) {
		return nil // the clock was set back: nothing was counted until then
	}
	grid := series.New(nil, s.until.Truncate(s.windowLen()), s.every, 0)
	parts := grid.Parts(s.until, at)
	s.until = at
	parts = parts[max(len(parts)-inHour, 0):] // the process stood still for hours
	var failures []error
	for i, part := range parts {
		step := grid.At(part.Step)
		if s.open == nil || !s.open.start.Equal(step.Truncate(s.windowLen())) {
			if i > 0 {
				failures = append(failures, s.put(ctx))
			}
			start := step.Truncate(s.windowLen())
			s.open = &opened{start, series.New(fleetMeasures, start, s.every, 0), map[string]*series.Series{}}
		}
		values := partOf(counted, part)
		if ends && i == len(parts)-1 && s.engine.Leads() {
			failures = append(failures, s.lead(ctx, at, values))
		}
		s.open.addAll(step, values)
	}
	return errors.Join(append(failures, s.put(ctx))...)
}

// put writes the record that is open.
func (s *Series) put(ctx context.Context) error {
	_, err := s.windows.Put(ctx, windowName(s.open.start, s.engine.Name()), func(w *window, _ bool) error {
		*w = s.open.encode()
		return nil
	})
	return err
}

// partOf returns the values of a part of the time in which something was counted. Resources at which
// nothing happened are left out.
func partOf(counted map[string]engine.Tally, part series.Part) map[string][]float64 {
	out := map[string][]float64{}
	for name, t := range counted {
		n := each(t, engine.Tally{}, func(n, _ int64) int64 { return int64(part.Of(float64(n))) })
		if name == "" || n != (engine.Tally{}) {
			out[name] = counts(fleetMeasures, n)
		}
	}
	if out[""] == nil {
		out[""] = counts(fleetMeasures, engine.Tally{})
	}
	return out
}

// lead adds what all nodes together have, which the leader measures for all, and looks after the
// records of all nodes.
func (s *Series) lead(ctx context.Context, at time.Time, steps map[string][]float64) error {
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
	if s.tidied.Equal(s.open.start) {
		return nil
	}
	s.tidied = s.open.start
	return s.tidy(ctx, at)
}

// addAll adds a step, by resource.
func (o *opened) addAll(step time.Time, values map[string][]float64) {
	i := o.all.Index(step)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		o.add(i, name, values[name])
	}
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
