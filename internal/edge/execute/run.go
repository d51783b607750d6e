package execute

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/plain"
)

// maxFrames bounds the frames of a panic's stack that are kept.
const maxFrames = 16

// PanicError reports a handler that panicked, or ended its goroutine.
type PanicError struct {
	Value any    // what it panicked with; nil for runtime.Goexit
	Text  string // Value as text, cut to 512 bytes
	Stack string // from the panic down to the handler, one line per function with its position
}

// Error states what happened and where, in one line.
func (e *PanicError) Error() string {
	where, _, _ := strings.Cut(e.Stack, "\n")
	if e.Value == nil {
		return "handler ended its goroutine in " + where
	}
	return fmt.Sprintf("handler panicked: %s, in %s", e.Text, where)
}

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Run runs a task on the calling goroutine and calls done exactly once with its error, also
// when the handler panics or ends its goroutine. It allocates nothing on success. What handlers write for people, in
// outcomes and in the error, is cleaned of characters that give orders to a terminal or turn text around: pages, terminals
// and files get it from here.
func Run(ctx context.Context, h weir.Handler, t *weir.Task, done func(error)) {
	var (
		err      error
		returned bool
	)
	defer func() {
		if !returned {
			err = newPanicError(recover())
		}
		done(cleaned(err))
	}()
	if err = h(ctx, t); err == nil {
		err = check(t)
	}
	returned = true
}

// check reports outcomes that break the contract, and cleans the others.
func check(t *weir.Task) error {
	if len(t.Outcomes) != len(t.Items) {
		return &weir.HandlerBug{Err: fmt.Errorf("%d outcomes for %d items", len(t.Outcomes), len(t.Items))}
	}
	for i := range t.Outcomes {
		o := &t.Outcomes[i]
		if o.Kind > weir.OutcomeRefused {
			return &weir.HandlerBug{Err: fmt.Errorf("unknown outcome kind %d for item %q", uint8(o.Kind), t.Items[i].ID)}
		}
		if o.Kind != weir.OutcomeDone {
			o.Code, o.Message = plain.Clean(o.Code), plain.Clean(o.Message)
		}
	}
	return nil
}

// cleanError is an error whose text is safe to show.
type cleanError struct {
	error
	text string
}

// Error returns the text.
func (e *cleanError) Error() string { return e.text }

// Unwrap returns the error with its text as it was.
func (e *cleanError) Unwrap() error { return e.error }

// cleaned returns err with a text that is safe to show.
func cleaned(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if clean := plain.Clean(text); clean != text {
		return &cleanError{err, clean}
	}
	return err
}

// newPanicError must be called by the deferred function that recovered, while the stack of the
// panic still exists.
func newPanicError(value any) *PanicError {
	return &PanicError{value, Excerpt(fmt.Append(nil, value), excerptBytes), handlerStack()}
}

// handlerStack returns the stack without the runtime's frames above the handler and ours below
// it.
func handlerStack() string {
	pcs := make([]uintptr, 64)
	// above: Callers, handlerStack, newPanicError, Run's deferred function
	frames := runtime.CallersFrames(pcs[:runtime.Callers(4, pcs)])
	var b strings.Builder
	for kept := 0; kept < maxFrames; {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, "internal/edge/execute.Run") {
			break
		}
		if kept > 0 || !strings.HasPrefix(f.Function, "runtime.") {
			fmt.Fprintf(&b, "%s %s:%d\n", f.Function, f.File, f.Line)
			kept++
		}
		if !more {
			break
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
