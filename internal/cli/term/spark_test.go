package term

import (
	"math"
	"testing"
)

func TestSparkShowsTheHighestOfWhatSharesACharacter(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []float64
		wide   int
		want   string
	}{
		{"a rise", []float64{0, 1, 2, 3, 4, 5, 6, 7}, 8, " ▂▃▄▅▆▇█"},
		{"a peak among many", []float64{0, 0, 8, 0, 0, 0}, 3, " █ "},
		{"little is not nothing", []float64{0, 0.01, 8}, 3, " ▁█"},
		{"fewer values than room", []float64{8, 8}, 60, "██"},
		{"nothing at all", nil, 60, ""},
		{"unknown is not nothing", []float64{math.NaN(), 8, math.NaN(), 0}, 4, "·█· "},
		{"unknown beside a value", []float64{math.NaN(), 8}, 1, "█"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			top := 8.0
			if tt.name == "a rise" {
				top = 7
			}
			if got := Spark(tt.values, tt.wide, top); got != tt.want {
				t.Errorf("Spark(%v) = %q, want %q", tt.values, got, tt.want)
			}
		})
	}
}
