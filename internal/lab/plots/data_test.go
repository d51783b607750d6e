package main

import (
	"math"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/lab/experiment"
)

func TestGuestsShareByWeightAndLeaveTheRestToOthers(t *testing.T) {
	got := experiment.ShareSeries(1000, 30, []experiment.Guest{{Name: "A", Weight: 3, Tier: 2, To: 30}, {Name: "B", Weight: 1, Tier: 2, To: 20}})
	for _, tt := range []struct {
		name     string
		guest    int
		from, to int
		want     float64
	}{
		{"three quarters beside one of a third of the weight", 0, 0, 20, 750},
		{"one quarter", 1, 0, 20, 250},
		{"everything once alone", 0, 21, 30, 1000},
		{"nothing after it left", 1, 21, 30, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if mean := mean(got[tt.guest][tt.from:tt.to]); math.Abs(mean-tt.want) > 15 {
				t.Errorf("%.0f items/s, want %.0f", mean, tt.want)
			}
		})
	}
}

func TestTheShareOfSecondsWithSoManyWorkers(t *testing.T) {
	l := experiment.Lane{{Workers: 4}, {Workers: 16}, {Workers: 8}, {Workers: 4}}
	if got := atLeast(l, 16); got != 0.25 {
		t.Errorf("at least 16 in %v of the time, want 0.25", got)
	}
	if got := most(l); got != 16 {
		t.Errorf("most = %d, want 16", got)
	}
}

func TestAnySecondIsCounted(t *testing.T) {
	counts := make([]int, 3*int(time.Second/tick))
	counts[900], counts[1100], counts[1899], counts[1900] = 5, 7, 1, 2
	if got := peak(counts); got != 13 {
		t.Errorf("peak = %d, want 13: the starts at 0.9, 1.1 and 1.899 s, but not that at 1.9 s", got)
	}
	if got := sliding(counts)[1900]; got != 10 {
		t.Errorf("in the second to 1.9 s = %d, want 10", got)
	}
}

func TestFixedWindowsDoubleAtTheEdge(t *testing.T) {
	fixed, exact := starts(fixedWindow()), starts(exactWindow())
	if got := peak(fixed); got != 2*allowed {
		t.Errorf("fixed windows let %d start in a second, want %d", got, 2*allowed)
	}
	if got := peak(exact); got != allowed {
		t.Errorf("the exact window lets %d start in a second, want %d", got, allowed)
	}
}
