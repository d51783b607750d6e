package chain

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/mapping"
	"github.com/weirhq/weir/internal/service/registry"
	"github.com/weirhq/weir/internal/service/stored"
)

// ItemCheck returns a function that tells why an item cannot be used: an expression of the first step fails for it, or the
// step's input does not match the schema of its action. Nil: every item can be used.
func (s *Chains) ItemCheck(steps []stored.Step, params []byte) func(where, id string, doc []byte) error {
	first := steps[0]
	a, err := s.actions.Find(first.Action)
	if err != nil {
		return nil
	}
	prog, err := s.programs.compile(mapping.Step{Field: "steps[0]", Input: first.Input, When: first.When}, nil)
	if err != nil || a.ItemSchema == nil && !prog.MayFail() {
		return nil // the draft was checked
	}
	return func(where, id string, doc []byte) error {
		it := mapping.Item{ID: id, Data: doc, Params: params}
		yes, err := prog.When(it)
		if err == nil && !yes {
			return nil // the step skips it
		}
		var in []byte
		if err == nil {
			in, err = prog.Input(it)
		}
		if len(first.Input) > 0 {
			where += ", input"
		}
		if bad := (*mapping.ItemError)(nil); errors.As(err, &bad) {
			at := *bad
			at.Field = where + strings.TrimPrefix(strings.TrimPrefix(bad.Field, "steps[0]"), ".input")
			return &at
		}
		if err != nil || a.ItemSchema == nil {
			return err
		}
		faults := a.ItemSchema.Check(where, in)
		if len(faults) == 0 {
			return nil
		}
		member, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(faults[0].Field, where), "."), ".")
		if column := prog.Column(member); column != "" {
			return &mapping.ItemError{FieldError: *faults[0], Column: column} // what a person has to correct
		}
		return faults[0]
	}
}

// Reads returns the members of an item that steps read, in the order of the steps: those that expressions name, and of a step
// that gets the whole item those that the schema of its action names.
func (s *Chains) Reads(steps []stored.Step) (out []string) {
	var earlier []string
	for i, st := range steps {
		var names []string
		if prog, err := s.programs.compile(mapping.Step{Field: fmt.Sprintf("steps[%d]", i), Input: st.Input, When: st.When}, earlier); err == nil {
			names = prog.Reads()
		}
		if a, err := s.actions.Find(st.Action); err == nil && a.ItemSchema != nil && len(st.Input) == 0 {
			names = append(names, a.ItemSchema.Members()...)
		}
		for _, name := range names {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
		earlier = append(earlier, st.Name())
	}
	return out
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
