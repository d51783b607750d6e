package engine_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
	"github.com/weirhq/weir/store/storetest"
)

// timeMachine is a store that can be set back to an earlier moment while it is used.
type timeMachine struct{ *memstore.Store }

func newTimeMachine() *timeMachine { return &timeMachine{memory()} }

// Done implements [store.Witness]: it is never closed.
func (m *timeMachine) Done() <-chan struct{} { return nil }

// Incarnation implements [store.Witness].
func (m *timeMachine) Incarnation(ctx context.Context, _ int) (string, error) {
	return fmt.Sprint("life ", m.Lives()), ctx.Err()
}

// Shared implements [store.Sharing].
func (m *timeMachine) Shared() bool { return true }

var _ store.Witness = (*timeMachine)(nil)

// paced counts its items and takes 100 ms for ten of them.
func paced(calls *tally) weir.Action[int, string] {
	return weir.Action[int, string]{Name: "paced", BatchSize: 10, Handle: func(ctx context.Context, b *weir.Batch[int, string]) error {
		time.Sleep(100 * time.Millisecond)
		for _, it := range b.Items() {
			calls.add(it.ID)
		}
		b.DoneRest()
		return nil
	}}
}

// one is a node that runs one task at a time in one partition.
var one = engine.Options{Partitions: 1, Slots: 1, LeaseFor: 3 * time.Second}

func TestAStoreThatIsSetBackIsRepaired(t *testing.T) {
	for _, tt := range []struct {
		name       string
		save, back time.Duration // when the moment is that is gone back to, and when that happens
		duplicates int           // the most items that may be run twice
	}{
		{"while the owner keeps its lease", 3 * time.Second, 5 * time.Second, 0},
		{"by nothing at all", 4 * time.Second, 4 * time.Second, 0},
		{"to before the owner had the lease", 0, 2 * time.Second, 20},
		{"after all is done", 4 * time.Second, 12 * time.Second, 0},
		{"almost as far as it may be", 3 * time.Second, 12 * time.Second, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls tally
				s := newTimeMachine()
				r := open(t, s, one, action(paced(&calls)))
				moment := s.Save()
				r.run(t)
				began := time.Now()
				b := submit(t, r, spec(paced(&calls)), numbers(1000))
				if tt.save > 0 {
					time.Sleep(tt.save - time.Since(began))
					moment = s.Save()
				}
				time.Sleep(tt.back - time.Since(began))
				s.Restore(moment)
				rep := wait(t, b)
				time.Sleep(10 * time.Second)
				if p, err := b.Now(t.Context()); err != nil || p.State != weir.BulkCompleted {
					t.Errorf("the store says %v, %v; want that it is done", p.State, err)
				}
				wantCounts(t, rep, 1000, 0, 0)
				if len(calls.all()) != 1000 || calls.sum() > 1000+tt.duplicates {
					t.Errorf("%d items were run %d times, want 1000 with at most %d twice", len(calls.all()), calls.sum(), tt.duplicates)
				}
				if tt.save != tt.back && r.Regressions() == 0 {
					t.Error("nobody noticed")
				}
				if err := r.Health(); err != nil {
					t.Errorf("Health() = %v, want nil", err)
				}
			})
		})
	}
}

// homeOf is the partition that an id carries.
func homeOf(t *testing.T, b *engine.BulkAction) int {
	t.Helper()
	u, err := ulid.ParseStrict(strings.ToUpper(strings.TrimPrefix(string(b.ID()), "ba_")))
	if err != nil {
		t.Fatal(err)
	}
	return int(binary.BigEndian.Uint16(u[6:8]))
}

// tenantOf finds a tenant whose work goes to a partition.
func tenantOf(t *testing.T, r *rig, partition int) string {
	t.Helper()
	for i := range 100 {
		tenant := fmt.Sprint("tenant ", i)
		b := submit(t, r, job[int]{Chain: weir.Start(noop("noop")), Spec: weir.Spec{Tenant: tenant}}, numbers(1))
		wait(t, b)
		if homeOf(t, b) == partition {
			return tenant
		}
	}
	t.Fatalf("no tenant's work goes to partition %d", partition)
	return ""
}

func TestALossStopsThePartitionAloneAndOpenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		s := newTimeMachine()
		o := engine.Options{Partitions: 2, Slots: 1, LeaseFor: 3 * time.Second}
		r := start(t, s, o, action(paced(&calls)), action(noop("noop")))
		lost, spared := spec(paced(&calls)), spec(noop("noop"))
		lost.Tenant, spared.Tenant = tenantOf(t, r, 0), tenantOf(t, r, 1)
		submit(t, r, lost, numbers(10_000))
		time.Sleep(3 * time.Second)
		moment := s.Save()
		time.Sleep(30 * time.Second)
		s.Restore(moment)
		time.Sleep(5 * time.Second)
		wantCounts(t, wait(t, submit(t, r, spared, numbers(100))), 100, 0, 0)
		err := r.Health()
		var loss *weir.LossError
		if !errors.As(err, &loss) || loss.Partition != 0 || loss.Have >= loss.Acked || loss.Have == 0 {
			t.Fatalf("Health() = %v, want a *LossError of partition 0", err)
		}
		for _, words := range []string{"partition 0", fmt.Sprintf("commits %d to %d", loss.Have+1, loss.Acked), "AcceptLoss"} {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("Health() = %q, which does not say %q", err, words)
			}
		}
		ran := calls.sum()
		time.Sleep(2 * time.Minute)
		if again := calls.sum(); again > ran+10 {
			t.Errorf("%d items were run after the partition was stopped", again-ran)
		}
		if last, err := s.Last(t.Context(), 0); err != nil || last.Number != loss.Have {
			t.Errorf("the store is at commit %d, %v; want it left alone at %d", last.Number, err, loss.Have)
		}
		if err := r.stop(); err != nil {
			t.Errorf("Run() = %v", err)
		}
	})
}

// What is put back must be whole: submits and keys are remembered for ten seconds,
// and commits of a partition in which nothing has happened since for no longer.
func TestAStoreThatIsEmptiedWhenAllIsQuietStopsOpenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a := newTimeMachine(), noop("noop")
		r := start(t, s, one, action(a))
		keyed := spec(a)
		keyed.IdempotencyKey = "monday"
		wantCounts(t, wait(t, submit(t, r, keyed, numbers(5))), 5, 0, 0)
		time.Sleep(15 * time.Second)
		s.Restore(nil)
		time.Sleep(5 * time.Second)
		var loss *weir.LossError
		if err := r.Health(); !errors.As(err, &loss) || loss.Have != 0 {
			t.Fatalf("Health() = %v, want a *LossError of everything", err)
		}
		if _, err := attempt(t.Context(), r.Engine, keyed, engine.Items(numbers(5))); !errors.As(err, &loss) {
			t.Errorf("a repeat with the same key: %v, want a *LossError", err)
		}
	})
}

// TestAStoreThatWasAwayAndIsSetBackIsRepaired has it be away for longer than a commit is remembered.
func TestAStoreThatWasAwayAndIsSetBackIsRepaired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		var away atomic.Bool
		s := newTimeMachine()
		f := &awayMachine{machine: s, Flaky: &storetest.Flaky{Store: s, Fail: func(storetest.Call) storetest.Fault {
			if away.Load() {
				return storetest.Fault{Before: errStore}
			}
			return storetest.Fault{}
		}}}
		r := start(t, f, one, action(paced(&calls)))
		b := submit(t, r, spec(paced(&calls)), numbers(3000))
		time.Sleep(20 * time.Second)
		moment := s.Save()
		time.Sleep(5 * time.Second)
		away.Store(true)
		time.Sleep(time.Minute)
		s.Restore(moment)
		away.Store(false)
		wantCounts(t, wait(t, b), 3000, 0, 0)
		if err := r.Health(); err != nil || r.Regressions() == 0 {
			t.Errorf("Health() = %v, Regressions() = %d; want nil and at least 1", err, r.Regressions())
		}
		if n := calls.sum(); len(calls.all()) != 3000 || n > 3020 {
			t.Errorf("%d items were run %d times, want 3000 with few twice", len(calls.all()), n)
		}
	})
}

// awayMachine is a time machine that can be away.
type awayMachine struct {
	*storetest.Flaky
	machine *timeMachine
}

func (m *awayMachine) Done() <-chan struct{} { return nil }

func (m *awayMachine) Incarnation(ctx context.Context, partition int) (string, error) {
	if err := m.Fail(storetest.Call{Op: "Incarnation", Partition: partition}).Before; err != nil {
		return "", err
	}
	return m.machine.Incarnation(ctx, partition)
}

