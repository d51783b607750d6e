package main

import (
	"math"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/lab/experiment"
)

func TestFiguresOfALane(t *testing.T) {
	var l lane
	for i, workers := range []int{4, 4, 8, 16, 16, 12, 8, 9} {
		l = append(l, experiment.Point{Second: i + 1, Workers: workers, Done: i})
	}
	if got := l.reversals(); got != 2 {
		t.Errorf("reversals = %d, want 2: growing, shrinking, growing", got)
	}
	if got := l.reaches(1, 16); got != 2 {
		t.Errorf("reaches 16 after %d s, want 2", got)
	}
	if got := l.reaches(0, 17); got != len(l) {
		t.Errorf("reaches 17 after %d s, want %d, never", got, len(l))
	}
	if most, least := l.mostIn(5, 8), l.leastIn(2, 8); most != 12 || least != 8 {
		t.Errorf("most and least = %d, %d, want 12, 8", most, least)
	}
	if got := l.good(2, 4); got != 5 {
		t.Errorf("good = %d, want 5", got)
	}
	if got := l.atLeast(16); got != 0.25 {
		t.Errorf("at least 16 in %v of the time, want 0.25", got)
	}
}

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
	fixed, exact := starts(&fixedWindow{}), starts(&exactWindow{limit.New(allowed)})
	if got := peak(fixed); got != 2*allowed {
		t.Errorf("fixed windows let %d start in a second, want %d", got, 2*allowed)
	}
	if got := peak(exact); got != allowed {
		t.Errorf("the exact window lets %d start in a second, want %d", got, allowed)
	}
}
