package draft

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/edge/mapping"
	"github.com/weirhq/weir/internal/edge/source"
	"github.com/weirhq/weir/internal/service/chain"
	"github.com/weirhq/weir/internal/service/stored"
)

// HowToAppend says how the items of a body are read for a draft.
type HowToAppend struct {
	ItemID  string       // member or column with the id; empty: detected
	Columns source.Names // by which names steps know its members or columns
	Record  bool         // invalid rows are counted instead of refused
	// Check returns what is wrong with an item; where is its position, such as "line 3". Nil: no
	// check.
	Check func(where, id string, doc []byte) error
}

// HowToAppend returns how to read items for a draft. It refuses a draft that accepts no items.
func (s *Appends) HowToAppend(ctx context.Context, id string) (HowToAppend, error) {
	d, err := s.Get(ctx, id)
	if err != nil {
		return HowToAppend{}, s.notDraft(ctx, id, err)
	}
	if err := s.mayAppend(ctx, id, &d); err != nil {
		return HowToAppend{}, err
	}
	return s.howTo(&d), nil
}

func (s *Appends) howTo(d *Draft) HowToAppend { return howTo(s.chains, d) }

func howTo(c *chain.Chains, d *Draft) HowToAppend {
	return HowToAppend{ItemID: d.Spec.IDColumn(), Columns: d.Spec.Columns, Record: d.Spec.OnBadLine == "record",
		Check: c.ItemCheck(d.Spec.Steps, d.Spec.Params)}
}

// fitting returns the items of a request that the first step accepts, and how many it does not.
func (h *HowToAppend) fitting(items []stored.Item) (_ []stored.Item, bad int64, _ error) {
	if h.Check == nil && len(h.Columns) == 0 {
		return items, 0, nil
	}
	out := make([]stored.Item, 0, len(items))
	var faults weir.InputError
	for i, it := range items {
		it.Data = h.Columns.Rename(it.Data)
		var err error
		if h.Check != nil {
			err = h.Check(fmt.Sprintf("items[%d]", i), it.ID, orObject(it.Data))
		}
		switch {
		case err == nil:
			out = append(out, it)
		case h.Record:
			bad++
		default:
			field := (*weir.FieldError)(nil)
			if !errors.As(err, &field) {
				return nil, 0, err
			}
			faults.Fields = append(faults.Fields, field)
		}
	}
	return out, bad, faults.OrNil()
}

// pick removes the items that the first step does not accept from a page of a source.
func (h *HowToAppend) pick(page *feed.Page) error {
	if h.Check == nil {
		return nil
	}
	good := page.Items[:0]
	for _, it := range page.Items {
		err := h.Check("data", it.ID, it.Value)
		switch {
		case err == nil:
			good = append(good, it)
		case h.Record:
			page.Bad++
		default:
			code := mapping.SchemaMismatch
			if bad := (*mapping.ItemError)(nil); errors.As(err, &bad) {
				code = bad.Code
			}
			return &feed.PermanentError{Code: code, Where: fmt.Sprintf("item %.128q", it.ID), Problem: err.Error()}
		}
	}
	page.Items = good
	return nil
}

// renaming is a feed whose items have other names for their members.
type renaming struct {
	feed.Feed
	names source.Names
}

// Read implements feed.Feed.
func (f *renaming) Read(ctx context.Context, from feed.Cursor) (feed.Page, error) {
	page, err := f.Feed.Read(ctx, from)
	for i := range page.Items {
		page.Items[i].Value = f.names.Rename(page.Items[i].Value)
	}
	return page, err
}

// renamed yields items with other names for their members.
func renamed(items iter.Seq2[weir.RawItem, error], names source.Names) iter.Seq2[weir.RawItem, error] {
	if len(names) == 0 {
		return items
	}
	return func(yield func(weir.RawItem, error) bool) {
		for it, err := range items {
			it.Value = names.Rename(it.Value)
			if !yield(it, err) {
				return
			}
		}
	}
}
