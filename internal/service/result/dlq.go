package result

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/bulk"
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
		ids, err := s.engine.IDs(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, id := range ids {
			if from != "" && string(id) > from || d.Filter.BulkAction != "" && d.Filter.BulkAction != string(id) {
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

// lot reads one bulk action; nil: no item matches.
func (s *Results) lot(ctx context.Context, d *DLQ, id weir.BulkID) (*lot, error) {
	b, err := s.engine.Get(ctx, id)
	if errors.Is(err, weir.ErrNotFound) || errors.Is(err, weir.ErrExpired) {
		return nil, nil // removed in the meantime
	}
	if err != nil {
		return nil, err
	}
	l := &lot{id: string(id), bulk: b, info: b.Info()}
	f := &d.Filter
	if !d.Sees(l.info.Tenant) || f.Tenant != "" && f.Tenant != l.info.Tenant || !f.Since.IsZero() && !l.info.Submitted.After(f.Since) {
		return nil, nil
	}
	p, err := b.Found(ctx)
	if err != nil || p.Counts.Failed == 0 {
		return nil, err
	}
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

// left returns the error groups of a lot, less the items that were taken.
func (l *lot) left(ctx context.Context) ([]api.ErrorGroup, error) {
	groups, err := l.bulk.FoundGroups(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]api.ErrorGroup, 0, len(groups))
	for i := range groups {
		list = append(list, bulk.ErrorGroup(l.id, &l.extra, &groups[i]))
	}
	less(list, l.noted)
	return slices.DeleteFunc(list, func(g api.ErrorGroup) bool { return g.Count <= 0 }), nil
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

// DLQGroups returns the failed items that are left, by group, the largest first. It does not
// evaluate expressions.
func (s *Results) DLQGroups(ctx context.Context, d DLQ) ([]api.DLQGroup, error) {
	type kind struct{ tenant, step, action, code, message string }
	sum := map[kind]*api.DLQGroup{}
	for l, err := range s.lots(ctx, &d, "") {
		if err != nil {
			return nil, err
		}
		groups, err := l.left(ctx)
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			if !d.has(&g) {
				continue
			}
			k := kind{l.info.Tenant, g.Step, g.Action, g.Code, g.Message}
			have := sum[k]
			if have == nil {
				sum[k] = &api.DLQGroup{ErrorGroup: g, BulkActions: 1, Tenant: l.info.Tenant}
				continue
			}
			have.BulkActions++
			have.Count += g.Count
			have.Missed += g.Missed
			if !g.First.IsZero() && (have.First.IsZero() || g.First.Before(have.First)) {
				have.First = g.First
			}
			if g.Last.After(have.Last) {
				have.Last = g.Last
			}
		}
	}
	out := make([]api.DLQGroup, 0, len(sum))
	for _, g := range sum {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b api.DLQGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Step, b.Step),
			strings.Compare(a.Code, b.Code), strings.Compare(a.Message, b.Message))
	})
	return out, nil
}

// has reports whether a group matches the filter.
func (d *DLQ) has(g *api.ErrorGroup) bool {
	f := &d.Filter
	return (f.Step == "" || f.Step == g.Step) && (f.Action == "" || f.Action == g.Action) &&
		(f.Code == "" || f.Code == g.Code) && (f.Message == "" || f.Message == g.Message)
}
