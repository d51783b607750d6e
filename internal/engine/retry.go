package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/report"
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
// Items keep their idempotency keys. Items that a retry took before are left
// alone: retry what failed there.
func (b *BulkAction) RetryFailed(ctx context.Context) ([]*BulkAction, error) {
	return b.Retry(ctx, RetryOptions{})
}

// RetryOptions says which items are tried again, and how.
type RetryOptions struct {
	// State is how the items ended: failed, or cancelled with the bulk action, by its deadline, a
	// person or a rule. What a step left out is not among the latter. Default: failed.
	State string
	// Step takes only items that ended there. Default: at any.
	Step string
	// Match takes only items for which it is true. Default: all.
	Match func(*report.Row) bool
	// Rate is the most items per second. Default: what the resources allow.
	Rate weir.Rate
	// NewKeys gives the items new idempotency keys: what a downstream had done
	// after all is done again. Default: an item keeps its keys.
	NewKeys bool
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
	var made, before []*BulkAction
	for step, counts := range r.status.Steps {
		if o.ended(&counts) == 0 || o.Step != "" && o.Step != r.bulk.spec.Steps[step] {
			continue
		}
		again, earlier, err := b.retryStep(ctx, r, step, &o)
		if errors.Is(err, errNoneMatch) {
			before = append(before, earlier...)
			continue
		}
		if err != nil {
			return made, fmt.Errorf("retry %s at step %q: %w", b.id, r.bulk.spec.Steps[step], err)
		}
		made = append(made, again)
	}
	if made == nil {
		return nil, b.nothingToRetry(before, r.status.Steps, o.State)
	}
	return made, nil
}

// ended is how many items ended at a step in the state that is meant.
func (o *RetryOptions) ended(c *weir.StepCounts) int64 {
	if o.State == report.Cancelled {
		return c.Cancelled
	}
	return c.Failed
}

// nothingToRetry says why no item is left.
func (b *BulkAction) nothingToRetry(before []*BulkAction, steps []weir.StepCounts, state string) error {
	if len(before) == 0 {
		return NoItemsToRetry(b.id, steps, state)
	}
	ids := make([]string, len(before))
	for i, x := range before {
		ids[i] = string(x.id)
	}
	fix := fmt.Sprintf("when %s has ended, retry what failed there", ids[0])
	if len(ids) > 1 {
		fix = "when those have ended, retry what failed in each of them"
	}
	return &weir.FieldError{
		Code: "no_items", Problem: fmt.Sprintf("the %s items of %s that are meant were retried before, by %s", cmp.Or(state, report.Failed), b.id, strings.Join(ids, ", ")), Fix: fix,
	}
}

var errNoneMatch = errors.New("no item matches")

// retryStep retries items that ended at a step. Retries of a step are numbered,
// and a claim of the number is part of accepting one: of several at the same time
// one gets it, and the others look again at what is left. If nothing is, it returns
// the retries before.
func (b *BulkAction) retryStep(ctx context.Context, r *Report, step int, o *RetryOptions) (again *BulkAction, before []*BulkAction, err error) {
	for seen := -1; ; {
		if before, err = b.retriesAt(ctx, step); err != nil {
			return nil, nil, err
		}
		for _, x := range before {
			if o.IdempotencyKey != "" && x.spec.RetryKey == o.IdempotencyKey {
				return x, nil, nil
			}
		}
		if len(before) == seen { // the number is claimed by something that is not a retry
			return nil, nil, fmt.Errorf("%w: another retry is being accepted; ask again", weir.ErrConflict)
		}
		taken, err := takenBy(ctx, before)
		if err != nil {
			return nil, nil, err
		}
		again, err := b.submitRetry(ctx, r, step, len(before), taken, o)
		if !errors.Is(err, weir.ErrConflict) {
			return again, before, err
		}
		seen = len(before)
	}
}

// submitRetry submits the items of a step that are meant and not taken, as retry number no.
func (b *BulkAction) submitRetry(ctx context.Context, r *Report, step, no int, taken numbers, o *RetryOptions) (*BulkAction, error) {
	c := *r.bulk.spec
	c.RetryOf, c.FirstStep, c.Carries, c.RetryKey, c.Submitted = b.id, step, true, o.IdempotencyKey, time.Now().UnixNano()
	c.Deadline, c.Sizes, c.Duplicates, c.Canary, c.Hold, c.StartAt, c.Rules = 0, nil, 0, nil, false, 0, 0
	c.Notify, c.Extra = o.Ticket.Notify, o.Ticket.Extra
	if o.Ticket.KeepFor != 0 { // else as long as what it was made of
		c.KeepFor = int64(o.Ticket.KeepFor)
	}
	if c.KeysOf = cmp.Or(r.bulk.spec.KeysOf, b.id); o.NewKeys {
		c.KeysOf = ""
	}
	if _, err := b.engine.chainOf(&c); err != nil {
		return nil, err
	}
	if o.Rate > 0 {
		c.Rates = map[string]float64{c.Steps[step]: float64(o.Rate)}
	}
	c.ID = newBulkID(b.partition)
	name, none := c.Steps[step], true
	items := func(yield func(entry, error) bool) {
		for row, err := range b.Rows(ctx, RowOptions{State: cmp.Or(o.State, report.Failed)}) {
			if err == nil && (row.Step != name || row.LeftOut || taken.has(row.KeyNo) || o.Match != nil && !o.Match(&row)) {
				continue
			}
			none = false
			if !yield(entry{id: row.ID, data: row.Data, previous: block.PackAnswers(row.Outputs, step), keyNo: row.KeyNo}, err) {
				return
			}
		}
	}
	at := place{partition: b.partition, generation: math.MaxUint64} // where the claims are does not depend on the map
	again, err := b.engine.accept(ctx, at, &c, Ticket{}, retryName(b.id, step, no), weir.KeepAll, items)
	if err != nil && none {
		return nil, errNoneMatch
	}
	return again, err
}
