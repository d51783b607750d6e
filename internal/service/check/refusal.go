// Package check has the refusals of the service and the checks of input that its packages share.
//
// Invalid input is a [weir.FieldError] or a [weir.InputError], which collects all faults of a
// request. A request that is well-formed but cannot be done now is a [Refusal].
package check

import (
	"errors"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/records"
)

// Refusal is an error for a request that is well-formed but cannot be done now.
type Refusal struct {
	Code   string // as in "sealed"
	Detail string
	Fix    string
	// RetryAfter is when a repeat may succeed; 0: it will not.
	RetryAfter time.Duration
}

// Error returns the reason and the fix.
func (e *Refusal) Error() string {
	if e.Fix == "" {
		return e.Detail
	}
	return e.Detail + "; " + e.Fix
}

// Ended refuses a command for a bulk action that has ended; the detail says how.
func Ended(detail string) error {
	return &Refusal{Code: "already_ended", Detail: detail,
		Fix: "it takes no more commands: retry its failed or cancelled items, or create another bulk action"}
}

// Invalid reports whether an error means that the input is invalid: a repeat would fail alike.
func Invalid(err error) bool {
	var input *weir.InputError
	var field *weir.FieldError
	var twice *weir.DuplicateError
	return errors.As(err, &input) || errors.As(err, &field) || errors.As(err, &twice)
}

// Refused reports whether an error is about the request itself: invalid input, or a [Refusal].
func Refused(err error) bool {
	var r *Refusal
	return Invalid(err) || errors.As(err, &r)
}

// NothingDone reports whether an error means that nothing was done and nothing will be.
func NothingDone(err error) bool {
	var full *weir.BacklogError
	return Refused(err) || errors.As(err, &full)
}

// IgnoreRemoved ignores the error that a bulk action does not exist, or was removed at the end of
// its retention.
func IgnoreRemoved(err error) error {
	if errors.Is(err, weir.ErrExpired) {
		return nil
	}
	return records.IgnoreGone(err)
}
