package execute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

// unmade is a map as users forget to make them.
func unmade() (m map[string]int) { return m }

func explode() { panic("boom\n\x1b[2J") }

func TestHandlerCannotHarmItsCaller(t *testing.T) {
	cause := errors.New("wallet is down")
	for _, tt := range []struct {
		name     string
		handler  func(t *weir.Task) error
		wantCode string
		want     string // in the error
	}{
		{"all is well", func(*weir.Task) error { return nil }, "", ""},
		{"error", func(*weir.Task) error { return fmt.Errorf("award: %w", cause) }, CodeHandlerError, "wallet is down"},
		{"panic", func(*weir.Task) error { explode(); return nil }, CodePanic, `handler panicked: boom\n\x1b[2J, in github.com/weirhq/weir/internal/edge/execute.explode`},
		{"panic with an error", func(*weir.Task) error { panic(io.ErrUnexpectedEOF) }, CodePanic, "unexpected EOF"},
		{"panic with nil", func(*weir.Task) error { panic(nil) }, CodePanic, "panic called with nil"},
		{"nil map write", func(*weir.Task) error { unmade()["x"] = 1; return nil }, CodePanic, "nil map, in github.com/weirhq/weir/internal/edge/execute.Test"},
		{"nil pointer", func(*weir.Task) error { var p *weir.Task; p.ID = ""; return nil }, CodePanic, "nil pointer dereference, in github.com/weirhq/weir"},
		{"index out of range", func(t *weir.Task) error { t.Outcomes[len(t.Items)].Code = "x"; return nil }, CodePanic, "out of range"},
		{"goroutine ended", func(*weir.Task) error { runtime.Goexit(); return nil }, CodePanic, "handler ended its goroutine in github.com/weirhq/weir"},
		{"outcomes lost", func(t *weir.Task) error { t.Outcomes = nil; return nil }, CodeHandlerBug, "0 outcomes for 2 items"},
		{"outcome for a foreign item", func(t *weir.Task) error { t.Outcomes = append(t.Outcomes, weir.Outcome{}); return nil }, CodeHandlerBug, "3 outcomes for 2 items"},
		{"unknown outcome", func(t *weir.Task) error { t.Outcomes[1].Kind = 99; return nil }, CodeHandlerBug, `unknown outcome kind 99 for item "u2"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := safely(func(_ context.Context, task *weir.Task) error { return tt.handler(task) })
			err := h(context.Background(), newTask(2))
			if got := Code(err); got != tt.wantCode {
				t.Fatalf("Code(%v) = %q, want %q", err, got, tt.wantCode)
			}
			if err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("error = %q, want one line with %q", err, tt.want)
			}
		})
	}
}

func TestTextsOfAHandlerGiveNoOrders(t *testing.T) {
	const code, message = "a\x1b[31m\u202eb", "one\ntwo\u009b2J \u2066x\x00\xff"
	const cleanCode, clean = "a\ufffd[31m\ufffdb", "one two\ufffd2J \ufffdx\ufffd\ufffd"
	for _, kind := range []weir.OutcomeKind{weir.OutcomeFailed, weir.OutcomeRetry, weir.OutcomeLeftOut, weir.OutcomeRefused} {
		task := newTask(1)
		err := safely(func(_ context.Context, t *weir.Task) error {
			t.Outcomes[0] = weir.Outcome{Kind: kind, Code: code, Message: message}
			return nil
		})(t.Context(), task)
		if o := task.Outcomes[0]; err != nil || o.Code != cleanCode || o.Message != clean {
			t.Errorf("%v: code %q, message %q, error %v", kind, o.Code, o.Message, err)
		}
	}
	cause := &weir.RefusedError{After: 7, Err: errors.New(message)}
	err := safely(func(context.Context, *weir.Task) error { return cause })(t.Context(), newTask(1))
	if refused, ok := weir.AsRefused(err); !ok || refused.After != 7 || strings.ContainsAny(err.Error(), "\n\x00\u009b\u2066") || !strings.Contains(err.Error(), clean) {
		t.Errorf("error %q, refused %+v; want a refusal with a clean text", err, refused)
	}
}

func TestPanicKeepsItsCauseAndShortStack(t *testing.T) {
	var deep func(n int) int
	deep = func(n int) int {
		if n == 0 {
			panic(io.ErrNoProgress)
		}
		return deep(n-1) + 1
	}
	err := safely(func(context.Context, *weir.Task) error { deep(100); return nil })(context.Background(), newTask(1))
	var panicked *PanicError
	if !errors.As(err, &panicked) || !errors.Is(err, io.ErrNoProgress) {
		t.Fatalf("error = %v, want a PanicError with its cause", err)
	}
	if n := strings.Count(panicked.Stack, "\n") + 1; n != maxFrames || strings.Contains(panicked.Stack, "runtime.") {
		t.Errorf("stack has %d lines, want %d and none of the runtime:\n%s", n, maxFrames, panicked.Stack)
	}
}

func TestStackEndsAtTheHandler(t *testing.T) {
	err := safely(func(context.Context, *weir.Task) error { explode(); return nil })(context.Background(), newTask(1))
	var panicked *PanicError
	if !errors.As(err, &panicked) || strings.Count(panicked.Stack, "\n") != 1 {
		t.Errorf("error = %#v, want a stack of explode and the handler", err)
	}
}

func TestRunTellsTheEndOnce(t *testing.T) {
	for name, h := range map[string]weir.Handler{
		"return": func(context.Context, *weir.Task) error { return nil },
		"panic":  func(context.Context, *weir.Task) error { panic(1) },
		"goexit": func(context.Context, *weir.Task) error { runtime.Goexit(); return nil },
	} {
		calls, ended := 0, make(chan struct{})
		go func() {
			defer close(ended)
			Run(context.Background(), h, newTask(1), func(error) { calls++ })
		}()
		if <-ended; calls != 1 {
			t.Errorf("%s: done was called %d times, want once", name, calls)
		}
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	task, h := newTask(100), func(context.Context, *weir.Task) error { return nil }
	var last error
	done := func(err error) { last = err }
	if n := testing.AllocsPerRun(100, func() { Run(context.Background(), h, task, done) }); n != 0 || last != nil {
		t.Errorf("Run allocates %v times (%v), want 0", n, last)
	}
}

func TestCode(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errors.New("x"), "handler_error"},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), "timeout"},
		{context.Canceled, "cancelled"},
		{&weir.HandlerBug{Err: errors.New("twice")}, "handler_bug"},
		{fmt.Errorf("x: %w", &weir.RefusedError{Err: context.DeadlineExceeded}), "refused"},
		{&CallError{Code: CodeUnreachable, Err: context.Canceled}, "unreachable"},
		{fmt.Errorf("x: %w", &EndpointError{Status: 403}), "http_403"},
		{&PanicError{Value: context.Canceled}, "panic"},
	} {
		if got := Code(tt.err); got != tt.want {
			t.Errorf("Code(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}

// safely runs a handler in a goroutine of its own, as the engine does.
func safely(h weir.Handler) weir.Handler {
	return func(ctx context.Context, t *weir.Task) error {
		ended := make(chan error, 1)
		go Run(ctx, h, t, func(err error) { ended <- err })
		return <-ended
	}
}
