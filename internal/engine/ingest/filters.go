package ingest

import (
	"maps"
	"slices"
	"sync"

	"github.com/weirhq/weir/internal/core/filter"
	"github.com/weirhq/weir/internal/engine/stored"
)

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
func (w *Stream) filter(no uint32, hashes []uint64) error {
	if w.aside {
		return nil // items that are not part of a bulk action yet are not looked up
	}
	if s := w.filters.add(no, hashes); s != nil {
		return w.putFilter(no/filter.SegmentBlocks, s)
	}
	return nil
}

// filterRest writes the pages of the segments that are not full, when all blocks are there.
func (w *Stream) filterRest() error {
	for _, no := range slices.Sorted(maps.Keys(w.filters.open)) {
		if err := w.putFilter(no, w.filters.open[no]); err != nil {
			return err
		}
	}
	return nil
}

func (w *Stream) putFilter(no uint32, s *openSegment) error {
	return s.Each(func(page int, raw []byte) error {
		return w.put(stored.FilterBlocks+no*filter.MaxPages+uint32(page), raw)
	})
}
