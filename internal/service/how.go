package service

import (
	"context"
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/edge/mapping"
)

// HowToAppend says how the items of a body are read for a draft.
type HowToAppend struct {
	ItemID string // member or column with the id; empty: detected
	Record bool   // invalid rows are counted instead of refused
	// Check returns what is wrong with an item; where is its position, such as "line 3". Nil: no
	// check.
	Check func(where, id string, doc []byte) error
}

// HowToAppend returns how to read items for a draft. It refuses a draft that accepts no items.
func (s *Service) HowToAppend(ctx context.Context, id string) (HowToAppend, error) {
	d, err := s.getDraft(ctx, id)
	if err != nil {
		return HowToAppend{}, s.notDraft(ctx, id, err)
	}
	if err := s.mayAppend(ctx, id, &d); err != nil {
		return HowToAppend{}, err
	}
	return s.howTo(&d), nil
}

func (s *Service) howTo(d *draft) HowToAppend {
	return HowToAppend{ItemID: d.Spec.ItemID, Record: d.Spec.OnBadLine == "record", Check: s.itemCheck(d)}
}

// itemCheck checks the input of the first step against the schema of its action. The step itself
// handles items that it skips and items whose expressions fail.
func (s *Service) itemCheck(d *draft) func(where, id string, doc []byte) error {
	first := d.Spec.Steps[0]
	a, err := s.actions.find(first.Action)
	if err != nil || a.schema == nil {
		return nil
	}
	prog, err := s.programs.compile(mapping.Step{Field: "steps[0]", Input: first.Input, When: first.When}, nil)
	if err != nil {
		return nil // the draft was checked
	}
	// gets returns the step's input for an item; nothing if the step skips it.
	gets := func(it mapping.Item) (in []byte, ok bool) {
		if yes, err := prog.When(it); err != nil || !yes {
			return nil, false
		}
		in, err := prog.Input(it)
		return in, err == nil
	}
	return func(where, id string, doc []byte) error {
		in, ok := gets(mapping.Item{ID: id, Data: doc, Params: d.Spec.Params})
		if !ok {
			return nil
		}
		if len(first.Input) > 0 {
			where += ", input"
		}
		faults := a.schema.Check(where, in)
		if len(faults) == 0 {
			return nil
		}
		return &weir.FieldError{Code: faults[0].Code, Field: faults[0].Field, Problem: faults[0].Problem, Fix: faults[0].Fix}
	}
}

// fitting returns the items of a request that the first step accepts, and how many it does not.
func (h *HowToAppend) fitting(items []api.Item) (_ []api.Item, bad int64, _ error) {
	if h.Check == nil {
		return items, 0, nil
	}
	out := make([]api.Item, 0, len(items))
	for i, it := range items {
		err := h.Check(fmt.Sprintf("items[%d]", i), it.ID, orObject(it.Data))
		switch {
		case err == nil:
			out = append(out, it)
		case h.Record:
			bad++
		default:
			return nil, 0, err
		}
	}
	return out, bad, nil
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
			return &feed.PermanentError{Code: mapping.SchemaMismatch, Where: fmt.Sprintf("item %.128q", it.ID), Problem: err.Error()}
		}
	}
	page.Items = good
	return nil
}
