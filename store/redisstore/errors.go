package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/weirhq/weir/store"
)

// WaitError reports a server that refuses the call for now, and has done nothing: it is
// loading, fails over, is full, or cannot write its disk. Repeat the call later; the error
// matches [store.ErrUnavailable]. If the server is full it matches [store.ErrFull] as well.
type WaitError struct {
	Code string // LOADING, MISCONF, OOM, ...
	Text string // the server's message
}

// Error returns the server's message.
func (e *WaitError) Error() string { return "the server cannot take it now: " + e.Text }

// Is makes errors.Is(err, store.ErrUnavailable) true, and errors.Is(err, store.ErrFull) for a server without memory.
func (e *WaitError) Is(target error) bool {
	return target == store.ErrUnavailable || target == store.ErrFull && e.Code == "OOM"
}

// waits lists the error codes that are transient.
var waits = map[string]bool{
	"ASK": true, "BUSY": true, "CLUSTERDOWN": true, "LOADING": true, "MASTERDOWN": true, "MISCONF": true, "MOVED": true,
	"NOREPLICAS": true, "OOM": true, "READONLY": true, "TRYAGAIN": true, "UNBLOCKED": true,
}

// failed translates an error to those of package store and adds what was tried. nil stays nil.
// A call without an answer is unavailable.
func (s *Store) failed(ctx context.Context, what string, partition int, err error) error {
	if err == nil {
		return nil
	}
	switch {
	case s.life.Err() != nil:
		err = store.ErrClosed
	case ended(ctx) != nil:
		err = ended(ctx)
	default:
		err = refusal(err)
	}
	return fmt.Errorf("%s, partition %d: %w", what, partition, err)
}

// ended returns why ctx is over; nil if it is not. A dial gives up at its deadline, a moment
// before ctx itself is done.
func ended(ctx context.Context) error {
	if at, has := ctx.Deadline(); ctx.Err() == nil && has && !time.Now().Before(at) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// unsure does the same as failed for writes that may not simply be repeated: a missing answer
// is [store.ErrUnknown].
func (s *Store) unsure(ctx context.Context, what string, partition int, err error) error {
	if err == nil {
		return nil
	}
	if _, answered := rueidis.IsRedisErr(err); answered || unsent(err) {
		return s.failed(ctx, what, partition, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, s.failed(ctx, what, partition, err))
}

// lagging returns the error of a write that was done, but not confirmed by enough replicas. nil
// stays nil.
func (s *Store) lagging(ctx context.Context, what string, partition int, lag error) error {
	if lag == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, s.failed(ctx, what, partition, lag))
}

// refusal recognises transient answers, and missing ones.
func refusal(err error) error {
	answer, ok := rueidis.IsRedisErr(err)
	if !ok {
		return unavailable(err)
	}
	text := answer.Error()
	if code, _, _ := strings.Cut(text, " "); waits[code] {
		return &WaitError{Code: code, Text: text}
	}
	return err
}

// unavailable marks an error of the network.
func unavailable(err error) error {
	if errors.Is(err, store.ErrUnavailable) || rueidis.IsParseErr(err) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// unsent reports whether the call has not left this process, because there was no connection.
func unsent(err error) bool {
	var op *net.OpError
	return errors.Is(err, rueidis.ErrNoSlot) || errors.As(err, &op) && op.Op == "dial"
}
