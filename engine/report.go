package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/block"
	"github.com/weirhq/weir/internal/partition"
	"github.com/weirhq/weir/internal/report"
	"github.com/weirhq/weir/store"
)

// Report is what became of a bulk action: the summary, and every item.
type Report struct {
	report.Summary
	bulk   *BulkAction
	status *partition.Status
}

// Report reads the report as of now. It is final when the bulk action has ended.
func (b *BulkAction) Report(ctx context.Context) (*Report, error) {
	rep, err := b.outline(ctx)
	if err != nil {
		return nil, fmt.Errorf("report of %s: %w", b.id, err)
	}
	rep.Summary = summary(rep.bulk, rep.status)
	if err := rep.gather(ctx); err != nil {
		return nil, fmt.Errorf("report of %s: %w", b.id, err)
	}
	if err := rep.groupErrors(ctx); err != nil {
		return nil, fmt.Errorf("report of %s: %w", b.id, b.orGone(ctx, err))
	}
	return rep, nil
}

// outline is a report without its summary: enough to look at items.
func (b *BulkAction) outline(ctx context.Context) (*Report, error) {
	r := rows{ctx, b.engine.store, b.partition}
	spec, status, err := partition.ReadStatus(r, b.id)
	if errors.Is(err, store.ErrNotFound) { // accepted, and not yet read by its owner
		if err := b.engine.gone(ctx, b.partition, b.id); err != nil {
			return nil, err
		}
		spec, err = b.spec, nil
		status = &partition.Status{Started: spec.Submitted, Steps: make([]weir.StepCounts, len(spec.Steps))}
	}
	if err != nil {
		return nil, err
	}
	return &Report{bulk: &BulkAction{engine: b.engine, id: b.id, partition: b.partition, spec: spec}, status: status}, nil
}

func summary(b *BulkAction, s *partition.Status) report.Summary {
	c := s.Counts(b.spec.Items)
	started := time.Unix(0, s.Started).UTC()
	sum := report.Summary{
		ID: string(b.id), Name: b.spec.Name, Tenant: b.spec.Tenant, State: s.State.String(), RetryOf: string(b.spec.RetryOf),
		StartedAt: started, Durability: b.engine.store.Durability(), Duplicates: int(b.spec.Duplicates),
		Counts: report.Counts{
			Total: int(c.Total), Done: int(c.Done), Failed: int(c.Failed), Cancelled: int(c.Cancelled),
			Ready: int(c.Ready), InFlight: int(c.InFlight),
		},
	}
	sum.Outcome = sum.Counts.Outcome()
	ended := time.Now().UTC()
	if s.Finished != 0 {
		ended = time.Unix(0, s.Finished).UTC()
		sum.FinishedAt = &ended
	}
	sum.Duration = report.Duration(ended.Sub(started))
	defs := b.engine.stepsOf(b.spec)
	for i, st := range s.Steps {
		step := report.Step{
			Name: b.spec.Steps[i], Action: b.spec.Steps[i], Done: int(st.Done), Failed: int(st.Failed), LeftOut: int(st.LeftOut),
			Attempts: int(st.Attempts), Retries: int(st.Retries), Refused: int(st.Refused),
		}
		if i < len(defs) {
			step.Action = defs[i].Action
		}
		if sec := time.Duration(sum.Duration).Seconds(); sec > 0 {
			step.Rate = float64(st.Done) / sec
		}
		sum.Steps = append(sum.Steps, step)
	}
	return sum
}

func waited(by map[string]int64) (ws []report.Wait) {
	var all int64
	for reason, d := range by {
		all += d
		ws = append(ws, report.Wait{Reason: reason, Duration: report.Duration(d)})
	}
	for i := range ws {
		ws[i].Share = float64(ws[i].Duration) / float64(max(all, 1))
	}
	slices.SortFunc(ws, func(a, b report.Wait) int {
		return cmp.Or(cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.Reason, b.Reason))
	})
	return ws
}

