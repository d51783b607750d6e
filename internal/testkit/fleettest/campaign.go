//go:build unix

package fleettest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/testkit/testenv/life"
	"github.com/weirhq/weir/store/redisstore"
)

// CampaignConfig configures one bulk action on a whole fleet.
type CampaignConfig struct {
	// Address is the store's.
	Address string
	// Nodes is the number of nodes at the start. Default 8.
	Nodes int
	// Slots of each node. Default 16.
	Slots int
	// Partitions is the number of partitions. Default: the engine's.
	Partitions int
	// Items of the bulk action. Default 50,000.
	Items int
	// Call is the time of a call, which takes one item. Default 50ms.
	Call time.Duration
	// Canary is the number of items that run first, until the bulk action is approved. 0: no canary.
	Canary int
	// LeaseFor is an option of each node. Default 2s.
	LeaseFor time.Duration
	// Concurrency and Rate are the bulk action's own. 0: it has none.
	Concurrency int
	Rate        float64
}

func (c CampaignConfig) withDefaults() CampaignConfig {
	c.Nodes = cmp.Or(c.Nodes, 8)
	c.Slots = cmp.Or(c.Slots, 16)
	c.Items = cmp.Or(c.Items, 50_000)
	c.Call = cmp.Or(c.Call, 50*time.Millisecond)
	c.LeaseFor = cmp.Or(c.LeaseFor, 2*time.Second)
	return c
}

// Campaign is one bulk action on a fleet of processes whose handlers write their own log. What
// happened is judged by that log alone.
type Campaign struct {
	// Bulk is the bulk action, which runs.
	Bulk *engine.BulkAction
	// Submitted is when it was accepted.
	Submitted time.Time

	t      testing.TB
	config CampaignConfig
	fleet  *Fleet
	nodes  []*life.Process
	engine *engine.Engine
	killed map[int]bool
}

// StartCampaign starts the nodes, waits until each has partitions, and submits the bulk action.
func StartCampaign(t testing.TB, c CampaignConfig) *Campaign {
	t.Helper()
	c = c.withDefaults()
	k := &Campaign{t: t, config: c, fleet: &Fleet{t: t, dir: t.TempDir(), processes: map[string]*life.Process{}}, killed: map[int]bool{}}
	t.Cleanup(func() {
		if t.Failed() {
			k.fleet.dump()
		}
	})
	for range c.Nodes {
		k.Join()
	}
	quiet := slog.New(slog.DiscardHandler)
	s, err := redisstore.Open(t.Context(), c.store(quiet))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if k.engine, err = engine.Open(t.Context(), s, engine.Options{LeaseFor: c.LeaseFor, Logger: quiet}); err != nil {
		t.Fatal(err)
	}
	a := c.action(nil)
	if err := k.engine.Handle(a); err != nil {
		t.Fatal(err)
	}
	k.settle()
	k.submit(a)
	return k
}

func (c CampaignConfig) store(log *slog.Logger) redisstore.Options {
	return redisstore.Options{Addresses: []string{c.Address}, Mode: redisstore.Memory, Logger: log}
}

// action sleeps as long as a call takes, and logs when each began and ended.
func (c CampaignConfig) action(log *os.File) weir.Action[int, struct{}] {
	return weir.Action[int, struct{}]{
		Name: "call", BatchSize: 1, Timeout: callFor, Retry: weir.Backoff{MaxAttempts: 1},
		Handle: func(ctx context.Context, b *weir.Batch[int, struct{}]) error {
			item := b.Items()[0].Value
			end, _ := ctx.Deadline()
			err := errors.Join(note(log, "p", item, end.Add(-callFor)), note(log, "b", item, time.Now()))
			if err != nil {
				return err
			}
			pause(ctx, c.Call)
			if err := errors.Join(ctx.Err(), note(log, "e", item, time.Now())); err != nil {
				return err
			}
			b.Done(0, struct{}{})
			return nil
		},
	}
}

// note writes one line at once: a process that is killed leaves whole lines.
func note(log *os.File, what string, item int, at time.Time) error {
	_, err := log.Write(fmt.Appendf(nil, "%s %d %d\n", what, item, at.UnixNano()))
	return err
}

