// Package flow finds out what a downstream bears, and keeps to it.
//
// Several controllers stand side by side, because a downstream complains in several
// ways. It refuses: a [RateRule] learns from refusals which rate it lets
// through; [Estimate] is the default, [AIMD] the alternative. What is refused in spite of a
// cut has a [Parallel] try whether fewer calls at once explain it, and a [Closure] notices
// that everything is refused for a time. It slows down: a
// [Latency] bounds the tasks in flight, but only after a trial has shown that
// fewer in flight get as much done. It fails: a [Breaker] stops calling for a
// while and comes back with 1, 2, 4 and 8 tasks. What a downstream says itself,
// Retry-After, is obeyed: by [Seen.Block].
//
// Each intervention has to prove itself. A cut of the rate expects that next to
// nothing is refused afterwards; if the share of refusals stays what it was, it is not
// about the rate: the cut is taken back, and that share is no reason for another
// until it is asked about again, a minute later.
//
// Every state carries a [Reason] from a closed set and one sentence with the
// numbers.
//
// The package is pure: times are Unix nanoseconds passed in by the caller, and
// chance comes from a seed. Rules of the rate are functions whose state goes in
// and comes back; the other types belong to one goroutine at a time.
package flow

import (
	"math"
	"time"
)

// Window is the span over which refusals are counted, by the time of dispatch.
const Window = 250 * time.Millisecond

// Never is the time that does not come: a result, not the clock, will tell when
// to ask again. It is the same time as limit.Never.
const Never = math.MaxInt64

const second = int64(time.Second)

// Reason is why a controller does what it does. The set is closed: it labels metrics.
type Reason string

// The reasons of a rate.
const (
	Free      Reason = "free"      // nothing is refused: the configured rate is in force
	Cut       Reason = "cut"       // refusals: lowered to what was let through
	Holding   Reason = "holding"   // stays near what was let through
	Growing   Reason = "growing"   // asks for more, as nothing was refused for long
	Restarted Reason = "restarted" // begins low after the breaker
)

// The reasons of a bound on the tasks in flight.
const (
	Unbounded Reason = "unbounded" // nothing speaks for a bound
	Comparing Reason = "comparing" // held for a moment to be compared with fewer
	Trying    Reason = "trying"    // fewer in flight, on trial
	Shrunk    Reason = "shrunk"    // fewer got as much done
	Widening  Reason = "widening"  // run times are good again: more, step by step
)

// The reasons of a breaker.
const (
	Working   Reason = "working"   // calls succeed often enough
	Failing   Reason = "failing"   // too many calls failed
	Probing   Reason = "probing"   // a few tasks find out whether it is over
	Relapsed  Reason = "relapsed"  // the few tasks failed
	Recovered Reason = "recovered" // the few tasks succeeded
	ByHand    Reason = "by-hand"   // a person decided
)
