package result

import (
	"context"
	"iter"
	"sort"
	"unique"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/report"
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
		all, err := s.lotsOf(ctx, d)
		if err != nil {
			yield(nil, err)
			return
		}
		if from != "" {
			all = all[sort.Search(len(all), func(i int) bool { return string(all[i].id) <= from }):]
		}
		for _, f := range all {
			if !d.means(f) {
				continue
			}
			l, err := s.lot(ctx, f.id)
			if l == nil && err == nil {
				continue
			}
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

// lotsOf returns the failures of the bulk actions that the filter may select, the newest first.
func (s *Results) lotsOf(ctx context.Context, d *DLQ) ([]*failures, error) {
	if d.Filter.BulkAction == "" {
		all, _, err := s.failing(ctx)
		return all, err
	}
	f, err := s.failures(ctx, weir.BulkID(d.Filter.BulkAction))
	if f == nil || err != nil {
		return nil, err
	}
	return []*failures{f}, nil
}

// means reports whether the filter may match items of a bulk action.
func (d *DLQ) means(f *failures) bool {
	want := &d.Filter
	return len(f.groups) > 0 && d.Sees(f.tenant) && (want.Tenant == "" || want.Tenant == f.tenant) &&
		(want.Since.IsZero() || f.submitted.After(want.Since))
}

// lot reads one bulk action; nil: no item is left.
func (s *Results) lot(ctx context.Context, id weir.BulkID) (*lot, error) {
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
	if id := d.Filter.BulkAction; id != "" {
		f, err := s.failures(ctx, weir.BulkID(id))
		if f == nil || err != nil {
			return all, err
		}
		h, err := s.finishBegun(ctx, id)
		return d.answer(nil, []*failures{f}, noted{id: {Value: h}}, limit), err
	}
	unlock, err := s.known.lock(ctx)
	if err != nil {
		return all, err
	}
	defer unlock()
	if err := s.refresh(ctx); err != nil {
		return all, err
	}
	k := &s.known
	defer k.trim()
	if d.Filter.Since.IsZero() {
		return d.answer(k.sums, k.open, k.noted, limit), nil
	}
	return d.answer(nil, k.newest, k.noted, limit), nil
}

// answer adds lots to sums, which it does not change, and returns the groups that the filter lets through.
func (d *DLQ) answer(of sums, lots []*failures, all noted, limit int) (out api.DLQGroups) {
	more := sums{}
	for _, f := range lots {
		if d.means(f) {
			more.add(f, all, func(unique.Handle[kind]) bool { return true })
		}
	}
	var list []*api.DLQGroup
	count := func(g *api.DLQGroup) {
		if d.has(g) {
			out.Items += g.Count
			out.Groups++
			list = put(list, g, limit)
		}
	}
	for h, x := range of {
		if also := more[h]; also != nil {
			both := *x
			more.merge(h, &both)
			continue
		}
		count(&x.DLQGroup)
	}
	for _, x := range more {
		count(&x.DLQGroup)
	}
	for _, g := range list {
		out.Data = append(out.Data, *g)
	}
	return out
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
func (d *DLQ) has(g *api.DLQGroup) bool {
	f := &d.Filter
	return (f.Tenant == "" || f.Tenant == g.Tenant) && d.Sees(g.Tenant) && (f.Step == "" || f.Step == g.Step) && (f.Action == "" || f.Action == g.Action) &&
		(f.Code == "" || f.Code == g.Code || f.Code == report.CodeUnclear && g.Unclear) && (f.Message == "" || f.Message == g.Message)
}
