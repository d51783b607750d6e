package block

import (
	"iter"
	"math/bits"
)

// Set is a set of items of one block, by their index from 0 to Size-1. The zero
// value is empty. Sets are values: assigning one copies it.
type Set [Size / 64]uint64

// Add puts item i into the set.
func (s *Set) Add(i int) { s[i/64] |= 1 << (i % 64) }

// Remove takes item i out of the set.
func (s *Set) Remove(i int) { s[i/64] &^= 1 << (i % 64) }

// Has reports whether item i is in the set.
func (s *Set) Has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }

// Len returns the number of items in the set.
func (s *Set) Len() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// Empty reports whether the set has no items.
func (s *Set) Empty() bool { return *s == Set{} }

// Fill makes the set hold items 0 to n-1 and no others.
func (s *Set) Fill(n int) {
	*s = Set{}
	for i := range n / 64 {
		s[i] = ^uint64(0)
	}
	if n%64 != 0 {
		s[n/64] = 1<<(n%64) - 1
	}
}

// Or adds the items of t.
func (s *Set) Or(t *Set) {
	for i := range s {
		s[i] |= t[i]
	}
}

// AndNot removes the items of t.
func (s *Set) AndNot(t *Set) {
	for i := range s {
		s[i] &^= t[i]
	}
}

// Meets reports whether s and t have an item in common.
func (s *Set) Meets(t *Set) bool {
	for i := range s {
		if s[i]&t[i] != 0 {
			return true
		}
	}
	return false
}

// Equal reports whether both sets hold the same items.
func (s *Set) Equal(t *Set) bool { return *s == *t }

// Take removes the lowest items, at most max of them, and appends them to dst
// in ascending order.
func (s *Set) Take(dst []uint16, max int) []uint16 {
	for i := range s {
		for ; s[i] != 0 && max > 0; max-- {
			dst = append(dst, uint16(i*64+bits.TrailingZeros64(s[i])))
			s[i] &= s[i] - 1
		}
	}
	return dst
}

// All returns the items of the set in ascending order. It goes over a copy: the
// set may be changed on the way.
func (s *Set) All() iter.Seq[int] {
	c := *s
	return func(yield func(int) bool) {
		for i, w := range c {
			for ; w != 0; w &= w - 1 {
				if !yield(i*64 + bits.TrailingZeros64(w)) {
					return
				}
			}
		}
	}
}

// Each calls f for the items of the set in ascending order. Unlike All it copies one word at a time.
func (s *Set) Each(f func(i int)) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			f(i*64 + bits.TrailingZeros64(w))
		}
	}
}

// next returns the lowest item from i on that is in the set (in true) or not in
// it (in false), and Size if there is none.
func (s *Set) next(i int, in bool) int {
	for i < Size {
		w := s[i/64]
		if !in {
			w = ^w
		}
		if w >>= i % 64; w != 0 {
			return i + bits.TrailingZeros64(w)
		}
		i = (i/64 + 1) * 64
	}
	return Size
}
