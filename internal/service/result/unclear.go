package result

import (
	"context"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/engine/readback"
	"github.com/weirhq/weir/internal/service/words"
	"github.com/weirhq/weir/report"
)

// unclearLeft returns how many of the n unclear items of a bulk action have no clear answer after its retries. sum is
// what the retries changed; nil: there are none.
func unclearLeft(ctx context.Context, b *engine.BulkAction, n int64, sum *retriesSum) (int64, error) {
	if n == 0 || sum == nil || sum.cancelled == 0 {
		return n, nil
	}
	if c := &sum.counts; c.Ready+c.Waiting+c.InFlight+c.Cancelled == 0 {
		return 0, nil // each item is done or failed: none has to be read
	}
	ended, err := endedInRetries(ctx, b)
	if err != nil {
		return 0, err
	}
	n = 0
	for row, err := range b.Rows(ctx, engine.RowOptions{State: report.StateCancelled}) {
		if err != nil {
			return 0, err
		}
		if row.Code == report.CodeUnclear && !ended.Has(row.KeyNo) {
			n++
		}
	}
	return n, nil
}

// endedInRetries returns the key numbers of the items that an answer ended in a retry of a bulk action.
func endedInRetries(ctx context.Context, b *engine.BulkAction) (ended readback.Numbers, err error) {
	made, err := b.KeptRetries(ctx)
	if err != nil {
		return nil, err
	}
	for _, again := range made {
		for x, err := range history(ctx, again, 0, keptRetries) {
			if err != nil {
				return nil, err
			}
			if x.row.LeftOut || x.row.State == report.StateDone || x.row.State == report.StateFailed {
				ended.Add(x.of)
			}
		}
	}
	return ended, nil
}

// unclearText says what is unclear about the items of a bulk action that has ended, and what a retry would do.
func unclearText(r *api.Report) string {
	if r.Unclear == 0 || !r.State.Final() {
		return ""
	}
	return words.Plural(r.Unclear, "cancelled item has", "cancelled items have") + " no clear answer: the service may have done the work. " +
		"A retry sends the same idempotency keys, unless it asks for new ones: a service that knows them does not do the work twice."
}
