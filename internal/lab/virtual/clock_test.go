package virtual

import (
	"slices"
	"testing"
)

func TestEventsComeInOrderOfTimeAndThenOfEntry(t *testing.T) {
	r := Chance(1, 2)
	c := NewClock(100)
	type come struct {
		at    int64
		entry int
	}
	var set, got []come
	for i := range 2000 {
		if i%3 == 2 {
			c.Step()
			continue
		}
		at := c.Now() + r.Int64N(20)
		set = append(set, come{at, i})
		c.At(at, func() {
			if c.Now() != at {
				t.Fatalf("event %d came at %d, want %d", i, c.Now(), at)
			}
			got = append(got, come{at, i})
		})
	}
	c.Run(Never - 1)
	slices.SortFunc(set, func(a, b come) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.entry - b.entry
	})
	if !slices.Equal(got, set) {
		t.Errorf("%d events came in another order than that of time and entry, of %d", len(got), len(set))
	}
}

func TestRunStopsAtItsTime(t *testing.T) {
	c := &Clock{}
	var got []int64
	note := func() { got = append(got, c.Now()) }
	c.After(5, note)
	c.At(7, func() { c.After(0, note) })
	c.At(8, note)
	c.Run(7)
	if !slices.Equal(got, []int64{5, 7}) || c.Now() != 7 || c.Next() != 8 {
		t.Errorf("until 7 events came at %v, it is %d and the next is at %d; want 5 and 7, 7, and 8", got, c.Now(), c.Next())
	}
	c.Run(20)
	if c.Now() != 20 || c.Next() != Never {
		t.Errorf("it is %d and the next event at %d, want 20 and never", c.Now(), c.Next())
	}
}

func TestWhatIsDueComesLateAndTimeDoesNotGoBack(t *testing.T) {
	c := NewClock(10)
	came := int64(0)
	c.At(3, func() { came = c.Now() })
	c.At(12, func() { came = c.Now() })
	c.Advance(15)
	c.Advance(11)
	c.At(16, func() { t.Error("an event came before its time") })
	c.Due()
	if came != 15 || c.Now() != 15 {
		t.Errorf("the last event came at %d and it is %d, want 15", came, c.Now())
	}
}

func TestAWorldTakesItsTurnAfterWhatIsDue(t *testing.T) {
	c := NewClock(1)
	var got []int64
	wake := int64(4)
	next := func() int64 { return min(c.Next(), wake) }
	turn := func() bool {
		if got = append(got, c.Now()); c.Now() == wake {
			wake += 4
		}
		return false
	}
	c.At(6, func() { got = append(got, -6) })
	if c.Play(9, next, turn); !slices.Equal(got, []int64{1, 4, -6, 6, 8}) || c.Now() != 8 {
		t.Errorf("turns until 9 at %v, and it is %d; want 1, 4, 6 after its event, and 8", got, c.Now())
	}
	if !c.Play(Never, next, func() bool { return c.Now() == 12 || turn() }) || c.Now() != 12 {
		t.Errorf("it is %d, want 12: that turn was the last", c.Now())
	}
	if wake = Never; c.Play(Never, next, turn) {
		t.Error("with nothing left to happen it says that a turn ended it")
	}
}

func TestStreamsOfOneSeedAreApart(t *testing.T) {
	seen := map[uint64]string{}
	for _, purpose := range []string{"plan", "users", "faults", "down", "node"} {
		for no := range 3 {
			x := Named(7, purpose, no).Uint64()
			if other := seen[x]; other != "" {
				t.Errorf("streams %s and %s begin alike", purpose, other)
			}
			seen[x] = purpose
			if x != Named(7, purpose, no).Uint64() {
				t.Errorf("stream %s does not repeat", purpose)
			}
		}
	}
}
