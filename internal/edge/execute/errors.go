package execute

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weirhq/weir"
)

// The codes of task errors. Failures are grouped by them in reports.
const (
	CodeTimeout      = "timeout"       // no answer in time
	CodeUnreachable  = "unreachable"   // no connection, or it broke before an answer came
	CodeServerError  = "http_5xx"      // the endpoint answered 5xx
	CodeBadAnswer    = "bad_answer"    // the answer broke the contract
	CodeTooLarge     = "too_large"     // the endpoint takes fewer bytes in a call
	CodeClientError  = "http_4xx"      // the endpoint refused the items as wrong
	CodeCancelled    = "cancelled"     // the task was cancelled
	CodePanic        = "panic"         // the handler panicked or ended its goroutine
	CodeHandlerBug   = "handler_bug"   // the handler broke its contract
	CodeHandlerError = "handler_error" // the handler returned an error of its own
	CodeRefused      = "refused"       // the downstream was too busy
)

// excerptBytes bounds how much of a foreign body an error repeats.
const excerptBytes = 512

// CallError reports a call that failed as a whole. All items of its task are tried again.
type CallError struct {
	Code   string // one of the codes above
	Status int    // of the answer; 0 when there was none
	Err    error
}

// Error returns the code and the cause.
func (e *CallError) Error() string { return e.Code + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }

// EndpointError reports an endpoint that accepts no call until its setup is changed. No attempt
// is counted.
type EndpointError struct {
	URL    string // without the query, which may hold secrets
	Status int
	// Misconfigured reports that calling again is useless until the setup changes.
	Misconfigured bool
	Excerpt       string // beginning of the answer's body
}

// Error names the endpoint, its answer and what to check.
func (e *EndpointError) Error() string {
	s := fmt.Sprintf("%s answered %s", e.URL, statusText(e.Status))
	if e.Excerpt != "" {
		s += ": " + e.Excerpt
	}
	if fix := fixes[e.Status]; fix != "" {
		s += "; " + fix
	}
	return s
}

// fixes holds what to check, by status. It lists exactly the statuses that no item can cause.
var fixes = map[int]string{
	http.StatusUnauthorized:         "check the action's secret and headers",
	http.StatusForbidden:            "check the action's secret and headers",
	http.StatusNotFound:             "check the action's URL",
	http.StatusMethodNotAllowed:     "check the action's URL: it must take POST",
	http.StatusGone:                 "the endpoint is gone for good: give the action another URL",
	http.StatusUnsupportedMediaType: "the endpoint must take application/json",
}

// Code returns the short code of a task error, from a closed set; "" for nil.
func Code(err error) string {
	var (
		call     *CallError
		endpoint *EndpointError
		panicked *PanicError
		bug      *weir.HandlerBug
		refused  *weir.RefusedError
	)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &panicked):
		return CodePanic
	case errors.As(err, &refused):
		return CodeRefused
	case errors.As(err, &call):
		return call.Code
	case errors.As(err, &endpoint):
		return "http_" + strconv.Itoa(endpoint.Status)
	case errors.As(err, &bug):
		return CodeHandlerBug
	case errors.Is(err, context.DeadlineExceeded):
		return CodeTimeout
	case errors.Is(err, context.Canceled):
		return CodeCancelled
	}
	return CodeHandlerError
}

// Undone reports whether a failed call is known to have done nothing: no connection was made, or the endpoint
// takes fewer items in a call.
func Undone(err error) bool {
	var (
		call *CallError
		dial *net.OpError
	)
	return errors.As(err, &call) && (call.Code == CodeTooLarge || errors.As(call.Err, &dial) && dial.Op == "dial")
}

func badAnswer(status int, format string, args ...any) *CallError {
	return &CallError{CodeBadAnswer, status, fmt.Errorf(format, args...)}
}

func statusText(code int) string {
	return strings.TrimSpace(strconv.Itoa(code) + " " + http.StatusText(code))
}

// Excerpt returns the beginning of foreign text, safe for a log line: at most limit bytes,
// without control characters or line breaks.
func Excerpt(body []byte, limit int) string {
	var b strings.Builder
	for len(body) > 0 && b.Len() < limit {
		r, n := utf8.DecodeRune(body)
		start := b.Len()
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, body[0])
		case r == ' ' || unicode.IsGraphic(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
		if b.Len() > limit {
			return b.String()[:start]
		}
		body = body[n:]
	}
	return strings.TrimSpace(b.String())
}
