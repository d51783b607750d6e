package weir

import "slices"

// ItemState says where an item of a bulk action is.
type ItemState uint8

// The states of an item. Done, Failed and Cancelled are final.
const (
	ItemReady     ItemState = iota // may run now
	ItemWaiting                    // has a due time: a retry, or its downstream refused it
	ItemInFlight                   // a task that holds it is running
	ItemDone                       // every step succeeded
	ItemFailed                     // a step failed for good
	ItemCancelled                  // ended unprocessed: by the user, a rule, a deadline, or left out by an action
)

var itemNames = [...]string{"ready", "waiting", "in_flight", "done", "failed", "cancelled"}

// String returns the state's word in API, CLI and reports.
func (s ItemState) String() string { return itemNames[s] }

// itemMoves lists every legal move of an item. Anything else is a bug of ours.
var itemMoves = [...][]ItemState{
	ItemReady:     {ItemInFlight, ItemCancelled},
	ItemInFlight:  {ItemReady, ItemWaiting, ItemDone, ItemFailed, ItemCancelled}, // ready: next step, or its task was lost
	ItemWaiting:   {ItemReady, ItemCancelled},
	ItemDone:      nil,
	ItemFailed:    nil,
	ItemCancelled: nil,
}

// CanMove reports whether an item may go from s to t.
func (s ItemState) CanMove(t ItemState) bool { return slices.Contains(itemMoves[s], t) }

// Final reports whether an item in s has ended.
func (s ItemState) Final() bool { return len(itemMoves[s]) == 0 }

// BulkState says where a bulk action is.
type BulkState uint8

// The states of a bulk action. Completed and Cancelled are final.
const (
	BulkRunning    BulkState = iota // tasks start as limits and fairness allow
	BulkPaused                      // no task starts; running ones finish
	BulkStopped                     // a failure rule fired; can be resumed or cancelled
	BulkCancelling                  // cancelled or past its deadline; running tasks finish
	BulkCompleted                   // every item has ended
	BulkCancelled                   // every item has ended, the rest by a cancel
	BulkSealed                      // complete, and waits to be told to start
	BulkScheduled                   // starts by itself when its time has come
	BulkAwaiting                    // its canary has ended; the rest waits for a decision
)

var bulkNames = [...]string{"running", "paused", "stopped", "cancelling", "completed", "cancelled", "sealed", "scheduled", "awaiting_approval"}

// String returns the state's word in API, CLI and reports.
func (s BulkState) String() string { return bulkNames[s] }

// bulkMoves lists every legal move of a bulk action.
var bulkMoves = [...][]BulkState{
	BulkRunning:    {BulkPaused, BulkStopped, BulkAwaiting, BulkCancelling, BulkCompleted, BulkCancelled},
	BulkPaused:     {BulkRunning, BulkStopped, BulkCancelling, BulkCompleted, BulkCancelled}, // completed: its last running task ended it
	BulkStopped:    {BulkRunning, BulkCancelling, BulkCompleted, BulkCancelled},
	BulkCancelling: {BulkCompleted, BulkCancelled}, // completed: by its deadline, or nothing was left to cancel
	BulkCompleted:  nil,
	BulkCancelled:  nil,
	BulkSealed:     {BulkScheduled, BulkRunning, BulkCancelling, BulkCompleted, BulkCancelled},
	BulkScheduled:  {BulkSealed, BulkRunning, BulkCancelling, BulkCompleted, BulkCancelled},
	BulkAwaiting:   {BulkRunning, BulkCancelling, BulkCompleted, BulkCancelled},
}

// CanMove reports whether a bulk action may go from s to t.
func (s BulkState) CanMove(t BulkState) bool { return slices.Contains(bulkMoves[s], t) }

// Final reports whether a bulk action in s has ended.
func (s BulkState) Final() bool { return len(bulkMoves[s]) == 0 }
