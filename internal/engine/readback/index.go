package readback

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

const (
	// wholeEvery is how often all ids of a partition are read again while it changes.
	wholeEvery = time.Minute
	// freshFor is how long ago a bulk action may have got its id to be found at once although it ended since the last look.
	freshFor = time.Minute
)

// index holds the ids of all bulk actions, so that a list need not read every one that is kept. Its look at a partition
// reads what is new: the inbox, those that have not ended, and those with a young id. One whose id is older, because
// it took long to submit, and which ended since the last look, is found when all ids are read again.
type index struct {
	mu    sync.Mutex
	parts []shelf
	all   []weir.BulkID // the newest first; replaced when it changes, never written to
}

// shelf holds the ids of one partition.
type shelf struct {
	ids   map[weir.BulkID]bool
	seen  store.Last // the commit up to which what is new was read
	whole store.Last // the commit at which all ids were read
	at    time.Time  // when that was
}

// look brings the index up to date and returns all ids, the newest first. The caller must not change them.
func (x *index) look(ctx context.Context, r *Reader, now time.Time) ([]weir.BulkID, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := r.Partitions()
	removed := len(x.parts) > n
	x.parts = slices.Concat(x.parts[:min(n, len(x.parts))], make([]shelf, max(0, n-len(x.parts))))
	var added []weir.BulkID
	for p := range x.parts {
		some, gone, err := x.parts[p].look(ctx, r.store, p, n, now)
		added, removed = append(added, some...), removed || gone
		if err != nil {
			x.all = x.sorted() // what was added before the error is not new the next time
			return nil, err
		}
	}
	switch {
	case removed:
		x.all = x.sorted()
	case len(added) > 0:
		x.all = merge(x.all, added)
	}
	return x.all, nil
}

// sorted returns the ids of all partitions.
func (x *index) sorted() (all []weir.BulkID) {
	for i := range x.parts {
		all = slices.AppendSeq(all, maps.Keys(x.parts[i].ids))
	}
	slices.SortFunc(all, newestFirst)
	return all
}

// newestFirst compares ids, which are in the order of time.
func newestFirst(a, b weir.BulkID) int { return strings.Compare(string(b), string(a)) }

// merge returns sorted ids with some more among them.
func merge(old, more []weir.BulkID) []weir.BulkID {
	slices.SortFunc(more, newestFirst)
	all := make([]weir.BulkID, 0, len(old)+len(more))
	for _, id := range more {
		n, _ := slices.BinarySearchFunc(old, id, newestFirst)
		all = append(append(all, old[:n]...), id)
		old = old[n:]
	}
	return append(all, old...)
}

// look reads what is new in a partition. It returns the ids that were not known, and whether others are gone.
func (s *shelf) look(ctx context.Context, from Source, p, most int, now time.Time) (added []weir.BulkID, gone bool, err error) {
	var last store.Last
	whole := s.ids == nil
	found, err := stored.IDs(ctx, from, p, most, func(rows stored.Rows, yield func(weir.BulkID) error) (err error) {
		// After the inbox was read and before the rows: what is committed meanwhile is read again.
		if last, err = from.Last(ctx, p); err != nil {
			return err
		}
		whole = whole || last != s.whole && now.Sub(s.at) > wholeEvery
		switch {
		case whole:
			return stored.All(rows, yield)
		case last != s.seen:
			return young(rows, now, yield)
		}
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	for _, id := range found {
		if !s.ids[id] {
			added = append(added, id)
		}
	}
	s.seen = last
	if whole {
		gone = len(found) != len(s.ids)+len(added)
		s.ids, s.whole, s.at = map[weir.BulkID]bool{}, last, now
		for _, id := range found {
			s.ids[id] = true
		}
	}
	for _, id := range added {
		s.ids[id] = true
	}
	return added, gone, nil
}

// young lists the bulk actions that have not ended, and those with a young id.
func young(rows stored.Rows, now time.Time, yield func(weir.BulkID) error) error {
	if err := stored.Unfinished(rows, yield); err != nil {
		return err
	}
	for _, prefix := range stored.Prefixes(now.Add(-freshFor), now.Add(freshFor)) {
		if err := partition.EachBulk(rows, prefix, yield); err != nil {
			return err
		}
	}
	return nil
}
