package series

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	epoch = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	three = []Measure{{Name: "done", Quiet: true}, {Name: "in_flight", Rule: Level, Quiet: true}, {Name: "oldest", Rule: Peak}}
)

// drawn returns a series with gaps: steps in which nothing was measured.
func drawn(t *rapid.T, label string) *Series {
	n := rapid.IntRange(0, 60).Draw(t, label+" steps")
	first := rapid.IntRange(0, 90).Draw(t, label+" first")
	s := New(three, epoch.Add(time.Duration(first)*10*time.Second), 10*time.Second, n)
	for i := range n {
		if rapid.Bool().Draw(t, "known") {
			for c := range s.Columns {
				s.Columns[c][i] = float64(rapid.IntRange(0, 1000).Draw(t, "value"))
			}
		}
	}
	return s
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func equal(a, b *Series) bool {
	return a.Start.Equal(b.Start) && a.Step == b.Step &&
		slices.EqualFunc(a.Columns, b.Columns, func(x, y []float64) bool { return slices.EqualFunc(x, y, same) })
}

func TestCoarserStepsKeepSumsPeaksAndGaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawn(t, "s")
		c := s.Coarser(5 * time.Minute)
		if s.Sum(0) != c.Sum(0) {
			t.Fatalf("the sum of counts is %v, was %v", c.Sum(0), s.Sum(0))
		}
		for i := range c.Len() {
			if c.At(i) != c.At(i).Truncate(5*time.Minute) {
				t.Fatalf("step %d begins at %v", i, c.At(i))
			}
			known, most, mean, n := false, 0.0, 0.0, 0.0
			for j := range s.Len() {
				if c.Index(s.At(j)) == i && s.Known(j) {
					known, most, mean, n = true, max(most, s.Columns[2][j]), mean+s.Columns[1][j], n+1
				}
			}
			if known != c.Known(i) {
				t.Fatalf("step %d is known: %v, want %v", i, c.Known(i), known)
			}
			if known && (c.Columns[2][i] != most || math.Abs(c.Columns[1][i]-mean/n) > 1e-9) {
				t.Fatalf("step %d has peak %v and level %v, want %v and %v", i, c.Columns[2][i], c.Columns[1][i], most, mean/n)
			}
		}
	})
}

func TestMergingIsCommutativeAndAddsCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawn(t, "a"), drawn(t, "b")
		ab, ba := New(three, epoch, 10*time.Second, 200), New(three, epoch, 10*time.Second, 200)
		ab.Merge(a)
		ab.Merge(b)
		ba.Merge(b)
		ba.Merge(a)
		if !equal(ab, ba) {
			t.Fatalf("a then b: %v, b then a: %v", ab.Columns, ba.Columns)
		}
		if got, want := ab.Sum(0), a.Sum(0)+b.Sum(0); got != want {
			t.Fatalf("sum %v, want %v", got, want)
		}
		for i := range ab.Len() {
			in := func(s *Series) bool { j := s.Index(ab.At(i)); return j >= 0 && j < s.Len() && s.Known(j) }
			if ab.Known(i) != (in(a) || in(b)) {
				t.Fatalf("step %d is known: %v, of a: %v, of b: %v", i, ab.Known(i), in(a), in(b))
			}
		}
	})
}

func TestMergingLeavesOutWhatIsOutside(t *testing.T) {
	s := New(three, epoch, 10*time.Second, 3)
	o := New(three, epoch.Add(-20*time.Second), 10*time.Second, 9)
	for i := range o.Len() {
		o.Add(i, []float64{1, 1, 1})
	}
	s.Merge(o)
	if s.Sum(0) != 3 {
		t.Errorf("sum %v, want 3", s.Sum(0))
	}
}

func TestWhatANodeDoesNotNameIsQuietWhileItMeasures(t *testing.T) {
	all := New(three, epoch, 10*time.Second, 3)
	all.Add(0, []float64{5, 2, 1})
	all.Add(2, []float64{5, 2, 1})
	r := New(three, epoch, 10*time.Second, 3)
	r.Add(2, []float64{5, 2, 1})
	r.Quiet(all)
	if r.Columns[0][0] != 0 || r.Columns[1][0] != 0 || Known(r.Columns[2][0]) || r.Known(1) || r.Columns[0][2] != 5 {
		t.Errorf("columns %v", r.Columns)
	}
}

func TestAStoredSeriesIsReadAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawn(t, "s")
		got, err := Decode(three, s.Encode())
		if err != nil || !equal(got, s) {
			t.Fatalf("decoded %v (%v), want %v", got, err, s)
		}
		older, err := Decode(append(three, Measure{Name: "later"}), s.Encode())
		if err != nil || len(older.Columns) != 4 || older.Len() != s.Len() || older.Sum(3) != 0 {
			t.Fatalf("with a new measure: %+v, %v", older, err)
		}
		if newer, err := Decode(three[:2], s.Encode()); err != nil || newer.Sum(0) != s.Sum(0) {
			t.Fatalf("with a measure less: %+v, %v", newer, err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add(New(three, epoch, 10*time.Second, 30).Encode())
	f.Add([]byte{1, 0, 1, 0xff, 0xff, 3, 3, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Decode(three, b)
		if err != nil {
			return
		}
		if again, err := Decode(three, s.Encode()); err != nil || !equal(again, s) {
			t.Errorf("%x is read as %v, and written and read again as %v, %v", b, s, again, err)
		}
	})
}
