package callback

import "time"

// delays are the delays between attempts: about 32 hours in all.
var delays = [...]time.Duration{
	5 * time.Second, 30 * time.Second,
	2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 16 * time.Hour,
}

// maxAttempts is the number of attempts after which a delivery has failed.
const maxAttempts = len(delays) + 1

// maxAsked bounds the delay that an endpoint may ask for.
const maxAsked = time.Hour

// rest returns the delay after the given failed attempt, counted from 1: the schedule's delay,
// changed by up to a tenth by u, a random number in [0,1), but not shorter than the endpoint asked
// for. It returns false after the last attempt.
func rest(attempt int, asked time.Duration, u float64) (time.Duration, bool) {
	if attempt < 1 || attempt >= maxAttempts {
		return 0, false
	}
	planned := time.Duration(float64(delays[attempt-1]) * (0.9 + u/5))
	return max(planned, min(asked, maxAsked)), true
}
