package memstore_test

import (
	"testing"
	"time"

	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

func TestQuotasRunByTheClockGiven(t *testing.T) {
	now := int64(0)
	s := memstore.New(memstore.Options{Now: func() int64 { return now }})
	l := store.Limit{Resource: "mail", Units: 100, Window: time.Second}
	hold := func(node string, want int64) {
		t.Helper()
		got, err := s.Hold(t.Context(), l, store.Holding{Node: node}, 2*time.Second)
		if err != nil || got != want {
			t.Fatalf("Hold by %s at %v = %d, %v; want %d", node, time.Duration(now), got, err, want)
		}
	}
	draw := func(units int64, wantAfter time.Duration, wantOK bool) {
		t.Helper()
		after, ok, err := s.Draw(t.Context(), l, units)
		if err != nil || after != wantAfter || ok != wantOK {
			t.Fatalf("Draw at %v = %v, %v, %v; want %v, %v", time.Duration(now), after, ok, err, wantAfter, wantOK)
		}
	}
	if err := s.SetTargets(t.Context(), l, 1, map[string]int64{"a": 60, "b": 100}); err != nil {
		t.Fatal(err)
	}
	hold("a", 60)
	draw(40, 0, true)
	draw(1, 250*time.Millisecond, false)
	now = int64(950 * time.Millisecond)
	draw(40, 60*time.Millisecond, true) // the first leave after a second and the time to use them
	now = int64(3 * time.Second)        // a has been silent for its time and a window, and the permits are gone
	hold("b", 100)
	l.Units = 120 // the limit was raised
	draw(20, 0, true)
}
