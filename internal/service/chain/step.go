package chain

import (
	"context"
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/mapping"
)

// handler runs a step of a course: it drops the items for which the step's condition is false,
// builds the input of the others, and calls the action that the registry has at that time.
func (s *Chains) handler(c *Course, no int) weir.Handler {
	st := c.steps[no]
	plain := st.When == "" && len(st.Input) == 0
	return func(ctx context.Context, t *weir.Task) error {
		a, err := s.actions.Find(st.Action)
		if err != nil {
			return fmt.Errorf("action %q is not known here: %w", st.Action, err)
		}
		call, err := a.Handler(st.Undo)
		if err != nil {
			return err
		}
		if plain {
			return call(ctx, t)
		}
		return mapped(ctx, t, c, no, call)
	}
}

// mapped runs a task with the input from the step's expressions.
func mapped(ctx context.Context, t *weir.Task, c *Course, no int, call weir.Handler) error {
	part := *t
	part.Items, part.Outcomes = make([]weir.TaskItem, 0, len(t.Items)), nil
	var at []int
	var keys []int64
	for i := range t.Items {
		it := t.Items[i]
		data, outcome := input(c.steps[no], c.progs[no], c.about(no, itemOf(t, i)))
		if outcome.Kind != weir.OutcomeNone {
			t.Outcomes[i] = outcome
			continue
		}
		it.Data, it.Previous = data, nil
		part.Items, at = append(part.Items, it), append(at, i)
		if t.KeysOf != "" {
			keys = append(keys, t.KeyNos[i])
		}
	}
	if len(at) == 0 {
		return nil
	}
	part.Outcomes, part.KeyNos = make([]weir.Outcome, len(at)), keys
	if err := call(ctx, &part); err != nil {
		clear(t.Outcomes) // nothing was done
		return err
	}
	for j, i := range at {
		t.Outcomes[i] = part.Outcomes[j]
	}
	return nil
}

// filter ends the items for which the condition of step no is false; nil: it has no condition.
func (c *Course) filter(no int) weir.Handler {
	if c.steps[no].When == "" {
		return nil
	}
	return func(_ context.Context, t *weir.Task) error {
		for i := range t.Items {
			t.Outcomes[i] = condition(c.steps[no], c.progs[no], c.about(no, itemOf(t, i)))
		}
		return nil
	}
}

// itemOf returns an item of a task as expressions see it.
func itemOf(t *weir.Task, i int) mapping.Item {
	in := mapping.Item{ID: t.Items[i].ID, Data: t.Items[i].Data}
	if t.Output != nil {
		in.Outputs = func(step string) []byte { return t.Output(i, step) }
	}
	return in
}

// condition returns how an item ends for which the step's condition is false; no outcome: it is
// true.
func condition(st *Step, prog *mapping.Program, in mapping.Item) weir.Outcome {
	yes, err := prog.When(in)
	switch {
	case err != nil:
		return weir.Outcome{Kind: weir.OutcomeFailed, Code: mapping.ExpressionFailed, Message: err.Error(), Uncalled: true}
	case !yes && st.Otherwise == "skip":
		return weir.Outcome{Kind: weir.OutcomeDone, Uncalled: true}
	case !yes:
		return weir.Outcome{Kind: weir.OutcomeLeftOut, Code: "condition", Uncalled: true}
	}
	return weir.Outcome{}
}

// input returns an action's input for an item, or how the item ends without a call.
func input(st *Step, prog *mapping.Program, in mapping.Item) ([]byte, weir.Outcome) {
	if o := condition(st, prog, in); o.Kind != weir.OutcomeNone {
		return nil, o
	}
	data, err := prog.Input(in)
	if err != nil {
		return nil, weir.Outcome{Kind: weir.OutcomeFailed, Code: mapping.ExpressionFailed, Message: err.Error(), Uncalled: true}
	}
	return data, weir.Outcome{}
}
