package engine

import (
	"context"
	"iter"
	"time"

	"github.com/weirhq/weir"
	inner "github.com/weirhq/weir/internal/engine"
)

// BulkAction is a bulk action that was accepted.
type BulkAction struct{ of *inner.BulkAction }

func wrap(b *inner.BulkAction, err error) (*BulkAction, error) {
	if b == nil || err != nil {
		return nil, err
	}
	return &BulkAction{b}, nil
}

func wrapAll(all []*inner.BulkAction) []*BulkAction {
	var out []*BulkAction
	for _, b := range all {
		out = append(out, &BulkAction{b})
	}
	return out
}

// ID identifies the bulk action, also after a restart.
func (b *BulkAction) ID() weir.BulkID { return b.of.ID() }

// Items returns how many items were accepted.
func (b *BulkAction) Items() int64 { return b.of.Items() }

// Duplicates returns how many items were left out because their id is a duplicate.
func (b *BulkAction) Duplicates() int64 { return b.of.Duplicates() }

// Info describes what a bulk action was asked to be, with the changes since.
type Info struct {
	Name        string
	Tenant      string
	Tier        weir.Tier
	Priority    int
	Concurrency int
	StopOn      weir.StopRule
	Rates       map[string]weir.Rate // by step
	Steps       []string
	Deadline    time.Time // zero: none
	StartAt     time.Time // of one that is scheduled
	Submitted   time.Time
	RetryOf     weir.BulkID
	KeepFor     time.Duration // after its end; 0: as long as Options.KeepFor says
}

// Info describes the bulk action as of when b was made. [Engine.Get] reads it anew.
func (b *BulkAction) Info() Info {
	i := b.of.Info()
	return Info{
		Name: i.Name, Tenant: i.Tenant, Tier: i.Tier, Priority: i.Priority, Concurrency: i.Concurrency, StopOn: i.StopOn,
		Rates: i.Rates, Steps: i.Steps, Deadline: i.Deadline, StartAt: i.StartAt, Submitted: i.Submitted, RetryOf: i.RetryOf,
		KeepFor: i.KeepFor,
	}
}

// Start starts a bulk action that was submitted with Hold; if at is not zero, at that time. One that runs already is left
// alone.
func (b *BulkAction) Start(ctx context.Context, at time.Time) error { return b.of.Start(ctx, at) }

// Unschedule holds a bulk action that would start by itself.
func (b *BulkAction) Unschedule(ctx context.Context) error { return b.of.Unschedule(ctx) }

// Pause lets running tasks finish and starts no more. One that has not started is held by
// Unschedule.
func (b *BulkAction) Pause(ctx context.Context, reason string) error { return b.of.Pause(ctx, reason) }

// Resume goes on after a pause, or after a failure rule stopped the bulk action.
func (b *BulkAction) Resume(ctx context.Context, reason string) error {
	return b.of.Resume(ctx, reason)
}

// Cancel ends every item that is not running; running tasks finish. It takes as long for a
// million items as for one.
func (b *BulkAction) Cancel(ctx context.Context, reason string) error {
	return b.of.Cancel(ctx, reason)
}

// Approve runs the rest after the canary.
func (b *BulkAction) Approve(ctx context.Context, reason string) error {
	return b.of.Approve(ctx, reason)
}

// Change changes the rules of a bulk action, also while it runs.
func (b *BulkAction) Change(ctx context.Context, r weir.Rules, reason string) error {
	return b.of.Change(ctx, r, reason)
}

// Now returns the newest durable progress.
func (b *BulkAction) Now(ctx context.Context) (weir.Progress, error) { return b.of.Now(ctx) }

// Progress yields how far the bulk action is, at most ten times a second. It ends when the bulk
// action has ended, or was stopped by its failure rule and its running calls have ended, when the
// engine stops, or with ctx.
func (b *BulkAction) Progress(ctx context.Context) iter.Seq[weir.Progress] { return b.of.Progress(ctx) }

// Wait returns the report when the bulk action has ended, or was stopped by its failure rule and
// its running calls have ended.
func (b *BulkAction) Wait(ctx context.Context) (*Report, error) { return wrapReport(b.of.Wait(ctx)) }

// ErrorGroups returns why items failed, by step, code and message, the largest group first. Counts are
// exact once the bulk action has ended.
func (b *BulkAction) ErrorGroups(ctx context.Context) ([]weir.ErrorGroup, error) {
	return b.of.ErrorGroups(ctx)
}
