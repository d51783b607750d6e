package ingest

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/filter"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/edge/source"
	"github.com/weirhq/weir/internal/engine/stored"
)

// Adopt makes the items of stages those of the bulk action, in order. A block stays as it is, under the name of its
// stage, and [Stream.Places] says where it is. Its items are read for their ids alone: these are compared over all
// stages, and filters are made of them.
//
// A block is written again, under the id, if items of it are left out, if the canary ends in it, or if it and the one
// beside it are less than half full: many small stages become few blocks.
func (w *Stream) Adopt(stages []Stage) error {
	w.adopting = true
	err := w.in.eachAside(w.ctx, w.partition, stages, w.takeAside)
	if err == nil {
		err = w.placeHeld()
	}
	return w.end(err)
}

// CountFresh returns how many items stages have if of several with the same id the first is kept.
func (in *Intake) CountFresh(ctx context.Context, p int, stages []Stage) (n int64, err error) {
	w := &Stream{in: in, seen: source.NewKeys()}
	err = in.eachAside(ctx, p, stages, func(b *asideBlock) error {
		if w.siftAside(b) {
			n += int64(b.items.Len())
			return nil
		}
		for _, fresh := range w.asideFresh {
			if fresh {
				n++
			}
		}
		return nil
	})
	return n, err
}

// adoption is what a [Stream] needs to adopt blocks.
type adoption struct {
	adopting   bool
	held       *asideBlock // less than half full: what comes next decides what becomes of it. The current block is empty
	asideIDs   []string    // of the block in hand
	asideFresh []bool      // which of them are
}

// asideBlock is a block of a stage.
type asideBlock struct {
	word   string // in the name of the stage
	no     uint32
	items  *block.Items
	hashes []uint64 // of the ids
	err    error
	opened chan struct{} // closed when items or err is set
}

// eachAside calls yield with every block of the stages, in order. Blocks are read and opened ahead, on all cores.
func (in *Intake) eachAside(ctx context.Context, p int, stages []Stage, yield func(*asideBlock) error) error {
	ctx, cancel := context.WithCancel(ctx)
	ahead := make(chan *asideBlock, 2*runtime.GOMAXPROCS(0))
	var opening sync.WaitGroup
	defer opening.Wait()
	defer cancel()
	opening.Go(func() {
		defer close(ahead)
		for i := range stages {
			name := weir.BulkID(stages[i].ID)
			_, word, _ := partition.StageOf(name)
			for no := range stages[i].Blocks {
				b := &asideBlock{word: word, no: no, opened: make(chan struct{})}
				select {
				case ahead <- b: // there is room for so many
				case <-ctx.Done():
					return
				}
				opening.Go(func() { in.openAside(ctx, p, name, b) })
			}
		}
	})
	for b := range ahead {
		<-b.opened
		if b.err != nil {
			return b.err
		}
		if err := yield(b); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (in *Intake) openAside(ctx context.Context, p int, name weir.BulkID, b *asideBlock) {
	defer close(b.opened)
	if b.items, b.err = stored.OpenBlock(ctx, in.store, in.codec, p, name, b.no); b.err != nil {
		return
	}
	b.hashes = make([]uint64, b.items.Len())
	for i := range b.hashes {
		b.hashes[i] = filter.HashString(b.items.ID(i))
	}
}

// takeAside makes the items of a block part of the bulk action.
func (w *Stream) takeAside(b *asideBlock) error {
	all, n := w.siftAside(b), b.items.Len()
	if !all && !slices.Contains(w.asideFresh, true) {
		w.Duplicates += int64(n)
		return nil
	}
	at := w.Count
	if w.held != nil {
		at += int64(w.held.items.Len())
	}
	divided := w.CutAfter > at && w.CutAfter < at+int64(n)
	few := n < block.Size/2 && b.items.MemSize() < maxBlockBytes/2
	switch {
	case !all || divided || few && (w.held != nil || w.current.items.Len() > 0):
		return w.again(b, all)
	case few && w.CutAfter != at+int64(n):
		w.held = b
		return nil
	}
	if err := w.placeHeld(); err != nil {
		return err
	}
	return w.place(b)
}

// siftAside compares the ids of a block with those before. It reports whether all are fresh; if not, asideFresh tells
// which ones are.
func (w *Stream) siftAside(b *asideBlock) (all bool) {
	if w.seen == nil {
		return true
	}
	n := b.items.Len()
	w.asideIDs, w.asideFresh = w.asideIDs[:0], append(w.asideFresh[:0], make([]bool, n)...)
	for i := range n {
		w.asideIDs = append(w.asideIDs, b.items.ID(i))
	}
	w.seen.AddAll(w.asideIDs, w.asideFresh)
	return !slices.Contains(w.asideFresh, false)
}

// again writes the items of a block again, with those held: all, or the fresh ones.
func (w *Stream) again(b *asideBlock, all bool) error {
	if h := w.held; h != nil {
		w.held = nil
		if err := w.addAside(h, nil); err != nil {
			return err
		}
	}
	if all {
		return w.addAside(b, nil)
	}
	return w.addAside(b, w.asideFresh)
}

// addAside adds the items of a block that are fresh; nil: all are.
func (w *Stream) addAside(b *asideBlock, fresh []bool) error {
	for i := range b.items.Len() {
		if fresh != nil && !fresh[i] {
			w.Duplicates++
			continue
		}
		if err := w.add(Entry{ID: b.items.ID(i), Data: b.items.Data(i)}); err != nil {
			return err
		}
	}
	return nil
}

// placeHeld makes the block that was held one of the bulk action.
func (w *Stream) placeHeld() error {
	h := w.held
	if w.held = nil; h == nil {
		return nil
	}
	return w.place(h)
}

// place makes a block one of the bulk action, as it is.
func (w *Stream) place(b *asideBlock) error {
	if w.current.items.Len() > 0 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if w.twice.Load() {
		return errTwice
	}
	n := b.items.Len()
	if err := w.reserve(n); err != nil {
		return err
	}
	w.compare(b)
	if w.Digest != nil {
		for i := range n {
			w.note(b.items.ID(i), b.items.Data(i))
		}
	}
	no := w.number(n)
	w.Count += int64(n)
	w.located(b.word, b.no)
	return w.filter(no, b.hashes)
}

// compare takes note of the ids of a block that becomes one of the bulk action as it is.
func (w *Stream) compare(b *asideBlock) {
	if w.repeats == nil {
		return
	}
	ids := w.current.ids[:0] // no items are in it
	for i := range b.items.Len() {
		ids = w.repeats.hashText(ids, b.items.ID(i), w.Count+int64(i))
	}
	w.current.ids = ids[:0]
	if w.repeats.add(ids) {
		w.twice.Store(true)
	}
}

// located notes where the newest block is.
func (w *Stream) located(word string, at uint32) {
	if n := len(w.Places); n > 0 {
		if last := &w.Places[n-1]; last.Stage == word && last.First+last.Blocks == at {
			last.Blocks++
			return
		}
	}
	w.Places = append(w.Places, partition.Place{Stage: word, First: at, Blocks: 1})
}
