package experiment

import (
	"math"
	"testing"
)

func TestTheWorstSeedIsKept(t *testing.T) {
	got := overSeeds(seeds(5, 3), func(seed uint64) []Line {
		wave := []float64{2, 3, 1}[seed-5]
		return []Line{{What: "least is best", Got: wave, Want: 9}, {What: "most is best", Got: wave, AtLeast: true}}
	})
	if len(got) != 2 || got[0].Got != 3 || got[1].Got != 1 {
		t.Errorf("worst lines = %v, want 3 and 1", got)
	}
	if want := "least is best, worst of 3"; got[0].What != want {
		t.Errorf("What = %q, want %q", got[0].What, want)
	}
}

func TestTheMedianIsInTheMiddleAndTheMeanOfWhatWasTaken(t *testing.T) {
	got := overSeeds(seeds(5, 3), func(seed uint64) []Line {
		x := []float64{2, 9, 1}[seed-5]
		l := Line{What: "x", Got: x}
		never := Line{What: "not taken", Got: math.NaN()}
		if x == 9 {
			return []Line{l.taken(byMedian), never, {What: "y", Got: math.NaN(), by: byMean}}
		}
		return []Line{l.taken(byMedian), never, {What: "y", Got: x, by: byMean}}
	})
	if len(got) != 2 || got[0].Got != 2 || got[0].What != "x, median of 3" || got[1].Got != 1.5 {
		t.Errorf("lines = %v, want a median of 2 and a mean of 1.5", got)
	}
}

func TestALineThatIsMissedStandsByItsBoundOnly(t *testing.T) {
	for _, tt := range []struct {
		name       string
		line       Line
		ok, stands bool
	}{
		{"within the target", Line{Got: 1, Want: 1}, true, true},
		{"beyond it", Line{Got: 2, Want: 1}, false, false},
		{"beyond it, known, within the bound", Line{Got: 2, Want: 1, Missed: "why", Holds: 3}, false, true},
		{"beyond the bound as well", Line{Got: 4, Want: 1, Missed: "why", Holds: 3}, false, false},
		{"a bound without a reason is none", Line{Got: 2, Want: 1, Holds: 3}, false, false},
		{"below what it is to be at least", Line{Got: 2, Want: 3, AtLeast: true}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.line.OK() != tt.ok || tt.line.Stands() != tt.stands {
				t.Errorf("OK %v, Stands %v; want %v, %v", tt.line.OK(), tt.line.Stands(), tt.ok, tt.stands)
			}
		})
	}
}