// Join starts one more node, and returns its number when its engine runs.
func (k *Campaign) Join() int {
	k.t.Helper()
	n := len(k.nodes)
	p, _ := k.fleet.spawn(order{Role: "campaign", Log: k.log(n), Life: n, Campaign: k.config}, "node"+strconv.Itoa(n), "up")
	k.nodes = append(k.nodes, p)
	return n
}

// Kill ends a node with SIGKILL.
func (k *Campaign) Kill(n int) {
	k.t.Helper()
	k.killed[n] = true
	if err := k.nodes[n].Kill(); err != nil {
		k.t.Fatalf("node %d: %v", n, err)
	}
}

func (k *Campaign) log(n int) string {
	return filepath.Join(k.fleet.dir, fmt.Sprintf("calls%d.log", n))
}

// settle waits until every node has partitions, and all partitions have an owner.
func (k *Campaign) settle() {
	k.t.Helper()
	for end := time.Now().Add(upIn); ; pause(k.t.Context(), 10*time.Millisecond) {
		owned, spread := 0, true
		for _, p := range k.nodes {
			kept := len((&Node{process: p}).Kept())
			owned += kept
			spread = spread && kept > 0
		}
		all, err := k.engine.Operator().Partitions(k.t.Context())
		if err != nil {
			k.t.Fatal(err)
		}
		if spread && owned == all {
			return
		}
		if time.Now().After(end) {
			k.t.Fatalf("%d partitions have an owner, or a node has none, after %v", owned, upIn)
		}
	}
}

func (k *Campaign) submit(a weir.Action[int, struct{}]) {
	k.t.Helper()
	items := make([]weir.Item[int], k.config.Items)
	for i := range items {
		items[i] = weir.Item[int]{ID: strconv.Itoa(i), Value: i}
	}
	spec := weir.Spec{Tenant: "campaigns", Concurrency: k.config.Concurrency}
	if k.config.Rate > 0 {
		spec.Rates = map[string]weir.Rate{a.Name: weir.Rate(k.config.Rate)}
	}
	if k.config.Canary > 0 {
		spec.Canary = &weir.Canary{Items: int64(k.config.Canary)}
	}
	var err error
	if k.Bulk, err = engine.Submit(k.t.Context(), k.engine, a, engine.Items(items), spec); err != nil {
		k.t.Fatal(err)
	}
	k.Submitted = time.Now()
}

// Ended returns how many items have ended, as weir says.
func (k *Campaign) Ended() int64 {
	p, err := k.Bulk.Now(k.t.Context())
	if err != nil {
		k.t.Fatal(err)
	}
	return p.Counts.Ended()
}

// Wait waits until the bulk action has completed.
func (k *Campaign) Wait(within time.Duration) {
	k.t.Helper()
	for end := time.Now().Add(within); ; pause(k.t.Context(), lookEvery) {
		p, err := k.Bulk.Now(k.t.Context())
		if err != nil {
			k.t.Fatal(err)
		}
		if p.State.Final() {
			return
		}
		if time.Now().After(end) {
			k.t.Fatalf("the bulk action has not ended after %v: %+v", within, p)
		}
	}
}

// runNode runs a node of a campaign until its parent stops it or dies.
func runNode(ctx context.Context, o order) error {
	log, err := os.OpenFile(o.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	c, out := o.Campaign, slog.New(slog.NewTextHandler(os.Stderr, nil))
	s, err := redisstore.Open(ctx, c.store(out))
	if err != nil {
		return err
	}
	e, err := engine.Open(ctx, s, engine.Options{Partitions: c.Partitions, Slots: c.Slots, LeaseFor: c.LeaseFor, Logger: out})
	if err != nil {
		return err
	}
	if err := e.Handle(c.action(log)); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	say("up", e.Name())
	return errors.Join(<-ended, s.Close())
}

// Approve runs the rest after the canary, and returns when that was asked for.
func (k *Campaign) Approve() time.Time {
	k.t.Helper()
	at := time.Now()
	if err := k.Bulk.Approve(k.t.Context(), "it is well"); err != nil {
		k.t.Fatal(err)
	}
	return at
}

// Canary returns the number of items of the canary.
func (k *Campaign) Canary() int { return k.config.Canary }

// Items returns the number of items.
func (k *Campaign) Items() int { return k.config.Items }

// Nodes returns how many nodes were started.
func (k *Campaign) Nodes() int { return len(k.nodes) }

// Slots returns the slots of each node.
func (k *Campaign) Slots() int { return k.config.Slots }
