package command

import (
	"context"
	"errors"
	"time"
)

// Sleep waits, or returns early with ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Within bounds a command by --timeout; 0: nothing does.
func Within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, d, ErrTooLong)
}

// ErrTooLong ends the context of a command when --timeout is reached.
var ErrTooLong = errors.New("--timeout was reached")

// TooLong returns err, or a failure if --timeout was reached.
func TooLong(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), ErrTooLong) {
		return Fail(ExitTimeout, ErrTooLong.Error()+"; the work continues on the server", "")
	}
	return err
}

// Ago reads a moment: a time, or how long ago it was.
func Ago(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return time.Time{}, BadUsage("write it as in 24h or 2030-01-31T18:00:00Z", "%s: %q is neither a duration nor a time", flag, text)
	}
	return time.Now().Add(-d).UTC(), nil
}
