package redisstore

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/weirhq/weir/store"
)

// late is a context whose deadline has passed, and which does not know it yet.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now(), true }

func TestADialThatEndsWithItsContextIsNoServerThatIsAway(t *testing.T) {
	s := &Store{life: t.Context()}
	dial := &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
	if err := s.failed(late{t.Context()}, "read", 1, dial); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("after the deadline: %v, want that it has passed", err)
	}
	if err := s.failed(t.Context(), "read", 1, dial); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("without a deadline: %v, want that the store is away", err)
	}
}
