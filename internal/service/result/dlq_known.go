package result

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/stored"
)

// mostKnown bounds how many bulk actions that have ended are remembered.
const mostKnown = 200_000

// known remembers what does not change: the failures of bulk actions that have ended, and each version of what was
// retried or discarded.
type known struct {
	mu      sync.Mutex
	ended   map[weir.BulkID]*failures
	handled map[string]records.Entry[handled]
	groups  atomic.Int64 // in the last answer: about as many as in the next
}

// failures are the failed items of a bulk action by group, also those that were retried or discarded. Readers share them.
type failures struct {
	id        weir.BulkID
	tenant    string
	submitted time.Time
	ended     bool
	groups    []api.ErrorGroup
	kinds     []unique.Handle[kind] // of groups
}

// kind is what failed items have in common that are in one group of the DLQ.
type kind struct{ tenant, step, action, code, message string }

// failures returns the failures of a bulk action, nil if it was removed.
func (s *Results) failures(ctx context.Context, id weir.BulkID) (*failures, error) {
	s.known.mu.Lock()
	f := s.known.ended[id]
	s.known.mu.Unlock()
	if f != nil {
		return f, nil
	}
	b, err := s.engine.Get(ctx, id)
	if err == nil {
		f, err = failuresOf(ctx, b)
	}
	if err != nil {
		return nil, check.IgnoreRemoved(err)
	}
	if f.ended {
		s.known.mu.Lock()
		defer s.known.mu.Unlock()
		if s.known.ended == nil || len(s.known.ended) >= mostKnown {
			s.known.ended = map[weir.BulkID]*failures{}
		}
		s.known.ended[id] = f
	}
	return f, nil
}

// failed returns the failures of all bulk actions, or of one, and what was retried or discarded of each.
func (s *Results) failed(ctx context.Context, one string) ([]*failures, map[weir.BulkID]*handled, error) {
	if one == "" {
		lots, err := s.allFailures(ctx)
		if err != nil {
			return nil, nil, err
		}
		noted, err := s.noted(ctx)
		return lots, noted, err
	}
	id := weir.BulkID(one)
	f, err := s.failures(ctx, id)
	if f == nil || err != nil {
		return nil, nil, err
	}
	h, err := s.finishBegun(ctx, one)
	return []*failures{f}, map[weir.BulkID]*handled{id: &h}, err
}

// allFailures returns the failures of all bulk actions that have some, the newest first.
func (s *Results) allFailures(ctx context.Context) ([]*failures, error) {
	ids, err := s.engine.Failing(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]*failures, 0, len(ids))
	for _, id := range ids {
		f, err := s.failures(ctx, id)
		if err != nil {
			return nil, err
		}
		if f != nil {
			all = append(all, f)
		}
	}
	return all, nil
}

func failuresOf(ctx context.Context, b *engine.BulkAction) (*failures, error) {
	p := b.Found()
	info := b.Info()
	f := &failures{id: b.ID(), tenant: info.Tenant, submitted: info.Submitted, ended: p.State.Final()}
	if p.Counts.Failed == 0 {
		return f, nil
	}
	x, err := stored.ParseExtra(info.Extra)
	if err != nil {
		return nil, err
	}
	groups, err := b.FoundGroups(ctx)
	for i := range groups {
		g := bulk.ErrorGroup(string(b.ID()), &x, &groups[i])
		f.groups = append(f.groups, g)
		f.kinds = append(f.kinds, unique.Make(kind{f.tenant, g.Step, g.Action, g.Code, g.Message}))
	}
	return f, err
}

// left returns the groups less the items that were retried or discarded, and their kinds. Some may have no items left.
// The caller must not change them.
func (f *failures) left(noted *handled) ([]api.ErrorGroup, []unique.Handle[kind]) {
	switch {
	case noted == nil:
		return f.groups, f.kinds
	case noted.UndoneBy != "":
		return nil, nil
	}
	groups := slices.Clone(f.groups)
	less(groups, *noted)
	return groups, f.kinds
}

// noted returns what was retried or discarded, by bulk action. It decodes what has changed since the last call.
func (s *Results) noted(ctx context.Context) (map[weir.BulkID]*handled, error) {
	s.known.mu.Lock()
	before := s.known.handled
	s.known.mu.Unlock()
	now, out := map[string]records.Entry[handled]{}, map[weir.BulkID]*handled{}
	for e, err := range s.handled.Versions(ctx, "") {
		if err != nil {
			return nil, err
		}
		if was, ok := before[e.Name]; ok && was.Version == e.Version && !was.Value.pending() {
			now[e.Name] = was
			out[weir.BulkID(e.Name)] = &was.Value
			continue
		}
		if e.Value, err = s.finishBegun(ctx, e.Name); err != nil {
			return nil, err
		}
		now[e.Name] = e // if it changed since it was listed, the next call finds another version
		out[weir.BulkID(e.Name)] = &e.Value
	}
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	s.known.handled = now
	return out, nil
}

// pending reports whether a retry has not been carried out.
func (h *handled) pending() bool {
	return slices.ContainsFunc(h.Entries, func(h handling) bool { return h.Pending })
}
