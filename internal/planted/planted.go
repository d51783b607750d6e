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
	CanaryForgotten        // after a takeover all runs, and not the canary alone
	RestBeforeCommit       // what comes after the canary starts before that is durable
	ApprovedTwice          // an approval that is repeated runs the rest again
	HoldForgotten          // after a takeover runs what was held
	StartForgotten         // after a takeover nothing starts at its time
	HeldGivenOut           // a bulk action that is held is given to its shards
	RulesNotStored         // a change of rules is not written
	RulesNotTold           // a change of rules is not told to the shards
	OwnRateIgnored         // a bulk action's own rate holds nothing up
	EventBeforeCommit      // an event is told before it is durable
	EventLost              // after a takeover nobody tells of an event
	NotedForgotten         // an event that was noted stays
	LateTwice              // a deadline that will not be met is told of again and again
	TwoEvents              // a commit tells of a state that it does not show, by the number of the one that it does
	TenantUnlimited        // what a tenant may use holds only for work that is there already
	RiskForgotten          // after a death nothing is marked before it starts
	CrashForgiven          // an item that ran alone when the process died runs again
	TrialInCompany         // the last trial of a suspect is run beside other tasks
	BlameWithoutDeath      // a mark that is found counts as a death, however the owner left
	FilterIgnored          // items are called that a filter has ended
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
	CanaryForgotten:    "canary forgotten",
	RestBeforeCommit:   "rest before commit",
	ApprovedTwice:      "approved twice",
	HoldForgotten:      "hold forgotten",
	StartForgotten:     "start forgotten",
	HeldGivenOut:       "held given out",
	RulesNotStored:     "rules not stored",
	RulesNotTold:       "rules not told",
	OwnRateIgnored:     "own rate ignored",
	EventBeforeCommit:  "event before commit",
	EventLost:          "event lost",
	NotedForgotten:     "noted forgotten",
	LateTwice:          "late twice",
	TwoEvents:          "two events",
	TenantUnlimited:    "tenant unlimited",
	RiskForgotten:      "risk forgotten",
	CrashForgiven:      "crash forgiven",
	TrialInCompany:     "trial in company",
	BlameWithoutDeath:  "blame without death",
	FilterIgnored:      "filter ignored",
}

// String names the bug.
func (b Bug) String() string { return names[b] }
