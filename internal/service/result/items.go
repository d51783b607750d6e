package result

import (
	"context"
	"slices"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/source"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/chain"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/report"
)

// ItemFilter selects items of a bulk action; an empty field matches any.
type ItemFilter struct {
	State report.State
	Step  string
	Code  string
}

func (f *ItemFilter) match(x *report.Row) bool {
	return (f.State == "" || x.State == f.State) && (f.Step == "" || x.Step == f.Step) && hasCode(x, f.Code)
}

// state returns the only state that matching items can have; empty: any.
func (f *ItemFilter) state() report.State {
	switch f.Code {
	case "":
		return f.State
	case report.CodeUnclear:
		return f.State // items have it until they end and when they are cancelled, and those that failed unclearly match
	}
	return report.StateFailed // no other items have another code
}

// scan bounds the work for one page of a list: a page that finds little ends early, with a cursor.
type scan struct{ opened, looked int }

const (
	scanBlocks = 64      // blocks to open
	lookBlocks = 1 << 14 // blocks whose state is read
)

// count records that a page has read a block.
func (c *scan) count(opened bool) {
	if c.looked++; opened {
		c.opened++
	}
}

func (c *scan) over() bool { return c.opened >= scanBlocks || c.looked >= lookBlocks }

// Items returns a page of items from number at on, and the number at which the next page begins;
// -1: this is the last page. A page may hold fewer items than limit although more follow.
func (s *Results) Items(ctx context.Context, id string, f ItemFilter, at int64,
	limit int) (list []api.ItemResult, next int64, err error) {
	b, extra, err := s.bulks.WithExtra(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	undone, err := s.undoMark(ctx, id, &extra)
	if err != nil {
		return nil, 0, err
	}
	next = -1
	var c scan
	turn := func(end int64, opened bool) bool {
		c.count(opened)
		if c.over() && end < b.Items() {
			next = end
		}
		return !c.over()
	}
	for x, err := range b.Rows(ctx, engine.RowOptions{From: at, State: f.state(), Turn: turn}) {
		switch {
		case err != nil:
			return nil, 0, err
		case !f.match(&x):
			continue
		case len(list) == limit:
			return list, x.No, nil
		}
		one := itemResult(id, &x)
		undone.on(&one, &x, b.Passed(&x))
		list = append(list, one)
	}
	return list, next, nil
}

// itemResult returns an item as the API shows it.
func itemResult(of string, x *report.Row) api.ItemResult {
	return api.ItemResult{
		Item: bulk.ItemName(of, x.No), ID: x.ID, BulkAction: of, State: string(x.State), Step: x.Step, Code: x.Code,
		Message: x.Message, Unclear: isUnclear(x), Reason: x.Reason, Attempts: x.Attempts, Data: chain.AsJSON(x.Data), Output: chain.AsJSON(x.Output),
	}
}

// Item returns the history of one item.
func (s *Results) Item(ctx context.Context, of string, no int64) (api.ItemResult, error) {
	b, err := s.bulks.Bulk(ctx, of)
	if err != nil {
		return api.ItemResult{}, err
	}
	f, err := b.Item(ctx, no)
	if err != nil {
		return api.ItemResult{}, err
	}
	return s.found(ctx, &f)
}

// Lookup finds the items with a user's id in the bulk actions of the tenants, the newest first;
// nil: of all tenants. A bulk action that reads ids in lower case has the item under each spelling of its id.
func (s *Results) Lookup(ctx context.Context, l api.Lookup, tenants []string) (api.Found, error) {
	out := api.Found{ID: l.ID, History: []api.ItemResult{}}
	limit := l.Limit
	if limit == 0 {
		limit = 100
	}
	add := func(f *engine.Found) error {
		x, err := s.found(ctx, f)
		out.History = append(out.History, x)
		return err
	}
	for f, err := range s.engine.Lookup(ctx, l.ID, engine.LookupOptions{Tenants: tenants, Most: limit}) {
		if err != nil {
			return out, err
		}
		if err := add(&f); err != nil {
			return out, err
		}
	}
	if folded := source.FoldID(l.ID); folded != l.ID && folded != "" {
		for f, err := range s.engine.Lookup(ctx, folded, engine.LookupOptions{Tenants: tenants, Most: limit}) {
			if err != nil {
				return out, err
			}
			if folds, err := s.folds(ctx, f.Bulk); err != nil {
				return out, err
			} else if !folds {
				continue // to it these are two ids
			}
			if err := add(&f); err != nil {
				return out, err
			}
		}
		slices.SortStableFunc(out.History, func(a, b api.ItemResult) int { return strings.Compare(b.BulkAction, a.BulkAction) })
		out.History = out.History[:min(len(out.History), limit)]
	}
	if len(out.History) == 0 {
		return out, s.engine.Lost("the item")
	}
	return out, nil
}

// folds reports whether a bulk action reads ids in lower case.
func (s *Results) folds(ctx context.Context, id weir.BulkID) (bool, error) {
	b, err := s.bulks.Bulk(ctx, string(id))
	if err != nil {
		return false, check.IgnoreRemoved(err)
	}
	x, err := stored.ParseExtra(b.Info().Extra)
	return x.FoldIDs, err
}

// found returns an item with its history as the API shows it.
func (s *Results) found(ctx context.Context, f *engine.Found) (api.ItemResult, error) {
	out := itemResult(string(f.Bulk), &f.Row)
	out.Name, out.Tenant = f.Name, f.Tenant
	b, x, err := s.bulks.WithExtra(ctx, string(f.Bulk))
	if err != nil {
		return out, err
	}
	undone, err := s.undoMark(ctx, string(f.Bulk), &x)
	if err != nil {
		return out, err
	}
	undone.on(&out, &f.Row, b.Passed(&f.Row))
	for _, st := range f.Steps {
		out.History = append(out.History, api.ItemEvent{
			Step: st.Step, Result: resultWord(st.State, f.Row.LeftOut), At: st.At, Attempts: st.Attempts,
			Key: b.Key(&f.Row, st.Step), Code: st.Code, Message: st.Message, Output: chain.AsJSON(st.Output),
		})
	}
	return out, nil
}

// resultWord returns the API's word for the state of an item at a step. leftOut says that the step ended
// it, and not a cancel, a deadline or a rule.
func resultWord(state report.State, leftOut bool) string {
	switch state {
	case report.StateCancelled:
		if leftOut {
			return "left_out"
		}
		return string(state)
	case report.StateDone, report.StateFailed, report.StateSkipped:
		return string(state)
	}
	return "pending"
}
