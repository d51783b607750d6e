package result

import (
	"context"
	"errors"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/check"
)

// Left counts the failed items of an action that are in the DLQ, and tells when the first of their
// groups failed.
type Left struct {
	Items  int64
	Oldest time.Time
}

// Surveyor collects metrics about the bulk actions of this node's partitions. A pass costs a few
// reads for each bulk action that has not ended or has failed items, and reads no items. A bulk
// action that ended without failures is read once.
//
// Only one goroutine may call Look; [Surveyor.Error] may be called concurrently.
type Surveyor struct {
	results *Results
	ended   map[weir.BulkID]endedLot
	told    foretold
}

// endedLot counts the failed items left of a bulk action that has ended. It holds until a retry or
// discard is recorded.
type endedLot struct {
	version string
	left    map[string]Left
}

// Surveyor returns a new surveyor.
func (s *Results) Surveyor() *Surveyor {
	return &Surveyor{results: s, ended: map[weir.BulkID]endedLot{}, told: newForetold()}
}

// Look returns the DLQ of this node's partitions by action, and forecasts bulk actions that have
// started since the last call.
func (v *Surveyor) Look(ctx context.Context) (map[string]Left, error) {
	ids, err := v.results.engine.IDs(ctx)
	if err != nil {
		return nil, err
	}
	sum, kept, open := map[string]Left{}, map[weir.BulkID]endedLot{}, map[string]standing{}
	for _, id := range ids {
		if !v.results.engine.Owns(id) {
			continue
		}
		lot, err := v.one(ctx, id, open)
		if err != nil {
			return nil, err
		}
		addLeft(sum, lot.left)
		if lot.version != "" {
			kept[id] = lot
		}
	}
	v.ended = kept
	return sum, v.told.keep(ctx, v.results, open)
}

// untouched is the version of a record that was never written, and clean that of a bulk action
// without failures.
const (
	untouched = "none"
	clean     = "clean"
)

// one reads a bulk action. Its result has a version if it can be cached.
func (v *Surveyor) one(ctx context.Context, id weir.BulkID, open map[string]standing) (endedLot, error) {
	was := v.ended[id]
	if was.version == clean {
		return was, nil
	}
	version, err := v.version(ctx, id)
	if err != nil || was.version == version {
		return was, err
	}
	b, err := v.results.engine.Get(ctx, id)
	if err != nil {
		return endedLot{}, check.IgnoreRemoved(err)
	}
	p, err := b.Now(ctx)
	if err != nil {
		return endedLot{}, check.IgnoreRemoved(err)
	}
	out := endedLot{}
	switch {
	case !p.State.Final():
		open[string(id)] = standingOf(b, &p, time.Now())
	case p.Counts.Failed == 0:
		out.version = clean
	default:
		out.version = version
	}
	if p.Counts.Failed > 0 {
		out.left, err = v.left(ctx, id)
	}
	return out, err
}

// version identifies the recorded retries and discards of a bulk action, to detect changes.
func (v *Surveyor) version(ctx context.Context, id weir.BulkID) (string, error) {
	e, err := v.results.handled.Get(ctx, string(id))
	if errors.Is(err, weir.ErrNotFound) {
		return untouched, nil
	}
	return e.Version, err
}

// left returns the failed items of a bulk action that were not retried or discarded, by action.
func (v *Surveyor) left(ctx context.Context, id weir.BulkID) (map[string]Left, error) {
	all := DLQ{Sees: func(string) bool { return true }}
	l, err := v.results.lot(ctx, &all, id)
	if l == nil || err != nil {
		return nil, err
	}
	groups, err := l.left(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]Left{}
	for _, g := range groups {
		addLeft(out, map[string]Left{g.Action: {g.Count, g.First}})
	}
	return out, nil
}

func addLeft(to, more map[string]Left) {
	for action, m := range more {
		x := to[action]
		x.Items += m.Items
		if x.Oldest.IsZero() || !m.Oldest.IsZero() && m.Oldest.Before(x.Oldest) {
			x.Oldest = m.Oldest
		}
		to[action] = x
	}
}
