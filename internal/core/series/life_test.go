package series

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// seen is a sample at a number of seconds after the epoch. A since before 0 means that something may have been missed.
func seen(since, at int, total, flying float64) Sample {
	s := Sample{At: epoch.Add(time.Duration(at) * time.Second), Values: []float64{total, flying, Unknown()}}
	if since >= 0 {
		s.Since = epoch.Add(time.Duration(since) * time.Second)
		s.From = s.Since
	}
	return s
}

func TestALifeHasABoundedNumberOfPointsAndKeepsItsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(2, 40).Draw(t, "most")
		l := NewLife(three, epoch, 10*time.Second, most)
		at, total := 0, 0.0
		for range rapid.IntRange(1, 200).Draw(t, "samples") {
			from := at
			if rapid.Bool().Draw(t, "missed") {
				from = -1
			}
			at += rapid.IntRange(1, 500).Draw(t, "seconds")
			total += float64(rapid.IntRange(0, 5).Draw(t, "counted"))
			l.Add(seen(from, at, total, 3))
			if l.Len() > most {
				t.Fatalf("%d points, at most %d", l.Len(), most)
			}
			if l.Sum(0) != total {
				t.Fatalf("the counts add up to %v, want %v", l.Sum(0), total)
			}
			if end := l.At(l.Len()); end.Before(epoch.Add(time.Duration(at) * time.Second)) {
				t.Fatalf("it ends at %v, before its last sample", end)
			}
		}
	})
}

// wantPoints compares counts and levels of all steps; -1: unknown.
func wantPoints(t *testing.T, l *Life, want [][2]float64) {
	t.Helper()
	if l.Len() != len(want) {
		t.Fatalf("%d points, want %d: %v", l.Len(), len(want), l.Columns)
	}
	for i, w := range want {
		for c := range w {
			if v := l.Columns[c][i]; Known(v) != (w[c] >= 0) || Known(v) && v != w[c] {
				t.Errorf("step %d, %s: %v, want %v (-1: unknown)", i, three[c].Name, v, w[c])
			}
		}
	}
}

func TestWhatWasMissedIsDividedOverItsTime(t *testing.T) {
	l := NewLife(three, epoch, 10*time.Second, 500)
	l.Add(seen(0, 10, 5, 2))
	still := seen(10, 40, 9, 1) // nothing was missed: it stood still until the last step
	still.From = epoch.Add(30 * time.Second)
	l.Add(still)
	l.Add(seen(-1, 80, 21, 4)) // the node was away from 40 on, and found more when it came back
	l.Add(seen(-1, 110, 21, 0))
	wantPoints(t, l, [][2]float64{{5, 2}, {0, 2}, {0, 2}, {4, 1}, {3, -1}, {3, -1}, {3, -1}, {3, 4}, {0, -1}, {0, -1}, {0, 0}})
}

// A bulk action does not begin where samples are made: each has parts of two steps.
func TestASampleIsDividedOverTheStepsThatItLiesIn(t *testing.T) {
	l := NewLife(three, epoch, 10*time.Second, 500)
	for _, at := range []int{7, 17, 24} { // 60 a second
		l.Add(seen(max(at-10, 0), at, float64(60*at), 3))
	}
	wantPoints(t, l, [][2]float64{{600, 3}, {600, 3}, {240, 3}})
	if !l.Until.Equal(epoch.Add(24 * time.Second)) {
		t.Errorf("it is known until %v", l.Until)
	}
}

func TestASampleThatComesLateAddsNothingTwice(t *testing.T) {
	l := NewLife(three, epoch, 10*time.Second, 500)
	l.Add(seen(-1, 10, 5, 2))
	l.Add(seen(-1, 30, 9, 2))
	l.Add(seen(-1, 20, 7, 2)) // of a former owner
	if l.Sum(0) != 9 || l.Len() != 3 {
		t.Errorf("sum %v in %d points", l.Sum(0), l.Len())
	}
}

func TestJoinedSamplesTellWhatBothTold(t *testing.T) {
	two, one := NewLife(three, epoch, 10*time.Second, 500), NewLife(three, epoch, 10*time.Second, 500)
	a, b := seen(0, 10, 5, 2), seen(10, 20, 9, 1)
	two.Add(a)
	two.Add(b)
	one.Add(Join(a, b))
	if one.Sum(0) != two.Sum(0) || one.Len() != two.Len() {
		t.Errorf("joined: %v, apart: %v", one.Columns, two.Columns)
	}
	if j := Join(a, seen(-1, 90, 9, 1)); !j.Since.IsZero() {
		t.Errorf("a gap is bridged: %+v", j)
	}
}
