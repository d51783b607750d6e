package block

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawSet draws a set of items below size: nothing, all, stretches, single items.
func drawSet(t *rapid.T, size int) Set {
	var s Set
	if size == 0 {
		return s
	}
	item := rapid.IntRange(0, size-1)
	switch rapid.IntRange(0, 4).Draw(t, "shape") {
	case 1:
		s.Fill(size)
	case 2:
		s.Fill(item.Draw(t, "n"))
	case 3:
		for _, i := range rapid.SliceOf(item).Draw(t, "items") {
			s.Add(i)
		}
	case 4:
		s.Fill(size)
		for _, i := range rapid.SliceOf(item).Draw(t, "gaps") {
			s.Remove(i)
		}
	}
	return s
}

// model returns the set as a sorted slice, found one by one.
func model(s *Set) []int {
	var is []int
	for i := range Size {
		if s.Has(i) {
			is = append(is, i)
		}
	}
	return is
}

func TestSetBehavesLikeAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Set
		m := map[int]bool{}
		item := rapid.IntRange(0, Size-1)
		t.Repeat(map[string]func(*rapid.T){
			"add":    func(t *rapid.T) { i := item.Draw(t, "i"); s.Add(i); m[i] = true },
			"remove": func(t *rapid.T) { i := item.Draw(t, "i"); s.Remove(i); delete(m, i) },
			"fill": func(t *rapid.T) {
				n := rapid.IntRange(0, Size).Draw(t, "n")
				s.Fill(n)
				clear(m)
				for i := range n {
					m[i] = true
				}
			},
			"": func(t *rapid.T) {
				want := slices.Sorted(maps.Keys(m))
				if got := slices.Collect(s.All()); !slices.Equal(got, want) {
					t.Fatalf("All() = %v, want %v", got, want)
				}
				if s.Len() != len(m) || s.Empty() != (len(m) == 0) {
					t.Fatalf("Len() = %d, Empty() = %t, want %d items", s.Len(), s.Empty(), len(m))
				}
			},
		})
	})
}

func TestSetAlgebra(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSet(t, Size), drawSet(t, Size)
		or, not := a, a
		or.Or(&b)
		not.AndNot(&b)
		for i := range Size {
			if or.Has(i) != (a.Has(i) || b.Has(i)) {
				t.Fatalf("Or is wrong at item %d", i)
			}
			if not.Has(i) != (a.Has(i) && !b.Has(i)) {
				t.Fatalf("AndNot is wrong at item %d", i)
			}
		}
		if got := a.Equal(&b); got != slices.Equal(model(&a), model(&b)) {
			t.Fatalf("Equal() = %t of %v and %v", got, model(&a), model(&b))
		}
	})
}

func TestTakeRemovesTheLowestItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSet(t, Size)
		want := model(&s)
		n := rapid.IntRange(0, Size+10).Draw(t, "max")
		got := s.Take([]uint16{7}, n)
		if got[0] != 7 || len(got)-1 != min(n, len(want)) {
			t.Fatalf("Take(max %d) of %d items = %v", n, len(want), got)
		}
		for i, g := range got[1:] {
			if int(g) != want[i] {
				t.Fatalf("Take(max %d)[%d] = %d, want %d", n, i, g, want[i])
			}
		}
		if rest := model(&s); !slices.Equal(rest, want[len(got)-1:]) {
			t.Fatalf("left after Take(max %d): %v, want %v", n, rest, want[len(got)-1:])
		}
	})
}

func TestIterationMayStopAndChangeTheSet(t *testing.T) {
	var s Set
	s.Fill(100)
	n := 0
	for i := range s.All() {
		s.Remove(i + 1)
		if n++; n == 10 {
			break
		}
	}
	if n != 10 {
		t.Errorf("went over %d items, want 10", n)
	}
	var each []int
	s.Each(func(i int) { each = append(each, i) })
	if !slices.Equal(each, model(&s)) {
		t.Errorf("Each went over %v, want %v", each, model(&s))
	}
}
