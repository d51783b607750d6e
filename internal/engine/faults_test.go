package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/storetest"
)

var errStore = errors.New("the store is away")

// nowAndThen makes a part of the calls of some kinds fail, in all ways there are.
func nowAndThen(seed uint64, ops ...storetest.Op) func(storetest.Call) storetest.Fault {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	return func(c storetest.Call) storetest.Fault {
		mu.Lock()
		defer mu.Unlock()
		for _, op := range ops {
			if c.Op != op {
				continue
			}
			switch random.IntN(5) {
			case 0:
				return storetest.Fault{Before: errStore}
			case 1:
				return storetest.Fault{Lost: true}
			case 2:
				return storetest.Fault{Before: store.ErrUnknown} // not written, and nobody can tell
			}
		}
		return storetest.Fault{}
	}
}

func TestWorkEndsOnceWhateverTheStoreDoes(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var first, second tally
				c := weir.Then(weir.Start(each("one", func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
					first.add(it.ID)
					if it.Value%10 == 3 {
						b.Fail(i, "three", errDown)
					} else {
						b.Done(i, fmt.Sprint("out-", it.Value))
					}
				})), relay("two", func(b *weir.Batch[string, string], i int, it weir.Item[string]) {
					second.add(it.ID)
					b.Done(i, it.Value)
				}), joined)
				var on atomic.Bool
				faults := nowAndThen(seed, storetest.OpCommit, storetest.OpRead, storetest.OpLast, storetest.OpGetBlock)
				s := &storetest.Flaky{Store: memory(), Fail: func(c storetest.Call) storetest.Fault {
					if !on.Load() {
						return storetest.Fault{}
					}
					return faults(c)
				}}
				r := start(t, s, engine.Options{}, chain(c))
				time.Sleep(time.Second) // it owns its partitions
				on.Store(true)
				b := submit(t, r, job[int]{Chain: c}, numbers(1500))
				for p := range b.Progress(t.Context()) {
					on.Store(!p.State.Final())
				}
				wantCounts(t, wait(t, b), 1350, 150, 0)
				first.wantEach(t, 1500, 1)
				second.wantEach(t, 1350, 1)
			})
		})
	}
}

func TestASubmitWhoseAnswerIsLostCanBeRepeatedWithItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		a := each("once", func(b *weir.Batch[int, string], i int, it weir.Item[int]) { calls.add(it.ID); b.Done(i, "") })
		var lose atomic.Bool
		lose.Store(true)
		s := &storetest.Flaky{Store: memory(), Fail: func(c storetest.Call) storetest.Fault {
			return storetest.Fault{Lost: c.Op == storetest.OpAppend && c.Partition != store.Control && lose.Swap(false)}
		}}
		r := start(t, s, engine.Options{}, action(a))
		sp := spec(a)
		sp.IdempotencyKey = "key"
		if _, err := attempt(t.Context(), r.Engine, sp, engine.Items(numbers(100))); !errors.Is(err, store.ErrUnknown) {
			t.Fatalf("error = %v, want ErrUnknown", err)
		}
		wantCounts(t, wait(t, submit(t, r, sp, numbers(100))), 100, 0, 0)
		calls.wantEach(t, 100, 1)
	})
}

func TestASubmitThatCannotBeWrittenLeavesNothing(t *testing.T) {
	for _, op := range []storetest.Op{storetest.OpPutBlocks, storetest.OpAppend} {
		a := noop("step")
		s := &storetest.Flaky{Store: memory(), Fail: func(c storetest.Call) storetest.Fault {
			if c.Op == op {
				return storetest.Fault{Before: errStore}
			}
			return storetest.Fault{}
		}}
		r := open(t, s, engine.Options{MaxPending: 3000}, action(a))
		for range 3 { // what was refused is not pending
			if _, err := attempt(t.Context(), r.Engine, spec(a), engine.Items(numbers(3000))); !errors.Is(err, errStore) {
				t.Errorf("%s fails: %v, want the store's error", op, err)
			}
		}
		wantBlocks(t, s, 0)
	}
}

func TestBlocksOfASubmitThatDiedAreSweptAtTheNextStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := noop("step"), memory()
		if err := s.PutBlocks(t.Context(), 1, "ba_01m7f2hx7300188k6sy49rkx5z", 0, [][]byte{{1}}); err != nil {
			t.Fatal(err)
		}
		kept := submit(t, open(t, s, engine.Options{}, action(a)), spec(a), numbers(manyItems))
		wantBlocks(t, s, 2)
		r := start(t, s, engine.Options{}, action(a))
		time.Sleep(time.Second)
		wantBlocks(t, s, 1)
		if _, err := r.Get(t.Context(), kept.ID()); err != nil {
			t.Error(err)
		}
	})
}

// leased is a store whose leases cannot be renewed while away is set.
func leased() (s *storetest.Flaky, away *atomic.Bool, commits *atomic.Int64) {
	away, commits = &atomic.Bool{}, &atomic.Int64{}
	return &storetest.Flaky{Store: memory(), Fail: func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.OpCommit && c.Partition != store.Control {
			commits.Add(1)
		}
		if c.Op == storetest.OpRenew && away.Load() {
			return storetest.Fault{Before: errStore}
		}
		return storetest.Fault{}
	}}, away, commits
}

