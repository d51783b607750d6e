package result

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/chain"
	"github.com/weirhq/weir/internal/service/stored"
)

// toUndo is an item with completed steps.
type toUndo struct {
	id  string
	doc chain.UndoItem
}

// undoItems yields the items of an undo.
func undoItems(ctx context.Context, b *engine.BulkAction, x *stored.Extra) iter.Seq2[weir.RawItem, error] {
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
func undone(ctx context.Context, b *engine.BulkAction, x *stored.Extra) iter.Seq2[toUndo, error] {
	return func(yield func(toUndo, error) bool) {
		p := chain.UndoPlan(x)
		c, err := p.Undone()
		if err != nil {
			yield(toUndo{}, err)
			return
		}
		for p, err := range history(ctx, b, engine.RowOptions{}, allRetries) {
			u := toUndo{id: p.row.ID}
			if err == nil {
				u.doc = c.UndoOf(&p.row, p.passed)
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
