package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/weirhq/weir/internal/core/filter"
	"github.com/weirhq/weir/store"
)

// filterBlocks is where a bulk action keeps what tells in which of its blocks an
// id may be: page p of segment s is block filterBlocks + s*filter.MaxPages + p.
// It lies above the blocks of items and below what a retry carries over.
const filterBlocks = 1 << 30

// filters collects the ids of a submit until a segment of blocks is whole. Blocks
// are written side by side, so that two segments or three may be open at a time.
type filters struct {
	mu   sync.Mutex
	open map[uint32]*openSegment
}

type openSegment struct {
	filter.Segment
	blocks int
}

// add takes the ids of a block, and returns the segment if that was its last block.
func (f *filters) add(no uint32, hashes []uint64) (whole *openSegment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == nil {
		f.open = map[uint32]*openSegment{}
	}
	s := f.open[no/filter.SegmentBlocks]
	if s == nil {
		s = &openSegment{}
		f.open[no/filter.SegmentBlocks] = s
	}
	s.Add(no, hashes)
	if s.blocks++; s.blocks < filter.SegmentBlocks {
		return nil
	}
	delete(f.open, no/filter.SegmentBlocks)
	return s
}

// filter takes note of the ids of a block that was written.
func (w *ingest) filter(no uint32, hashes []uint64) error {
	if w.aside {
		return nil // items that are not part of a bulk action yet are not looked up
	}
	if s := w.filters.add(no, hashes); s != nil {
		return w.putFilter(no/filter.SegmentBlocks, s)
	}
	return nil
}

// filterRest writes the pages of the segments that are not full, when all blocks are there.
func (w *ingest) filterRest() error {
	for _, no := range slices.Sorted(maps.Keys(w.filters.open)) {
		if err := w.putFilter(no, w.filters.open[no]); err != nil {
			return err
		}
	}
	return nil
}

func (w *ingest) putFilter(no uint32, s *openSegment) error {
	return s.Each(func(page int, raw []byte) error {
		return w.put(filterBlocks+no*filter.MaxPages+uint32(page), raw)
	})
}

// mayHold calls yield with every block that may have an id, in order. All may, of
// a bulk action that was accepted by a version without filters.
func (b *BulkAction) mayHold(ctx context.Context, hash uint64, yield func(no uint32) error) error {
	for first := uint32(0); first < b.spec.Blocks(); first += filter.SegmentBlocks {
		blocks, err := b.mayHoldOf(ctx, hash, first)
		if err != nil {
			return err
		}
		for _, i := range blocks {
			if err := yield(first + uint32(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayHoldOf is mayHold for the segment that begins with a block.
func (b *BulkAction) mayHoldOf(ctx context.Context, hash uint64, first uint32) ([]int, error) {
	end := min(first+filter.SegmentBlocks, b.spec.Blocks())
	items := 0
	for no := first; no < end; no++ {
		items += b.spec.BlockSize(no)
	}
	shape := filter.ShapeOf(items)
	no := filterBlocks + first/filter.SegmentBlocks*filter.MaxPages + uint32(shape.PageOf(hash))
	raw, err := b.engine.store.GetBlock(ctx, b.partition, b.id, no)
	if errors.Is(err, store.ErrNotFound) {
		all := make([]int, end-first)
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	page, err := filter.Open(raw)
	if err != nil {
		return nil, err
	}
	blocks := page.Blocks(nil, hash, shape)
	return slices.DeleteFunc(blocks, func(i int) bool { return i >= int(end-first) }), nil
}
