package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/engine/ingest"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/engine/readback"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/report"
)

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
	// Ticket is what a service adds.
	Ticket Ticket
}

// Retry is [BulkAction.RetryFailed] with a choice.
func (b *BulkAction) Retry(ctx context.Context, o RetryOptions) ([]*BulkAction, error) {
	r, err := b.Report(ctx)
	if err != nil {
		return nil, err
	}
	if !r.Bulk().Status.State.Final() && r.Bulk().Status.State != weir.BulkStopped {
		return nil, fmt.Errorf("retry %s: %w: it is %v; wait for its end or cancel it first", b.ID(), weir.ErrRunning,
			r.Bulk().Status.State)
	}
	if problem := badText(o.Name, maxRetryName); problem != "" {
		return nil, &weir.FieldError{Code: "bad_text", Field: "name", Problem: problem, Fix: "use at most 128 printable characters"}
	}
	var made []*BulkAction
	var before []*readback.Bulk
	for step, counts := range r.Bulk().Status.Steps {
		if o.ended(&counts) == 0 || o.Step != "" && o.Step != r.Bulk().Spec.Steps[step] {
			continue
		}
		again, earlier, err := b.retryStep(ctx, r, step, &o)
		if errors.Is(err, errNoneMatch) {
			before = append(before, earlier...)
			continue
		}
		if err != nil {
			return made, fmt.Errorf("retry %s at step %q: %w", b.ID(), r.Bulk().Spec.Steps[step], err)
		}
		made = append(made, again)
	}
	if made == nil {
		return nil, b.nothingToRetry(before, r.Bulk().Status.Steps, o.State)
	}
	return made, nil
}

// Retries returns the bulk actions that retry items of this one, by step and then
// in the order in which they were accepted. One whose results are no longer kept
// is an error: what it has done is not known.
func (b *BulkAction) Retries(ctx context.Context) ([]*BulkAction, error) {
	return b.allRetries(ctx, b.RetriesAt)
}

// KeptRetries is Retries without those whose results are no longer kept.
func (b *BulkAction) KeptRetries(ctx context.Context) ([]*BulkAction, error) {
	return b.allRetries(ctx, b.KeptRetriesAt)
}

func (b *BulkAction) allRetries(ctx context.Context,
	at func(context.Context, int) ([]*readback.Bulk, error)) (all []*BulkAction, err error) {
	for step := range b.Spec.Steps {
		made, err := at(ctx, step)
		if err != nil {
			return nil, err
		}
		for _, x := range made {
			all = append(all, &BulkAction{Bulk: x, engine: b.engine})
		}
	}
	return all, nil
}

// ended is how many items ended at a step in the state that is meant.
func (o *RetryOptions) ended(c *weir.StepCounts) int64 {
	if o.State == report.StateCancelled {
		return c.Cancelled
	}
	return c.Failed
}

// nothingToRetry says why no item is left.
func (b *BulkAction) nothingToRetry(before []*readback.Bulk, steps []weir.StepCounts, state report.State) error {
	if len(before) == 0 {
		return NoItemsToRetry(b.ID(), steps, state)
	}
	ids := make([]string, len(before))
	for i, x := range before {
		ids[i] = string(x.ID())
	}
	fix := fmt.Sprintf("when %s has ended, retry what failed there", ids[0])
	if len(ids) > 1 {
		fix = "when those have ended, retry what failed in each of them"
	}
	return &weir.FieldError{
		Code: "no_items", Problem: fmt.Sprintf("the selected %s items of %s were already retried, by %s",
			cmp.Or(state, report.StateFailed), b.ID(), strings.Join(ids, ", ")), Fix: fix,
	}
}

var errNoneMatch = errors.New("no item matches")

