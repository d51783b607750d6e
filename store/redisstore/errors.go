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

// WaitError is a server that does not take the call for now, and has done
// nothing: it is loading, fails over, is full, or cannot write its disk. The
// same call later is the answer, so it matches [store.ErrUnavailable]. One that
// is full matches [store.ErrFull], too.
type WaitError struct {
	Code string // LOADING, MISCONF, OOM, ...
	Text string // the server's words
}

// Error gives the server's words.
func (e *WaitError) Error() string { return "the server cannot take it now: " + e.Text }

// Is makes errors.Is(err, store.ErrUnavailable) true, and errors.Is(err, store.ErrFull) for a server without memory.
func (e *WaitError) Is(target error) bool {
	return target == store.ErrUnavailable || target == store.ErrFull && e.Code == "OOM"
}

// waits are the answers that pass.
var waits = map[string]bool{
	"ASK": true, "BUSY": true, "CLUSTERDOWN": true, "LOADING": true, "MASTERDOWN": true, "MISCONF": true, "MOVED": true,
	"NOREPLICAS": true, "OOM": true, "READONLY": true, "TRYAGAIN": true, "UNBLOCKED": true,
}

// failed gives errors the names of package store and says what was tried. nil
// stays nil. Who was not answered has met an unavailable store.
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

// ended is why ctx is over; nil if it is not. What dials gives up at its deadline, a moment before ctx itself knows.
func ended(ctx context.Context) error {
	if at, has := ctx.Deadline(); ctx.Err() == nil && has && !time.Now().Before(at) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// unsure is failed for writes that may not simply be repeated: an answer that
// did not come is [store.ErrUnknown].
func (s *Store) unsure(ctx context.Context, what string, partition int, err error) error {
	if err == nil {
		return nil
	}
	if _, answered := rueidis.IsRedisErr(err); answered || unsent(err) {
		return s.failed(ctx, what, partition, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, s.failed(ctx, what, partition, err))
}

// lagging is a write that was done, and of which it is not known who has it. nil stays nil.
func (s *Store) lagging(ctx context.Context, what string, partition int, lag error) error {
	if lag == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, s.failed(ctx, what, partition, lag))
}

// refusal recognises the answers that pass, and those that did not come.
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

// unavailable marks an error that a good network would not have given.
func unavailable(err error) error {
	if errors.Is(err, store.ErrUnavailable) || rueidis.IsParseErr(err) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// unsent reports whether the call has not left this process: there was nobody to send it to.
func unsent(err error) bool {
	var op *net.OpError
	return errors.Is(err, rueidis.ErrNoSlot) || errors.As(err, &op) && op.Op == "dial"
}
