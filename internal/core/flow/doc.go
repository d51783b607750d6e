// Package flow finds out how much load a downstream takes, and stays within it.
//
// Several controllers work side by side, because a downstream signals overload in several ways:
//
//   - It refuses tasks. A [RateRule] learns from refusals which rate passes;
//     [Estimate] is the default, [AIMD] the alternative. If tasks are refused in
//     spite of a cut, a [Parallel] tests whether fewer concurrent calls help. A
//     [Closure] detects that everything is refused for a time.
//   - It slows down. A [Latency] bounds the tasks in flight, but only after a trial
//     has shown that fewer in flight get as much done.
//   - It fails. A [Breaker] stops calling for a while and comes back with 1, 2, 4
//     and 8 tasks.
//   - It sends Retry-After. [Seen.Block] obeys it.
//
// Each intervention has to prove itself. A cut of the rate should end nearly all refusals. If
// the share of refusals stays the same, the rate is not their cause: the cut is taken back, and
// that share does not justify another cut until it is tested again, a minute later.
//
// Every state carries a [Reason] from a closed set and one sentence with the
// numbers.
//
// The package is pure: times are Unix nanoseconds passed in by the caller, and
// random numbers come from a seed. Rules of the rate are functions whose state goes in
// and comes back; the other types belong to one goroutine at a time.
package flow

import (
	"math"
	"time"
)

// Window is the span over which refusals are counted, by the time of dispatch.
const Window = 250 * time.Millisecond

// Never stands for no time: a result, not the clock, decides when to ask again. It equals
// limit.Never.
const Never = math.MaxInt64

const second = int64(time.Second)

// Reason explains a controller's state. The set is closed: it labels metrics.
type Reason string

// The reasons of a rate.
const (
	Free      Reason = "free"      // nothing is refused: the configured rate is in force
	Cut       Reason = "cut"       // refusals: lowered to the rate that passed
	Holding   Reason = "holding"   // stays near the rate that passed
	Growing   Reason = "growing"   // tries more, as nothing was refused for long
	Restarted Reason = "restarted" // starts low after the breaker closed
)

// The reasons of a bound on the tasks in flight.
const (
	Unbounded Reason = "unbounded" // no reason for a bound
	Comparing Reason = "comparing" // held for a moment as a baseline for fewer
	Trying    Reason = "trying"    // fewer in flight, on trial
	Shrunk    Reason = "shrunk"    // fewer got as much done
	Widening  Reason = "widening"  // run times are good again: more, step by step
)

// The reasons of a breaker.
const (
	Working   Reason = "working"   // calls succeed often enough
	Failing   Reason = "failing"   // too many calls failed
	Probing   Reason = "probing"   // a few tasks test the downstream
	Relapsed  Reason = "relapsed"  // the probe tasks failed
	Recovered Reason = "recovered" // the probe tasks succeeded
	ByHand    Reason = "by-hand"   // an operator decided
)