// retryStep retries items that ended at a step. Retries of a step are numbered,
// and a claim of the number is part of accepting one: of several at the same time
// one gets it, and the others look again at what is left. If nothing is, it returns
// the retries before.
func (b *BulkAction) retryStep(ctx context.Context, r *Report, step int, o *RetryOptions) (again *BulkAction,
	before []*readback.Bulk, err error) {
	for seen := -1; ; {
		if before, err = b.RetriesAt(ctx, step); err != nil {
			return nil, nil, err
		}
		for _, x := range before {
			if o.IdempotencyKey != "" && x.Spec.RetryKey == o.IdempotencyKey {
				return &BulkAction{Bulk: x, engine: b.engine}, nil, nil
			}
		}
		if len(before) == seen { // the number is claimed by something that is not a retry
			return nil, nil, fmt.Errorf("%w: another retry is being accepted; ask again", weir.ErrConflict)
		}
		taken, err := readback.TakenBy(ctx, before)
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

// maxRetryName bounds the names that are made for retries, in bytes, as the API bounds those that are given.
const maxRetryName = 128

// retryNumber ends the names of retries. A retry of retry 2 is retry 2.1.
var retryNumber = regexp.MustCompile(` \(retry ([0-9.]+)\)$`)

// retryName returns the name of the next retry, unless one is given.
func (b *BulkAction) retryName(ctx context.Context, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	made, err := b.KeptRetries(ctx)
	if err != nil {
		return "", err
	}
	name, number := b.Spec.Name, strconv.Itoa(len(made)+1)
	if m := retryNumber.FindStringSubmatch(name); m != nil {
		name, number = strings.TrimSuffix(name, m[0]), m[1]+"."+number
	}
	end := " (retry " + number + ")"
	if most := maxRetryName - len(end); len(name) > most {
		name = strings.ToValidUTF8(name[:max(most-len("…"), 0)], "") + "…"
	}
	return name + end, nil
}

// submitRetry submits the items of a step that are meant and not taken, as retry number no.
func (b *BulkAction) submitRetry(ctx context.Context, r *Report, step, no int, taken readback.Numbers,
	o *RetryOptions) (_ *BulkAction, err error) {
	c := *r.Bulk().Spec
	c.RetryOf, c.FirstStep, c.Carries, c.RetryKey, c.Submitted = b.ID(), step, true, o.IdempotencyKey, time.Now().UnixNano()
	if c.Name, err = b.retryName(ctx, o.Name); err != nil {
		return nil, err
	}
	c.Deadline, c.Sizes, c.Places, c.Duplicates, c.Canary, c.Hold, c.StartAt, c.Rules = 0, nil, nil, 0, nil, false, 0, 0
	c.Notify, c.Extra, c.Terms = c.Notify || o.Ticket.Notify, o.Ticket.Extra, o.Ticket.hashes()
	if o.Ticket.KeepFor != 0 { // else as long as what it was made of
		c.KeepFor = int64(o.Ticket.KeepFor)
	}
	if c.KeysOf = cmp.Or(r.Bulk().Spec.KeysOf, b.ID()); o.NewKeys {
		c.KeysOf = ""
	}
	if _, err := b.engine.catalog.Find(&c); err != nil {
		return nil, err
	}
	if o.Rate > 0 {
		c.Rates = map[string]float64{c.Steps[step]: float64(o.Rate)}
	}
	c.ID = stored.NewID(b.Home)
	name, none := c.Steps[step], true
	items := func(yield func(ingest.Entry, error) bool) {
		for row, err := range b.Rows(ctx, RowOptions{State: cmp.Or(o.State, report.StateFailed)}) {
			if err == nil && (row.Step != name || row.LeftOut || taken.Has(row.KeyNo) || o.Match != nil && !o.Match(&row)) {
				continue
			}
			none = false
			if !yield(ingest.Entry{ID: row.ID, Data: row.Data, Previous: block.PackAnswers(row.Outputs, step), KeyNo: row.KeyNo}, err) {
				return
			}
		}
	}
	at := own.Place{Partition: b.Home, Generation: math.MaxUint64} // where the claims are does not depend on the map
	s := &submission{engine: b.engine, at: at, spec: &c, key: readback.RetryName(b.ID(), step, no), rule: weir.KeepAll}
	sp := b.engine.spans.Submit(ctx, &c)
	again, err := s.accept(ctx, incoming{items: items})
	sp.End(specOf(again), err)
	if err != nil && none {
		return nil, errNoneMatch
	}
	return again, err
}
