package readback

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/weirhq/weir/report"
	"golang.org/x/sync/errgroup"
)

// ItemResult is how one item ended, as a reducer sees it.
type ItemResult[Out any] struct {
	ID       string
	Data     json.RawMessage
	State    report.State // ready while it has not ended
	Step     string       // where it ended
	Code     string       // failed: the error's code
	Message  string
	Attempts int
	Output   Out // what the last step that answered said of it
}

// Reducer turns the results of a bulk action into one value. Add takes one item,
// Merge joins the values of two runs of neighbouring items, in order; both start
// from New.
type Reducer[Out, Acc any] struct {
	New   func() Acc
	Add   func(Acc, ItemResult[Out]) Acc
	Merge func(Acc, Acc) Acc
}

// Reduce runs a reducer over all results: blocks side by side on all cores, and
// then merged in the order of the input, so that the answer does not depend on
// timing. Memory is bounded by the blocks in hand and one Acc per block.
func Reduce[Out, Acc any](ctx context.Context, b *Bulk, r Reducer[Out, Acc]) (total Acc, err error) {
	rep, err := b.Report(ctx)
	if err != nil {
		return total, err
	}
	parts := make([]Acc, rep.bulk.Spec.Blocks())
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	read := rep.eachBlock(ctx, func(at blockState) error {
		g.Go(func() (err error) {
			parts[at.no], err = reduceBlock(ctx, rep, r, at)
			return err
		})
		return ctx.Err()
	})
	if err := cmp.Or(g.Wait(), read); err != nil { // a block's error ends the reading too
		return total, fmt.Errorf("reduce %s: %w", b.id, err)
	}
	total = r.New()
	for _, p := range parts {
		total = r.Merge(total, p)
	}
	return total, nil
}

func reduceBlock[Out, Acc any](ctx context.Context, rep *Report, r Reducer[Out, Acc], at blockState) (acc Acc, err error) {
	rows, err := rep.block(ctx, at)
	if err != nil {
		return acc, err
	}
	acc = r.New()
	for _, row := range rows {
		res, err := resultOf[Out](row)
		if err != nil {
			return acc, err
		}
		acc = r.Add(acc, res)
	}
	return acc, nil
}

func resultOf[Out any](row report.Row) (ItemResult[Out], error) {
	res := ItemResult[Out]{
		ID: row.ID, Data: row.Data, State: row.State, Step: row.Step, Code: row.Code, Message: row.Message, Attempts: row.Attempts,
	}
	if row.State == report.StateDone && len(row.Output) > 0 {
		if err := json.Unmarshal(row.Output, &res.Output); err != nil {
			return res, fmt.Errorf("output of item %q is not a %T: %w", row.ID, res.Output, err)
		}
	}
	return res, nil
}