func TestAnOwnerThatMayHaveLostItsLeaseStartsNothingUntilItIsSure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		a := oneByOne(&calls)
		s, away, _ := leased()
		r := start(t, s, engine.Options{LeaseFor: 9 * time.Second}, action(a))
		b := submit(t, r, spec(a), numbers(1000))
		time.Sleep(10 * time.Second)
		away.Store(true)
		time.Sleep(9 * time.Second) // as long as the lease can last
		before := calls.sum()
		time.Sleep(time.Minute)
		if after := calls.sum(); after > before+10 {
			t.Errorf("%d items were started after the lease may have run out", after-before)
		}
		away.Store(false)
		wantCounts(t, wait(t, b), 1000, 0, 0)
		calls.wantEach(t, 1000, 1)
	})
}

func TestAnOwnerThatWasFencedStopsAndCommitsNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		a := oneByOne(&calls)
		s, away, commits := leased()
		r := start(t, s, engine.Options{Partitions: 1, LeaseFor: 9 * time.Second}, action(a))
		b := submit(t, r, spec(a), numbers(1000))
		time.Sleep(10 * time.Second)
		away.Store(true)
		time.Sleep(12 * time.Second)
		tok, err := s.Acquire(t.Context(), 0, "another", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		last, err := s.Last(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		away.Store(false)
		do(t, b.Pause) // gives the old owner something to write
		time.Sleep(9 * time.Second)
		tried := commits.Load()
		time.Sleep(time.Minute)
		if after, _ := s.Last(t.Context(), 0); after != last || commits.Load() != tried {
			t.Errorf("last commit went from %+v to %+v, %d tries after the end", last, after, commits.Load()-tried)
		}
		if _, err := s.Renew(t.Context(), 0, tok, time.Hour); err != nil {
			t.Errorf("the new owner's lease was taken from it: %v", err)
		}
		if err := s.Release(t.Context(), 0, tok); err != nil {
			t.Fatal(err)
		}
		do(t, b.Resume)
		wantCounts(t, wait(t, b), 1000, 0, 0) // the partition is free again: the engine takes it
		if err := r.stop(); err != nil {
			t.Errorf("Run returned %v: a partition that was lost ends no engine", err)
		}
	})
}

func TestAStopDoesNotWaitForEverForAStoreThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		s := &storetest.Flaky{Store: memory(), Fail: func(c storetest.Call) storetest.Fault {
			if c.Op == storetest.OpCommit && away.Load() {
				return storetest.Fault{Before: errStore}
			}
			return storetest.Fault{}
		}}
		a := slow("step", time.Second)
		r := start(t, s, engine.Options{DrainFor: 5 * time.Second, LeaseFor: 5 * time.Second}, action(a))
		submit(t, r, spec(a), numbers(10))
		time.Sleep(time.Second / 2)
		away.Store(true)
		began := time.Now()
		if err := r.stop(); err == nil {
			t.Error("Run returned nil, want an error that says what was not written")
		}
		if took := time.Since(began); took > 11*time.Second {
			t.Errorf("Run returned after %v", took)
		}
	})
}

func TestACancelCostsAFewRowsWhateverTheNumberOfItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := slow("step", time.Second)
		s := &counting{Store: memory()}
		r := start(t, s, engine.Options{Slots: 1}, action(a))
		b := submit(t, r, spec(a), numbers(50_000))
		time.Sleep(1500 * time.Millisecond)
		before := s.rows.Load()
		do(t, b.Cancel)
		wantCounts(t, wait(t, b), 20, 0, 49_980)
		if got := s.rows.Load() - before; got > 12 { // each change of the state moves a row of the index, too
			t.Errorf("the cancel of 49,980 items and the end wrote %d rows, want a handful", got)
		}
	})
}

func TestASubmitWhoseAnswerIsLostIsRunWholeIfItGotThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		a := each("once", func(b *weir.Batch[int, string], i int, it weir.Item[int]) { calls.add(it.ID); b.Done(i, "") })
		s := &storetest.Flaky{Store: memory(), Fail: func(c storetest.Call) storetest.Fault {
			return storetest.Fault{Lost: c.Op == storetest.OpAppend}
		}}
		r := start(t, s, engine.Options{}, action(a))
		if _, err := attempt(t.Context(), r.Engine, spec(a), engine.Items(numbers(1500))); !errors.Is(err, store.ErrUnknown) {
			t.Fatalf("error = %v, want ErrUnknown", err)
		}
		time.Sleep(time.Second)
		n := 0
		for b, err := range r.List(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			wantCounts(t, wait(t, b), 1500, 0, 0)
			n++
		}
		if n != 1 {
			t.Errorf("%d bulk actions are listed, want 1", n)
		}
		calls.wantEach(t, 1500, 1)
	})
}
