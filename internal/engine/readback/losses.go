package readback

import (
	"fmt"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/report"
)

// Losses lists the losses that concern the bulk action, as of when this handle was
// made: it was there before the store lost work of one of its partitions, and had not
// ended. Items of it may have been run again, and results may be missing.
func (b *Bulk) Losses() (out []weir.Loss) {
	for _, l := range b.from.losses.All() {
		if l.Restored == 0 && b.livesIn(l.Partition) && b.Spec.Submitted < l.Found && !b.endedBefore(l.Found) {
			out = append(out, l.Public())
		}
	}
	return out
}

// reportLosses is Losses as reports have them.
func (b *Bulk) reportLosses() (out []report.Loss) {
	for _, l := range b.Losses() {
		r := report.Loss{Partition: l.Partition, Have: l.Have, Acked: l.Acked, FoundAt: l.Found}
		if !l.Accepted.IsZero() {
			r.AcceptedAt = &l.Accepted
		}
		out = append(out, r)
	}
	return out
}

func (b *Bulk) livesIn(partition int) bool {
	return partition == b.Home || slices.Contains(b.Spec.Shards, partition)
}

func (b *Bulk) endedBefore(t int64) bool {
	return b.Status != nil && b.Status.Finished != 0 && b.Status.Finished < t
}

// missing is why there is nothing of an id.
func (r *Reader) missing(p int, id weir.BulkID) error {
	for _, l := range slices.Backward(r.losses.All()) {
		if l.Partition == p && l.Restored == 0 && stored.Began(id).UnixNano() < l.Found {
			return &weir.LostError{ID: id, Loss: l.Public()}
		}
	}
	return fmt.Errorf("bulk action %s: %w", id, weir.ErrNotFound)
}
