package callback

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/records"
)

const prunePage = 200

// Prune removes deliveries of events before a time that are not pending, and those events, and
// returns how many deliveries it removed. An event that is noted again afterwards is new, so
// before must be long ago.
func (n *Notifier) Prune(ctx context.Context, before time.Time) (removed int, err error) {
	for after := ""; ; {
		next, err := n.notices.List(ctx, endpointList, after, 1)
		if err != nil || len(next) == 0 {
			return removed, err
		}
		list := next[0].Name[:strings.IndexByte(next[0].Name[len(endpointList):], '/')+len(endpointList)+1]
		count, err := n.pruneList(ctx, list, before)
		if removed += count; err != nil {
			return removed, err
		}
		after = list + "\xff" // behind all of this endpoint
	}
}

// pruneList removes the old deliveries of an endpoint's list, which come last in it.
func (n *Notifier) pruneList(ctx context.Context, list string, before time.Time) (removed int, err error) {
	for after := list + newestFirst(before) + "\xff"; ; {
		page, err := n.notices.List(ctx, list, after, prunePage)
		if err != nil {
			return removed, err
		}
		for _, e := range page {
			done, err := n.pruneOne(ctx, e.Name[len(list):], e)
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
func (n *Notifier) pruneOne(ctx context.Context, timeAndID string, found records.Entry[notice]) (bool, error) {
	d, err := n.deliveries.Get(ctx, listedID(found.Name))
	if err == nil && d.Value.State == Pending {
		return false, nil
	}
	if err == nil {
		err = n.deliveries.DeleteIf(ctx, d.Name, d.Version)
	}
	if errors.Is(err, records.ErrChanged) {
		return false, nil // it is being resent
	}
	if err = absent(err); err == nil && found.Value.BulkAction != "" {
		err = absent(n.notices.Delete(ctx, ofBulk(found.Value.BulkAction)+timeAndID))
	}
	if err == nil && found.Value.Event != "" {
		err = absent(n.events.Delete(ctx, found.Value.Event))
	}
	if err == nil {
		err = absent(n.notices.Delete(ctx, found.Name))
	}
	return err == nil, err
}

// absent ignores the error that there was nothing to remove.
func absent(err error) error {
	if errors.Is(err, weir.ErrNotFound) {
		return nil
	}
	return err
}
