package service

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/engine"
	"github.com/weirhq/weir/internal/block"
	"github.com/weirhq/weir/internal/report"
)

// ItemName is how an item is named in URLs: its bulk action and its number there.
func ItemName(bulk string, no int64) string {
	return "itm_" + strings.TrimPrefix(bulk, "ba_") + "-" + strconv.FormatInt(no, 10)
}

// ParseItemName is the inverse of [ItemName].
func ParseItemName(name string) (bulk string, no int64, err error) {
	id, number, ok := strings.Cut(strings.TrimPrefix(name, "itm_"), "-")
	no, bad := strconv.ParseInt(number, 10, 64)
	if !ok || !strings.HasPrefix(name, "itm_") || bad != nil || no < 0 || ItemName("ba_"+id, no) != name {
		return "", 0, fmt.Errorf("item %q: %w; an item is itm_, the bulk action's id without ba_, a hyphen and its number", name, weir.ErrNotFound)
	}
	return "ba_" + id, no, nil
}

// ItemFilter says which items of a bulk action are meant; what is empty does not count.
type ItemFilter struct {
	State string
	Step  string
	Code  string
}

func (f *ItemFilter) match(x *report.Row) bool {
	return (f.State == "" || x.State == f.State) && (f.Step == "" || x.Step == f.Step) && (f.Code == "" || x.Code == f.Code)
}

// want says whether a block may have items of the filter, by its state alone.
func (f *ItemFilter) want(r *reader) func(*block.State) bool {
	last := len(r.spec.Steps) - 1
	state := f.State
	if f.Code != "" { // nothing else has one
		state = report.Failed
	}
	return func(s *block.State) bool {
		switch state {
		case report.Failed:
			return !s.Failed.Empty()
		case report.Done:
			return !s.Passed[last].Empty()
		case report.Waiting:
			return len(s.Retries) > 0
		case report.Cancelled:
			return !s.LeftOut.Empty() || r.status.State.Final() && s.Passed[last].Len()+s.Failed.Len() < s.Size
		case report.Ready:
			return !r.status.State.Final() && s.Passed[last].Len()+s.Failed.Len()+s.LeftOut.Len() < s.Size
		}
		return true
	}
}

// scan bounds the work for one page of a list: a page that finds little ends with
// a cursor rather than late.
type scan struct{ opened, looked int }

const (
	scanBlocks = 64      // that are opened
	lookBlocks = 1 << 14 // whose state is looked at
)

// counts notes the blocks that a page looks at.
func (c *scan) counts(want func(*block.State) bool) func(*block.State) bool {
	return func(b *block.State) bool {
		c.looked++
		yes := want(b)
		if yes {
			c.opened++
		}
		return yes
	}
}

func (c *scan) over() bool { return c.opened >= scanBlocks || c.looked >= lookBlocks }

// Items returns items of a bulk action from number at on, and the number where the
// next page begins; -1: there is none. A page may have less than limit, and more follow.
func (s *Service) Items(ctx context.Context, id string, f ItemFilter, at int64, limit int) (list []api.ItemResult, next int64, err error) {
	r, err := s.read(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	defer r.close()
	next = -1
	var c scan
	turn := func(end int64) bool {
		if c.over() && end < r.spec.Items {
			next = end
		}
		return !c.over()
	}
	for x, err := range r.rows(ctx, at, c.counts(f.want(r)), turn) {
		switch {
		case err != nil:
			return nil, 0, err
		case !f.match(&x.Row):
			continue
		case len(list) == limit:
			return list, x.No, nil
		}
		list = append(list, itemResult(r, &x))
	}
	return list, next, nil
}

// itemResult is an item as the API shows it.
func itemResult(r *reader, x *row) api.ItemResult {
	return api.ItemResult{
		Item: ItemName(string(r.spec.ID), x.No), ID: x.ID, BulkAction: string(r.spec.ID), State: x.State, Step: x.Step, Code: x.Code,
		Message: x.Message, Reason: x.Reason, Attempts: x.Attempts, Data: asJSON(x.Data), Output: asJSON(x.Output),
	}
}

// Item tells what happened to one item.
func (s *Service) Item(ctx context.Context, bulk string, no int64) (api.ItemResult, error) {
	b, err := s.Bulk(ctx, bulk)
	if err != nil {
		return api.ItemResult{}, err
	}
	f, err := b.Item(ctx, no)
	if err != nil {
		return api.ItemResult{}, err
	}
	return s.found(ctx, &f)
}

// Lookup finds the items of a user's own id in the bulk actions of the tenants, the newest first; nil: of all.
func (s *Service) Lookup(ctx context.Context, l api.Lookup, tenants []string) (api.Found, error) {
	out := api.Found{ID: l.ID, History: []api.ItemResult{}}
	limit := l.Limit
	if limit == 0 {
		limit = 100
	}
	for f, err := range s.engine.Lookup(ctx, l.ID, engine.LookupOptions{Tenants: tenants, Most: limit}) {
		if err != nil {
			return out, err
		}
		x, err := s.found(ctx, &f)
		if err != nil {
			return out, err
		}
		out.History = append(out.History, x)
	}
	return out, nil
}

// found is an item with its history as the API shows it.
func (s *Service) found(ctx context.Context, f *engine.Found) (api.ItemResult, error) {
	x := &f.Row
	out := api.ItemResult{
		Item: ItemName(string(f.Bulk), f.No), ID: x.ID, BulkAction: string(f.Bulk), Name: f.Name, Tenant: f.Tenant, State: x.State, Step: x.Step,
		Code: x.Code, Message: x.Message, Reason: x.Reason, Attempts: x.Attempts, Data: asJSON(x.Data), Output: asJSON(x.Output),
	}
	key, err := s.keysOf(ctx, f)
	if err != nil {
		return out, err
	}
	for _, st := range f.Steps {
		out.History = append(out.History, api.ItemEvent{
			Step: st.Step, Result: resultWord(st.State), At: st.At, Attempts: st.Attempts, Key: key(st.Step), Code: st.Code, Message: st.Message, Output: asJSON(st.Output),
		})
	}
	return out, nil
}

// keysOf returns what tells an item's idempotency keys. Only a retry may have those of another bulk action.
func (s *Service) keysOf(ctx context.Context, f *engine.Found) (func(step string) string, error) {
	r, err := s.read(ctx, string(f.Bulk))
	if err != nil {
		return nil, err
	}
	defer r.close()
	x := row{Row: report.Row{No: f.No}}
	if r.spec.KeysOf != "" {
		for one, err := range r.rows(ctx, f.No, nil, nil) {
			if err != nil {
				return nil, err
			}
			x = one
			break
		}
	}
	return func(step string) string { return r.key(&x, slices.Index(r.spec.Steps, step)) }, nil
}

func resultWord(state string) string {
	switch state {
	case report.Done, report.Failed:
		return state
	case report.Cancelled:
		return "left_out"
	}
	return "pending"
}
