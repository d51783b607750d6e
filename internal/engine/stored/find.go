package stored

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/store"
)

// Source is what bulk actions are read from.
type Source interface {
	store.Blocks
	store.Inbox
	store.State
}

// FindSpec looks for a bulk action in the state, and in the inbox for one that its owner has not
// read yet. It may have been read between the two looks: hence the third.
func FindSpec(ctx context.Context, s Source, p int, id weir.BulkID) (*partition.Created, error) {
	spec, _, err := partition.ReadStatus(At(ctx, s, p), id)
	if !errors.Is(err, store.ErrNotFound) {
		return spec, err
	}
	if err := Gone(ctx, s, p, id); err != nil {
		return nil, err
	}
	if spec, err = inInbox(ctx, s, p, id); spec != nil || err != nil {
		return spec, err
	}
	spec, _, err = partition.ReadStatus(At(ctx, s, p), id)
	return spec, err
}

// inInbox looks for a bulk action among the messages that its owner has not read; nil: it is not there.
func inInbox(ctx context.Context, s store.Inbox, p int, id weir.BulkID) (spec *partition.Created, err error) {
	err = EachMessage(ctx, p, s.Peek, func(m partition.Content) bool {
		if m.Created != nil && m.Created.ID == id {
			spec = m.Created
		}
		return spec == nil
	})
	return spec, err
}

// HasCommand reports whether a command to a bulk action is among the messages that its owner has not read.
func HasCommand(ctx context.Context, s store.Inbox, p int, id weir.BulkID) (has bool, err error) {
	err = EachMessage(ctx, p, s.Peek, func(m partition.Content) bool {
		has = m.Command != nil && m.Command.ID == id
		return !has
	})
	return has, err
}

// Gone returns a *[weir.ExpiredError] if the bulk action is known to have been removed, else nil.
func Gone(ctx context.Context, s store.State, p int, id weir.BulkID) error {
	t, err := partition.ReadTombstone(At(ctx, s, p), id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return &weir.ExpiredError{ID: id, Ended: Moment(t.Ended), Removed: Moment(t.Removed)}
}

// IDs lists the bulk actions of a partition, also those that its owner has not read: that may take as long as a lease if
// the owner died. each lists those in the rows; most is the number of partitions.
func IDs(ctx context.Context, s Source, p, most int, each func(Rows, func(weir.BulkID) error) error) (ids []weir.BulkID, err error) {
	add := func(id weir.BulkID) error {
		if home, err := Home(id, most); err == nil && home == p { // else it is a shard of one that is listed with its home
			ids = append(ids, id)
		}
		return nil
	}
	// The inbox is looked at first, since what is read meanwhile is found in the rows.
	err = EachMessage(ctx, p, s.Peek, func(m partition.Content) bool { return m.Created == nil || add(m.Created.ID) == nil })
	if err == nil {
		err = each(At(ctx, s, p), add)
	}
	if err != nil {
		return nil, fmt.Errorf("list partition %d: %w", p, err)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// All and Unfinished are lists of [IDs]: all bulk actions, and those that have not ended.
func All(rows Rows, yield func(weir.BulkID) error) error { return partition.EachBulk(rows, "", yield) }

// Unfinished is described with [All].
func Unfinished(rows Rows, yield func(weir.BulkID) error) error {
	return partition.EachUnfinished(rows, yield)
}

// InboxRead is the most messages that are read at once.
const InboxRead = 256

// EachMessage shows the messages of an inbox until yield returns false or read, which is a store's Read or Peek, has no
// more.
func EachMessage(
	ctx context.Context, p int, read func(context.Context, int, uint64, int) ([]store.Message, error),
	yield func(partition.Content) bool,
) error {
	for after := uint64(0); ; {
		msgs, err := read(ctx, p, after, InboxRead)
		if err != nil || len(msgs) == 0 {
			return err
		}
		for _, m := range msgs {
			content, err := partition.DecodeMessage(m)
			if err != nil {
				return err
			}
			if !yield(content) {
				return nil
			}
			after = m.Seq
		}
	}
}

// Moment returns the time of nanoseconds as they are stored; 0 is no time.
func Moment(at int64) time.Time {
	if at == 0 {
		return time.Time{}
	}
	return time.Unix(0, at).UTC()
}
