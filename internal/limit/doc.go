// Package limit decides how much may run now.
//
// A [Limiter] keeps one rate exactly: an exact sliding window says how much may
// start inside any window, and pacing spreads the starts so that the downstream
// sees a stream rather than bursts. A [Pool] shares worker slots and the rate and
// concurrency of resources between the lanes of several partitions. Limits that
// several nodes share run on quotas and permits that come from outside.
//
// The package is pure: times are Unix nanoseconds passed in by the caller, and
// nothing here locks. A Limiter or Pool must not be used by two goroutines at once.
package limit

import "math"

// Never is the time that does not come: asking again is pointless until somebody
// else's call wakes the lane.
const Never = math.MaxInt64
