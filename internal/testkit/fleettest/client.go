//go:build unix

package fleettest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/testkit/recorder"
	"github.com/weirhq/weir/store/redisstore"
)

// client submits and waits. It runs in the test's process, with an engine that owns nothing.
type client struct {
	t      testing.TB
	config Config
	engine *engine.Engine
	chain  weir.Chain[recorder.Data, recorder.Answer]

	mu    sync.Mutex
	bulks []*bulk // acknowledged
	tried int     // bulk actions that were submitted
	again int     // submits that were made again
	last  error   // of a submit that was
}

// bulk is an acknowledged bulk action.
type bulk struct {
	*engine.BulkAction
	number, items int
}

const (
	answerIn  = 3 * time.Second        // until a submit is made again
	lookEvery = 20 * time.Millisecond  // at progress
	tenants   = 16                     // that bulk actions belong to in turn
	resource  = "downstream"           // that all calls use
	retryIn   = 100 * time.Millisecond // after a submit that failed
)

func newClient(t testing.TB, c Config) *client {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	s, err := redisstore.Open(t.Context(), c.store(c.Addresses, quiet))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	e, err := engine.Open(t.Context(), s, engine.Options{Partitions: c.Partitions, LeaseFor: c.LeaseFor, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	cl := &client{t: t, config: c, engine: e, chain: c.chain("http://127.0.0.1:1", 0)}
	if err := e.Handle(cl.chain); err != nil {
		t.Fatal(err)
	}
	return cl
}

// submit submits a bulk action until it is acknowledged, and returns nil if the
// test ended before that.
func (c *client) submit(items int) *bulk {
	c.mu.Lock()
	b := &bulk{number: c.tried, items: items}
	c.tried++
	c.mu.Unlock()
	for ctx := c.t.Context(); ctx.Err() == nil; pause(ctx, retryIn) {
		var err error
		b.BulkAction, err = c.try(ctx, b)
		c.mu.Lock()
		if err == nil {
			c.bulks = append(c.bulks, b)
			c.mu.Unlock()
			return b
		}
		c.again, c.last = c.again+1, err
		c.mu.Unlock()
		if errors.Is(err, weir.ErrConflict) {
			c.t.Errorf("submit %d: %v", b.number, err)
			return nil
		}
	}
	return nil
}

func (c *client) try(ctx context.Context, b *bulk) (*engine.BulkAction, error) {
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	return engine.Submit(ctx, c.engine, c.chain, b.all(),
		weir.Spec{Tenant: "tenant-" + strconv.Itoa(b.number%tenants), IdempotencyKey: "bulk-" + strconv.Itoa(b.number),
			Concurrency: c.config.Concurrency,
		})
}

// id returns the id of an item.
func (b *bulk) id(i int) string { return fmt.Sprintf("b%d-u%d", b.number, i) }

func (b *bulk) all() iter.Seq2[weir.Item[recorder.Data], error] {
	return func(yield func(weir.Item[recorder.Data], error) bool) {
		for i := range b.items {
			if !yield(weir.Item[recorder.Data]{ID: b.id(i), Value: recorder.Data{User: b.id(i)}}, nil) {
				return
			}
		}
	}
}

// ids yields the ids of all items.
func (b *bulk) ids(yield func(string) bool) {
	for i := range b.items {
		if !yield(b.id(i)) {
			return
		}
	}
}

// Busy keeps so many bulk actions of so many items running. stop ends that, and returns when
// all that was submitted is acknowledged.
func (c *client) Busy(bulks, items int) (stop func()) {
	ctx, cancel := context.WithCancel(c.t.Context())
	var wg sync.WaitGroup
	for range bulks {
		wg.Go(func() {
			for ctx.Err() == nil {
				b := c.submit(items)
				for b != nil && ctx.Err() == nil && !c.look(ctx, b) {
					pause(ctx, 5*lookEvery)
				}
			}
		})
	}
	return func() {
		c.t.Helper()
		cancel()
		done := make(chan struct{})
		go func() { wg.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(upIn):
			c.mu.Lock()
			defer c.mu.Unlock()
			c.t.Fatalf("submits are not acknowledged within %v; one failed with: %v", upIn, c.last)
		}
	}
}

// SetRate changes the rate of the downstream on all nodes, and returns when the change was
// answered.
func (c *client) SetRate(rate float64) (answered time.Time) {
	c.t.Helper()
	r := weir.Rate(rate)
	err := c.engine.Operator().SetLimits(c.t.Context(), func(l *weir.Limits) { l.Resources[resource] = weir.ResourceLimits{Rate: &r} })
	answered = time.Now()
	if err != nil {
		c.t.Fatalf("set the rate to %v: %v", rate, err)
	}
	return answered
}

// look reports whether a bulk action has ended. It returns false if the store does not answer.
func (c *client) look(ctx context.Context, b *bulk) bool {
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	p, err := b.Now(ctx)
	return err == nil && p.State.Final()
}

// Ended reports whether every acknowledged bulk action has ended.
func (c *client) Ended() bool {
	for _, b := range c.bulks {
		if !c.look(c.t.Context(), b) {
			return false
		}
	}
	return true
}

// Wait waits until every acknowledged bulk action has ended.
func (c *client) Wait(within time.Duration) {
	c.t.Helper()
	deadline := time.Now().Add(within)
	for i, b := range c.bulks {
		for !c.look(c.t.Context(), b) {
			if time.Now().After(deadline) {
				c.t.Fatalf("%d of %d bulk actions have not ended after %v%s", len(c.bulks)-i, len(c.bulks), within, c.open(c.bulks[i:]))
			}
			pause(c.t.Context(), lookEvery)
		}
	}
}

// open describes the first bulk actions that have not ended.
func (c *client) open(bulks []*bulk) (text string) {
	for _, b := range bulks[:min(8, len(bulks))] {
		ctx, cancel := context.WithTimeout(c.t.Context(), answerIn)
		p, err := b.Now(ctx)
		cancel()
		text += fmt.Sprintf("\n%s: %v %+v %v", b.ID(), p.State, p.Counts, err)
	}
	return text
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
