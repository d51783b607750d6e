package service

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/mapping"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/report"
)

// undoPlan returns the chain of an undo: the steps in reverse.
func undoPlan(x *Extra) plan {
	p := plan{Params: x.Params}
	for _, st := range x.Steps {
		p.Of = append(p.Of, planStep{ID: stepID(st), Action: st.Action, Input: st.Input, When: st.When, Otherwise: st.Otherwise})
	}
	for _, st := range slices.Backward(p.Of) {
		p.Steps = append(p.Steps, planStep{ID: cut("undo-"+st.ID, 128), Action: st.Action, Undo: true, Of: st.ID})
	}
	return p
}

// undoItem is the document of an item of an undo: it holds everything needed to derive each step's
// input and output.
type undoItem struct {
	Data    json.RawMessage            `json:"data"`
	Done    []string                   `json:"done"` // the steps to undo
	Outputs map[string]json.RawMessage `json:"outputs,omitempty"`
}

// about returns the item as the expressions of its steps see it.
func (u *undoItem) about(id string) mapping.Item {
	return mapping.Item{ID: id, Data: u.Data, Outputs: func(step string) []byte { return u.Outputs[step] }}
}

// toUndo is an item with completed steps.
type toUndo struct {
	id  string
	doc undoItem
}

// undoItems yields the items of an undo.
func undoItems(ctx context.Context, b *engine.BulkAction, x *Extra) iter.Seq2[weir.RawItem, error] {
	return func(yield func(weir.RawItem, error) bool) {
		for u, err := range undone(ctx, b, x) {
			it := weir.RawItem{ID: u.id}
			if err == nil {
				it.Value, err = json.Marshal(&u.doc)
			}
			if !yield(it, err) || err != nil {
				return
			}
		}
	}
}

// undone yields the items with steps that a bulk action or its retries completed.
func undone(ctx context.Context, b *engine.BulkAction, x *Extra) iter.Seq2[toUndo, error] {
	return func(yield func(toUndo, error) bool) {
		p := undoPlan(x)
		c, err := courseOf(&p, &programs{})
		if err != nil {
			yield(toUndo{}, err)
			return
		}
		for p, err := range history(ctx, b) {
			u := toUndo{id: p.row.ID}
			if err == nil {
				u.doc = c.undoOf(&p.row, p.passed)
			}
			if err == nil && len(u.doc.Done) == 0 {
				continue
			}
			if !yield(u, err) || err != nil {
				return
			}
		}
	}
}

// undoOf returns the document of an item that has passed some steps of a course, without the steps
// that it skipped.
func (c *course) undoOf(x *report.Row, passed []string) undoItem {
	u := undoItem{Data: asJSON(x.Data), Outputs: map[string]json.RawMessage{}}
	for i, out := range x.Outputs {
		if len(out) > 0 {
			u.Outputs[c.names[i]] = asJSON(out)
		}
	}
	for _, name := range passed {
		if c.done(slices.Index(c.names, name), u.about(x.ID)) {
			u.Done = append(u.Done, name)
		}
	}
	return u
}
