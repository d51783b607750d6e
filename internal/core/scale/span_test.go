package scale

import (
	"testing"
	"time"
)

func TestSpansAreWrittenShort(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "45s": 45*time.Second + 300*time.Millisecond, "1m": time.Minute, "1m30s": 90 * time.Second, "10m": 10 * time.Minute,
		"2h": 2*time.Hour - 2*time.Second, "1h59m": 119*time.Minute + 4*time.Second, "10h": 10 * time.Hour,
	} {
		if got := span(d); got != want {
			t.Errorf("%v is written %q, want %q", d, got, want)
		}
	}
}
