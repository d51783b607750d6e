package execute

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Bounds of how long an endpoint may ask to be left alone.
const (
	refusedMin = 100 * time.Millisecond // "Retry-After: 0" must not become a storm
	refusedMax = time.Hour
	retryMax   = 24 * time.Hour // for single items
)

// refusedFor reads from the headers of a 429 or 503 when to come back:
// Retry-After, else RateLimit or RateLimit-Reset. 0 means that the endpoint did not
// say, or not in a way we understand: a time of our own would pass for its word,
// and flow control would call again after it at full force.
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

// parseReset reads the seconds until a quota is whole again. A number too large
// for that is a time of day in disguise and not understood.
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

// ParseWait reads a delay: seconds, a Go duration, or an HTTP date. What is
// past or negative means now; ok is false for anything else.
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
