// Package engine runs bulk actions in a Go program.
//
// [Open] an engine on a store, register actions and chains with [Engine.Handle], call
// [Engine.Run] in a goroutine, and [Submit] items. [BulkAction.Wait] returns the report: how
// every item ended. A store on disk keeps everything over a restart: [Engine.Get] finds a bulk
// action again by its id. On a store that several processes share, each of them runs a part of
// the work.
//
// Package operate has what an operator does to all nodes together: limits, worker counts,
// circuits.
package engine

import (
	"context"
	"iter"

	"github.com/weirhq/weir"
	inner "github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/operate"
	"github.com/weirhq/weir/store"
)

// Engine accepts and runs bulk actions. It is safe for use from several goroutines.
//
// Package server makes a service with an API and pages of it.
type Engine inner.Engine // so that package server reaches the inner one by a conversion, and users see none of it

func (e *Engine) of() *inner.Engine { return (*inner.Engine)(e) }

// Open makes an engine on a store. The store stays the caller's: close it after Run has returned.
func Open(ctx context.Context, s store.Store, o Options) (*Engine, error) {
	e, err := inner.Open(ctx, s, o.inner())
	if err != nil {
		return nil, err
	}
	return (*Engine)(e), nil
}

// Handle registers actions and chains, so that bulk actions of them can be submitted and run.
// Register everything before server.New and Run: a stored bulk action whose chain is not registered waits.
func (e *Engine) Handle(works ...weir.Definer) error { return e.of().Handle(works...) }

// Run works until ctx ends, then starts no more tasks, lets running ones finish for up to
// Options.DrainFor, hands its partitions over, and returns nil. Every goroutine that it started has
// ended by then, but for handlers that ignore their context. Run an engine once: afterwards it
// accepts no work. Server.Run of package server runs its engine itself.
func (e *Engine) Run(ctx context.Context) error { return e.of().Run(ctx) }

// Submit accepts a bulk action of w, an action or a chain that is registered. When it returns
// without an error, spec and items are durable and will be run; until then nothing has been
// accepted. Items are read one by one and never held all in memory; an error among them refuses
// all. After Run has returned it fails with [weir.ErrClosed].
func Submit[In any](ctx context.Context, e *Engine, w weir.Work[In], items iter.Seq2[weir.Item[In], error],
	s weir.Spec) (*BulkAction, error) {
	return wrap(inner.Submit(ctx, e.of(), w, items, s))
}

// Items turns a slice into what [Submit] takes.
func Items[T any](items []weir.Item[T]) iter.Seq2[weir.Item[T], error] { return inner.Items(items) }

// Get finds a bulk action that was accepted earlier, by this process or another one. It fails with
// [weir.ErrNotFound], or with [weir.ErrExpired] if the bulk action was removed after its time.
func (e *Engine) Get(ctx context.Context, id weir.BulkID) (*BulkAction, error) {
	return wrap(e.of().Get(ctx, id))
}

// List yields every bulk action that was accepted, oldest first within each partition. One that
// cannot be read is an error; the others follow.
func (e *Engine) List(ctx context.Context) iter.Seq2[*BulkAction, error] {
	return func(yield func(*BulkAction, error) bool) {
		for b, err := range e.of().List(ctx) {
			if !yield(wrap(b, err)) {
				return
			}
		}
	}
}

// Lookup yields the items with that id in all bulk actions, newest first. It opens only the blocks
// of items that may contain the id. An error is the last value.
func (e *Engine) Lookup(ctx context.Context, id string, o LookupOptions) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		for f, err := range e.of().Lookup(ctx, id, inner.LookupOptions{Tenants: o.Tenants, Most: o.Most, Before: o.Before}) {
			if !yield(found(f), err) {
				return
			}
		}
	}
}

// Health returns nil while all partitions run, here and on the other nodes. A partition whose data
// is damaged or lost is stopped, and named here with what to do; the others go on. Losses are
// errors of type *[weir.LossError]. Health never waits.
func (e *Engine) Health() error { return e.of().Health() }

// Name returns what this node is called among all nodes.
func (e *Engine) Name() string { return e.of().Name() }

// Owned lists the partitions that this node owns now.
func (e *Engine) Owned() []int { return e.of().Owned() }

// Operator returns the operator of all nodes that use the engine's store.
func (e *Engine) Operator() *operate.Operator { return operate.New(e.of().Store()) }
