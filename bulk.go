package weir

import (
	"fmt"
	"strings"
	"time"
)

// BulkID identifies a bulk action: "ba_" and 26 characters. It carries the
// partition that holds the bulk action, so that any node finds it.
type BulkID string

// Tier says how urgent a bulk action is beside others.
type Tier uint8

// The tiers. Of two tenants with work in different tiers the higher one gets
// more, in the proportion 6 : 3 : 2 : 1, and none gets nothing.
const (
	TierDefault Tier = iota
	TierCritical
	TierHigh
	TierLow
)

var tierNames = [...]string{"default", "critical", "high", "low"}

// String returns the tier's word.
func (t Tier) String() string { return word(tierNames[:], t, "Tier") }

// Rank returns 0 for the most urgent tier and 3 for the least. An unknown tier ranks as the default one.
func (t Tier) Rank() int {
	switch t {
	case TierCritical:
		return 0
	case TierHigh:
		return 1
	case TierLow:
		return 3
	default:
		return 2
	}
}

// ParseTier reads a tier's word.
func ParseTier(s string) (Tier, error) {
	for i, n := range tierNames {
		if s == n {
			return Tier(i), nil
		}
	}
	return 0, fmt.Errorf("%q is not a tier; write critical, high, default or low", s)
}

// DuplicateRule says what happens when an item id comes twice in one bulk action.
type DuplicateRule uint8

// The rules for duplicate ids.
const (
	RefuseDuplicates DuplicateRule = iota // the submit fails, nothing is accepted
	KeepFirst                             // later ones are counted, and never become items
	KeepAll                               // ids are not compared
)

// StopRule ends a bulk action early when too much fails. The zero value does so
// only if no call of a step has ever succeeded: see KeepTrying. Items that wait
// because all calls of their step fail count as failed.
type StopRule struct {
	// FailureRate stops when more than this part of the ended items failed. 0: never.
	FailureRate float64 `json:"failure_rate,omitempty"`
	// MinItems is how many items must have ended before FailureRate counts. Default 100.
	MinItems int64 `json:"min_items,omitempty"`
	// MaxFailures stops when more items than this failed. 0: never; use -1 to stop at the first failure.
	MaxFailures int64 `json:"max_failures,omitempty"`
	// Cancel ends the rest as cancelled, reason "rule". Default: they stay, and the bulk action can be resumed.
	Cancel bool `json:"cancel,omitempty"`
	// KeepTrying goes on although no call of a step has ever succeeded. Default: the
	// bulk action is stopped after three failed calls or more in 30 seconds; in 5 seconds if the
	// endpoint answers 401, 403, 404, 405, 410 or 415; in 2 minutes if its action has answered other bulk actions.
	KeepTrying bool `json:"keep_trying,omitempty"`
}

// Canary runs a part of the items first, and the rest only after a decision.
type Canary struct {
	// Percent of the items, or Items, whichever is set.
	Percent float64
	Items   int64
	// Auto goes on without a person if the rule below holds. Default: a person approves.
	Auto bool
	// SuccessRate is the part of the canary that has to be done. Default 0.99.
	SuccessRate float64
	// P95 is how long a task may take at any step, in 95 of 100 cases. Default: no bound.
	P95 time.Duration
}

// Spec says how a bulk action runs, and for which tenant. The zero value is ready for use.
type Spec struct {
	// Name is for people. Default: the name of the action or chain.
	Name string
	// Tenant owns the bulk action: fairness is between tenants. Default "default".
	Tenant string
	// Tier is how urgent it is.
	Tier Tier
	// Priority orders bulk actions of one tenant: each point is worth a minute of age. -100 to 100.
	Priority int
	// IdempotencyKey makes a second submit with the same content return the first bulk action.
	IdempotencyKey string
	// Duplicates says what happens when an item id comes twice.
	Duplicates DuplicateRule
	// StopOn ends it early when too much fails.
	StopOn StopRule
	// Deadline ends it with what is done by then. Default: none.
	Deadline time.Time
	// Concurrency is the most tasks of it in flight at once. Default: unlimited.
	Concurrency int
	// RetryOf is the bulk action whose failed items these are.
	RetryOf BulkID
	// Hold accepts it without starting it: it waits for a start.
	Hold bool
	// StartAt starts it by itself at that time. Default: at once, unless Hold is set.
	StartAt time.Time
	// Canary runs a part of it first. Default: none.
	Canary *Canary
	// Rates are the most items per second of this bulk action at a step, by the step's name.
	// They are kept beside the limits of the resources.
	Rates map[string]Rate
}

