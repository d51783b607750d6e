// Package planted holds deliberate bugs that prove the tests can fail.
//
// In an ordinary build no bug exists: [Is] is constant false and the compiler
// removes what it guards. Built with the tag "planted", the bug named by
// [Choose] is switched on, and the simulation must find it.
package planted

// Bug names one deliberate mistake.
type Bug int

// The bugs, each at the place where it would be easy to make.
const (
	None                Bug = iota
	NoEpochCheck            // the store takes a commit of a former owner
	OldEpochAccepted        // the store compares epochs only, and takes equal or older ones
	UnknownIsSuccess        // a commit without an answer counts as written
	UnknownIsFailure        // a commit without an answer is forgotten
	CompletionApart         // completion is not in the commit of the last result
	TimeoutForgotten        // the items of a timed-out task are never tried again
	StepBeforeCommit        // the next step starts before the success is durable
	AckBeforeCommit         // inbox messages are acknowledged apart from their effect
	DeathCostsAttempt       // a task lost by a crash counts as an attempt
	AttemptInKey            // the idempotency key has the attempt number in it
	CancelLost              // a cancel is not written, and forgotten by a takeover
	CountedTwice            // a retried item counts twice when it succeeds
	RetryWithoutJitter      // retries are due at once, all together
	RetryLost               // waiting retries are not written
	QuotaIgnored            // the rate limiter lets twice as much through
	OutputOfAnother         // outputs of a reloaded block are handed to the wrong items
	StartWhilePaused        // a pause does not hold tasks back
	numBugs
)

// All lists every bug.
func All() []Bug {
	bugs := make([]Bug, 0, numBugs-1)
	for b := None + 1; b < numBugs; b++ {
		bugs = append(bugs, b)
	}
	return bugs
}
