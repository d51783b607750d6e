package weir

import (
	"fmt"
	"slices"
)

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

var bulkNames = [...]string{"running", "paused", "stopped", "cancelling", "completed", "cancelled", "sealed",
	"scheduled", "awaiting_approval"}

// String returns the state's word in API, CLI and reports.
func (s BulkState) String() string { return word(bulkNames[:], s, "BulkState") }

// bulkMoves lists every legal move of a bulk action.
var bulkMoves = [...][]BulkState{
	BulkRunning: {BulkPaused, BulkStopped, BulkAwaiting, BulkCancelling, BulkCompleted, BulkCancelled},
	// completed: its last running task ended it
	BulkPaused:     {BulkRunning, BulkStopped, BulkCancelling, BulkCompleted, BulkCancelled},
	BulkStopped:    {BulkRunning, BulkCancelling, BulkCompleted, BulkCancelled},
	BulkCancelling: {BulkCompleted, BulkCancelled}, // completed: by its deadline, or nothing was left to cancel
	BulkCompleted:  nil,
	BulkCancelled:  nil,
	BulkSealed:     {BulkScheduled, BulkRunning, BulkCancelling, BulkCompleted, BulkCancelled},
	BulkScheduled:  {BulkSealed, BulkRunning, BulkCancelling, BulkCompleted, BulkCancelled},
	BulkAwaiting:   {BulkRunning, BulkCancelling, BulkCompleted, BulkCancelled},
}

// CanMove reports whether a bulk action may go from s to t.
func (s BulkState) CanMove(t BulkState) bool {
	return int(s) < len(bulkMoves) && slices.Contains(bulkMoves[s], t)
}

// Final reports whether a bulk action in s has ended.
func (s BulkState) Final() bool { return int(s) < len(bulkMoves) && len(bulkMoves[s]) == 0 }

// word returns the name of a value, or its number and type if it has none: it may come from a newer version.
func word[T ~uint8](names []string, v T, kind string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("%s(%d)", kind, v)
}
