package callback

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/weirhq/weir/internal/service/records"
)

const prunePage = 200

// Prune removes deliveries of events before a time that are not pending, and those events, and
// returns how many deliveries it removed. An event that is noted again afterwards is new, so
// before must be long ago.
func (o *outbox) Prune(ctx context.Context, before time.Time) (removed int, err error) {
	for after := ""; ; {
		next, err := o.notices.List(ctx, endpointList, after, 1)
		if err != nil || len(next) == 0 {
			return removed, err
		}
		list := next[0].Name[:strings.IndexByte(next[0].Name[len(endpointList):], '/')+len(endpointList)+1]
		count, err := o.pruneList(ctx, list, before)
		if removed += count; err != nil {
			return removed, err
		}
		after = list + "\xff" // behind all of this endpoint
	}
}

// pruneList removes the old deliveries of an endpoint's list, which come last in it.
func (o *outbox) pruneList(ctx context.Context, list string, before time.Time) (removed int, err error) {
	for after := list + newestFirst(before) + "\xff"; ; {
		page, err := o.notices.List(ctx, list, after, prunePage)
		if err != nil {
			return removed, err
		}
		for _, e := range page {
			done, err := o.pruneOne(ctx, e.Name[len(list):], e)
			if err != nil {
				return removed, err
			}
			if done {
				removed++
			}
			after = e.Name
		}
		if len(page) < prunePage {
			return removed, nil
		}
	}
}

// pruneOne removes a delivery and everything stored for it. The list entry goes last, so that an
// interrupted removal is found again.
func (o *outbox) pruneOne(ctx context.Context, timeAndID string, found records.Entry[notice]) (bool, error) {
	d, err := o.deliveries.Get(ctx, listedID(found.Name))
	if err == nil && d.Value.State == Pending {
		return false, nil
	}
	if err == nil {
		err = o.deliveries.DeleteIf(ctx, d.Name, d.Version)
	}
	if errors.Is(err, records.ErrChanged) {
		return false, nil // it is being resent
	}
	if err = records.IgnoreGone(err); err == nil && found.Value.BulkAction != "" {
		err = records.IgnoreGone(o.notices.Delete(ctx, ofBulk(found.Value.BulkAction)+timeAndID))
	}
	if err == nil && found.Value.Event != "" {
		err = records.IgnoreGone(o.events.Delete(ctx, found.Value.Event))
	}
	if err == nil {
		err = records.IgnoreGone(o.notices.Delete(ctx, found.Name))
	}
	return err == nil, err
}
