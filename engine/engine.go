// Package engine runs bulk actions: it is weir as a library.
//
// [Open] an engine on a store, register actions and chains with [Handle] and
// [HandleChain], call [Engine.Run], and [Submit] work. Each partition has one
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
	"github.com/weirhq/weir/internal/block"
	"github.com/weirhq/weir/internal/execute"
	"github.com/weirhq/weir/internal/partition"
	"github.com/weirhq/weir/store"
	"golang.org/x/sync/errgroup"
)

// Engine accepts and runs bulk actions. It is safe for use from several goroutines.
type Engine struct {
	store   store.Store
	opts    Options
	log     *slog.Logger
	codec   *block.Codec
	cache   *blockCache
	share   *share
	parts   []*part
	watches watches
	submits submits
	node    string       // this engine's name as an owner
	pending atomic.Int64 // items accepted and not ended
	speed   speedometer

	closeIdle func() // connections of HTTP actions

	mu      sync.Mutex
	chains  map[string][]weir.Step // registered, by name
	running bool
}

// Open makes an engine on a store. The store stays the caller's: close it after Run has returned.
func Open(ctx context.Context, s store.Store, o Options) (*Engine, error) {
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
		closeIdle: func() {},
		node:      "node_" + ulid.Make().String(),
	}
	if e.opts.Transport == nil {
		own := execute.NewTransport()
		e.opts.Transport, e.closeIdle = own, own.CloseIdleConnections
	}
	e.cache = newBlockCache(s, codec, o.CacheBytes)
	e.share = newShare(o.Slots, e.wakeLane)
	n, err := e.partitionsInUse(ctx)
	if err != nil {
		return nil, fmt.Errorf("open engine: %w", err)
	}
	now := time.Now().UnixNano()
	for i := range n {
		e.parts = append(e.parts, newPart(e, i))
		last, err := partition.LastStart(rows{ctx, s, i}, now)
		if err != nil {
			return nil, fmt.Errorf("open engine: partition %d: %w", i, err)
		}
		e.share.former(last) // before any partition starts a task: they share the rates
	}
	return e, nil
}

// partitionsInUse is the number of partitions to own: the configured ones, and
// those that hold work from a time when there were more.
func (e *Engine) partitionsInUse(ctx context.Context) (int, error) {
	n := e.opts.Partitions
	for i := n; i < maxPartitions; i++ {
		number, err := e.store.Number(ctx, i)
		if err != nil {
			return 0, err
		}
		owners, err := e.store.BlockOwners(ctx, i)
		if err != nil {
			return 0, err
		}
		if number > 0 || len(owners) > 0 {
			n = i + 1
		}
	}
	return n, nil
}

// Run works until ctx ends, then starts no more tasks, lets running ones finish for up to
// DrainFor, hands its partitions over, and returns. Every goroutine it started has ended
// by then, but for handlers that ignore their context.
func (e *Engine) Run(ctx context.Context) error {
	e.mu.Lock()
	if e.running {
		e.mu.Unlock()
		return errors.New("run engine: it runs already, or has run before")
	}
	e.running = true
	e.mu.Unlock()
	g, gctx := errgroup.WithContext(ctx)
	for _, p := range e.parts {
		g.Go(func() error { return p.own(gctx) })
	}
	err := g.Wait()
	e.watches.close()
	e.closeIdle()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil // told to stop: not a failure
	}
	return err
}

func (e *Engine) wakeLane(partition int, resource string) {
	e.parts[partition].mail.put(input{wake: resource})
}

// randomSeed starts the jitter of a partition.
func randomSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}
