package retention

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// SubmitFor is the longest that a submit may take where other processes use the store too: the blocks
// of one that is older belong to no submit.
const SubmitFor = 24 * time.Hour

// Sweep is what it takes to find blocks that nothing needs.
type Sweep struct {
	Store     store.Store
	Shared    bool // other processes may use the store, too
	Partition int
	Log       *slog.Logger
	Loaded    func(weir.BulkID) bool // it has not ended
	UnderWay  func(weir.BulkID) bool // this process is submitting it
	// Drafts reports whether blocks belong to a draft. nil: there are none.
	Drafts func(context.Context, weir.BulkID) (bool, error)
}

// Run removes the blocks of submits that never came to an end, when a
// partition is taken and before its loop runs. The order of looks makes it safe:
// a bulk action whose blocks were there first, whose submit is over, whose spec
// is not stored and whose message is not in the inbox was never accepted.
func (s *Sweep) Run(ctx context.Context) error {
	owners, err := s.Store.BlockOwners(ctx, s.Partition)
	if err != nil {
		return err
	}
	suspects, err := s.suspects(ctx, owners)
	if err == nil && len(suspects) > 0 {
		suspects, err = s.unaccepted(ctx, suspects)
	}
	if err != nil { // as when the disk is nearly full: no reason not to work
		s.Log.LogAttrs(ctx, slog.LevelWarn, "blocks of submits that never ended stay until the next start",
			slog.Int("partition", s.Partition), slog.Any("error", err))
		return nil
	}
	for _, id := range suspects {
		s.Log.LogAttrs(ctx, slog.LevelInfo, "removing blocks of a submit that never ended",
			slog.Int("partition", s.Partition), slog.String("bulk_action", string(id)))
		if err := s.Store.DeleteBlocks(ctx, s.Partition, id); err != nil {
			return err
		}
	}
	return nil
}

// suspects lists those of the names of blocks that belong to no bulk action, and whose submit is not under way here.
func (s *Sweep) suspects(ctx context.Context, names []weir.BulkID) (list []weir.BulkID, err error) {
	var ids, staged, joints []weir.BulkID
	for _, name := range names {
		id, _, ok := partition.StageOf(name)
		_, joint := partition.JointOf(name)
		switch {
		case s.Loaded(name), s.UnderWay(name), s.UnderWay(id), s.Shared && time.Since(stored.Began(name)) < SubmitFor:
		case joint:
			joints = append(joints, name)
		case ok:
			staged = append(staged, name)
		default:
			ids = append(ids, name)
		}
	}
	from := stored.At(ctx, s.Store, s.Partition)
	if ids, err = partition.Unknown(from, ids); err != nil {
		return nil, err
	}
	for _, id := range ids {
		if kept, err := s.kept(ctx, id); err != nil || kept {
			continue // in doubt they stay until the next start
		}
		if _, _, err := partition.ReadStatus(from, id); errors.Is(err, store.ErrNotFound) {
			list = append(list, id)
		}
	}
	if staged, err = s.abandoned(ctx, from, staged); err != nil {
		return nil, err
	}
	joints, err = partition.UnknownJoints(from, joints)
	return slices.Concat(list, staged, joints), err
}

// abandoned lists those of the names of stages that no draft has, and no bulk action that has a row. Whether a draft has
// it is asked first: what it has submitted meanwhile is in the inbox.
func (s *Sweep) abandoned(ctx context.Context, from stored.Rows, staged []weir.BulkID) ([]weir.BulkID, error) {
	drafts := map[weir.BulkID]bool{}
	staged = slices.DeleteFunc(staged, func(name weir.BulkID) bool {
		id := stored.Owner(name)
		kept, asked := drafts[id]
		if !asked {
			var err error
			kept, err = s.kept(ctx, id)
			kept = kept || err != nil // in doubt they stay until the next start
			drafts[id] = kept
		}
		return kept
	})
	adopted, err := partition.Adopted(from, staged)
	return slices.DeleteFunc(staged, func(name weir.BulkID) bool { return adopted[name] }), err
}

// unaccepted lists those of the suspects that have no message in the inbox either.
func (s *Sweep) unaccepted(ctx context.Context, suspects []weir.BulkID) ([]weir.BulkID, error) {
	waiting, err := s.unread(ctx)
	return slices.DeleteFunc(suspects, func(name weir.BulkID) bool {
		c := waiting[stored.Owner(name)]
		return c != nil && (c.ID == name || c.Adopts(name))
	}), err
}

// unread tells which bulk actions have their message in the inbox. A mark of its
// own shows where the inbox ends: an answer that only takes long must not pass
// for an empty inbox.
func (s *Sweep) unread(ctx context.Context) (map[weir.BulkID]*partition.Created, error) {
	end := rand.Text()
	body, err := partition.EncodeMark(end)
	if err != nil {
		return nil, err
	}
	if err := s.Store.Append(ctx, s.Partition, body, store.Claim{}); err != nil {
		return nil, err
	}
	ids := map[weir.BulkID]*partition.Created{}
	err = stored.EachMessage(ctx, s.Partition, s.Store.Read, func(m partition.Content) bool {
		if c := m.Created; c != nil {
			ids[c.ID] = c
		}
		return m.Mark != end
	})
	return ids, err
}

// kept reports whether blocks that belong to no bulk action must stay, because a draft has them.
func (s *Sweep) kept(ctx context.Context, id weir.BulkID) (bool, error) {
	if s.Drafts == nil {
		return false, nil
	}
	return s.Drafts(ctx, id)
}
