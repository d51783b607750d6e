package service

import (
	"context"
	"fmt"

	"github.com/weirhq/weir"
)

// HowToAppend is how the items of a body are read for a draft.
type HowToAppend struct {
	ItemID string // member or column that is the id; empty: it is found out
	Record bool   // rows that cannot be used are counted, and refuse nothing
	// Check says what is wrong with an item of a line; nil: nothing can be.
	Check func(line int, doc []byte) error
}

// HowToAppend tells how to read items for a draft. It refuses what cannot take any.
func (s *Service) HowToAppend(ctx context.Context, id string) (HowToAppend, error) {
	d, err := s.getDraft(ctx, id)
	if err != nil {
		return HowToAppend{}, s.notDraft(ctx, id, err)
	}
	if err := s.mayAppend(ctx, id, &d); err != nil {
		return HowToAppend{}, err
	}
	return HowToAppend{ItemID: d.Spec.ItemID, Record: d.Spec.OnBadLine == "record", Check: s.itemCheck(&d)}, nil
}

// itemCheck checks items by the schema of the first action, if that gets them as they are.
func (s *Service) itemCheck(d *draft) func(int, []byte) error {
	first := d.Spec.Steps[0]
	a, err := s.actions.find(first.Action)
	if err != nil || a.schema == nil || len(first.Input) > 0 || first.When != "" {
		return nil
	}
	return func(line int, doc []byte) error {
		faults := a.schema.Check(fmt.Sprintf("line %d", line), doc)
		if len(faults) == 0 {
			return nil
		}
		return &weir.FieldError{Code: faults[0].Code, Field: faults[0].Field, Problem: faults[0].Problem, Fix: faults[0].Fix}
	}
}
