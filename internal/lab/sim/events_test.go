package sim

import (
	"math/rand/v2"
	"testing"
)

func TestEventsComeInOrderOfTimeAndThenOfEntry(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var h events
	var got []int
	last := due{at: -1}
	for i := range 2000 {
		if i%3 < 2 {
			h.push(max(last.at, 0)+r.Int64N(20), func() { got = append(got, i) })
			continue
		}
		e := h.pop()
		if e.at < last.at || e.at == last.at && e.seq < last.seq {
			t.Fatalf("event (%d, %d) came after (%d, %d)", e.at, e.seq, last.at, last.seq)
		}
		last = e
		e.do()
	}
	if len(got)+h.len() != 1334 {
		t.Errorf("%d events came, %d are left, want 1334 together", len(got), h.len())
	}
}

func TestStreamsOfOneSeedAreApart(t *testing.T) {
	seen := map[uint64]string{}
	for _, purpose := range []string{"plan", "users", "faults", "down", "node"} {
		for no := range 3 {
			x := stream(7, purpose, no).Uint64()
			if other := seen[x]; other != "" {
				t.Errorf("streams %s and %s begin alike", purpose, other)
			}
			seen[x] = purpose
			if x != stream(7, purpose, no).Uint64() {
				t.Errorf("stream %s does not repeat", purpose)
			}
		}
	}
}

func TestMeterCountsTheSecondThatEndsNow(t *testing.T) {
	m := &meter{}
	m.limits.Rate = 10
	for _, tt := range []struct {
		at   int64
		cost int
		want int
	}{{0, 4, 4}, {second - 1, 3, 7}, {second, 2, 5}, {2*second - 1, 1, 3}, {5 * second, 1, 1}} {
		if got := m.take(tt.at, tt.cost); got != tt.want {
			t.Errorf("take at %d: %d in the last second, want %d", tt.at, got, tt.want)
		}
	}
}

func TestOutputsTellWhoseTheyAre(t *testing.T) {
	b := &truth{no: 3}
	if n, mine := b.callOf(1, 12, b.output(1, 12, 99)); n != 99 || !mine {
		t.Errorf("callOf its own output = %d, %t", n, mine)
	}
	for _, other := range [][]byte{nil, b.output(0, 12, 99), b.output(1, 1, 299), (&truth{no: 4}).output(1, 12, 99)} {
		if n, mine := b.callOf(1, 12, other); mine {
			t.Errorf("callOf took %s for its own: %d", other, n)
		}
	}
}
