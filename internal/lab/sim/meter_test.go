package sim

import (
	"testing"

	"github.com/weirhq/weir/internal/lab/virtual"
)

func TestMeterCountsTheSecondThatEndsNow(t *testing.T) {
	m := &meter{starts: virtual.Meter{Window: second}}
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
