// Package limit decides how much may run now.
//
// A [Limiter] keeps one rate exactly: a sliding window bounds how much may start inside any
// window, and pacing spreads the starts so that the downstream sees a stream rather than
// bursts. A [Gate] keeps the rate and the concurrency of one resource on one node. Limits that
// several nodes share use quotas and permits that come from outside.
//
// The package is pure: times are Unix nanoseconds passed in by the caller, and
// nothing here locks. A Limiter or Gate must not be used by two goroutines at once.
package limit

import "math"

// Never stands for no time: asking again is pointless until another call has changed the gate.
const Never = math.MaxInt64
