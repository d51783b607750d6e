// Package operate is for operators of weir: it reads what the nodes tell about themselves and what
// was decided, and changes settings that hold on all nodes at once.
//
// An [Operator] needs the store of the nodes and no engine, so it works from a program of its own. Where
// the store belongs to one process, that process uses it: Engine.Operator of package engine.
package operate

import (
	"context"

	"github.com/weirhq/weir"
	inner "github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store"
)

// Operator reads and changes what holds for all nodes of a store. It is safe for use from several goroutines.
type Operator struct{ of *inner.Operator }

// New makes an operator on the store of a fleet. It writes nothing that it is not told to.
func New(s store.Store) *Operator { return &Operator{inner.NewOperator(s)} }

// Nodes returns what every node observed of itself and of its lanes within the last second or two.
func (o *Operator) Nodes(ctx context.Context) ([]weir.Node, error) { return o.of.Nodes(ctx) }

// Partitions returns how many partitions new work is spread over. It fails with [store.ErrNotFound]
// if no engine has ever used the store.
func (o *Operator) Partitions(ctx context.Context) (int, error) { return o.of.Partitions(ctx) }

// Resources lists the resources that nodes have registered, or that something was decided about.
func (o *Operator) Resources(ctx context.Context) ([]string, error) { return o.of.Resources(ctx) }

// Losses lists the acknowledged work that the store has lost for good, oldest first. It fails with
// [store.ErrNotFound] if no engine has ever used the store.
func (o *Operator) Losses(ctx context.Context) ([]weir.Loss, error) { return o.of.Losses(ctx) }

// Limits returns what operators have set of resources and tenants.
func (o *Operator) Limits(ctx context.Context) (weir.Limits, error) { return o.of.Limits(ctx) }

// SetLimits changes what resources and tenants may use, also for work that runs. When it returns,
// the change is in force: every node keeps to it or starts nothing. Nothing changes if the result
// is not valid. change is called again if another change was faster.
func (o *Operator) SetLimits(ctx context.Context, change func(*weir.Limits)) error {
	return o.of.SetLimits(ctx, change)
}
