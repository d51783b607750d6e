package trace_test

import (
	"slices"
	"testing"

	"github.com/weirhq/weir/internal/core/trace"
	"pgregory.net/rapid"
)

func TestAtMostAHundredItemsAreTraced(t *testing.T) {
	for items, want := range map[int64]int64{0: 1, 1: 1, 100: 1, 101: 2, 199: 2, 200: 2, 201: 3, 1_000_000: 10_000} {
		if got := trace.Every(items); got != want {
			t.Errorf("Every(%d) = %d, want %d", items, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.Int64Range(1, 1<<40).Draw(t, "items")
		every := trace.Every(items)
		if n := (items + every - 1) / every; n < 1 || n > trace.Most || n < min(items, trace.Most/2) {
			t.Errorf("%d of %d items are traced", n, items)
		}
	})
}

// However the items are cut into tasks, an item is traced in each of its tasks or in none.
func TestATaskIsTracedByItsItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		every := rapid.Int64Range(1, 3000).Draw(t, "every")
		base := rapid.Int64Range(0, 1<<40).Draw(t, "base")
		at := rapid.SliceOfNDistinct(rapid.Uint16Range(0, 1023), 0, 200, rapid.ID).Draw(t, "at")
		slices.Sort(at)
		var want []int
		for i, a := range at {
			if (base+int64(a))%every == 0 {
				want = append(want, i)
			}
		}
		if got := slices.Collect(trace.Items(every, base, at)); !slices.Equal(got, want) {
			t.Errorf("Items(%d, %d, %v) = %v, want %v", every, base, at, got, want)
		}
		if got := trace.Any(every, base, at); got != (len(want) > 0) {
			t.Errorf("Any(%d, %d, %v) = %v", every, base, at, got)
		}
	})
}

func BenchmarkTaskOfALargeBulkAction(b *testing.B) {
	at := make([]uint16, 100)
	for i := range at {
		at[i] = uint16(i + 1)
	}
	every := trace.Every(1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		if trace.Any(every, 0, at) {
			b.Fatal("traced")
		}
	}
}
