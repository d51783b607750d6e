package access

import (
	"fmt"
	"hash/maphash"
	"math"
	"net/netip"
	"time"

	"golang.org/x/time/rate"
)

// LimitError means that a caller sent too many requests, or holds too much at once.
type LimitError struct {
	What       string        // as in "requests of this key"
	Limit      int           // how many, per Per or at once
	Per        time.Duration // 0: at once
	RetryAfter time.Duration // when a retry may succeed; at least a second
}

// Error states the limit and when to retry.
func (e *LimitError) Error() string {
	if e.Per == 0 {
		return fmt.Sprintf("too many %s: at most %d at once; try again in %v", e.What, e.Limit, e.RetryAfter)
	}
	return fmt.Sprintf("too many %s: at most %d in %v; try again in %v", e.What, e.Limit, e.Per, e.RetryAfter)
}

// wholeSeconds rounds up, since the header Retry-After has no fractions.
func wholeSeconds(seconds float64) time.Duration {
	return time.Duration(max(1, math.Ceil(seconds))) * time.Second
}

// Failed attempts allowed per address, and how fast they are restored.
const (
	failureSlots = 4096
	failureBurst = 20
	failureRate  = rate.Limit(1) // a second
)

// failures throttles addresses that send invalid keys. Addresses share a fixed number of slots by
// a hash that attackers cannot predict, so no number of addresses makes it grow. A caller that
// shares a slot with an attacker is throttled too, but only with invalid keys: see [roster].
type failures struct {
	seed  maphash.Seed
	slots [failureSlots]*rate.Limiter
}

func newFailures() *failures {
	f := &failures{seed: maphash.MakeSeed()}
	for i := range f.slots {
		f.slots[i] = rate.NewLimiter(failureRate, failureBurst)
	}
	return f
}

// slot returns the slot of an address. One caller may have a whole /64 of IPv6.
func (f *failures) slot(from netip.Addr) *rate.Limiter {
	from = from.Unmap().WithZone("")
	if from.Is6() {
		wide, _ := from.Prefix(64)
		from = wide.Addr()
	}
	return f.slots[maphash.Comparable(f.seed, from)%failureSlots]
}

// check returns a *[LimitError] while an address has no attempt left.
func (f *failures) check(from netip.Addr, now time.Time) error {
	left := f.slot(from).TokensAt(now)
	if left >= 1 {
		return nil
	}
	return &LimitError{
		What: "invalid keys from this address", Limit: failureBurst, Per: failureBurst * time.Second,
		RetryAfter: wholeSeconds((1 - left) / float64(failureRate)),
	}
}

// add counts a failure.
func (f *failures) add(from netip.Addr, now time.Time) { f.slot(from).AllowN(now, 1) }
