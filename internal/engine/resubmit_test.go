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

// A node repeats its first command to a partition within a second, since it does not know yet which incarnation of the
// store had it.
func TestACommandThatIsRepeatedDoesNotUndoANewerOneOfAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := weir.Action[int, string]{Name: "call", BatchSize: 1, Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
			time.Sleep(time.Second)
			b.DoneRest()
			return nil
		}}
		s := &patient{timeMachine: newTimeMachine()}
		o := engine.Options{Partitions: 2, Slots: 2, LeaseFor: 3 * time.Second}
		r := start(t, s, o, action(a))
		homes := map[int]*engine.BulkAction{}
		for len(homes) < 2 {
			sp := spec(a)
			sp.Tenant = fmt.Sprint("tenant ", len(homes), time.Now().UnixNano())
			b := submit(t, r, sp, numbers(20))
			homes[b.Home] = b
		}
		time.Sleep(2500 * time.Millisecond)
		one, other := open(t, s, o, action(a)), open(t, s, o, action(a))
		got := func(node *rig, b *engine.BulkAction) *engine.BulkAction {
			b, err := node.Get(t.Context(), b.ID())
			must(t, err)
			return b
		}
		must(t, got(one, homes[0]).Resume(t.Context(), "looks after the partition of the other from now on"))
		time.Sleep(300 * time.Millisecond)
		before := s.appended.Load()
		must(t, got(one, homes[1]).Pause(t.Context(), "by one"))
		time.Sleep(200 * time.Millisecond)
		must(t, got(other, homes[1]).Resume(t.Context(), "by the other"))
		if n := s.appended.Load() - before; n != 2 {
			t.Fatalf("%d messages were sent, want the two commands: the first was repeated too early", n)
		}
		time.Sleep(3 * time.Second)
		if n := s.appended.Load() - before; n < 3 {
			t.Fatal("no command was repeated")
		}
		p, err := homes[1].Now(t.Context())
		must(t, err)
		if p.State != weir.BulkRunning {
			t.Fatalf("it is %v after the resume, want it to run", p.State)
		}
		wantCounts(t, wait(t, homes[1]), 20, 0, 0)
	})
}
