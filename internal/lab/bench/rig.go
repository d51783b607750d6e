package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/pebblestore"
)

// rig is an engine on a store on disk.
type rig struct {
	*engine.Engine
	store  *counting
	cancel context.CancelFunc
	ended  chan error
}

// raw is a chain whose items are documents as they are, without output.
type raw = weir.Chain[json.RawMessage, struct{}]

// batch is what the handlers of such a chain are given.
type batch = weir.Batch[json.RawMessage, struct{}]

// on returns a chain of one action that calls f.
func on(a weir.Action[json.RawMessage, struct{}], f func(context.Context, *batch) error) raw {
	a.Handle = f
	return weir.Start(a)
}

// action returns one of a name and a size of tasks.
func action(name string, size int) weir.Action[json.RawMessage, struct{}] {
	return weir.Action[json.RawMessage, struct{}]{Name: name, BatchSize: size}
}

// openStore opens a store. The reserve on disk is left out: it is the same for any number of items.
func openStore(dir string) (*pebblestore.Store, *slog.Logger) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return sure(pebblestore.Open(dir, pebblestore.Options{Logger: log, Ballast: -1})), log
}

// start opens an engine and runs it.
func start(ctx context.Context, dir string, o engine.Options, chains ...raw) *rig {
	r := open(ctx, dir, o, chains...)
	r.start(ctx)
	return r
}

// open makes an engine that does not run yet.
func open(ctx context.Context, dir string, o engine.Options, chains ...raw) *rig {
	s, log := openStore(dir)
	o.Logger = log
	r := &rig{store: &counting{Store: s}, ended: make(chan error, 1)}
	r.Engine = sure(engine.Open(ctx, r.store, o))
	for _, c := range chains {
		must(r.Engine.Handle(c))
	}
	return r
}

// start runs the engine.
func (r *rig) start(ctx context.Context) {
	ctx, r.cancel = context.WithCancel(ctx)
	go func() { r.ended <- r.Run(ctx) }()
}

// close stops the engine and closes the store.
func (r *rig) close() {
	r.cancel()
	must(<-r.ended)
	must(r.store.Close())
}

// noop returns a chain of one action that does nothing.
func noop(size int) raw { return slow(size, 0) }

// slow returns a chain of one action that takes some time per task.
func slow(size int, takes time.Duration) raw {
	return on(action("handle", size), func(_ context.Context, b *batch) error {
		time.Sleep(takes)
		b.DoneRest()
		return nil
	})
}

// counting counts what is written to a store.
type counting struct {
	store.Store
	rows       atomic.Int64 // set and deleted by commits
	blockBytes atomic.Int64
}

// Commit implements [store.State].
func (c *counting) Commit(ctx context.Context, partition int, tok store.Token, b *store.Batch) error {
	c.rows.Add(int64(len(b.Set) + len(b.Delete)))
	return c.Store.Commit(ctx, partition, tok, b)
}

// PutBlocks implements [store.Blocks].
func (c *counting) PutBlocks(ctx context.Context, partition int, id weir.BulkID, first uint32, blocks [][]byte) error {
	for _, b := range blocks {
		c.blockBytes.Add(int64(len(b)))
	}
	return c.Store.PutBlocks(ctx, partition, id, first, blocks)
}