func (m *awayMachine) Reclaim(ctx context.Context, partition int, owner string, ttl time.Duration) (store.Token, error) {
	if err := m.Fail(storetest.Call{Op: storetest.OpAcquire, Partition: partition}).Before; err != nil {
		return store.Token{}, err
	}
	return m.machine.Reclaim(ctx, partition, owner, ttl)
}

func (m *awayMachine) Shared() bool { return true }

func TestTwoNodesOnAStoreThatIsSetBackLoseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		s := newTimeMachine()
		o := engine.Options{Partitions: 4, Slots: 2, LeaseFor: 3 * time.Second}
		a := start(t, s, o, action(paced(&calls)))
		b := start(t, s, o, action(paced(&calls)))
		time.Sleep(15 * time.Second) // both have their partitions, and nobody remembers that
		var all []*engine.BulkAction
		work := func(from, to int) {
			for i := from; i < to; i++ {
				sp := spec(paced(&calls))
				sp.Tenant = fmt.Sprint("tenant ", i)
				items := numbers(100 * (i + 1))[100*i:]
				all = append(all, submit(t, a, sp, items))
			}
		}
		work(0, 10)
		time.Sleep(time.Second)
		moment := s.Save()
		work(10, 20)
		time.Sleep(2 * time.Second)
		s.Restore(moment)
		time.Sleep(5 * time.Second) // until the submitter has noticed, a report may lack its items
		for _, x := range all {
			wantCounts(t, wait(t, x), 100, 0, 0)
		}
		if len(calls.all()) != 2000 {
			t.Errorf("%d items were run, want 2000", len(calls.all()))
		}
		if err := errors.Join(a.Health(), b.Health()); err != nil || a.Regressions()+b.Regressions() == 0 {
			t.Errorf("Health() = %v, Regressions() = %d and %d; want nil and some", err, a.Regressions(), b.Regressions())
		}
	})
}

func TestALossThatIsAcceptedIsRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		s := newTimeMachine()
		o := one
		o.AcceptLoss = true
		r := start(t, s, o, action(paced(&calls)))
		b := submit(t, r, spec(paced(&calls)), numbers(5000))
		time.Sleep(3 * time.Second)
		moment := s.Save()
		time.Sleep(30 * time.Second)
		s.Restore(moment)
		rep := wait(t, b)
		wantCounts(t, rep, 5000, 0, 0)
		if calls.sum() < 5000+2500 {
			t.Errorf("%d items were run, want those of 30 s twice", calls.sum())
		}
		if err := r.Health(); err != nil || r.Regressions() == 0 {
			t.Errorf("Health() = %v, Regressions() = %d; want nil and at least 1", err, r.Regressions())
		}
	})
}

func TestAnAcceptedSubmitThatTheStoreLostIsPutInAgain(t *testing.T) {
	for _, tt := range []struct {
		name  string
		key   string
		items int
		slots int
		back  time.Duration
	}{
		{"before its owner has read it", "", 200, 1, 0},
		{"with an idempotency key", "key", 200, 1, 0},
		{"after its owner has begun with it", "", 200, 1, 500 * time.Millisecond},
		{"after its owner has begun with it, with a key", "key", 200, 1, 500 * time.Millisecond},
		{"just before its owner needs the next block", "", 3000, 8, 1050 * time.Millisecond},
		{"after it has ended", "", 200, 1, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls tally
				s := newTimeMachine()
				o := one
				o.Slots = tt.slots
				r := start(t, s, o, action(paced(&calls)))
				time.Sleep(20 * time.Second) // long enough that nobody remembers the beginning
				sp := spec(paced(&calls))
				sp.IdempotencyKey = tt.key
				moment := s.Save()
				b := submit(t, r, sp, numbers(tt.items))
				if tt.back > 0 {
					time.Sleep(tt.back)
				}
				s.Restore(moment)
				time.Sleep(10 * time.Second)
				wantState(t, b, weir.BulkCompleted)
				wantCounts(t, wait(t, b), tt.items, 0, 0)
				if len(calls.all()) != tt.items {
					t.Errorf("%d items were run, want %d", len(calls.all()), tt.items)
				}
				if again := submit(t, r, sp, numbers(tt.items)); tt.key != "" && again.ID() != b.ID() {
					t.Errorf("the same submit again is %s, want %s", again.ID(), b.ID())
				}
				if err := r.Health(); err != nil {
					t.Errorf("Health() = %v", err)
				}
			})
		})
	}
}

