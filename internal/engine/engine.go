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
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/edge/execute"
	"github.com/weirhq/weir/internal/engine/ingest"
	"github.com/weirhq/weir/internal/engine/loss"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/engine/readback"
	"github.com/weirhq/weir/internal/engine/recall"
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
	log     *slog.Logger
	codec   *block.Codec
	cache   *stored.Cache
	reader  *readback.Reader
	intake  *ingest.Intake
	share   *share
	limits  limitSet
	watches watches
	past    *recall.Past
	trials  trials
	node    string                                     // this engine's name as an owner
	parts   [stored.MaxPartitions]atomic.Pointer[part] // that this node owns now
	loading own.Loading
	layout  *own.Layout
	fleet   *own.Fleet
	member  *own.Member
	router  *own.Router
	losses  loss.Book
	counts  *telemetry.Recorder
	told    complaints

	closeIdle func()          // connections of HTTP actions
	answers   *execute.Memory // what HTTP actions answer takes of it

	mu      sync.Mutex
	chains  map[string][]weir.Step // registered, by name
	running bool
	ended   atomic.Bool // Run has returned
}

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
	e := &Engine{
		store: s, opts: o, log: o.Logger, codec: codec, chains: map[string][]weir.Step{},
		closeIdle: func() {}, answers: execute.NewMemory(),
		node: "node_" + ulid.Make().String(),
	}
	e.counts = telemetry.New(o.Slots, e.weightOf)
	e.past = recall.New(s, o.LeaseFor, o.Logger)
	e.ops = &Operator{store: s, obey: e.obeyLimits}
	if e.opts.Transport == nil {
		own := execute.NewTransport()
		e.opts.Transport, e.closeIdle = own, own.CloseIdleConnections
	}
	e.cache = stored.NewCache(s, codec, o.CacheBytes)
	e.reader = readback.New(s, codec, &e.losses)
	partitions := func() int { return e.layout.Now().Most }
	e.reader.Partitions, e.reader.Steps = partitions, e.stepsOf
	e.intake = ingest.NewIntake(s, codec, ingest.NewBacklog(o.MaxPending, e.tenantLimits), e.past, o.Logger)
	e.intake.Partitions, e.intake.Place = partitions, func(ctx context.Context, tenant string) (int, error) {
		at, err := e.router.Place(ctx, tenant, "")
		return at.Partition, err
	}
	e.share = newShare(o.Slots, e.shared())
	if e.layout, err = own.OpenLayout(ctx, s, o.Partitions, e.past, &e.losses, o.Logger); err != nil {
		return nil, fmt.Errorf("open engine: %w", err)
	}
	e.join()
	if err := e.waitForFormer(ctx); err != nil {
		return nil, fmt.Errorf("open engine: %w", err)
	}
	return e, nil
}

// join makes this engine a member of the fleet on its store.
func (e *Engine) join() {
	e.fleet = own.NewFleet(e.store, e.node, e.opts.LeaseFor, e.log)
	e.fleet.Left = e.intake.Left
	e.member = own.NewMember(own.Config{
		Store: e.store, Shared: e.shared(), Node: e.node, Slots: e.opts.Slots, LeaseFor: e.opts.LeaseFor, AcceptLoss: e.opts.AcceptLoss,
		Log: e.log, Past: e.past, Losses: &e.losses, Obey: e.obey, Version: e.limits.version,
		Run: func(ctx context.Context, t *own.Tenure) error { return newPart(e, t).own(ctx) },
	}, e.layout, e.fleet)
	e.router = e.member.Router()
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
		e.share.do(func(n *capacity.Node) { n.Former(last) })
	}
	return err
}

// Run works until ctx ends, then starts no more tasks, lets running ones finish for up to
// DrainFor, hands its partitions over, and returns. Every goroutine it started has ended
// by then, but for handlers that ignore their context. Afterwards the engine accepts no work.
func (e *Engine) Run(ctx context.Context) error {
	e.mu.Lock()
	if e.running {
		e.mu.Unlock()
		return errors.New("run engine: it was already started")
	}
	e.running = true
	e.mu.Unlock()
	defer e.ended.Store(true)
	defer e.watches.close() // also on an early return: Progress and Wait end with the engine
	if !e.firstLimits(ctx) {
		return nil // told to stop
	}
	unexport, err := e.counts.Export(e.opts.Metrics, func() (int, bool) { return e.fleet.Size(), e.fleet.Leads() }, e.held, e.past.Regressions)
	if err != nil {
		return fmt.Errorf("run engine: %w", err)
	}
	defer unexport()
	g, gctx := errgroup.WithContext(ctx)
	beside, cancel := context.WithCancel(context.WithoutCancel(ctx)) // until the last partition is handed over
	e.knowResources()                                                // before any partition starts a task
	g.Go(func() error { e.keepQuotas(beside); return nil })
	g.Go(func() error { e.fleet.ReadBoard(beside); return nil })
	g.Go(func() error { e.meetOthers(beside); return nil })
	g.Go(func() error { e.steer(beside); return nil })
	g.Go(func() error { e.observe(beside); return nil })
	g.Go(func() error { e.fleet.Lead(gctx, e.lead); return nil })
	g.Go(func() error { defer cancel(); return e.member.Stay(gctx) })
	err = g.Wait()
	e.past.End()
	e.closeIdle()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil // told to stop: not a failure
	}
	return err
}

// Operator returns the operator of the engine's store. Limits that it sets hold on this node when the call returns.
func (e *Engine) Operator() *Operator { return e.ops }

// Intake returns the way in for items that are not part of a bulk action yet.
func (e *Engine) Intake() *ingest.Intake { return e.intake }

// Name is what this node is called among all nodes.
func (e *Engine) Name() string { return e.node }

// shared reports whether other processes may use the store, too.
func (e *Engine) shared() bool { return sharedStore(e.store) }

func sharedStore(s store.Store) bool {
	sharing, ok := s.(store.Sharing)
	return ok && sharing.Shared()
}

// randomSeed starts the jitter of a partition.
func randomSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}
