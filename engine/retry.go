package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/partition"
	"github.com/weirhq/weir/internal/report"
)

// carriedBlocks is where a retry keeps what the step before its first one
// answered: block no of the items has its answers in block no + carriedBlocks.
const carriedBlocks = 1 << 31

// carried fills in what a retried bulk action's earlier steps had answered.
func (e *Engine) carried(ctx context.Context, part int, t *partition.Task, items []weir.TaskItem) error {
	if t.FirstStep == 0 || t.StepNo != t.FirstStep {
		return nil
	}
	key := blockKey{t.Bulk, t.Block + carriedBlocks}
	answers, err := e.cache.open(ctx, t.Home(part), e.cache.entry(key))
	if err != nil {
		return fmt.Errorf("answers carried over: %w", err)
	}
	for i := range items {
		if a := answers.Data(int(t.Items[i])); len(a) > 0 {
			items[i].Previous = a
		}
	}
	return nil
}

// RetryFailed submits the failed items again, as new bulk actions linked to this
// one: one for each step at which items failed, which starts at that step. Steps
// that an item has passed are not run again; their answers are carried over.
// Items get new idempotency keys.
func (b *BulkAction) RetryFailed(ctx context.Context) ([]*BulkAction, error) {
	r, err := b.Report(ctx)
	if err != nil {
		return nil, err
	}
	if !r.status.State.Final() && r.status.State != weir.BulkStopped {
		return nil, fmt.Errorf("retry %s: it is %v; wait for its end or cancel it first", b.id, r.status.State)
	}
	var made []*BulkAction
	for step, counts := range r.status.Steps {
		if counts.Failed == 0 {
			continue
		}
		again, err := b.retryStep(ctx, r, step)
		if err != nil {
			return made, fmt.Errorf("retry %s at step %q: %w", b.id, r.bulk.spec.Steps[step], err)
		}
		made = append(made, again)
	}
	if made == nil {
		return nil, fmt.Errorf("retry %s: no item failed", b.id)
	}
	return made, nil
}

func (b *BulkAction) retryStep(ctx context.Context, r *Report, step int) (*BulkAction, error) {
	c := *r.bulk.spec
	c.RetryOf, c.FirstStep, c.Submitted = b.id, step, time.Now().UnixNano()
	c.Deadline, c.Sizes, c.Duplicates = 0, nil, 0
	if b.engine.steps(c.Chain) == nil {
		return nil, fmt.Errorf("chain %q is not registered", c.Chain)
	}
	name := c.Steps[step]
	return b.engine.accept(ctx, &c, "", weir.KeepAll, func(yield func(entry, error) bool) {
		for row, err := range r.Rows(ctx) {
			if err == nil && (row.State != report.Failed || row.Step != name) {
				continue
			}
			if !yield(entry{row.ID, row.Data, row.Output}, err) {
				return
			}
		}
	})
}
