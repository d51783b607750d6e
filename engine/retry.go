package engine

import (
	"context"

	"github.com/weirhq/weir"
	inner "github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/report"
)

// RetryOptions selects the items that [BulkAction.Retry] tries again, and says how. The zero value
// means all failed items.
type RetryOptions struct {
	// State is how the items ended: failed, or cancelled with the bulk action, by its deadline, a
	// person or a rule. Items that a step left out are not among the latter. Default: failed.
	State report.State
	// Step takes only items that ended there. Default: at any.
	Step string
	// Match takes only items for which it is true. Default: all.
	Match func(*report.Row) bool
	// Rate is the most items per second. Default: what the resources allow.
	Rate weir.Rate
	// NewKeys gives the items new idempotency keys: what a downstream had done
	// after all is done again. Default: an item keeps its keys.
	NewKeys bool
	// Name is the name of the retries. Default: the name of the bulk action and a number, as in "spring-reward (retry 1)".
	Name string
	// IdempotencyKey makes a second retry with it return the bulk actions of the first.
	IdempotencyKey string
}

// Retry submits items that failed again, as new bulk actions linked to this one: one for each
// step at which items failed, which starts at that step. Steps that an item has passed are not run
// again; their answers are carried over. Items that a retry took before are left alone: retry what
// failed there. It fails with [weir.ErrRunning] while the bulk action runs.
func (b *BulkAction) Retry(ctx context.Context, o RetryOptions) ([]*BulkAction, error) {
	made, err := b.of.Retry(ctx, inner.RetryOptions{
		State: o.State, Step: o.Step, Match: o.Match, Rate: o.Rate, NewKeys: o.NewKeys, Name: o.Name, IdempotencyKey: o.IdempotencyKey,
	})
	return wrapAll(made), err
}

// Retries returns the bulk actions that retry items of this one, by step and then in the order in
// which they were accepted. It fails if one of them was removed after its time.
func (b *BulkAction) Retries(ctx context.Context) ([]*BulkAction, error) {
	all, err := b.of.Retries(ctx)
	return wrapAll(all), err
}
