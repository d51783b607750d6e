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
	cache   *blockCache
	share   *share
	limits  limitSet
	watches watches
	submits submits
	past    past
	trials  trials
	node    string                              // this engine's name as an owner
	parts   [maxPartitions]atomic.Pointer[part] // that this node owns now
	taking  [maxPartitions]atomic.Bool          // that this node has the lease of, and is loading
	loading loading
	layout  layout
	placed  placed
	fleet   fleet
	health  health
	losses  lossBook
	counts  counts
	told    complaints
	quotas  quotas
	pending atomic.Int64 // items accepted and not ended, of partitions owned here and submits under way
	speed   speedometer
	seen    atomic.Pointer[weir.Node] // what this node observed of its lanes last
	decided decisionCounts
	leads   atomic.Bool               // this node decides for all
	plan    atomic.Pointer[weir.Plan] // what this node thinks of all lanes if it leads

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
		return nil, &weir.FieldError{Code: "missing_field", Field: "store", Problem: "is nil", Fix: "open one, as with pebblestore.Open or memstore.New"}
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
		closeIdle: func() {}, answers: execute.NewMemory(), past: past{stop: make(chan struct{})},
		node: "node_" + ulid.Make().String(), counts: newCounts(),
	}
	e.ops = &Operator{store: s, obey: e.obeyLimits}
	e.quotas.limits, e.quotas.speed = e.tenantLimits, e.speed.timeFor
	if e.opts.Transport == nil {
		own := execute.NewTransport()
		e.opts.Transport, e.closeIdle = own, own.CloseIdleConnections
	}
	e.cache = newBlockCache(s, codec, o.CacheBytes)
	e.share = newShare(o.Slots, e.shared())
	if err := e.openLayout(ctx); err != nil {
		return nil, fmt.Errorf("open engine: %w", err)
	}
	if err := e.noteStoreLosses(ctx); err != nil {
		return nil, fmt.Errorf("open engine: %w", err)
	}
	if err := e.waitOutFormer(ctx); err != nil {
		return nil, fmt.Errorf("open engine: %w", err)
	}
	return e, nil
}

// waitOutFormer has the rates wait for what a former process has started, before
// any partition starts a task: they share the rates.
func (e *Engine) waitOutFormer(ctx context.Context) error {
	for p := range e.layout.now().Most {
		if err := e.waitOutFormerOf(ctx, p); err != nil {
			return fmt.Errorf("partition %d: %w", p, err)
		}
	}
	return nil
}

func (e *Engine) waitOutFormerOf(ctx context.Context, p int) error {
	if e.shared() {
		return nil // the quotas' books know: there is no need to read it
	}
	last, err := partition.LastStart(rows{ctx, e.store, p}, time.Now().UnixNano())
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
		return errors.New("run engine: it runs already, or has run before")
	}
	e.running = true
	e.mu.Unlock()
	defer e.ended.Store(true)
	defer e.watches.close() // also on an early return: Progress and Wait end with the engine
	if !e.firstLimits(ctx) {
		return nil // told to stop
	}
	unexport, err := e.export()
	if err != nil {
		return fmt.Errorf("run engine: %w", err)
	}
	defer unexport()
	g, gctx := errgroup.WithContext(ctx)
	beside, cancel := context.WithCancel(context.WithoutCancel(ctx)) // until the last partition is handed over
	e.knowResources()                                                // before any partition starts a task
	g.Go(func() error { e.keepQuotas(beside); return nil })
	g.Go(func() error { e.readBoard(beside); return nil })
	g.Go(func() error { e.meetOthers(beside); return nil })
	g.Go(func() error { e.steer(beside); return nil })
	g.Go(func() error { e.observe(beside); return nil })
	g.Go(func() error { e.lead(gctx); return nil })
	g.Go(func() error { defer cancel(); return e.stay(gctx) })
	err = g.Wait()
	e.past.end()
	e.closeIdle()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil // told to stop: not a failure
	}
	return err
}

// Operator returns the operator of the engine's store. Limits that it sets hold on this node when the call returns.
func (e *Engine) Operator() *Operator { return e.ops }

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
