package engine

import (
	"context"
	"encoding/json"
	"iter"

	inner "github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/engine/readback"
	"github.com/weirhq/weir/report"
)

// Report tells what became of a bulk action: the summary, and every item.
type Report struct {
	report.Summary
	of *inner.Report
}

func wrapReport(r *inner.Report, err error) (*Report, error) {
	if err != nil {
		return nil, err
	}
	return &Report{Summary: r.Summary, of: r}, nil
}

// Report reads the report as of now. It is final when the bulk action has ended.
func (b *BulkAction) Report(ctx context.Context) (*Report, error) {
	return wrapReport(b.of.Report(ctx))
}

// Rows yields how every item ended, or where it stands, in the order of the input. An error is the last value.
func (r *Report) Rows(ctx context.Context) iter.Seq2[report.Row, error] { return r.of.Rows(ctx) }

// WriteDir writes the report into a folder: report.json, and a CSV file of rows per state. It makes the folder and
// replaces a report that is in it.
func (r *Report) WriteDir(ctx context.Context, dir string) error {
	return r.withSummary().WriteDir(ctx, dir)
}

// WriteFiles writes the report with w and closes it. If that fails, the caller calls [report.Writer.Abort].
func (r *Report) WriteFiles(ctx context.Context, w *report.Writer) error {
	return r.withSummary().WriteFiles(ctx, w)
}

// withSummary returns the report with the summary as the caller may have changed it.
func (r *Report) withSummary() *inner.Report {
	of := *r.of
	of.Summary = r.Summary
	return &of
}

// ItemResult tells how one item ended, as a reducer sees it.
type ItemResult[Out any] struct {
	ID       string
	Data     json.RawMessage
	State    report.State // ready while it has not ended
	Step     string       // where it ended
	Code     string       // failed: the error's code
	Message  string
	Attempts int
	Output   Out // of an item that is done: what its last step answered
}

// Reducer turns the results of a bulk action into one value. Add takes one item, Merge joins the
// values of two runs of neighbouring items, in order; both start from New.
type Reducer[Out, Acc any] struct {
	New   func() Acc
	Add   func(Acc, ItemResult[Out]) Acc
	Merge func(Acc, Acc) Acc
}

// Reduce runs a reducer over all results: blocks of items side by side on all cores, then merged in
// the order of the input, so that the answer does not depend on timing. Memory is bounded by the
// blocks in hand and one Acc per block.
func Reduce[Out, Acc any](ctx context.Context, b *BulkAction, r Reducer[Out, Acc]) (Acc, error) {
	return readback.Reduce(ctx, b.of.Bulk, readback.Reducer[Out, Acc]{
		New: r.New, Merge: r.Merge,
		Add: func(acc Acc, x readback.ItemResult[Out]) Acc { return r.Add(acc, ItemResult[Out](x)) },
	})
}
