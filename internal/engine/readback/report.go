package readback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/report"
	"github.com/weirhq/weir/store"
)

// Report is what became of a bulk action: the summary, and every item.
type Report struct {
	report.Summary
	bulk *Bulk
	// counted has items that wait for another attempt count as ready, as the summary does.
	counted bool
}

// Bulk returns the bulk action with its spec and status as of the report.
func (r *Report) Bulk() *Bulk { return r.bulk }

// Report reads the report as of now. It is final when the bulk action has ended.
func (b *Bulk) Report(ctx context.Context) (*Report, error) {
	rep, err := b.outline(ctx)
	if err != nil {
		return nil, fmt.Errorf("report of %s: %w", b.id, err)
	}
	rep.Summary, rep.counted = summary(rep.bulk, rep.bulk.Status), true
	if err := rep.gather(ctx); err != nil {
		return nil, fmt.Errorf("report of %s: %w", b.id, err)
	}
	if err := rep.groupErrors(ctx); err != nil {
		return nil, fmt.Errorf("report of %s: %w", b.id, b.orGone(ctx, err))
	}
	return rep, nil
}

// outline is a report without its summary: enough to look at items.
func (b *Bulk) outline(ctx context.Context) (*Report, error) {
	r := stored.At(ctx, b.from.store, b.Home)
	spec, status, err := partition.ReadStatus(r, b.id)
	if errors.Is(err, store.ErrNotFound) { // accepted, and not yet read by its owner
		if err := stored.Gone(ctx, b.from.store, b.Home, b.id); err != nil {
			return nil, err
		}
		spec, err = b.Spec, nil
		status = &partition.Status{Started: spec.Submitted, Steps: make([]weir.StepCounts, len(spec.Steps))}
	}
	if err != nil {
		return nil, err
	}
	return &Report{bulk: &Bulk{from: b.from, id: b.id, Home: b.Home, Spec: spec, Status: status}}, nil
}

func summary(b *Bulk, s *partition.Status) report.Summary {
	c := s.Counts(b.Spec.Items)
	started := s.Began().UTC()
	sum := report.Summary{
		ID: string(b.id), Name: b.Spec.Name, Tenant: b.Spec.Tenant, State: s.State.String(), Reason: s.Reason,
		RetryOf:   string(b.Spec.RetryOf),
		StartedAt: started, Durability: b.from.store.Durability(), Duplicates: b.Spec.Duplicates,
		Counts: c,
	}
	sum.Losses = b.reportLosses()
	if s.State == weir.BulkCompleted {
		sum.Outcome = c.Outcome()
	}
	ended := time.Now().UTC()
	if s.Finished != 0 {
		ended = time.Unix(0, s.Finished).UTC()
		sum.FinishedAt = &ended
	}
	if !started.IsZero() {
		sum.Duration = report.Duration(ended.Sub(started))
	}
	defs := b.from.Steps(b.Spec)
	for i, st := range s.Steps {
		step := report.Step{
			Name: b.Spec.Steps[i], Action: b.Spec.Steps[i], Done: st.Done, Failed: st.Failed, LeftOut: st.LeftOut,
			Attempts: st.Attempts, Calls: st.Calls, Retries: st.Repeats(), Refused: st.Refused,
			Pending: st.Pending, Cancelled: st.Cancelled, Skipped: st.Skipped, Unclear: st.Unclear, Called: st.Called,
		}
		sum.Unclear += st.Unclear
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
	return func(yield func(report.Row, error) bool) { r.read(ctx, RowOptions{}, yield) }
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
	w, err := report.NewWriter(dir, report.FormatCSV, report.Options{})
	if err != nil {
		return err
	}
	if err := r.WriteFiles(ctx, w); err != nil {
		_ = w.Abort() // the first error tells more
		return err
	}
	return nil
}
