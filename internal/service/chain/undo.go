package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/mapping"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/report"
)

// describeUndo builds the steps of an undo chain.
func (s *Chains) describeUndo(p *Plan) ([]weir.Step, error) {
	c, err := courseOf(p, &s.programs)
	if err != nil {
		return nil, err
	}
	var bad weir.InputError
	var out []weir.Step
	for i := range p.Steps {
		st := &p.Steps[i]
		field := fmt.Sprintf("steps[%d].action", i)
		a, err := s.actions.Find(st.Action)
		no := slices.Index(c.names, st.Of)
		if err != nil || no < 0 {
			check.Add(&bad, s.actions.Unknown(field, st.Action), "unknown_action", field)
			continue
		}
		step := a.Step(true)
		step.Name, step.Action, step.Endpoint, step.Input = st.ID, st.Action, nil, nil
		step.Handle, step.Filter = s.undoHandler(c, no), c.undoFilter(no)
		out = append(out, step)
	}
	return out, bad.OrNil()
}

// Undone returns the course of the steps that a plan undoes.
func (p *Plan) Undone() (*Course, error) { return courseOf(p, &programs{}) }

// courseOf returns the Course of the steps to undo.
func courseOf(p *Plan, compiled *programs) (*Course, error) {
	var bad weir.InputError
	c := &Course{params: p.Params}
	for i := range p.Of {
		field := fmt.Sprintf("steps[%d]", i)
		prog, err := compiled.compile(mapping.Step{Field: field, Input: p.Of[i].Input, When: p.Of[i].When}, c.names)
		if err != nil {
			check.Add(&bad, err, mapping.BadExpression, field)
		}
		c.names, c.steps, c.progs = append(c.names, p.Of[i].ID), append(c.steps, &p.Of[i]), append(c.progs, prog)
	}
	return c, bad.OrNil()
}

// undoHandler returns a handler that undoes step no of a course.
func (s *Chains) undoHandler(c *Course, no int) weir.Handler {
	st := c.steps[no]
	return func(ctx context.Context, t *weir.Task) error {
		a, err := s.actions.Find(st.Action)
		if err != nil {
			return fmt.Errorf("action %q is not known here: %w", st.Action, err)
		}
		return undo(ctx, t, c, no, func(ctx context.Context, given *weir.Task) error {
			call, err := a.Handler(true) // it may be missing if there is nothing to undo
			if err != nil {
				return err
			}
			return call(ctx, given)
		})
	}
}

// undoFilter passes over the items that did not complete step no.
func (c *Course) undoFilter(no int) weir.Handler {
	return func(_ context.Context, t *weir.Task) error {
		for i, it := range t.Items {
			_, t.Outcomes[i] = c.undoable(no, it)
		}
		return nil
	}
}

// undoable decodes an item of an undo. An outcome says how it ends without a call.
func (c *Course) undoable(no int, it weir.TaskItem) (doc UndoItem, o weir.Outcome) {
	if err := json.Unmarshal(it.Data, &doc); err != nil {
		return doc, weir.Outcome{Kind: weir.OutcomeFailed, Code: "bad_item", Message: err.Error(), Uncalled: true}
	}
	if !slices.Contains(doc.Done, c.names[no]) || !c.done(no, doc.about(it.ID)) {
		return doc, weir.Outcome{Kind: weir.OutcomeDone, Uncalled: true}
	}
	return doc, weir.Outcome{}
}

// undo calls an undo handler for the items that completed a step. The others pass. The step's
// input is derived again from its expressions, which always give the same result. The call gets it
// as data, and the step's output as output.
func undo(ctx context.Context, t *weir.Task, c *Course, no int, call weir.Handler) error {
	part := *t
	part.Items, part.KeyNos = nil, nil
	var at []int
	var docs []UndoItem
	answers := map[int64]json.RawMessage{} // by the item's number
	for i, it := range t.Items {
		doc, o := c.undoable(no, it)
		if o.Kind != weir.OutcomeNone {
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

// UndoPlan returns the chain of an undo: the steps in reverse.
func UndoPlan(x *stored.Extra) Plan {
	p := Plan{Params: x.Params}
	for _, st := range x.Steps {
		p.Of = append(p.Of, stepOf(&st))
	}
	for _, st := range slices.Backward(p.Of) {
		p.Steps = append(p.Steps, Step{ID: Cut("undo-"+st.ID, 128), Action: st.Action, Undo: true, Of: st.ID})
	}
	return p
}

// UndoItem is the document of an item of an undo: it holds everything needed to derive each step's
// input and output.
type UndoItem struct {
	Data    json.RawMessage            `json:"data"`
	Done    []string                   `json:"done"` // the steps to undo
	Outputs map[string]json.RawMessage `json:"outputs,omitempty"`
}

// about returns the item as the expressions of its steps see it.
func (u *UndoItem) about(id string) mapping.Item {
	return mapping.Item{ID: id, Data: u.Data, Outputs: func(step string) []byte { return u.Outputs[step] }}
}

// UndoOf returns the document of an item that has passed some steps of a course, without the steps
// that it skipped.
func (c *Course) UndoOf(x *report.Row, passed []string) UndoItem {
	u := UndoItem{Data: AsJSON(x.Data), Outputs: map[string]json.RawMessage{}}
	for i, out := range x.Outputs {
		if len(out) > 0 {
			u.Outputs[c.names[i]] = AsJSON(out)
		}
	}
	for _, name := range passed {
		if c.done(slices.Index(c.names, name), u.about(x.ID)) {
			u.Done = append(u.Done, name)
		}
	}
	return u
}

// Cut shortens a text to at most so many bytes, but not inside a character.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xc0 == 0x80 { // not inside a character
		most--
	}
	return text[:most]
}

// AsJSON returns a stored document for a response: nil if empty, and a string if it is not valid
// JSON, so that the response stays readable.
func AsJSON(doc []byte) json.RawMessage {
	switch {
	case len(doc) == 0:
		return nil
	case json.Valid(doc):
		return doc
	}
	text, _ := json.Marshal(string(doc)) // a string always encodes
	return text
}
