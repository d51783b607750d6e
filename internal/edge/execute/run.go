package execute

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/weirhq/weir"
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
// when the handler panics or ends its goroutine. It allocates nothing on success.
func Run(ctx context.Context, h weir.Handler, t *weir.Task, done func(error)) {
	var (
		err      error
		returned bool
	)
	defer func() {
		if !returned {
			err = newPanicError(recover())
		}
		done(err)
	}()
	err = h(ctx, t)
	if err == nil {
		err = check(t)
	}
	returned = true
}

// check reports outcomes that break the contract.
func check(t *weir.Task) error {
	if len(t.Outcomes) != len(t.Items) {
		return &weir.HandlerBug{Err: fmt.Errorf("%d outcomes for %d items", len(t.Outcomes), len(t.Items))}
	}
	for i := range t.Outcomes {
		if k := t.Outcomes[i].Kind; k > weir.OutcomeRefused {
			return &weir.HandlerBug{Err: fmt.Errorf("unknown outcome kind %d for item %q", uint8(k), t.Items[i].ID)}
		}
	}
	return nil
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
