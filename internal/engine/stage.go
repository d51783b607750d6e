package engine

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/store"
)

// NewID makes the id of a bulk action that will be submitted later, with
// [Engine.SubmitAs]. It says already which partition will hold it.
func (e *Engine) NewID(ctx context.Context, tenant string) (weir.BulkID, error) {
	at, err := e.place(ctx, tenant, "")
	if err != nil {
		return "", err
	}
	return newBulkID(at.partition), nil
}

// Stage is items set aside in the store for a bulk action that is not complete:
// they are durable, and nothing is done to them. See [Engine.Stage].
type Stage struct {
	ID         string `json:"id"`
	Blocks     uint32 `json:"blocks"`
	Items      int64  `json:"items"`
	Duplicates int64  `json:"duplicates,omitempty"`
}

// stagePrefix begins the name under which the blocks of a stage are stored; the
// bulk action's id ends it.
const stagePrefix = "st_"

// stagedFor is the bulk action that blocks of this name were set aside for; empty: it is no stage's.
func stagedFor(name weir.BulkID) weir.BulkID {
	_, id, ok := strings.Cut(strings.TrimPrefix(string(name), stagePrefix), "_")
	if !ok || !strings.HasPrefix(string(name), stagePrefix) {
		return ""
	}
	return weir.BulkID(id)
}

// Stage sets items aside for the bulk action of that id. The caller keeps
// what it returns, and drops it when it is not needed any more. When it fails
// nothing is kept. Ids are compared within the call.
func (e *Engine) Stage(ctx context.Context, id weir.BulkID, rule weir.DuplicateRule, items iter.Seq2[weir.RawItem, error]) (Stage, error) {
	if items == nil {
		return Stage{}, errNoIterator()
	}
	p, err := e.partitionOf(id)
	if err != nil {
		return Stage{}, err
	}
	s := Stage{ID: stagePrefix + strings.ToLower(rand.Text()) + "_" + string(id)}
	name := weir.BulkID(s.ID)
	e.submits.begin(name, p)
	defer e.submits.end(name)
	w := e.newIngest(ctx, p, &partition.Created{ID: name}, rule)
	w.aside = true
	err = w.all(entries(items))
	w.unkept()
	if err == nil {
		err = e.secure(ctx, p)
	}
	if err != nil {
		e.discard(ctx, p, name)
		return Stage{}, err
	}
	s.Blocks, s.Items, s.Duplicates = uint32(len(w.sizes)), w.count, w.duplicates
	return s, nil
}

// secure makes the blocks that were written to a partition as durable as a message.
func (e *Engine) secure(ctx context.Context, p int) error {
	mark, err := partition.EncodeMark(rand.Text())
	if err != nil {
		return err
	}
	return e.store.Append(ctx, p, mark, store.Claim{})
}

func entries(items iter.Seq2[weir.RawItem, error]) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		for it, err := range items {
			if !yield(entry{id: it.ID, data: it.Value}, err) {
				return
			}
		}
	}
}

// Staged yields the items of a stage, in order. They are valid until the next one.
func (e *Engine) Staged(ctx context.Context, s Stage) iter.Seq2[weir.RawItem, error] {
	return func(yield func(weir.RawItem, error) bool) {
		p, err := e.partitionOf(stagedFor(weir.BulkID(s.ID)))
		if err != nil {
			yield(weir.RawItem{}, err)
			return
		}
		for no := range s.Blocks {
			items, err := openBlock(ctx, e.store, e.codec, p, weir.BulkID(s.ID), no)
			if err != nil {
				yield(weir.RawItem{}, fmt.Errorf("items set aside: %w", err))
				return
			}
			for i := range items.Len() {
				if !yield(weir.RawItem{ID: items.ID(i), Value: items.Data(i)}, nil) {
					return
				}
			}
		}
	}
}

// DropStage removes items that were set aside.
func (e *Engine) DropStage(ctx context.Context, s Stage) error {
	p, err := e.partitionOf(stagedFor(weir.BulkID(s.ID)))
	if err != nil {
		return err
	}
	return e.store.DeleteBlocks(ctx, p, weir.BulkID(s.ID))
}

// kept reports whether blocks that belong to no bulk action must stay, because a draft has them.
func (e *Engine) kept(ctx context.Context, name weir.BulkID) (bool, error) {
	if e.opts.Drafts == nil {
		return false, nil
	}
	id := name
	if staged := stagedFor(name); staged != "" {
		id = staged
	}
	return e.opts.Drafts(ctx, id)
}
