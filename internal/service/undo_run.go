package service

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/mapping"
)

// describeUndo builds the steps of an undo chain.
func (s *Service) describeUndo(p *plan) ([]weir.Step, error) {
	c, err := courseOf(p, &s.programs)
	if err != nil {
		return nil, err
	}
	var bad weir.InputError
	var out []weir.Step
	for i := range p.Steps {
		st := &p.Steps[i]
		field := fmt.Sprintf("steps[%d].action", i)
		a, err := s.actions.find(st.Action)
		no := slices.Index(c.names, st.Of)
		if err != nil || no < 0 {
			addFault(&bad, s.unknownAction(field, st.Action), "unknown_action", field)
			continue
		}
		step := a.step(true)
		step.Name, step.Action, step.Endpoint, step.Input = st.ID, st.Action, nil, nil
		step.Handle, step.Filter = s.undoHandler(c, no), c.undoFilter(no)
		out = append(out, step)
	}
	return out, bad.OrNil()
}

// courseOf returns the course of the steps to undo.
func courseOf(p *plan, compiled *programs) (*course, error) {
	var bad weir.InputError
	c := &course{params: p.Params}
	for i := range p.Of {
		field := fmt.Sprintf("steps[%d]", i)
		prog, err := compiled.compile(mapping.Step{Field: field, Input: p.Of[i].Input, When: p.Of[i].When}, c.names)
		if err != nil {
			addFault(&bad, err, mapping.BadExpression, field)
		}
		c.names, c.steps, c.progs = append(c.names, p.Of[i].ID), append(c.steps, &p.Of[i]), append(c.progs, prog)
	}
	return c, bad.OrNil()
}

// undoHandler returns a handler that undoes step no of a course.
func (s *Service) undoHandler(c *course, no int) weir.Handler {
	st := c.steps[no]
	return func(ctx context.Context, t *weir.Task) error {
		a, err := s.actions.find(st.Action)
		if err != nil {
			return fmt.Errorf("action %q is not known here: %w", st.Action, err)
		}
		return undo(ctx, t, c, no, func(ctx context.Context, given *weir.Task) error {
			call, err := a.handler(true) // it may be missing if there is nothing to undo
			if err != nil {
				return err
			}
			return call(ctx, given)
		})
	}
}

// undoFilter passes over the items that did not complete step no.
func (c *course) undoFilter(no int) weir.Handler {
	return func(_ context.Context, t *weir.Task) error {
		for i, it := range t.Items {
			_, t.Outcomes[i] = c.undoable(no, it)
		}
		return nil
	}
}

// undoable decodes an item of an undo. An outcome says how it ends without a call.
func (c *course) undoable(no int, it weir.TaskItem) (doc undoItem, o weir.Outcome) {
	if err := json.Unmarshal(it.Data, &doc); err != nil {
		return doc, weir.Outcome{Kind: weir.Failed, Code: "bad_item", Message: err.Error(), Uncalled: true}
	}
	if !slices.Contains(doc.Done, c.names[no]) || !c.done(no, doc.about(it.ID)) {
		return doc, weir.Outcome{Kind: weir.Done, Uncalled: true}
	}
	return doc, weir.Outcome{}
}

// undo calls an undo handler for the items that completed a step. The others pass. The step's
// input is derived again from its expressions, which always give the same result. The call gets it
// as data, and the step's output as output.
func undo(ctx context.Context, t *weir.Task, c *course, no int, call weir.Handler) error {
	part := *t
	part.Items, part.KeyNos = nil, nil
	var at []int
	var docs []undoItem
	answers := map[int64]json.RawMessage{} // by the item's number
	for i, it := range t.Items {
		doc, o := c.undoable(no, it)
		if o.Kind != weir.NoOutcome {
			t.Outcomes[i] = o
			continue
		}
		answers[it.No] = doc.Outputs[c.names[no]]
		it.Data = doc.Data
		part.Items, at, docs = append(part.Items, it), append(at, i), append(docs, doc)
		if t.KeysOf != "" {
			part.KeyNos = append(part.KeyNos, t.KeyNos[i])
		}
	}
	if len(at) == 0 {
		return nil
	}
	part.Outcomes = make([]weir.Outcome, len(at))
	part.Output = func(i int, step string) []byte { return docs[i].Outputs[step] }
	err := mapped(ctx, &part, c, no, func(ctx context.Context, given *weir.Task) error {
		for i := range given.Items {
			it := &given.Items[i]
			raw, err := json.Marshal(weir.Undone[json.RawMessage, json.RawMessage]{Input: it.Data, Output: answers[it.No]})
			if err != nil {
				return err
			}
			it.Data = raw
		}
		return call(ctx, given)
	})
	if err != nil {
		clear(t.Outcomes) // nothing was done
		return err
	}
	for j, i := range at {
		t.Outcomes[i] = part.Outcomes[j]
	}
	return nil
}
