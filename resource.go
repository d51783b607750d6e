package weir

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Resource is something downstream that must not be overrun: a table, an API.
// Actions that name the same resource share its limits.
type Resource struct {
	// Name is the resource's name. Default: the name of its action.
	Name string
	// Rate is the most items per second. Default: unlimited.
	Rate Rate
	// Concurrency is the most tasks in flight at once. Default: only the engine's slots limit it.
	Concurrency int
	// Pacing decides between an even stream and few calls where a rate is set. Default: [PacingSmooth].
	Pacing Pacing
}

// Pacing decides how many items of a rate a call carries. It never exceeds the batch
// size, and changes nothing where no rate is set.
type Pacing string

const (
	// PacingSmooth sends an even stream: a twentieth of a second's worth of items in a call.
	PacingSmooth Pacing = "smooth"
	// PacingFull sends as few calls as it can: full batches, up to half a second's worth of items in a call.
	PacingFull Pacing = "full"
)

// ParsePacing reads "smooth" or "full".
func ParsePacing(s string) (Pacing, error) {
	if p := Pacing(s); p == PacingSmooth || p == PacingFull {
		return p, nil
	}
	return "", fmt.Errorf("pacing %q is unknown; use smooth for an even stream or full for few calls", s)
}

// Rate is a number of items per second; 0 means unlimited.
type Rate float64

// PerSecond is n items per second.
func PerSecond(n float64) Rate { return Rate(n) }

// PerMinute is n items per minute.
func PerMinute(n float64) Rate { return Rate(n / 60) }

// String writes the rate as people do: "500/s", "20/m", "unlimited". [ParseRate] reads the same rate from it.
func (r Rate) String() string {
	if r == 0 {
		return "unlimited"
	}
	for _, unit := range []struct {
		seconds float64
		name    string
	}{{1, "/s"}, {60, "/m"}, {3600, "/h"}} {
		if n := math.Round(float64(r)*unit.seconds*1000) / 1000; Rate(n/unit.seconds) == r {
			return strconv.FormatFloat(n, 'f', -1, 64) + unit.name
		}
	}
	return strconv.FormatFloat(float64(r), 'f', -1, 64) + "/s"
}

// ParseRate reads "500/s", "30/m" or "1000/h". A number without a unit is refused.
func ParseRate(s string) (Rate, error) {
	num, per, found := strings.Cut(s, "/")
	num = strings.TrimSpace(num)
	n, err := strconv.ParseFloat(num, 64)
	if err != nil || !(n > 0) || n > 1e9 {
		return 0, fmt.Errorf("rate %q: want a number above 0 and at most 1e9, as in 500/s or 30/m", s)
	}
	if !found {
		return 0, fmt.Errorf("rate %q: missing unit; write %s/s or %s/m", s, num, num)
	}
	switch strings.TrimSpace(per) {
	case "s", "sec", "second":
		return Rate(n), nil
	case "m", "min", "minute":
		return Rate(n / 60), nil
	case "h", "hour":
		return Rate(n / 3600), nil
	}
	return 0, fmt.Errorf("rate %q: unknown unit %q; write /s, /m or /h", s, per)
}

// Backoff says when a failed attempt is made again: after Base, doubled for
// each further attempt up to Cap, times a random part between one half and one.
type Backoff struct {
	// MaxAttempts is how often an item is tried at one step. Default 5.
	MaxAttempts int
	// Base is the delay after the first failure. Default 1s.
	Base time.Duration
	// Cap is the longest delay. Default 5m.
	Cap time.Duration
}

// WithDefaults fills in what is zero.
func (b Backoff) WithDefaults() Backoff {
	if b.MaxAttempts == 0 {
		b.MaxAttempts = 5
	}
	if b.Base == 0 {
		b.Base = time.Second
	}
	if b.Cap == 0 {
		b.Cap = max(5*time.Minute, b.Base)
	}
	return b
}