// homeRows reads the rows of partition 0.
type homeRows struct {
	t *testing.T
	s store.Store
}

func (r homeRows) Get(key []byte) ([]byte, error) { return r.s.Get(r.t.Context(), 0, key) }

func (r homeRows) Scan(prefix []byte, yield func(k, v []byte) error) error {
	return r.s.Scan(r.t.Context(), 0, prefix, yield)
}

// TestAMessagePutInAgainForWhatHasEndedIsIgnored has a submitter that could not know.
func TestAMessagePutInAgainForWhatHasEndedIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		s := newTimeMachine()
		r := start(t, s, one, action(paced(&calls)))
		b := submit(t, r, spec(paced(&calls)), numbers(50))
		wait(t, b)
		spec, _, err := partition.ReadStatus(homeRows{t, s}, b.ID())
		if err != nil {
			t.Fatal(err)
		}
		spec.Again = true
		body, err := partition.EncodeCreated(*spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Append(t.Context(), 0, body, store.Claim{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		calls.wantEach(t, 50, 1)
		wantState(t, b, weir.BulkCompleted)
	})
}

func TestACommandThatTheStoreLostIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		s := newTimeMachine()
		r := start(t, s, one, action(paced(&calls)))
		b := submit(t, r, spec(paced(&calls)), numbers(10_000))
		time.Sleep(20 * time.Second)
		moment := s.Save()
		do(t, b.Cancel)
		s.Restore(moment)
		rep := wait(t, b)
		if rep.State != weir.BulkCancelled.String() {
			t.Errorf("it ended as %v, want cancelled", rep.State)
		}
	})
}

// TestSubmitsThatAreThereAreNotRunTwice has the store change its incarnation and lose nothing.
func TestSubmitsThatAreThereAreNotRunTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		s := newTimeMachine()
		r := start(t, s, one, action(paced(&calls)))
		ended := submit(t, r, spec(paced(&calls)), numbers(10))
		wait(t, ended)
		b := submit(t, r, spec(paced(&calls)), numbers(400)[10:])
		time.Sleep(time.Second)
		synctest.Wait() // nothing is written between the two
		s.Restore(s.Save())
		wantCounts(t, wait(t, b), 390, 0, 0)
		time.Sleep(20 * time.Second)
		calls.wantEach(t, 400, 1)
		if n := r.Regressions(); n != 0 {
			t.Errorf("Regressions() = %d, want 0", n)
		}
	})
}

// slowMachine is a time machine that takes its time to commit, so that putting back takes a while, too.
type slowMachine struct{ *timeMachine }

func (m slowMachine) Commit(ctx context.Context, no int, tok store.Token, b *store.Batch) error {
	time.Sleep(20 * time.Millisecond)
	return m.timeMachine.Commit(ctx, no, tok, b)
}

// Whoever remembers a partition has to be the one who takes it, and to end what it began, although nobody knows any more
// who is there and who had what.
func TestNodesOnAStoreThatForgotEverythingLoseNothing(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   time.Duration
	}{
		{"while they are busy", 3 * time.Second},
		{"between two announcements", 3*time.Second + 130*time.Millisecond},
		{"when almost all is done", 6 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls tally
				s := slowMachine{newTimeMachine()}
				var rigs []*rig
				for range 3 {
					rigs = append(rigs, start(t, s, engine.Options{Partitions: 12, Slots: 8, LeaseFor: 3 * time.Second}, action(paced(&calls))))
					time.Sleep(70 * time.Millisecond) // their announcements are not all at the same time
				}
				time.Sleep(time.Second)
				var all []*engine.BulkAction
				for i := range 24 {
					sp := spec(paced(&calls))
					sp.Tenant = fmt.Sprint("tenant ", i)
					all = append(all, submit(t, rigs[i%3], sp, numbers(50 * (i + 1))[50*i:]))
				}
				time.Sleep(tt.at - time.Second)
				s.Restore(nil)
				time.Sleep(30 * time.Second)
				for _, x := range all {
					wantState(t, x, weir.BulkCompleted)
				}
				if len(calls.all()) != 24*50 {
					t.Errorf("%d items were run, want %d", len(calls.all()), 24*50)
				}
				for i, r := range rigs {
					if err := r.Health(); err != nil {
						t.Errorf("node %d: Health() = %v", i, err)
					}
				}
				wantOwned(t, 12, rigs...)
			})
		})
	}
}
