package result

import (
	"context"
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
// reads for each bulk action that has not ended, and reads no items. One with failures that has ended is read once.
//
// Only one goroutine may call Look; [Surveyor.Error] may be called concurrently.
type Surveyor struct {
	results *Results
	told    foretold
}

// Surveyor returns a new surveyor.
func (s *Results) Surveyor() *Surveyor { return &Surveyor{results: s, told: newForetold()} }

// Look returns the DLQ of this node's partitions by action, and forecasts bulk actions that have
// started since the last call.
func (v *Surveyor) Look(ctx context.Context) (map[string]Left, error) {
	failing, noted, err := v.results.failing(ctx)
	if err != nil {
		return nil, err
	}
	sum, open := map[string]Left{}, map[string]standing{}
	for _, f := range failing {
		if !v.results.engine.Owns(f.id) {
			continue
		}
		groups, _ := f.left(noted)
		for i := range groups {
			if g := &groups[i]; g.Count > 0 {
				addLeft(sum, g.Action, Left{g.Count, g.First})
			}
		}
	}
	unfinished, err := v.results.engine.Unfinished(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range unfinished {
		if v.results.engine.Owns(id) {
			if err := v.follow(ctx, id, open); err != nil {
				return nil, err
			}
		}
	}
	return sum, v.told.keep(ctx, v.results, open)
}

// follow notes how a bulk action that has not ended stands.
func (v *Surveyor) follow(ctx context.Context, id weir.BulkID, open map[string]standing) error {
	b, err := v.results.engine.Get(ctx, id)
	if err != nil {
		return check.IgnoreRemoved(err)
	}
	p, err := b.Now(ctx)
	if err == nil && !p.State.Final() {
		open[string(id)] = standingOf(b, &p, time.Now())
	}
	return check.IgnoreRemoved(err)
}

func addLeft(to map[string]Left, action string, more Left) {
	x := to[action]
	x.Items += more.Items
	if x.Oldest.IsZero() || !more.Oldest.IsZero() && more.Oldest.Before(x.Oldest) {
		x.Oldest = more.Oldest
	}
	to[action] = x
}
