package chain

import (
	"errors"
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/mapping"
	"github.com/weirhq/weir/internal/service/registry"
	"github.com/weirhq/weir/internal/service/stored"
)

// ItemCheck checks the input of the first step against the schema of its action. The step itself
// handles items that it skips and items whose expressions fail.
func (s *Chains) ItemCheck(steps []stored.Step, params []byte) func(where, id string, doc []byte) error {
	first := steps[0]
	a, err := s.actions.Find(first.Action)
	if err != nil || a.ItemSchema == nil {
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
		in, ok := gets(mapping.Item{ID: id, Data: doc, Params: params})
		if !ok {
			return nil
		}
		if len(first.Input) > 0 {
			where += ", input"
		}
		faults := a.ItemSchema.Check(where, in)
		if len(faults) == 0 {
			return nil
		}
		return &weir.FieldError{Code: faults[0].Code, Field: faults[0].Field, Problem: faults[0].Problem, Fix: faults[0].Fix}
	}
}

// Preview returns a function that shows the input of the first step for an item.
func (s *Chains) Preview(steps []stored.Step, params []byte) (func(it weir.RawItem, no int) api.PreviewItem, error) {
	text, _, err := Text(steps, params)
	if err != nil {
		return nil, err
	}
	if _, err := s.Describe(text); err != nil {
		return nil, err
	}
	prog, err := s.programs.compile(mapping.Step{Field: "steps[0]", Input: steps[0].Input, When: steps[0].When}, nil)
	if err != nil {
		return nil, err
	}
	a, err := s.actions.Find(steps[0].Action)
	if err != nil {
		return nil, s.actions.Unknown("steps[0].action", steps[0].Action)
	}
	return func(it weir.RawItem, no int) api.PreviewItem { return previewItem(a, prog, params, it, no) }, nil
}

func previewItem(a *registry.Action, prog *mapping.Program, params []byte, it weir.RawItem, no int) api.PreviewItem {
	x := api.PreviewItem{ID: it.ID, Data: append([]byte(nil), it.Value...)}
	in, err := prog.Input(mapping.Item{ID: it.ID, Data: it.Value, Params: params})
	if err != nil {
		f := &weir.FieldError{Code: mapping.ExpressionFailed, Field: "steps[0].input", Problem: err.Error()}
		errors.As(err, &f) // it knows the field within
		x.Faults = append(x.Faults, api.Fault{Code: f.Code, Field: f.Field, Message: f.Problem, Fix: f.Fix})
		return x
	}
	x.Input = in
	if a.ItemSchema != nil {
		for _, f := range a.ItemSchema.Check(fmt.Sprintf("items[%d]", no), in) {
			x.Faults = append(x.Faults, api.Fault{Code: f.Code, Field: f.Field, Message: f.Problem, Fix: f.Fix})
		}
	}
	return x
}