// Rules are what can be changed of a bulk action while it runs. What is nil stays as it is.
type Rules struct {
	Tier        *Tier           `json:"tier,omitempty"`
	Priority    *int            `json:"priority,omitempty"`
	Concurrency *int            `json:"concurrency,omitempty"` // 0: unlimited
	Rates       map[string]Rate `json:"rates,omitempty"`       // by step; 0 takes a rate away, steps that are not named keep theirs
	StopOn      *StopRule       `json:"stop_on,omitempty"`
}

// Counts says how many items are in which state. They always add up to Total.
type Counts struct {
	Total     int64 `json:"total"`
	Ready     int64 `json:"ready"`
	Waiting   int64 `json:"waiting"`
	InFlight  int64 `json:"in_flight"`
	Done      int64 `json:"done"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
}

// Ended returns how many items have ended.
func (c Counts) Ended() int64 { return c.Done + c.Failed + c.Cancelled }

// Pending returns how many items have not ended.
func (c Counts) Pending() int64 { return c.Total - c.Ended() }

// Outcome returns how a bulk action with these counts has completed: all_done, some_failed if any item
// failed, or some_cancelled if none did and some were cancelled or left out.
func (c Counts) Outcome() string {
	switch {
	case c.Failed > 0:
		return "some_failed"
	case c.Done < c.Total:
		return "some_cancelled"
	}
	return "all_done"
}

// StepCounts says what happened at one step.
type StepCounts struct {
	Done     int64 `json:"done"`
	Failed   int64 `json:"failed"`
	LeftOut  int64 `json:"left_out"`
	Attempts int64 `json:"attempts"` // items sent, each time counted
	Retries  int64 `json:"retries"`  // attempts that ended in a retry, whether it came or not; see Repeats
	Refused  int64 `json:"refused"`  // refused by a downstream that was busy or said that the call is wrong (404); no attempt was counted
	Pending  int64 `json:"pending"`  // reached the step and have not ended there

	Cancelled int64 `json:"cancelled,omitempty"` // reached the step and were there when the bulk action was cancelled
	Skipped   int64 `json:"skipped,omitempty"`   // of those done: they passed the step without a call
	Calls     int64 `json:"calls,omitempty"`     // calls of the action that ended, however they did
	Unclear   int64 `json:"unclear,omitempty"`   // of those pending or cancelled: called without a clear answer, so that the service may have done them
	Called    int64 `json:"called,omitempty"`    // items with at least one attempt
}

// Repeats returns the attempts that followed another one of the same item. A retry that is due, or that a cancel dropped,
// is not among them.
func (c *StepCounts) Repeats() int64 { return c.Attempts - c.Called }

// LastError is why calls of a bulk action failed last, and how many failed for the same reason.
type LastError struct {
	Step    string
	Code    string
	Message string // of the newest of them
	Count   int64  // calls that failed this way since First
	First   time.Time
	Last    time.Time
	Failing bool // no call of the step has succeeded since
}

// String is code and message, and how many calls failed that way.
func (e *LastError) String() string {
	text := e.Message
	if !strings.HasPrefix(text, e.Code) {
		text = strings.TrimSuffix(e.Code+": "+text, ": ")
	}
	calls := "calls"
	if e.Count == 1 {
		calls = "call"
	}
	return fmt.Sprintf("%s (%d %s failed)", text, e.Count, calls)
}

// Progress tells how far a bulk action is. It never goes back.
type Progress struct {
	ID        BulkID
	State     BulkState
	Canary    bool   // while only its canary runs
	Reason    string // why it is paused, stopped or cancelled
	Counts    Counts
	Steps     []StepCounts
	Rate      float64       // items ended per second, lately
	Remaining time.Duration // estimate; 0: unknown
	WaitingOn []string      // why it moves no faster, worst first
	AtRisk    int64         // items that may have been in a call when a node died, besides those that are unclear: a cancel makes them so
	Due       time.Time     // when the last item that waits for its next attempt is due; zero: none waits
	LastError *LastError    // why calls failed last; nil: none did
	Started   time.Time     // zero: it ended before its start
	Finished  time.Time     // zero while it runs
	At        time.Time     // when another node, which runs it, wrote this; zero: it is of now
}

// Estimate sets Remaining to what Rate leaves to do, and to no less than the wait
// for the last attempt that is due.
func (p *Progress) Estimate(now time.Time) {
	if p.Remaining = 0; p.State.Final() || p.Failing() { // while all calls fail it is not known
		return
	}
	if p.Rate > 0 {
		p.Remaining = time.Duration(float64(p.Counts.Total-p.Counts.Ended()) / p.Rate * float64(time.Second))
	}
	if !p.Due.IsZero() {
		p.Remaining = max(p.Remaining, p.Due.Sub(now))
	}
}

// Failing reports whether calls fail, and none of the step has succeeded since.
func (p *Progress) Failing() bool { return p.LastError != nil && p.LastError.Failing }
