package schedule

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"time"

	"github.com/weirhq/weir/internal/service/records"
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
	// Owns reports which schedules this node handles. Two nodes that own the same schedule do no harm.
	// Default: all.
	Owns func(id string) bool
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// Logger receives the log. Default slog.Default.
	Logger *slog.Logger
	// Lag is called with how late a slot was fired, if it did not have to wait for another.
	Lag func(time.Duration)
	// Count is called with the result of each slot, once.
	Count func(Result)
	// CreateFor bounds how long Create may take, and how long other keepers leave a slot to the one
	// that began to fire it. Default 20s, at most 1m.
	CreateFor time.Duration
	// AtOnce bounds the schedules that fire at the same time. Default 16.
	AtOnce int
}

func (o Options) withDefaults() Options {
	if o.Owns == nil {
		o.Owns = func(string) bool { return true }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Lag == nil {
		o.Lag = func(time.Duration) {}
	}
	if o.Count == nil {
		o.Count = func(Result) {}
	}
	if o.CreateFor == 0 {
		o.CreateFor = 20 * time.Second
	}
	o.CreateFor = min(o.CreateFor, maxBackoff)
	if o.AtOnce == 0 {
		o.AtOnce = 16
	}
	return o
}

// kind is that of the records.
const kind = "schedule"

const (
	// lookEvery is the interval between reads of all schedules: another node may have changed them.
	lookEvery = 5 * time.Second
	// lookShare bounds the share of time spent on reading them to one part in lookShare.
	lookShare = 20
	// pollEvery is the interval between checks of a running bulk action that a slot waits for.
	pollEvery = 5 * time.Second
	// storeRetry is how long to wait after an error of the store.
	storeRetry = time.Second
)

// Keeper holds schedules and, while [Keeper.Run] runs, fires them. Its methods may be called from
// several goroutines.
type Keeper struct {
	opts  Options
	table *records.Table[Schedule]
	wake  chan struct{}
}

// New returns a keeper of the schedules in a registry.
func New(o Options) *Keeper {
	return &Keeper{opts: o.withDefaults(), table: records.New[Schedule](o.Registry, kind), wake: make(chan struct{}, 1)}
}

// now returns the time in UTC, as it is stored.
func (k *Keeper) now() time.Time { return k.opts.Now().UTC() }

// complain logs an error, unless the keeper was stopped.
func (k *Keeper) complain(ctx context.Context, id string, err error) {
	if ctx.Err() == nil {
		k.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "schedules are late", slog.String("schedule", id), slog.Any("error", err))
	}
}

// Wake makes a running keeper read all schedules now.
func (k *Keeper) Wake() {
	select {
	case k.wake <- struct{}{}:
	default: // it is awake already
	}
}

// Run fires due slots until ctx ends. Slots being fired then are interrupted and left to the next
// keeper. All its goroutines have ended when it returns.
func (k *Keeper) Run(ctx context.Context) error {
	r := &round{k: k, known: map[string]*watched{}, done: make(chan outcome), seed: maphash.MakeSeed()}
	defer r.wait()
	for ctx.Err() == nil {
		if r.lookAt.IsZero() || !time.Now().Before(r.lookAt) {
			r.look(ctx)
		}
		r.start(ctx)
		timer := time.NewTimer(r.idleFor())
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-k.wake:
			r.lookAt = time.Time{}
		case o := <-r.done:
			r.finished(o)
		}
		timer.Stop()
	}
	return nil
}
