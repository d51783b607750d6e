// Package heap is a binary heap of values that order themselves. The standard
// library's boxes every value it takes and gives; this one does not.
//
// The package is pure.
package heap

// Ordered is a value that knows whether it comes before another.
type Ordered[T any] interface{ Before(T) bool }

// Heap holds values with the first at index 0. The zero value is empty.
type Heap[T Ordered[T]] []T

// Push adds a value.
func (h *Heap[T]) Push(v T) {
	s := append(*h, v)
	*h = s
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if !s[i].Before(s[up]) {
			return
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

// Pop removes and returns the first value. The heap must not be empty.
func (h *Heap[T]) Pop() T {
	s, last := *h, len(*h)-1
	top := s[0]
	s[0] = s[last]
	clear(s[last:])
	s = s[:last]
	*h = s
	for i, c := 0, 1; c < last; c = 2*i + 1 {
		if c+1 < last && s[c+1].Before(s[c]) {
			c++
		}
		if !s[c].Before(s[i]) {
			break
		}
		s[i], s[c] = s[c], s[i]
		i = c
	}
	return top
}
