package ingest

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"log/slog"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// Stage is items set aside in the store for a bulk action that is not complete:
// they are durable, and nothing is done to them. See [Intake.Stage].
type Stage struct {
	ID         string `json:"id"`
	Blocks     uint32 `json:"blocks"`
	Items      int64  `json:"items"`
	Duplicates int64  `json:"duplicates,omitempty"`
}

// wordLen is the length of the random word in the name of a stage: 80 bits.
const wordLen = 16

// Stage sets items aside for the bulk action of that id. The caller keeps
// what it returns, and drops it when it is not needed any more. When it fails
// nothing is kept. Ids are compared within the call.
func (in *Intake) Stage(ctx context.Context, id weir.BulkID, rule weir.DuplicateRule,
	items iter.Seq2[weir.RawItem, error]) (Stage, error) {
	if items == nil {
		return Stage{}, NoIterator()
	}
	p, err := stored.Home(id, in.Partitions())
	if err != nil {
		return Stage{}, err
	}
	name := partition.StageName(id, strings.ToLower(rand.Text()[:wordLen]))
	s := Stage{ID: string(name)}
	in.Begin(name, p)
	defer in.Forget(name, 0)
	w := in.Open(ctx, p, &partition.Created{ID: name}, rule)
	w.aside = true
	err = w.All(Entries(items))
	if err == nil {
		err = in.secure(ctx, p)
	}
	if err != nil {
		w.Kept.Drop()
		in.Discard(ctx, p, name)
		return Stage{}, err
	}
	in.past.Staged(ctx, p, name, w.Kept)
	s.Blocks, s.Items, s.Duplicates = uint32(len(w.Sizes)), w.Count, w.Duplicates
	return s, nil
}

// secure makes the blocks that were written to a partition as durable as a message.
func (in *Intake) secure(ctx context.Context, p int) error {
	mark, err := partition.EncodeMark(rand.Text())
	if err != nil {
		return err
	}
	return in.store.Append(ctx, p, mark, store.Claim{})
}

// Entries turns items as a caller has them into those of a stream.
func Entries(items iter.Seq2[weir.RawItem, error]) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for it, err := range items {
			if !yield(Entry{ID: it.ID, Data: it.Value}, err) {
				return
			}
		}
	}
}

// Staged yields the items of a stage, in order. They are valid until the next one.
func (in *Intake) Staged(ctx context.Context, s Stage) iter.Seq2[weir.RawItem, error] {
	return func(yield func(weir.RawItem, error) bool) {
		p, err := stored.Home(stored.Owner(weir.BulkID(s.ID)), in.Partitions())
		if err != nil {
			yield(weir.RawItem{}, err)
			return
		}
		for no := range s.Blocks {
			items, err := stored.OpenBlock(ctx, in.store, in.codec, p, weir.BulkID(s.ID), no)
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
func (in *Intake) DropStage(ctx context.Context, s Stage) error {
	name := weir.BulkID(s.ID)
	p, err := stored.Home(stored.Owner(name), in.Partitions())
	if err != nil {
		return err
	}
	in.past.Unstaged(name)
	return in.store.DeleteBlocks(ctx, p, name)
}

// Discard removes the blocks of a submit that was refused. If that fails, the next start does it.
func (in *Intake) Discard(ctx context.Context, p int, id weir.BulkID) {
	if err := in.store.DeleteBlocks(context.WithoutCancel(ctx), p, id); err != nil {
		in.log.LogAttrs(ctx, slog.LevelWarn, "blocks of a refused submit stay until the next start",
			slog.String("bulk_action", string(id)), slog.Any("error", err))
	}
}

// RawItems is the reverse of [Entries].
func RawItems(items iter.Seq2[Entry, error]) iter.Seq2[weir.RawItem, error] {
	return func(yield func(weir.RawItem, error) bool) {
		for it, err := range items {
			if !yield(weir.RawItem{ID: it.ID, Value: it.Data}, err) {
				return
			}
		}
	}
}
