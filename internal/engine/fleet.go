package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/engine/stored"
)

// SetPartitions changes the number of partitions while all nodes run. New work is spread
// over the new number as soon as it returns; work that is there ends where it is.
// Options.Partitions of nodes that start later should say the same, or nothing.
func (e *Engine) SetPartitions(ctx context.Context, n int) error {
	if n < 1 || n > stored.MaxPartitions {
		return &weir.FieldError{
			Code: "out_of_range", Field: "partitions", Problem: fmt.Sprintf("%d is not between 1 and %d", n, stored.MaxPartitions),
			Fix: "four for each core of all nodes together is a good start",
		}
	}
	if err := e.layout.Change(ctx, n); err != nil {
		return fmt.Errorf("set partitions: %w", err)
	}
	e.fleet.Tell(ctx, "map", n)
	return nil
}

// Health is nil while all partitions run, here and on the other nodes. A partition
// whose data is damaged or lost is not run, and named here with what to do; the
// others go on. It never waits.
func (e *Engine) Health() error { return errors.Join(e.member.Stopped(), e.past.Losses()) }

// Regressions counts how often the store was found to hold less than it had acknowledged.
func (e *Engine) Regressions() int64 { return e.past.Regressions() }

// Lost returns an error that wraps a *[weir.LossError] while a partition is stopped: what is
// not in the store, an idempotency key or an item, may be among what the store lost.
func (e *Engine) Lost(what string) error { return e.layout.Lost(what) }

// Alive reports whether the node of a name is a member, by the clock of the store:
// one that has been silent for LeaseFor is not.
func (e *Engine) Alive(ctx context.Context, name string) (bool, error) {
	return e.fleet.Alive(ctx, name)
}

// Owned lists the partitions that this node owns now.
func (e *Engine) Owned() []int { return e.member.Owned() }

// Owners tells which node owns which partition, as far as this node knows.
func (e *Engine) Owners() map[int]string { return e.member.Owners() }

// Unowned lists the partitions without an owner, as far as this node knows: their work does not move.
func (e *Engine) Unowned() (partitions []int) {
	owners := e.Owners()
	for p := range e.layout.Now().Most {
		if _, owned := owners[p]; !owned {
			partitions = append(partitions, p)
		}
	}
	return partitions
}

// Owns reports whether this node owns the partition of a bulk action. It is for
// dividing work among nodes that one of them has to do.
func (e *Engine) Owns(id weir.BulkID) bool {
	p, err := stored.Home(id, e.layout.Now().Most)
	return err == nil && e.member.Running(p) != nil
}

// lead does the leader's work on quotas and workers until ctx ends.
func (e *Engine) lead(ctx context.Context, l *own.Leader) {
	var work sync.WaitGroup
	work.Go(func() { e.allot(ctx, l.Epoch()) })
	work.Go(func() { e.coordinate(ctx, l) })
	work.Wait()
	e.counts.Plan.Store(nil)
}
