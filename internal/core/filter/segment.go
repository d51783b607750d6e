package filter

import (
	"math/bits"
	"slices"

	"github.com/zeebo/xxh3"
)

const (
	// SegmentBlocks is the number of blocks whose ids share their pages. A block's number in its segment is one byte.
	SegmentBlocks = 256
	// MaxPages is the largest number of pages of a segment of full blocks.
	MaxPages = 4
	// pageIDs is about the most ids in a page: a lookup reads all of one.
	pageIDs = 1 << 16
	// jointPageIDs is the same of a joint filter: ten kilobytes.
	jointPageIDs = 1 << 13
)

// Hash returns the hash that the filters use for an id.
func Hash(id []byte) uint64 { return xxh3.Hash(id) }

// HashString is [Hash] of a string.
func HashString(id string) uint64 { return xxh3.HashString(id) }

// Shape describes how the ids of a segment are divided. It follows from their number alone.
type Shape struct {
	Pages   int
	buckets int // of each page
}

// ShapeOf returns the shape of a segment of that many items.
func ShapeOf(items int) Shape { return shapeOf(items, pageIDs) }

// JointShape returns the shape of a segment of bulk actions instead of blocks. Its pages are small: a lookup reads one of
// each of these segments, and seldom finds anything there.
func JointShape(items int) Shape { return shapeOf(items, jointPageIDs) }

func shapeOf(items, pageIDs int) Shape {
	pages := max(1, (items+pageIDs-1)/pageIDs)
	return Shape{pages, max(1, (items+pages-1)/pages)}
}

// place returns the bucket of an id, counted over all pages.
func (s Shape) place(hash uint64) int {
	at, _ := bits.Mul64(hash, uint64(s.Pages*s.buckets))
	return int(at)
}

// PageOf returns the page of a segment that holds an id.
func (s Shape) PageOf(hash uint64) int { return s.place(hash) / s.buckets }

// mark returns the byte of an id: the block's number in the segment in the lower bits, and the
// last bits of the hash in those above.
func mark(hash uint64, block, width int) byte { return byte(block) | byte(hash<<width) }

// Segment collects the ids of up to SegmentBlocks blocks. The zero value is empty.
type Segment struct {
	blocks [SegmentBlocks][]uint64
	items  int
	count  int // of blocks, as far as the last one that has ids
}

// Add takes the hashes of the ids of a block, which it keeps. no is the block's
// number in the bulk action. Blocks may come in any order.
func (s *Segment) Add(no uint32, hashes []uint64) {
	i := int(no % SegmentBlocks)
	s.blocks[i] = hashes
	s.items += len(hashes)
	s.count = max(s.count, i+1)
}

// Each calls yield with every page in order. raw is valid until yield returns.
func (s *Segment) Each(yield func(page int, raw []byte) error) error {
	return s.cut(ShapeOf(s.items), yield)
}

// Joint returns the pages of a segment of bulk actions, see [JointShape].
func (s *Segment) Joint() (pages [][]byte) {
	_ = s.cut(JointShape(s.items), func(_ int, raw []byte) error { // fails as yield does
		pages = append(pages, slices.Clone(raw))
		return nil
	})
	return pages
}

func (s *Segment) cut(shape Shape, yield func(page int, raw []byte) error) error {
	width := bits.Len(uint(max(s.count, 1) - 1))
	ends, marks := s.sort(shape, width)
	var raw []byte
	from := uint32(0)
	for page := range shape.Pages {
		of := ends[page*shape.buckets : (page+1)*shape.buckets]
		to := of[len(of)-1]
		raw = appendPage(raw[:0], width, of, from, marks[from:to])
		if err := yield(page, raw); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// sort puts the marks of all ids in the order of their buckets, and returns the end of each
// bucket. Counting first makes every move the last.
func (s *Segment) sort(shape Shape, width int) (ends []uint32, marks []byte) {
	ends = make([]uint32, shape.Pages*shape.buckets)
	all := uint64(len(ends))
	for _, hashes := range s.blocks[:s.count] {
		for _, h := range hashes {
			at, _ := bits.Mul64(h, all) // place, without a call
			ends[at]++
		}
	}
	at := uint32(0)
	for i, n := range ends { // from here on it is where each bucket begins
		ends[i] = at
		at += n
	}
	marks = make([]byte, s.items)
	for no, hashes := range s.blocks[:s.count] {
		for _, h := range hashes {
			at, _ := bits.Mul64(h, all)
			marks[ends[at]] = mark(h, no, width)
			ends[at]++ // where the next one begins, when all are placed
		}
	}
	return ends, marks
}
