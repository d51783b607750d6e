package experiment

import (
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/core/flow"
)

func TestFlowSeriesIsTheSameEveryTime(t *testing.T) {
	p := FlowProfiles()[3]
	a, b := FlowSeries(p, time.Second, flow.AIMD), FlowSeries(p, time.Second, flow.AIMD)
	if !slices.Equal(a, b) {
		t.Error("two runs of one seed differ")
	}
	if want := int(p.For / flow.Window); len(a) != want {
		t.Errorf("%d points, want one for each window, %d", len(a), want)
	}
	for _, x := range a {
		if x.Rate <= 0 || x.Rate > flowRate || x.Passed > 2*x.Capacity {
			t.Fatalf("point %+v: want a rate of at most %v and no more let through than capacity and bucket", x, flowRate)
		}
	}
}

func TestHiddenBucketLetsThroughItsCapacity(t *testing.T) {
	b := &tokens{profile: Profile{At: func(time.Duration) float64 { return 1000 }}, depth: 100 * time.Millisecond}
	passed := 0
	for at := time.Duration(0); at < 10*time.Second; at += 50 * time.Millisecond {
		n, back := b.take(at, 100)
		passed += n
		if n < 100 && back <= at {
			t.Fatalf("%d of 100 were let through at %v, and the others told to come back at %v", n, at, back)
		}
	}
	if passed < 9800 || passed > 10_100 {
		t.Errorf("%d items were let through in 10 s at 1000/s, want 10,000", passed)
	}
}
