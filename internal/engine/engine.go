// Package engine runs bulk actions. The package of the same name in the root of the
// module is the part of it that users see.
//
// [Open] an engine on a store, register actions and chains with
// [Engine.Handle], call [Engine.Run], and [Submit] work. Each partition has one
// loop goroutine, which feeds the pure state machine of the partition, commits
// what it says and starts the tasks that it picks; see loop.go for the path of a
// task.
package engine

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/catalog"
	"github.com/weirhq/weir/internal/engine/ingest"
	"github.com/weirhq/weir/internal/engine/limits"
	"github.com/weirhq/weir/internal/engine/loss"
	"github.com/weirhq/weir/internal/engine/migrate"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/engine/readback"
	"github.com/weirhq/weir/internal/engine/recall"
	"github.com/weirhq/weir/internal/engine/scaling"
	"github.com/weirhq/weir/internal/engine/spans"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/internal/engine/telemetry"
	"github.com/weirhq/weir/store"
	"golang.org/x/sync/errgroup"
)

// Engine accepts and runs bulk actions. It is safe for use from several goroutines.
type Engine struct {
	ops     *Operator
	store   store.Store
	opts    Options
	node    string // this engine's name as an owner
	codec   *block.Codec
	cache   *stored.Cache
	reader  *readback.Reader
	intake  *ingest.Intake
	limits  *limits.Control
	catalog *catalog.Catalog
	watches watches
	past    *recall.Past
	parts   parts
	layout  *own.Layout
	fleet   *own.Fleet
	member  *own.Member
	losses  loss.Book
	counts  *telemetry.Recorder
	spans   *spans.Maker  // nil: traces are off
	state   atomic.Int32  // opened, running, ended
	over    chan struct{} // closed when Run has returned
}

// What an engine has come to.
const (
	opened int32 = iota
	running
	ended
)

// Open makes an engine on a store. The store stays the caller's: close it after Run has returned.
func Open(ctx context.Context, s store.Store, o Options) (*Engine, error) {
	if s == nil {
		return nil, &weir.FieldError{Code: "missing_field", Field: "store", Problem: "is nil",
			Fix: "open one, as with pebblestore.Open or memstore.New"}
	}
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("engine options: %w", err)
	}
	codec, err := block.NewCodec()
	if err != nil {
		return nil, fmt.Errorf("open engine: %w", err)
	}
	e := &Engine{store: s, opts: o, codec: codec, node: "node_" + ulid.Make().String(), over: make(chan struct{})}
	e.spans = spans.New(o.Tracer, e.node)
	e.parts.joining = make(chan struct{}, 1)
	e.past = recall.New(s, o.LeaseFor, o.Logger)
	if err := migrate.Run(ctx, s, e.node, o.Logger); err != nil {
		return nil, fmt.Errorf("open engine: %w", err)
	}
	if e.layout, err = own.OpenLayout(ctx, s, o.Partitions, e.past, &e.losses, o.Logger); err != nil {
		return nil, fmt.Errorf("open engine: %w", err)
	}
	e.fleet = own.NewFleet(s, e.node, o.LeaseFor, o.Logger)
	e.limits = limits.New(limits.Config{
		Store: s, Shared: e.shared(), Node: e.node, Slots: o.Slots, Seed: randomSeed(), LeaseFor: o.LeaseFor, Log: o.Logger,
		Wake: e.parts.wake, Known: func(resource string) { e.counts.KnowResource(resource) },
		Members: e.fleet.Members, Resting: e.fleet.Resting, Woken: e.fleet.Woken.Rung,
	})
	e.counts = telemetry.New(o.Slots, e.limits.Weight)
	e.ops = &Operator{store: s, obey: e.limits.Obey}
	e.catalog = catalog.New(e.limits, o.Describe, o.Transport)
	e.catalog.Known = e.KnowActions
	e.openItems()
	e.member = own.NewMember(own.Config{
		Store: s, Shared: e.shared(), Node: e.node, Slots: o.Slots, LeaseFor: o.LeaseFor, AcceptLoss: o.AcceptLoss,
		Log: o.Logger, Past: e.past, Losses: &e.losses, Obey: e.obey, Version: e.limits.Version,
		Reads: []string{limits.RecordName, scaling.SettingsRecord},
		Moved: e.parts.moved,
		Run:   func(ctx context.Context, t *own.Tenure) error { return newPart(e, t).own(ctx) },
	}, e.layout, e.fleet)
	if err := e.waitForFormer(ctx); err != nil {
		return nil, fmt.Errorf("open engine: %w", err)
	}
	return e, nil
}

