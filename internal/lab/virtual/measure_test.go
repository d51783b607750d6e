package virtual

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const sec = int64(time.Second)

// The meter forgets as it goes; the slow way keeps everything.
func TestMeterSeesTheFullestSecond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Meter{Window: sec}
		var all []start
		var at, within int64
		for range rapid.IntRange(1, 100).Draw(t, "starts") {
			at += rapid.SampledFrom([]int64{0, 1, sec / 10, sec - 1, sec}).Draw(t, "later")
			cost := rapid.Int64Range(1, 9).Draw(t, "cost")
			all = append(all, start{at, cost})
			within = m.Add(at, cost)
		}
		var most, total, last int64
		for _, end := range all {
			sum := int64(0)
			for _, s := range all {
				if s.at > end.at-sec && s.at <= end.at {
					sum += s.amount
				}
			}
			most, last = max(most, sum), sum
			total += end.amount
		}
		if after := m.Within(at + sec); after != 0 {
			t.Fatalf("%d within the second after the last start, want none", after)
		}
		if m.Most != most || m.Total != total || within != last {
			t.Fatalf("fullest second %d, total %d, last second %d; want %d, %d, %d", m.Most, m.Total, within, most, total, last)
		}
	})
}

func TestJain(t *testing.T) {
	for _, tt := range []struct {
		name string
		xs   []float64
		want float64
	}{
		{"all equal", []float64{3, 3, 3, 3}, 1},
		{"nothing to share", nil, 1},
		{"one has everything", []float64{8, 0, 0, 0}, 0.25},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Jain(tt.xs); math.Abs(got-tt.want) > 1e-12 {
				t.Errorf("Jain(%v) = %v, want %v", tt.xs, got, tt.want)
			}
		})
	}
}

func TestQuantile(t *testing.T) {
	for _, tt := range []struct {
		q    float64
		want int
	}{{0, 1}, {0.5, 3}, {0.99, 4}, {1, 4}} {
		if got := Quantile([]int{4, 2, 1, 3}, tt.q); got != tt.want {
			t.Errorf("Quantile(%v) of 1 to 4 = %d, want %d", tt.q, got, tt.want)
		}
	}
	if got := Quantile[int](nil, 0.5); got != 0 {
		t.Errorf("the middle of nothing = %d, want 0", got)
	}
}
