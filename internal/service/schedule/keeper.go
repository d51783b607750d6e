package schedule

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/weirhq/weir/internal/service/due"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/store"
)

// ErrRefused marks an error of Options.Create that a retry cannot fix, like bad input.
var ErrRefused = errors.New("refused")

// Options configures [New]. Registry, Create and Running are required.
type Options struct {
	// Registry keeps the schedules.
	Registry records.Keeper
	// Create creates and starts the bulk action of a slot. Called again with the same key, also by
	// another node and at the same time, it must not create a second one but return the id of the
	// first. It must not change s.
	Create func(ctx context.Context, s *Schedule, slot time.Time, key string) (bulkID string, err error)
	// Running reports whether a bulk action has not ended. An unknown bulk action has ended.
	Running func(ctx context.Context, bulkID string) (bool, error)
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// Logger receives the log. Default slog.Default.
	Logger *slog.Logger
	// Lag is called with how late a slot was fired, if it did not have to wait for another.
	Lag func(time.Duration)
	// Count is called with the result of each slot, once.
	Count func(Result)
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Lag == nil {
		o.Lag = func(time.Duration) {}
	}
	if o.Count == nil {
		o.Count = func(Result) {}
	}
	return o
}

const (
	// lookEvery is the interval between reads of all schedules: another node may have changed them.
	lookEvery = 5 * time.Second
	// lookShare bounds the share of time spent on reading them to one part in lookShare.
	lookShare = 20
	// pollEvery is the interval between checks of a running bulk action that a slot waits for.
	pollEvery = 5 * time.Second
	// createFor bounds how long Create may take, and how long other keepers leave a slot to the one
	// that began to fire it. It is at most maxBackoff, beyond which a time counts as one of a wrong clock.
	createFor = 20 * time.Second
	// createAtOnce bounds the schedules that fire at the same time.
	createAtOnce = 16
)

// Keeper holds schedules and, while [Keeper.Run] runs, fires them. Its methods may be called from
// several goroutines.
type Keeper struct {
	opts   Options
	table  *records.Table[Schedule]
	runner *due.Runner[struct{}]
	seen   map[string]seen // by id; belongs to find
}

// seen is when an unchanged schedule has something to do, so that it is not decoded at every look.
type seen struct {
	version string
	at      time.Time
}

// New returns a keeper of the schedules in a registry.
func New(o Options) *Keeper {
	k := &Keeper{opts: o.withDefaults(), table: records.New[Schedule](o.Registry, "schedule")}
	k.runner = due.New(due.Options[struct{}]{
		Find: k.find, Work: k.work, Every: lookEvery, Share: lookShare, AtOnce: createAtOnce, Now: k.now,
		Name: "schedules", Logger: k.opts.Logger,
	})
	return k
}

// now returns the time in UTC, as it is stored.
func (k *Keeper) now() time.Time { return k.opts.Now().UTC() }

// Run fires due slots until ctx ends. Slots being fired then are interrupted and left to the next
// keeper. All its goroutines have ended when it returns.
func (k *Keeper) Run(ctx context.Context) error {
	k.runner.Run(ctx)
	return nil
}

// find yields the schedules that have something to do at a time. A schedule that cannot be read is
// logged once.
func (k *Keeper) find(ctx context.Context) iter.Seq2[due.Job[struct{}], error] {
	return func(yield func(due.Job[struct{}], error) bool) {
		before := k.seen
		k.seen = map[string]seen{}
		for e, err := range k.table.Versions(ctx, "") {
			if err != nil && e.Name == "" {
				yield(due.Job[struct{}]{}, err)
				k.seen = before // not everything could be read
				return
			}
			now, known := before[e.Name]
			if !known || now.version != e.Version {
				now, err = k.upcoming(ctx, e)
			}
			switch {
			case known && now.version == e.Version: // also if it is damaged: it was logged
			case errors.Is(err, store.ErrCorrupt), refused(err):
				k.opts.Logger.LogAttrs(ctx, slog.LevelError, "cannot read a schedule",
					slog.String("schedule", e.Name), slog.Any("error", err))
			case err != nil:
				if !yield(due.Job[struct{}]{}, err) {
					return
				}
				continue // it is read again at the next look
			}
			k.seen[e.Name] = now
			if !now.at.IsZero() && !yield(due.Job[struct{}]{ID: e.Name, At: now.at}, nil) {
				return
			}
		}
	}
}

// upcoming reads when a schedule has something to do. One that is being fired has no version: the time
// of the next attempt depends on the clock.
func (k *Keeper) upcoming(ctx context.Context, found records.Entry[Schedule]) (seen, error) {
	e, err := k.table.Get(ctx, found.Name)
	if err != nil {
		return seen{version: found.Version}, records.IgnoreGone(err)
	}
	times, err := e.Value.Times()
	if err != nil {
		return seen{version: e.Version}, err // it was valid when it was written: another time zone database
	}
	s := seen{e.Version, e.Value.upcoming(times, k.now())}
	if e.Value.Firing != nil {
		s.version = ""
	}
	return s, nil
}
