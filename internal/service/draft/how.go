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
	Fold    bool         // ids are read by source.FoldID
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
	return HowToAppend{ItemID: d.Spec.IDColumn(), Columns: d.Spec.Columns, Fold: d.Spec.FoldIDs, Record: d.Spec.OnBadLine == "record",
		Check: c.ItemCheck(d.Spec.Steps, d.Spec.Params)}
}

// fitting returns the items of a request that the first step accepts, and how many it does not.
func (h *HowToAppend) fitting(items []stored.Item) (_ []stored.Item, bad int64, _ error) {
	if h.Check == nil && len(h.Columns) == 0 && !h.Fold {
		return items, 0, nil
	}
	out := make([]stored.Item, 0, len(items))
	var faults weir.InputError
	for i, it := range items {
		it.ID, it.Data = h.ID(it.ID), h.Columns.Rename(it.Data)
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

// ID returns the id of an item as the draft has it.
func (h *HowToAppend) ID(id string) string {
	if h.Fold {
		return source.FoldID(id)
	}
	return id
}

// reading is a feed whose items have the ids of the draft, and the names that its steps know for their members.
type reading struct {
	feed.Feed
	how HowToAppend
}

// Read implements feed.Feed.
func (f *reading) Read(ctx context.Context, from feed.Cursor) (feed.Page, error) {
	page, err := f.Feed.Read(ctx, from)
	for i := range page.Items {
		it := &page.Items[i]
		it.ID, it.Value = f.how.ID(it.ID), f.how.Columns.Rename(it.Value)
	}
	return page, err
}

// read yields items with the ids of the draft, and the names that its steps know for their members.
func (h *HowToAppend) read(items iter.Seq2[weir.RawItem, error]) iter.Seq2[weir.RawItem, error] {
	if len(h.Columns) == 0 && !h.Fold {
		return items
	}
	return func(yield func(weir.RawItem, error) bool) {
		for it, err := range items {
			it.ID, it.Value = h.ID(it.ID), h.Columns.Rename(it.Value)
			if !yield(it, err) {
				return
			}
		}
	}
}
