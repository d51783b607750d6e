package series

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPartsOfATimeAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New(three, epoch, 10*time.Second, 0)
		from := epoch.Add(time.Duration(rapid.Int64Range(0, 1e11).Draw(t, "from")))
		to := from.Add(time.Duration(rapid.Int64Range(0, 1e11).Draw(t, "took")))
		n := float64(rapid.IntRange(0, 1e9).Draw(t, "counted"))
		rate, sum := n/to.Sub(from).Seconds(), 0.0
		for i, p := range s.Parts(from, to) {
			got := p.Of(n)
			if sum += got; got < 0 {
				t.Fatalf("part %d has %v of %v", i, got, n)
			}
			if to.After(from) && got > 10*rate+1 {
				t.Fatalf("a step of 10s has %v of %v in %v", got, n, to.Sub(from))
			}
		}
		if sum != n {
			t.Fatalf("the parts have %v of %v", sum, n)
		}
	})
}
