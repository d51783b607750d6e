package series

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir/internal/core/series"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/fleet"
	"github.com/weirhq/weir/internal/service/records"
)

const (
	// every is the step of the series of an hour, and how often a node measures.
	every = 10 * time.Second
	// saves is how often in a step a node stores what it has counted: a crash loses no more than that part of a step, and
	// the second that the counts themselves may be old.
	saves = 5
	// inWindow is the number of steps in one record, which become one step of the series of a day.
	inWindow = 30
	// inHour and inDay are the numbers of steps of the two series.
	inHour, inDay = 360, 288
	// mostPoints bounds the series of a bulk action.
	mostPoints = 500
	// mostResources bounds a record. Resources that a node uses beyond that are part of the sum alone.
	mostResources = 500
)

// Options configures [New].
type Options struct {
	// Every is the step of the series of an hour; the other lengths follow from it. Default 10s.
	Every time.Duration
	// Logger receives the log.
	Logger *slog.Logger
}

// Series measures this node, and reads what all nodes measured.
type Series struct {
	engine  *engine.Engine
	bulks   *bulk.Bulks
	fleet   *fleet.Fleet
	windows *records.Table[window]
	lives   *records.Table[life]
	every   time.Duration
	log     *slog.Logger

	mu     sync.Mutex // one sample at a time
	open   *opened
	was    map[string]engine.Tally // what is part of steps
	until  time.Time               // the end of those steps
	seen   map[string]engine.Tally // what was counted at the last sample; a part of it may be in no step yet
	seenAt time.Time
	late   backlog
	tidied time.Time // the start of the record with which the others were last looked after
}

// window is what one node measured in inWindow steps; once the leader has looked after it, in one
// step.
type window struct {
	All       []byte            `json:"all"`
	Resources map[string][]byte `json:"resources,omitempty"`
}

// life is the series of a bulk action.
type life struct {
	Points []byte `json:"points"`
	// Until is the time of the newest sample.
	Until time.Time `json:"until,omitzero"`
}

// New returns the series of an engine. The keeper stores them.
func New(e *engine.Engine, b *bulk.Bulks, f *fleet.Fleet, k records.Keeper, o Options) *Series {
	now := time.Now().Round(0)
	return &Series{
		engine: e, bulks: b, fleet: f, every: cmp.Or(o.Every, every), log: cmp.Or(o.Logger, slog.Default()),
		windows: records.New[window](k, "series"), lives: records.New[life](k, "bulk_series"),
		was: map[string]engine.Tally{}, until: now, seen: map[string]engine.Tally{}, seenAt: now,
	}
}

// Every returns how often a node measures.
func (s *Series) Every() time.Duration { return s.every }

// windowLen is the time that one record covers.
func (s *Series) windowLen() time.Duration { return inWindow * s.every }

// stopFor bounds how long a node that is told to stop waits for its last tasks, and how long its last
// sample takes.
const stopFor = 2 * time.Second

// Run measures at every multiple of the step until ctx ends, and then once more. In between it stores what was counted.
func (s *Series) Run(ctx context.Context) {
	failing := false
	next := time.Now().Truncate(s.every).Add(s.every)
	for {
		at := time.Now().Truncate(s.every / saves).Add(s.every / saves)
		if at.After(next) {
			at = next
		}
		wait := time.NewTimer(time.Until(at))
		select {
		case <-ctx.Done():
			wait.Stop()
			s.last(context.WithoutCancel(ctx))
			return
		case <-wait.C:
		}
		var err error
		if at.Before(next) {
			err = s.save(ctx)
		} else {
			err = s.Sample(ctx, next)
			next = time.Now().Truncate(s.every).Add(s.every)
		}
		if err != nil && !failing && ctx.Err() == nil {
			s.log.LogAttrs(ctx, slog.LevelWarn, "time series not written, will be tried again", slog.Any("error", err))
		}
		failing = err != nil
	}
}

// last measures what was counted until the engine ended. A crash would lose as much as an error does.
func (s *Series) last(ctx context.Context) {
	select {
	case <-s.engine.Over():
	case <-time.After(stopFor):
	}
	ctx, cancel := context.WithTimeout(ctx, stopFor)
	defer cancel()
	_ = s.Sample(ctx, time.Time{})
}

// Sample measures what was counted until a time, which is a moment ago; zero: until now. What was
// counted since the last sample is divided evenly over the time since then, and the part of it after
// at belongs to the next sample.
func (s *Series) Sample(ctx context.Context, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, max(s.every, stopFor))
	defer cancel()
	moved := s.engine.Moved(ctx) // all loops hand over what they have counted
	now := time.Now().Round(0)
	if at.IsZero() {
		at = now
	}
	counted := s.counted(at, now)
	return errors.Join(s.measure(ctx, at, counted, true), s.follow(ctx, moved))
}

// save stores what was counted in the step that has begun, if there is anything.
func (s *Series) save(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, s.every/saves)
	defer cancel()
	now := time.Now().Round(0)
	if !now.Truncate(s.every).Equal(s.until.Truncate(s.every)) {
		return nil // a step has ended: it is measured at once
	}
	counted := s.counted(now, now)
	if !slices.ContainsFunc(slices.Collect(maps.Values(counted)), func(t engine.Tally) bool { return t != engine.Tally{} }) {
		return nil
	}
	return s.measure(ctx, now, counted, false)
}

// Sweep removes the series of bulk actions that are gone.
func (s *Series) Sweep(ctx context.Context, gone func(ctx context.Context, id string) (bool, error)) error {
	for e, err := range s.lives.Versions(ctx, "") {
		if err != nil {
			return err
		}
		yes, err := gone(ctx, e.Name)
		if yes {
			err = s.lives.Delete(ctx, e.Name)
		}
		if err := records.IgnoreGone(err); err != nil {
			return err
		}
	}
	return nil
}

// decode reads a stored series; damage is the store's.
func decode(m []series.Measure, name string, b []byte) (*series.Series, error) {
	out, err := series.Decode(m, b)
	if err != nil {
		return nil, fmt.Errorf("series %s: %w", name, err)
	}
	return out, nil
}
