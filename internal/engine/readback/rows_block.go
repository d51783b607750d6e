package readback

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/report"
	"github.com/weirhq/weir/store"
)

// block reads the items of one block and says of each how it ended, or where it stands.
func (r *Report) block(ctx context.Context, at blockState) ([]report.Row, error) {
	b := r.bulk
	items, err := b.open(ctx, at.no)
	if err != nil {
		return nil, err
	}
	list := make([]report.Row, at.state.Size)
	base := b.Spec.Position(at.no)
	for i := range list {
		list[i] = r.row(items, at.state, i)
		list[i].No, list[i].KeyNo = base+int64(i), base+int64(i)
	}
	if err := r.carried(ctx, at.no, list); err != nil {
		return nil, err
	}
	err = partition.ReadResults(stored.At(ctx, b.from.store, at.partition), b.from.codec, b.id, at.no, func(x block.Result) error {
		fillIn(&list[x.Item], x, b.Spec.Steps[x.Step])
		return nil
	})
	return list, err
}

// open reads the items of a block.
func (b *Bulk) open(ctx context.Context, no uint32) (*block.Items, error) {
	return stored.OpenItems(ctx, b.from.store, b.from.codec, b.Home, b.Spec, no)
}

// row is what the block's state alone says of an item.
func (r *Report) row(items *block.Items, s *block.State, i int) report.Row {
	steps := r.bulk.Spec.Steps
	row := report.Row{ID: items.ID(i), Data: items.Data(i), Attempts: 1}
	at := 0
	for at < len(steps)-1 && s.Passed[at].Has(i) {
		at++
	}
	row.Step = steps[at]
	switch {
	case s.Passed[len(steps)-1].Has(i):
		row.State = report.StateDone
	case s.Failed.Has(i):
		row.State = report.StateFailed
	case s.LeftOut.Has(i):
		row.State, row.LeftOut = report.StateCancelled, true
	case r.bulk.Status.State.Final():
		row.State, row.Reason, row.Attempts = report.StateCancelled, r.bulk.Status.CancelCause, 0
		called(&row, s, i)
	default:
		row.State, row.Attempts = report.StateReady, 0
		called(&row, s, i)
		if !r.counted {
			waits(&row, s, i)
		}
	}
	return row
}

// What is said of items that the service may have done, and that have not ended or were cancelled.
const (
	calledUnclear = "it was called without a clear answer: the service may have done it"
	mayBeCalled   = "it may have been in a call when a node died: the service may have done it"
)

// called notes what is known of the calls of an item that has not ended or was cancelled.
func called(row *report.Row, s *block.State, i int) {
	for k := range s.Retries {
		if again := &s.Retries[k]; again.Items.Has(i) {
			row.Attempts = int(again.Attempt) - 1
			if again.Fails > 0 {
				row.Attempts = max(row.Attempts, 1) // attempts during an outage are not counted, and yet it was called
			}
		}
	}
	if !s.Unclear.Has(i) {
		return
	}
	row.Code, row.Message = report.CodeUnclear, calledUnclear
	if row.Attempts == 0 {
		row.Message = mayBeCalled
	}
}

// waits notes that an item waits for another attempt, if it does. One that is due is ready, as in the counts.
func waits(row *report.Row, s *block.State, i int) {
	now := time.Now().UnixNano()
	for k := range s.Retries {
		if again := &s.Retries[k]; again.Due > now && again.Items.Has(i) {
			row.State, row.Reason = report.StateWaiting, "retry"
		}
	}
}

// fillIn adds to a row what an action answered at a step. Attempts are those at the step that the row names.
func fillIn(row *report.Row, x block.Result, step string) {
	switch {
	case step != row.Step:
	case skipped(&x):
		row.Reason, row.Attempts = report.ReasonSkipped, 0
	default:
		row.Attempts = max(row.Attempts, int(x.Attempts))
	}
	switch x.Kind {
	case block.Output:
		if len(x.Output) > 0 {
			answered(row, int(x.Step), slices.Clone(x.Output)) // later steps come later
		}
	case block.Failure:
		row.Code, row.Message, row.Attempts = x.Code, x.Message, int(x.Attempts) // at the step that failed
	case block.LeftOut:
		row.Reason, row.Attempts = x.Code, int(x.Attempts)
	}
}

// skipped reports whether an item passed a step without a call.
func skipped(x *block.Result) bool { return x.Kind == block.Output && x.Attempts == 0 }

// answered notes the answer of a step.
func answered(row *report.Row, step int, output []byte) {
	for len(row.Outputs) <= step {
		row.Outputs = append(row.Outputs, nil)
	}
	row.Outputs[step], row.Output = output, output
}

// along is what the items of a block of a retry brought along from the bulk action before; nil: nothing.
func (r *Report) along(ctx context.Context, no uint32) (*block.Items, error) {
	b := r.bulk
	if !b.Spec.Carries {
		return nil, nil
	}
	items, err := stored.OpenBlock(ctx, b.from.store, b.from.codec, b.Home, b.id, no+stored.CarriedBlocks)
	if err != nil {
		return nil, fmt.Errorf("answers carried over: %w", err)
	}
	return items, nil
}

// carried fills in what the items of a block brought along.
func (r *Report) carried(ctx context.Context, no uint32, list []report.Row) error {
	along, err := r.along(ctx, no)
	if along == nil || err != nil {
		return err
	}
	for i := range list {
		if err := r.carriedTo(&list[i], along, i); err != nil {
			return err
		}
	}
	return nil
}

// carriedTo fills in what one item brought along.
func (r *Report) carriedTo(row *report.Row, along *block.Items, i int) (err error) {
	spec := r.bulk.Spec
	for step := range spec.FirstStep {
		if a := block.CarriedAnswer(along.Data(i), step); len(a) > 0 {
			answered(row, step, a)
		}
	}
	if row.RetryNo, err = strconv.ParseInt(along.ID(i), 10, 64); err != nil {
		return fmt.Errorf("idempotency keys carried over: %w: %w", store.ErrCorrupt, err)
	}
	if spec.KeysOf != "" {
		row.KeyNo = row.RetryNo
	}
	return nil
}
