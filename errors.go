package weir

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Errors to branch on with [errors.Is].
var (
	// ErrNotFound means that no bulk action has that id.
	ErrNotFound = errors.New("not found")
	// ErrConflict means that an idempotency key was used before with another request.
	ErrConflict = errors.New("idempotency key was used with another request")
	// ErrEnded means that the bulk action has ended and can no longer be changed.
	ErrEnded = errors.New("bulk action has ended")
	// ErrRunning means that the bulk action must have ended first.
	ErrRunning = errors.New("bulk action has not ended")
	// ErrExpired means that the bulk action ended long ago and was removed; see [ExpiredError].
	ErrExpired = errors.New("bulk action was removed")
	// ErrClosed means that the engine is stopping or stopped.
	ErrClosed = errors.New("engine is closed")
)

// FieldError is bad input: which field, what is wrong, and what to write instead.
type FieldError struct {
	Code    string // machine-readable, as in "unknown_action"
	Field   string // as in "steps[0].action"
	Problem string // as in `"awrad" is not a registered action`
	Fix     string // as in `did you mean "award"?`
}

// Error names field, problem and fix in one line.
func (e *FieldError) Error() string {
	s := strings.TrimPrefix(e.Field+": "+e.Problem, ": ") // some are about no field
	if e.Fix != "" {
		s += "; " + e.Fix
	}
	return s
}

// InputError lists everything that is wrong with a request; nothing of it was accepted.
type InputError struct{ Fields []*FieldError }

// Error joins the field errors, one a line.
func (e *InputError) Error() string {
	lines := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Add notes one more fault.
func (e *InputError) Add(code, field, problem, fix string) {
	e.Fields = append(e.Fields, &FieldError{code, field, problem, fix})
}

// OrNil is e as an error, or nil when nothing was added.
func (e *InputError) OrNil() error {
	if len(e.Fields) == 0 {
		return nil
	}
	return e
}

// BacklogError means that the engine holds as much as it may; nothing was accepted.
type BacklogError struct {
	Pending    int64         // items accepted and not ended
	Limit      int64         // the most that may be pending
	RetryAfter time.Duration // when asking again is worth it, by the present speed
	Tenant     string        // whose bound it is; empty: the engine's
}

// Error says how full the backlog is and when to come back.
func (e *BacklogError) Error() string {
	if e.Tenant != "" {
		return fmt.Sprintf("no room for the items of tenant %q now: %d of at most %d items are pending; try again in %v",
			e.Tenant, e.Pending, e.Limit, e.RetryAfter)
	}
	return fmt.Sprintf("backlog is full: %d of at most %d items are pending; try again in %v",
		e.Pending, e.Limit, e.RetryAfter)
}

// ExpiredError tells when a bulk action that was kept for its time was removed. It matches [ErrExpired].
type ExpiredError struct {
	ID      BulkID
	Ended   time.Time
	Removed time.Time
}

// Error names both dates.
func (e *ExpiredError) Error() string {
	return fmt.Sprintf("bulk action %s ended on %s and was removed on %s, at the end of its retention",
		e.ID, e.Ended.Format(time.DateOnly), e.Removed.Format(time.DateOnly))
}

// Is makes errors.Is(err, ErrExpired) true.
func (e *ExpiredError) Is(target error) bool { return target == ErrExpired }

// DuplicateError means that an item id came twice where that is refused.
type DuplicateError struct {
	ID    string
	Item  int64 // the second one's position in the input, counted from 1
	First int64 // the first one's; 0: it was not found in time
}

// Error names the id, both places and the way out.
func (e *DuplicateError) Error() string {
	before := ""
	if e.First > 0 {
		before = fmt.Sprintf(", as item %d", e.First)
	}
	return fmt.Sprintf("item %d: id %q came before%s; set Duplicates to KeepFirst or KeepAll to accept it", e.Item, e.ID, before)
}