// openItems makes the ways in and out for items.
func (e *Engine) openItems() {
	s, o := e.store, &e.opts
	partitions := func() int { return e.layout.Now().Most }
	e.cache = stored.NewCache(s, e.codec, o.CacheBytes)
	e.reader = readback.New(s, e.codec, &e.losses)
	e.reader.Partitions, e.reader.Steps = partitions, e.catalog.Of
	e.intake = ingest.NewIntake(s, e.codec, ingest.NewBacklog(o.MaxPending, e.limits.Tenant), e.past, o.Logger)
	e.intake.Partitions, e.intake.Place = partitions, func(ctx context.Context, tenant string) (int, error) {
		at, err := e.member.Router().Place(ctx, tenant, "")
		return at.Partition, err
	}
	e.fleet.Left = e.intake.Left
}

// waitForFormer counts what a former process has started against the rates, before
// any partition starts a task: the partitions share the rates.
func (e *Engine) waitForFormer(ctx context.Context) error {
	for p := range e.layout.Now().Most {
		if err := e.waitForFormerOf(ctx, p); err != nil {
			return fmt.Errorf("partition %d: %w", p, err)
		}
	}
	return nil
}

func (e *Engine) waitForFormerOf(ctx context.Context, p int) error {
	if e.shared() {
		return nil // the books of the quotas have it
	}
	last, err := partition.LastStart(stored.At(ctx, e.store, p), time.Now().UnixNano())
	if err == nil {
		e.limits.Former(last)
	}
	return err
}

// Run works until ctx ends, then starts no more tasks, lets running ones finish for up to
// DrainFor, hands its partitions over, and returns. Every goroutine it started has ended
// by then, but for handlers that ignore their context. Afterwards the engine accepts no work.
func (e *Engine) Run(ctx context.Context) error {
	if !e.state.CompareAndSwap(opened, running) {
		return errors.New("run engine: it was already started")
	}
	e.catalog.Seal()
	defer close(e.over)
	defer e.state.Store(ended)
	defer e.watches.close() // also on an early return: Progress and Wait end with the engine
	if !e.limits.First(ctx) {
		return nil // told to stop
	}
	fleet := func() (int, bool) { return e.fleet.Size(), e.fleet.Leads() }
	unexport, err := e.counts.Export(e.opts.Metrics, fleet, e.parts.held, e.past.Regressions)
	if err != nil {
		return fmt.Errorf("run engine: %w", err)
	}
	defer unexport()
	g, gctx := errgroup.WithContext(ctx)
	beside, cancel := context.WithCancel(context.WithoutCancel(ctx)) // until the last partition is handed over
	g.Go(func() error { e.limits.Run(beside); return nil })
	g.Go(func() error { e.fleet.ReadBoard(beside); return nil })
	g.Go(func() error { e.observe(beside); return nil })
	g.Go(func() error { e.fleet.Lead(gctx, e.lead); return nil })
	g.Go(func() error { defer cancel(); return e.member.Stay(gctx) })
	err = g.Wait()
	e.past.End()
	e.catalog.Close()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil // told to stop: not a failure
	}
	return err
}

// Handle registers actions and chains, so that bulk actions of them can be submitted and
// run. Register everything before Run: a stored bulk action whose chain is not known waits, with that reason.
func (e *Engine) Handle(works ...weir.Definer) error {
	for _, w := range works {
		d := w.Definition()
		if err := e.catalog.Register(d.Name, d.Steps); err != nil {
			return err
		}
	}
	return nil
}

// Operator returns the operator of the engine's store. Limits that it sets hold on this node when the call returns.
func (e *Engine) Operator() *Operator { return e.ops }

// Actions returns the actions that are registered by themselves, without those of chains. None can be registered
// afterwards.
func (e *Engine) Actions() []weir.Step { return e.catalog.Actions() }

// Store returns the store of the engine.
func (e *Engine) Store() store.Store { return e.store }

// Intake returns the way in for items that are not part of a bulk action yet.
func (e *Engine) Intake() *ingest.Intake { return e.intake }

// Name is what this node is called among all nodes.
func (e *Engine) Name() string { return e.node }

// Alone reports whether no other process can use the store.
func (e *Engine) Alone() bool { return !e.shared() }

// shared reports whether other processes may use the store, too.
func (e *Engine) shared() bool { return own.Shared(e.store) }

// randomSeed starts the jitter of a partition.
func randomSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}
