package retry

import (
	"math"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"pgregory.net/rapid"
)

func TestDelay(t *testing.T) {
	b := weir.Backoff{MaxAttempts: 20, Base: time.Second, Cap: 10 * time.Second}
	for _, tt := range []struct {
		name    string
		b       weir.Backoff
		attempt int
		u       float64
		want    time.Duration
	}{
		{"the first failure waits half of base at least", b, 1, 0, 500 * time.Millisecond},
		{"the middle of the range is three quarters", b, 1, 0.5, 750 * time.Millisecond},
		{"each further failure doubles", b, 3, 0, 2 * time.Second},
		{"cap ends the doubling", b, 5, 0, 5 * time.Second},
		{"a thousand attempts do not overflow", b, 1000, 0, 5 * time.Second},
		{"a cap that is not base times a power of two", weir.Backoff{Base: 3 * time.Second, Cap: 7 * time.Second}, 9, 0, 3500 * time.Millisecond},
		{"a cap below base holds", weir.Backoff{Base: 3 * time.Second, Cap: time.Second}, 1, 0, 500 * time.Millisecond},
		{"the longest cap does not overflow", weir.Backoff{Base: 1, Cap: math.MaxInt64}, 100, 0, 1 << 62},
		{"the defaults are 1s and 5m", weir.Backoff{}, 20, 0, 150 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Delay(tt.b, tt.attempt, tt.u); got != tt.want {
				t.Errorf("Delay(%+v, %d, %v) = %v, want %v", tt.b, tt.attempt, tt.u, got, tt.want)
			}
		})
	}
}

// drawBackoff draws a backoff with its failed attempt and a random number.
func drawBackoff(t *rapid.T) (b weir.Backoff, attempt int, u float64) {
	b.Base = time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "base"))
	b.Cap = b.Base + time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "cap above base"))
	b.MaxAttempts = rapid.IntRange(1, 30).Draw(t, "max attempts")
	return b, rapid.IntRange(1, 40).Draw(t, "attempt"), rapid.Float64Range(0, math.Nextafter(1, 0)).Draw(t, "u")
}

func TestJitterStaysBetweenHalfAndWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, attempt, u := drawBackoff(t)
		whole := min(float64(b.Base)*math.Pow(2, float64(attempt-1)), float64(b.Cap))
		got := float64(Delay(b, attempt, u))
		if got < whole/2-1 || got > whole+1 {
			t.Fatalf("Delay = %v, want from %v to %v", got, whole/2, whole)
		}
		if later := Delay(b, attempt+1, u); float64(later) < got {
			t.Fatalf("delay after attempt %d is %v, shorter than %v before", attempt+1, later, got)
		}
	})
}
