package heap

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type number int

func (n number) Before(m number) bool { return n < m }

func TestValuesComeOutInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			h     Heap[number]
			model []number
		)
		for _, v := range rapid.SliceOf(rapid.IntRange(-20, 20)).Draw(t, "numbers, negative to pop") {
			if v >= 0 {
				h.Push(number(v))
				model = append(model, number(v))
				slices.Sort(model)
			} else if len(model) > 0 {
				if got := h.Pop(); got != model[0] {
					t.Fatalf("Pop() = %d, want %d", got, model[0])
				}
				model = model[1:]
			}
			if len(h) != len(model) || len(h) > 0 && h[0] != model[0] {
				t.Fatalf("heap %v, want the first of %v", h, model)
			}
		}
	})
}
