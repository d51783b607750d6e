package execute

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Bounds on how long an endpoint may ask callers to wait.
const (
	refusedMin = 100 * time.Millisecond // "Retry-After: 0" must not cause a flood of calls
	refusedMax = time.Hour
	retryMax   = 24 * time.Hour // for single items
)

// refusedFor returns the wait from the headers of a 429 or 503: Retry-After, else RateLimit or
// RateLimit-Reset. 0 means that the endpoint gave no time, or none that we understand. A
// default of our own would look like the endpoint's word, and flow control would resume at full
// rate after it.
func refusedFor(h http.Header, now time.Time) time.Duration {
	wait, ok := ParseWait(h.Get("Retry-After"), now)
	if !ok {
		wait, ok = parseReset(h)
	}
	if !ok {
		return 0
	}
	return min(max(wait, refusedMin), refusedMax)
}

// parseReset reads the seconds until a quota is restored. A very large number is a timestamp
// and not understood.
func parseReset(h http.Header) (time.Duration, bool) {
	for _, part := range strings.FieldsFunc(h.Get("RateLimit"), func(r rune) bool { return r == ';' || r == ',' }) {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if name == "t" || name == "reset" {
			wait, ok := seconds(value)
			return wait, ok && wait <= refusedMax
		}
	}
	wait, ok := seconds(h.Get("RateLimit-Reset"))
	return wait, ok && wait <= refusedMax
}

// ParseWait parses a delay: seconds, a Go duration, or an HTTP date. A past or negative one
// means now; ok is false for anything else.
func ParseWait(s string, now time.Time) (wait time.Duration, ok bool) {
	s = strings.TrimSpace(s)
	if wait, ok := seconds(s); ok {
		return wait, true
	}
	if d, err := time.ParseDuration(s); err == nil {
		return max(d, 0), true
	}
	if at, err := http.ParseTime(s); err == nil {
		return max(at.Sub(now), 0), true
	}
	return 0, false
}

func seconds(s string) (time.Duration, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, false
	}
	return time.Duration(min(max(f, 0), 1e9) * float64(time.Second)), true
}
