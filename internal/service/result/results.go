package result

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/chain"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/report"
)

// Export holds the items of a bulk action to export.
type Export struct {
	// Rows yields the matching items after a given item, in the order of the input.
	Rows func(ctx context.Context, after string) iter.Seq2[api.ItemResult, error]
	// Name is the file name of the export, without its extension.
	Name string
	// Steps are those of the chain; nil: the items are of several chains.
	Steps []string
	// Layout is that of the file of the items; nil: they came from none.
	Layout *stored.Layout
}

// Results prepares the export of a bulk action's items: each once, as it ended after all retries. after is the last item that the caller
// received; empty: none.
func (s *Results) Results(ctx context.Context, id string, f ItemFilter, after string) (Export, error) {
	b, x, err := s.bulks.WithExtra(ctx, id)
	if err != nil {
		return Export{}, err
	}
	if _, err := itemAfter(id, after); err != nil {
		return Export{}, err
	}
	undone, err := s.undoMark(ctx, id, &x)
	if err != nil {
		return Export{}, err
	}
	return Export{Name: id + "-" + cmp.Or(string(f.State), "all"), Layout: x.Layout, Steps: b.Info().Steps,
		Rows: func(ctx context.Context, after string) iter.Seq2[api.ItemResult, error] {
			at, _ := itemAfter(id, after) // it was checked
			return results(ctx, b, f, at, undone)
		}}, nil
}

// itemAfter returns the number of the item that follows one.
func itemAfter(id, after string) (int64, error) {
	if after == "" {
		return 0, nil
	}
	of, no, err := bulk.ParseItemName(after)
	if err != nil || of != id {
		return 0, &weir.FieldError{Code: "bad_cursor", Field: "after",
			Problem: fmt.Sprintf("%q is not an item of %s", after, id), Fix: "send the item of the last row you received"}
	}
	return no + 1, nil
}

// results yields the items of a bulk action from number at on, each as it ended after all retries.
func results(ctx context.Context, b *engine.BulkAction, f ItemFilter, at int64, undone *undoMark) iter.Seq2[api.ItemResult, error] {
	return func(yield func(api.ItemResult, error) bool) {
		made, err := b.KeptRetries(ctx)
		if err != nil {
			yield(api.ItemResult{}, err)
			return
		}
		if len(made) == 0 {
			ownResults(ctx, b, f, at, undone, yield)
			return
		}
		for p, err := range history(ctx, b, engine.RowOptions{From: at}, keptRetries) {
			if err != nil {
				yield(api.ItemResult{}, err)
				return
			}
			if !f.match(&p.row) {
				continue
			}
			p.row.No = p.no
			x := itemResult(string(b.ID()), &p.row)
			x.Outputs = outputsOf(b.Info().Steps, &p.row)
			undone.on(&x, &p.row, p.passed)
			if p.in != b.ID() {
				x.RetriedBy = string(p.in)
			}
			if !yield(x, nil) {
				return
			}
		}
	}
}

// ownResults is results without retries: blocks without an item of the wanted state are not opened.
func ownResults(ctx context.Context, b *engine.BulkAction, f ItemFilter, at int64, undone *undoMark, yield func(api.ItemResult, error) bool) {
	steps := b.Info().Steps
	for row, err := range b.Rows(ctx, engine.RowOptions{From: at, State: f.state()}) {
		if err != nil {
			yield(api.ItemResult{}, err)
			return
		}
		if !f.match(&row) {
			continue
		}
		x := itemResult(string(b.ID()), &row)
		x.Outputs = outputsOf(steps, &row)
		undone.on(&x, &row, b.Passed(&row))
		if !yield(x, nil) {
			return
		}
	}
}

// outputsOf returns the outputs of an item by step, nil if the chain has one step: its output says it.
func outputsOf(steps []string, row *report.Row) map[string]json.RawMessage {
	if len(steps) < 2 {
		return nil
	}
	var out map[string]json.RawMessage
	for i, doc := range row.Outputs {
		if len(doc) == 0 {
			continue
		}
		if out == nil {
			out = map[string]json.RawMessage{}
		}
		out[steps[i]] = chain.AsJSON(doc)
	}
	return out
}
