package result

import (
	"context"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/report"
)

// AddOpen adds how many failed items of a bulk action and of its retries are not dealt with. Over all bulk actions that
// retry no other, these are the items of the DLQ.
func (s *Results) AddOpen(ctx context.Context, b *api.BulkAction) (err error) {
	if b.Counts.Failed > 0 || len(b.Retries) > 0 {
		b.Open, err = s.openFailures(ctx, b.ID, b.Counts.Failed)
	}
	return err
}

// openFailures counts those of a bulk action that has failed so many items.
func (s *Results) openFailures(ctx context.Context, id string, failed int64) (int64, error) {
	noted, err := s.finishBegun(ctx, id)
	if err != nil || noted.UndoneBy != "" {
		return 0, err
	}
	for i := range noted.Entries {
		if h := &noted.Entries[i]; h.Which.ended() == report.StateFailed {
			failed -= h.Items
		}
	}
	open := max(failed, 0)
	for e, err := range s.links.All(ctx, id+"/") {
		if err != nil {
			return 0, err
		}
		if e.Value.Kind != linkRetry {
			continue
		}
		again, err := s.engine.Get(ctx, weir.BulkID(e.Name[len(id)+1:]))
		if err == nil {
			var more int64
			more, err = s.openFailures(ctx, string(again.ID()), again.Found().Counts.Failed)
			open += more
		}
		if err := check.IgnoreRemoved(err); err != nil {
			return 0, err
		}
	}
	return open, nil
}
