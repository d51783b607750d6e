package feed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/edge/execute"
)

// Codes of a [PermanentError], besides those of package source for a row of an object.
const (
	CodeBadCursor    = "bad_cursor"      // not a cursor of this feed
	CodeBadQuery     = "bad_query"       // the database refuses the query, or it lacks what paging needs
	CodeRefused      = "refused"         // credentials, rights or the request itself
	CodeNotFound     = "not_found"       // no such page, object, bucket, topic or database
	CodeBadAnswer    = "bad_answer"      // an answer that breaks the contract
	CodePageTooLarge = "page_too_large"  // an answer, or rows of one key, beyond the limit of a page
	CodeLoop         = "loop"            // the server's pages lead in a circle, or never end
	CodeChanged      = "source_changed"  // the object is not the one that reading started with
	CodeRemoved      = "records_removed" // the topic lost records before they were read
	CodeBadItem      = "bad_item"        // not one JSON object
	CodeBadEncoding  = "bad_encoding"    // not UTF-8, or an id with a zero byte
	CodeDuplicateKey = "duplicate_key"   // a JSON object has a member twice
	CodeMissingID    = "missing_id"
	CodeBadID        = "bad_id"
	CodeIDTooLong    = "id_too_long"
	CodeItemTooLarge = "item_too_large"
)

// PermanentError ends the reading of a source: a repeated read would return it again.
type PermanentError struct {
	Code    string
	Where   string // the place, as in "line 12" or "partition 3, offset 17"; may be empty
	Problem string
	Fix     string
	Err     error // the cause, if any
}

// Error returns place, problem, cause and fix in one line.
func (e *PermanentError) Error() string {
	var b strings.Builder
	if e.Where != "" {
		b.WriteString(e.Where + ": ")
	}
	b.WriteString(e.Problem)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Fix != "" {
		b.WriteString("; " + e.Fix)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *PermanentError) Unwrap() error { return e.Err }

// TransientError may pass: read the same cursor again.
type TransientError struct {
	// Wait is how long the server asked to wait; 0 if it gave no time.
	Wait time.Duration
	// Doing is what failed, as in "read from Kafka"; empty if Err says it.
	Doing string
	Err   error
}

// Error returns the cause, and the wait if there is one.
func (e *TransientError) Error() string {
	text := e.Err.Error()
	if e.Doing != "" {
		text = e.Doing + ": " + text
	}
	if e.Wait > 0 {
		text += fmt.Sprintf(" (try again in %v)", e.Wait)
	}
	return text
}

// Plainly says what failed and why, for a person who waits for the answer and may not know the words of the network.
func (e *TransientError) Plainly() string {
	if e.Doing == "" {
		return e.Error()
	}
	return "cannot " + e.Doing + ": " + plainly(e.Err)
}

// plainly says in plain words why a connection could not be made, or ended. A cancelled call ran out of time:
// when the caller's own context ends, the error is not a TransientError.
func plainly(err error) string {
	dns, _ := errors.AsType[*net.DNSError](err)
	late, _ := errors.AsType[net.Error](err)
	switch {
	case dns != nil && dns.IsNotFound:
		return fmt.Sprintf("there is no host with the name %.253q", dns.Name)
	case dns != nil:
		return fmt.Sprintf("the name server does not say where the host %.253q is", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused, because nothing listens at this address and port"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no network leads to this address"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), late != nil && late.Timeout():
		return "no answer came in time"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended before the answer was complete"
	}
	return err.Error()
}

// Unwrap returns the cause.
func (e *TransientError) Unwrap() error { return e.Err }

func permanent(code, problem, fix string, err error) *PermanentError {
	return &PermanentError{Code: code, Problem: problem, Fix: fix, Err: err}
}

// transient wraps err, unless the caller's own context has ended or err is already of a known
// kind.
func transient(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if known(err) {
		return err
	}
	return &TransientError{Doing: doing, Err: err}
}

// unreachable returns the error of a connection that could not be made or broke. A
// NotAllowedError keeps its kind.
func unreachable(ctx context.Context, doing string, err error) error {
	if _, ok := errors.AsType[*egress.NotAllowedError](err); ok {
		return permanent(egress.CodeNotAllowed, doing+": the address is not allowed", "an operator can allow it", nil)
	}
	return transient(ctx, doing, err)
}

func known(err error) bool {
	var p *PermanentError
	var t *TransientError
	return errors.As(err, &p) || errors.As(err, &t)
}

// maxWait bounds the wait that a server may ask for.
const maxWait = time.Hour

// retryAfter reads the header of that name, 0 if it gives no time.
func retryAfter(h http.Header, now time.Time) time.Duration {
	wait, _ := execute.ParseWait(h.Get("Retry-After"), now)
	return min(wait, maxWait)
}
