package result

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestNumbersComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfDistinct(rapid.Int64Range(0, 300), func(n int64) int64 { return n }).Draw(t, "numbers")
		slices.Sort(list)
		var s numbers
		for _, n := range list {
			s.add(n)
		}
		back, err := unpackNumbers(s.pack())
		if err != nil {
			t.Fatal(err)
		}
		for n := range int64(302) {
			if want := slices.Contains(list, n); back.has(n) != want {
				t.Fatalf("%d is in it: %v, want %v, of %v", n, back.has(n), want, list)
			}
		}
	})
}

func TestNeighboursTakeNextToNothing(t *testing.T) {
	var s numbers
	for n := range int64(500_000) {
		s.add(n + 7)
	}
	if got := len(s.pack()); got > 8 {
		t.Errorf("half a million neighbours take %d bytes, want 8 at most", got)
	}
}

func TestDamagedNumbersAreNoticed(t *testing.T) {
	for _, raw := range [][]byte{{0x80}, {1}, {1, 0x80}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1}} {
		if s, err := unpackNumbers(raw); err == nil {
			t.Errorf("%v was read as %v", raw, s)
		}
	}
}
