package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine/limits"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/engine/scaling"
	"github.com/weirhq/weir/internal/engine/stored"
)

// MostPartitions bounds the number of partitions.
const MostPartitions = stored.MaxPartitions

// Partitioning says over how many partitions new work is spread.
type Partitioning struct {
	Partitions int
	Kept       int    // with those that only end the work they hold
	Changing   bool   // nodes take claims by the number before until all partitions know this one
	Version    uint64 // rises with each change
}

// Partitioning returns over how many partitions new work is spread.
func (e *Engine) Partitioning(ctx context.Context) (Partitioning, error) {
	m, err := own.ReadMap(ctx, e.store)
	if err != nil {
		return Partitioning{}, fmt.Errorf("read partitions: %w", err)
	}
	return partitioningOf(m), nil
}

func partitioningOf(m *own.Map) Partitioning {
	return Partitioning{m.Partitions, m.Most, m.Closing, m.Generation}
}

// SetPartitions changes the number of partitions while all nodes run. New work is spread
// over the new number as soon as it returns; work that is there ends where it is. A change that is under way is finished
// first. Options.Partitions of nodes that start later should say the same, or nothing.
func (e *Engine) SetPartitions(ctx context.Context, n int) error {
	if err := checkPartitions(n); err != nil {
		return err
	}
	return e.toldPartitions(ctx, n, e.layout.Change(ctx, n))
}

// ChangePartitions is SetPartitions if allow returns nil for what is there. It returns the error of allow otherwise.
func (e *Engine) ChangePartitions(ctx context.Context, n int, allow func(Partitioning) error) error {
	if err := checkPartitions(n); err != nil {
		return err
	}
	return e.toldPartitions(ctx, n, e.layout.ChangeIf(ctx, n, func(m *own.Map) error { return allow(partitioningOf(m)) }))
}

func checkPartitions(n int) error {
	if n >= 1 && n <= MostPartitions {
		return nil
	}
	return &weir.FieldError{
		Code: "out_of_range", Field: "partitions", Problem: fmt.Sprintf("%d is not between 1 and %d", n, MostPartitions),
		Fix: "four for each core of all nodes together is a good start",
	}
}

func (e *Engine) toldPartitions(ctx context.Context, n int, err error) error {
	if err != nil {
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
	scaler := scaling.Scaler{
		Store: e.store, Node: e.node, LeaseFor: e.opts.LeaseFor, Log: e.opts.Logger, Limits: e.limits, Counts: e.counts,
		Settings: e.ScalingInForce, Partitions: func() int { return e.layout.Now().Partitions },
		Fleet: e.fleet,
	}
	var work sync.WaitGroup
	work.Go(func() { e.limits.Allot(ctx, l.Epoch()) })
	work.Go(func() { scaler.Coordinate(ctx, l) })
	work.Wait()
}

// obey has kept what was read of limits and settings when this node announced itself.
func (e *Engine) obey(ctx context.Context, announced time.Time, records [][]byte) error {
	set, err := scaling.Parse(records[1])
	if err != nil {
		return err
	}
	set = scaling.WithOptions(set, e.opts.Scaling, e.opts.Workers)
	return e.limits.ObeyRead(ctx, announced, records[0], &set)
}

// ScalingInForce returns how workers follow the load: what operators set, and the engine's
// options where they set nothing.
func (e *Engine) ScalingInForce(ctx context.Context) (weir.Scaling, error) {
	return scaling.InForce(ctx, e.store, e.opts.Scaling, e.opts.Workers)
}

// SetFileLimits makes f the limits of the configuration file, for all nodes. It
// replaces those of the file before: entries that f lacks are removed. What was
// set at run time stays and comes first.
//
// Every node calls it at its start, so the file of the node that started last holds.
func (e *Engine) SetFileLimits(ctx context.Context, f weir.FileLimits) error {
	return e.ops.ChangeLimits(ctx, limits.SetFile(f, weir.Stamp{By: e.node, At: time.Now().UTC()}))
}

// InForce returns a resource with the limits that this node keeps to now.
func (e *Engine) InForce(r weir.Resource) weir.Resource { return e.limits.InForce(r) }

// TenantLimits returns what a tenant may use.
func (e *Engine) TenantLimits(tenant string) weir.TenantLimits { return e.limits.Tenant(tenant) }

// TenantPaused reports whether operators let nothing of a tenant start.
func (e *Engine) TenantPaused(tenant string) bool { return e.limits.Tenant(tenant).Paused }