// Rows yields how every item ended, or where it stands, in the order of the input.
func (r *Report) Rows(ctx context.Context) iter.Seq2[report.Row, error] {
	return func(yield func(report.Row, error) bool) {
		err := r.eachBlock(ctx, func(at blockState) error {
			rows, err := r.block(ctx, at)
			if err != nil {
				return err
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return errEnough
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(report.Row{}, err)
		}
	}
}

var errEnough = errors.New("the reader wants no more")

// WriteFiles writes the report into a folder: report.json, and a file of rows per state.
func (r *Report) WriteFiles(ctx context.Context, w *report.Writer) error {
	for row, err := range r.Rows(ctx) {
		if err == nil {
			err = w.Write(row)
		}
		if err != nil {
			return err
		}
	}
	return w.Close(r.Summary)
}

// WriteDir writes the report as CSV files and report.json into a folder.
func (r *Report) WriteDir(ctx context.Context, dir string) error {
	w, err := report.NewWriter(dir, report.CSV, report.Options{})
	if err != nil {
		return err
	}
	if err := r.WriteFiles(ctx, w); err != nil {
		_ = w.Abort() // the first error tells more
		return err
	}
	return nil
}

// block reads one block and says how each of its items ended.
func (r *Report) block(ctx context.Context, at blockState) ([]report.Row, error) {
	b, no, s := r.bulk, at.no, at.state
	items, err := openBlock(ctx, b.engine.store, b.engine.codec, b.partition, b.id, no)
	if err != nil {
		return nil, err
	}
	out := make([]report.Row, s.Size)
	base := b.spec.Position(no)
	for i := range out {
		out[i] = r.row(items, s, i)
		out[i].No, out[i].KeyNo = base+int64(i), base+int64(i)
	}
	if b.spec.FirstStep > 0 || b.spec.KeysOf != "" {
		if err := r.carried(ctx, no, out); err != nil {
			return nil, err
		}
	}
	err = partition.ReadResults(rows{ctx, b.engine.store, at.partition}, b.engine.codec, b.id, no, func(x block.Result) error {
		fillIn(&out[x.Item], x)
		return nil
	})
	return out, err
}

// fillIn adds to a row what an action answered.
func fillIn(row *report.Row, x block.Result) {
	row.Attempts = max(row.Attempts, int(x.Attempts))
	switch x.Kind {
	case block.Output:
		if len(x.Output) > 0 {
			row.Output = slices.Clone(x.Output) // later steps come later
			for len(row.Outputs) <= int(x.Step) {
				row.Outputs = append(row.Outputs, nil)
			}
			row.Outputs[x.Step] = row.Output
		}
	case block.Failure:
		row.Code, row.Message, row.Attempts = x.Code, x.Message, int(x.Attempts) // at the step that failed
	case block.LeftOut:
		row.Reason, row.Attempts = x.Code, int(x.Attempts)
	}
}

// carried fills in what the items of a retry brought along from the bulk action before.
func (r *Report) carried(ctx context.Context, no uint32, out []report.Row) error {
	b := r.bulk
	answers, err := openBlock(ctx, b.engine.store, b.engine.codec, b.partition, b.id, no+carriedBlocks)
	if err != nil {
		return fmt.Errorf("answers carried over: %w", err)
	}
	for i := range out {
		if b.spec.FirstStep > 0 {
			r.carriedTo(&out[i], answers.Data(i))
		}
		if b.spec.KeysOf != "" {
			if out[i].KeyNo, err = strconv.ParseInt(answers.ID(i), 10, 64); err != nil {
				return fmt.Errorf("idempotency keys carried over: %w: %w", store.ErrCorrupt, err)
			}
		}
	}
	return nil
}

// carriedTo fills in what one item brought along.
func (r *Report) carriedTo(row *report.Row, raw []byte) {
	spec := r.bulk.spec
	for step := range spec.FirstStep {
		if a := block.CarriedAnswer(raw, step, spec.FirstStep); len(a) > 0 {
			for len(row.Outputs) <= step {
				row.Outputs = append(row.Outputs, nil)
			}
			row.Outputs[step], row.Output = a, a
		}
	}
}

// row is what the block's state alone says of an item.
func (r *Report) row(items *block.Items, s *block.State, i int) report.Row {
	spec := r.bulk.spec
	row := report.Row{ID: items.ID(i), Data: items.Data(i), Attempts: 1}
	at := 0
	for at < len(spec.Steps)-1 && s.Passed[at].Has(i) {
		at++
	}
	row.Step = spec.Steps[at]
	switch {
	case s.Passed[len(spec.Steps)-1].Has(i):
		row.State = report.Done
	case s.Failed.Has(i):
		row.State = report.Failed
	case s.LeftOut.Has(i):
		row.State = report.Cancelled
	case r.status.State.Final():
		row.State, row.Reason = report.Cancelled, r.status.CancelCause
		row.Attempts = 0
	default:
		row.State = report.Ready
		row.Attempts = 0
	}
	return row
}
