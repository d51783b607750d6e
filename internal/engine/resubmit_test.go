package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store"
)

// patient is a store that takes messages slowly and commits even more slowly, and counts what comes into its inboxes.
type patient struct {
	*timeMachine
	appended atomic.Int64
}

func (s *patient) Commit(ctx context.Context, no int, tok store.Token, b *store.Batch) error {
	time.Sleep(300 * time.Millisecond)
	return s.timeMachine.Commit(ctx, no, tok, b)
}

func (s *patient) Append(ctx context.Context, no int, body []byte, c store.Claim) error {
	if no != store.Control {
		s.appended.Add(1)
		time.Sleep(100 * time.Millisecond)
	}
	return s.timeMachine.Append(ctx, no, body, c)
}

// The first submit of a process to a partition is checked, since the process does not know yet which incarnation of the
// store had it.
func TestASubmitThatWaitsForItsCommitIsNotSubmittedAgain(t *testing.T) {
	for _, tt := range []struct{ name, key string }{{"without a key", ""}, {"with a key", "once"}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls tally
				a := weir.Action[int, string]{Name: "call", Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
					calls.add(fmt.Sprint(b.Items()[0].Value))
					if b.Items()[0].Value == 0 {
						time.Sleep(20 * time.Second)
					}
					b.DoneRest()
					return nil
				}}
				s := &patient{timeMachine: newTimeMachine()}
				o := engine.Options{Partitions: 1, Slots: 2, LeaseFor: 3 * time.Second}
				long := submit(t, start(t, s, o, action(a)), spec(a), numbers(1))
				time.Sleep(5 * time.Second) // the partition has work: what comes starts before it is committed
				before := s.appended.Load()
				sp := spec(a)
				sp.IdempotencyKey = tt.key
				b, err := attempt(t.Context(), open(t, s, o, action(a)).Engine, sp, engine.Items([]weir.Item[int]{{ID: "x", Value: 1}}))
				must(t, err)
				wantCounts(t, wait(t, b), 1, 0, 0)
				wait(t, long)
				if n := s.appended.Load() - before; n != 1 {
					t.Errorf("%d messages were sent to the inbox, want one", n)
				}
				if n := calls.all()["1"]; n != 1 {
					t.Errorf("the item was called %d times, want once", n)
				}
			})
		})
	}
}
