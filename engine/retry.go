package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/block"
	"github.com/weirhq/weir/internal/partition"
	"github.com/weirhq/weir/internal/report"
	"github.com/weirhq/weir/store"
)

// carriedBlocks is where a retry keeps what the step before its first one
// answered: block no of the items has its answers in block no + carriedBlocks.
const carriedBlocks = 1 << 31

// keys fills in the numbers that the items' idempotency keys are made of, where
// they are those of another bulk action.
func (e *Engine) keys(ctx context.Context, part int, t *partition.Task) ([]int64, error) {
	old, err := e.cache.open(ctx, t.Home(part), e.cache.entry(blockKey{t.Bulk, t.Block + carriedBlocks}))
	if err != nil {
		return nil, fmt.Errorf("idempotency keys carried over: %w", err)
	}
	nos := make([]int64, len(t.Items))
	for i, at := range t.Items {
		if nos[i], err = strconv.ParseInt(old.ID(int(at)), 10, 64); err != nil {
			return nil, fmt.Errorf("idempotency keys carried over: %w: %w", store.ErrCorrupt, err)
		}
	}
	return nos, nil
}

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
		if a := block.CarriedAnswer(answers.Data(int(t.Items[i])), t.FirstStep-1, t.FirstStep); len(a) > 0 {
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
	return b.Retry(ctx, RetryOptions{})
}

// RetryOptions says which failed items are tried again, and how.
type RetryOptions struct {
	// Step takes only items that failed there. Default: at any.
	Step string
	// Match takes only items for which it is true. Default: all.
	Match func(*report.Row) bool
	// Rate is the most items per second. Default: what the resources allow.
	Rate weir.Rate
	// KeepKeys gives the items the idempotency keys that they had.
	KeepKeys bool
	// IdempotencyKey makes a second retry with it return the bulk actions of the first.
	IdempotencyKey string
	// Ticket is what a service adds.
	Ticket Ticket
}

// Retry is [BulkAction.RetryFailed] with a choice.
func (b *BulkAction) Retry(ctx context.Context, o RetryOptions) ([]*BulkAction, error) {
	r, err := b.Report(ctx)
	if err != nil {
		return nil, err
	}
	if !r.status.State.Final() && r.status.State != weir.BulkStopped {
		return nil, fmt.Errorf("retry %s: %w: it is %v; wait for its end or cancel it first", b.id, weir.ErrRunning, r.status.State)
	}
	var made []*BulkAction
	for step, counts := range r.status.Steps {
		if counts.Failed == 0 || o.Step != "" && o.Step != r.bulk.spec.Steps[step] {
			continue
		}
		again, err := b.retryStep(ctx, r, step, &o)
		if errors.Is(err, errNoneMatch) {
			continue
		}
		if err != nil {
			return made, fmt.Errorf("retry %s at step %q: %w", b.id, r.bulk.spec.Steps[step], err)
		}
		made = append(made, again)
	}
	if made == nil {
		return nil, &weir.FieldError{Code: "no_items", Field: "filter", Problem: fmt.Sprintf("no item failed that is meant, of %s", b.id), Fix: "see its error groups for what failed"}
	}
	return made, nil
}

var errNoneMatch = errors.New("no failed item matches")

func (b *BulkAction) retryStep(ctx context.Context, r *Report, step int, o *RetryOptions) (*BulkAction, error) {
	c := *r.bulk.spec
	c.RetryOf, c.FirstStep, c.Submitted = b.id, step, time.Now().UnixNano()
	c.Deadline, c.Sizes, c.Duplicates, c.Canary, c.Hold, c.StartAt, c.Rules = 0, nil, 0, nil, false, 0, 0
	c.Notify, c.KeepFor, c.Extra = o.Ticket.Notify, int64(o.Ticket.KeepFor), o.Ticket.Extra
	if c.KeysOf = ""; o.KeepKeys {
		c.KeysOf = cmp.Or(r.bulk.spec.KeysOf, b.id)
	}
	if b.engine.stepsOf(&c) == nil {
		return nil, fmt.Errorf("chain %q is not registered", c.Chain)
	}
	if o.Rate > 0 {
		c.Rates = map[string]float64{c.Steps[step]: float64(o.Rate)}
	}
	key := ""
	if o.IdempotencyKey != "" {
		key = fmt.Sprintf("%s.retry.%d.%s", b.id, step, o.IdempotencyKey)
	}
	name, none := c.Steps[step], true
	again, err := b.engine.accept(ctx, &c, key, weir.KeepAll, func(yield func(entry, error) bool) {
		for row, err := range b.Rows(ctx, RowOptions{State: report.Failed}) {
			if err == nil && (row.Step != name || o.Match != nil && !o.Match(&row)) {
				continue
			}
			none = false
			if !yield(entry{id: row.ID, data: row.Data, previous: block.PackAnswers(row.Outputs, step), keyNo: row.KeyNo}, err) {
				return
			}
		}
	})
	if err != nil && none {
		return nil, errNoneMatch
	}
	return again, err
}
