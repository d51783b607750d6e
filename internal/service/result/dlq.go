package result

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"unique"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/stored"
)

// DLQ selects failed items by tenant and filter. The dead-letter queue holds all failed items that
// were not retried or discarded, of bulk actions that were not undone.
type DLQ struct {
	Sees   func(tenant string) bool
	Filter api.DLQFilter
}

func (d *DLQ) selector() selector {
	f := &d.Filter
	return selector{Step: f.Step, Action: f.Action, Code: f.Code, Message: f.Message, Filter: f.Expression}
}

// lot is a bulk action with failed items left.
type lot struct {
	id    string
	bulk  *engine.BulkAction
	info  engine.Info
	extra stored.Extra
	state weir.BulkState
	noted handled
}

// lots yields the bulk actions that may have matching failed items, the newest first, starting at
// from; empty: at the newest.
func (s *Results) lots(ctx context.Context, d *DLQ, from string) iter.Seq2[*lot, error] {
	return func(yield func(*lot, error) bool) {
		ids, err := []weir.BulkID{weir.BulkID(d.Filter.BulkAction)}, error(nil)
		if d.Filter.BulkAction == "" {
			ids, err = s.engine.Failing(ctx)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for _, id := range ids {
			if from != "" && string(id) > from {
				continue
			}
			l, err := s.lot(ctx, d, id)
			if l == nil && err == nil {
				continue
			}
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

// means reports whether the filter may match items of a bulk action.
func (d *DLQ) means(f *failures) bool {
	want := &d.Filter
	return len(f.groups) > 0 && d.Sees(f.tenant) && (want.Tenant == "" || want.Tenant == f.tenant) &&
		(want.Since.IsZero() || f.submitted.After(want.Since))
}

// lot reads one bulk action; nil: no item matches.
func (s *Results) lot(ctx context.Context, d *DLQ, id weir.BulkID) (*lot, error) {
	f, err := s.failures(ctx, id)
	if err != nil || f == nil || !d.means(f) {
		return nil, err
	}
	b, err := s.engine.Get(ctx, id)
	if err != nil {
		return nil, check.IgnoreRemoved(err)
	}
	l := &lot{id: string(id), bulk: b, info: b.Info()}
	p := b.Found()
	l.state = p.State
	if l.extra, err = stored.ParseExtra(l.info.Extra); err != nil {
		return nil, err
	}
	l.noted, err = s.finishBegun(ctx, l.id)
	if err == nil && l.noted.UndoneBy != "" {
		return nil, nil // its failed items were undone
	}
	return l, err
}

// less subtracts retried or discarded items from their own error groups, and the remainder from
// the step's group of other failures.
func less(list []api.ErrorGroup, noted handled) {
	if len(noted.Taken)+len(noted.Entries) == 0 {
		return
	}
	own, others := map[taken]int{}, map[string]int{}
	for i := range list {
		g := &list[i]
		own[taken{Step: g.Step, Code: g.Code, Message: g.Message}] = i
		if g.Code == bulk.OtherCode && g.Message == bulk.OtherMessage {
			others[g.Step] = i
		}
	}
	take := func(t taken) {
		n := t.Items
		t.Items = 0
		if i, ok := own[t]; ok {
			some := min(n, list[i].Count)
			list[i].Count -= some
			n -= some
		}
		if i, ok := others[t.Step]; ok {
			list[i].Count -= min(n, list[i].Count)
		}
	}
	for _, t := range noted.Taken {
		take(t)
	}
	for i := range noted.Entries {
		for _, t := range noted.Entries[i].Groups {
			take(t)
		}
	}
}

// DLQGroups returns the failed items that are left, by group, the largest first: at most limit groups, and what
// all of them count. It does not evaluate expressions.
func (s *Results) DLQGroups(ctx context.Context, d DLQ, limit int) (all api.DLQGroups, err error) {
	lots, noted, err := s.failed(ctx, d.Filter.BulkAction)
	if err != nil {
		return all, err
	}
	whole := d.Filter == api.DLQFilter{}
	about := int64(0)
	if whole {
		about = s.known.groups.Load()
	}
	sum := make(map[unique.Handle[kind]]*api.DLQGroup, about)
	for _, f := range lots {
		if f == nil || !d.means(f) {
			continue
		}
		groups, kinds := f.left(noted[f.id])
		for n := range groups {
			g := &groups[n]
			if g.Count <= 0 || !d.has(g) {
				continue
			}
			all.Items += g.Count
			have := sum[kinds[n]]
			switch {
			case have != nil:
				have.BulkActions++
				addGroup(&have.ErrorGroup, g)
			case limit > 0:
				sum[kinds[n]] = &api.DLQGroup{ErrorGroup: *g, BulkActions: 1, Tenant: f.tenant}
			default:
				sum[kinds[n]] = nil // only counted
			}
		}
	}
	if whole {
		s.known.groups.Store(int64(len(sum)))
	}
	if all.Groups = len(sum); limit == 0 {
		return all, nil
	}
	largest := slices.SortedFunc(maps.Values(sum), func(a, b *api.DLQGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Step, b.Step),
			strings.Compare(a.Code, b.Code), strings.Compare(a.Message, b.Message))
	})
	for _, g := range largest[:min(limit, len(largest))] {
		all.Data = append(all.Data, *g)
	}
	return all, nil
}

// addGroup adds the items of a group of the same kind.
func addGroup(to, g *api.ErrorGroup) {
	to.Count += g.Count
	to.Missed += g.Missed
	if !g.First.IsZero() && (to.First.IsZero() || g.First.Before(to.First)) {
		to.First = g.First
	}
	if g.Last.After(to.Last) {
		to.Last = g.Last
	}
}

// has reports whether a group matches the filter.
func (d *DLQ) has(g *api.ErrorGroup) bool {
	f := &d.Filter
	return (f.Step == "" || f.Step == g.Step) && (f.Action == "" || f.Action == g.Action) &&
		(f.Code == "" || f.Code == g.Code) && (f.Message == "" || f.Message == g.Message)
}
