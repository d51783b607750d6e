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
	None               Bug = iota
	NoEpochCheck           // the store takes a commit of a former owner
	OldEpochAccepted       // the store compares epochs only, and takes equal or older ones
	UnknownIsSuccess       // a commit without an answer counts as written
	UnknownIsFailure       // a commit that the store has already is made again for ever
	EndedStaysActive       // what is created and ended by one commit stays marked as not ended
	CompletionApart        // completion is not in the commit of the last result
	TimeoutForgotten       // the items of a timed-out task are never tried again
	StepBeforeCommit       // the next step starts before the success is durable
	AckBeforeCommit        // inbox messages are acknowledged apart from their effect
	DeathCostsAttempt      // a task lost by a crash counts as an attempt
	CancelLost             // a cancel is not written, and forgotten by a takeover
	CountedTwice           // a retried item counts twice when it succeeds
	RetryWithoutJitter     // retries are due at once, all together
	RetryLost              // waiting retries are not written
	QuotaIgnored           // the rate limiter lets twice as much through
	OutputOfAnother        // outputs of a reloaded block are handed to the wrong items
	StartWhilePaused       // a pause does not hold tasks back
	HalfLost               // of a task that is halved only the first half is tried again
	RoomUnnoticed          // a step is not told that the one after it has room again
	RetryAfterIgnored      // what the downstream asks for is not waited for
	RetryBeforeCommit      // an attempt starts before the one before it is durable
	TallyAddedUp           // what a shard tells is added to what it told before
	OldTallyCounts         // what a shard told earlier takes the place of what it told later
	RangeGivenTwice        // after a takeover the home gives out a range again
	StaleLeaderObeyed      // a lane obeys a leader who leads no more
	WorkersForgotten       // how many workers a lane has is not written
	WorkersExceeded        // a lane has one task more than workers
	GroupsForgotten        // after a takeover failures are counted by group from nothing
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

// names are the bugs in words, by number.
var names = [...]string{
	None:               "none",
	NoEpochCheck:       "no epoch check",
	OldEpochAccepted:   "old epoch accepted",
	UnknownIsSuccess:   "unknown is success",
	UnknownIsFailure:   "unknown is failure",
	EndedStaysActive:   "ended stays active",
	CompletionApart:    "completion apart",
	TimeoutForgotten:   "timeout forgotten",
	StepBeforeCommit:   "step before commit",
	AckBeforeCommit:    "ack before commit",
	DeathCostsAttempt:  "death costs attempt",
	CancelLost:         "cancel lost",
	CountedTwice:       "counted twice",
	RetryWithoutJitter: "retry without jitter",
	RetryLost:          "retry lost",
	QuotaIgnored:       "quota ignored",
	OutputOfAnother:    "output of another",
	StartWhilePaused:   "start while paused",
	HalfLost:           "half lost",
	RoomUnnoticed:      "room unnoticed",
	RetryAfterIgnored:  "retry after ignored",
	RetryBeforeCommit:  "retry before commit",
	TallyAddedUp:       "tally added up",
	OldTallyCounts:     "old tally counts",
	RangeGivenTwice:    "range given twice",
	StaleLeaderObeyed:  "stale leader obeyed",
	WorkersForgotten:   "workers forgotten",
	WorkersExceeded:    "workers exceeded",
	GroupsForgotten:    "groups forgotten",
}

// String names the bug.
func (b Bug) String() string { return names[b] }
