package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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

// wantOwned checks that the nodes own all partitions, each once, in even shares.
func wantOwned(t *testing.T, partitions int, nodes ...*rig) {
	t.Helper()
	owned := map[int]int{}
	for i, r := range nodes {
		has := r.Owned()
		for _, p := range has {
			owned[p]++
		}
		if n, mean := len(has), partitions/len(nodes); n < mean || n > mean+1 {
			t.Errorf("node %d of %d owns %v, want %d or %d of %d partitions", i, len(nodes), has, mean, mean+1, partitions)
		}
	}
	for p := range partitions {
		if owned[p] != 1 {
			t.Errorf("partition %d has %d owners", p, owned[p])
		}
	}
}

func TestNodesThatComeAndGoShareThePartitionsWithFewMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := noop("step"), several{memory()}
		one := nodes(t, s, 1, a)
		wantOwned(t, 12, one...)
		three := append(one, nodes(t, s, 2, a)...)
		wantOwned(t, 12, three...)
		before := [][]int{three[0].Owned(), three[1].Owned()}
		if err := three[2].stop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		wantOwned(t, 12, three[:2]...)
		for i, had := range before {
			for _, p := range had {
				if !slices.Contains(three[i].Owned(), p) {
					t.Errorf("node %d gave up partition %d although nobody came", i, p)
				}
			}
		}
	})
}

// spans remembers when each bulk action had a task start.
type spans struct {
	mu    sync.Mutex
	times map[weir.BulkID][]time.Time
}

func (s *spans) note(id weir.BulkID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.times == nil {
		s.times = map[weir.BulkID][]time.Time{}
	}
	s.times[id] = append(s.times[id], time.Now())
}

// longest is the longest time in which a bulk action had no start.
func (s *spans) longest() (gap time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.times {
		for i := 1; i < len(at); i++ {
			gap = max(gap, at[i].Sub(at[i-1]))
		}
	}
	return gap
}

// steady takes ten milliseconds per task and notes who ran what.
func steady(calls *tally, starts *spans) weir.Action[int, string] {
	return weir.Action[int, string]{Name: "steady", BatchSize: 10, Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
		starts.note(b.Bulk())
		time.Sleep(10 * time.Millisecond)
		for i, it := range b.Items() {
			calls.add(fmt.Sprintf("%s/%s", b.Bulk(), it.ID))
			b.Done(i, "")
		}
		return nil
	}}
}

// oneAtATime submits bulk actions that have one task in flight each, so that none
// waits for a slot and a pause of one is seen.
func oneAtATime(t testing.TB, r *rig, a weir.Action[int, string], n, items int) (bulks []*engine.BulkAction) {
	t.Helper()
	for i := range n {
		sp := spec(a)
		sp.Tenant, sp.Concurrency = fmt.Sprint("tenant-", i), 1
		bulks = append(bulks, submit(t, r, sp, numbers(items)))
	}
	return bulks
}

func TestARollingRestartRepeatsNothingAndHardlyPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		var starts spans
		a, s := steady(&calls, &starts), several{memory()}
		three := nodes(t, s, 3, a)
		bulks := oneAtATime(t, three[0], a, 24, 10_000)
		for i := range three {
			time.Sleep(2 * time.Second)
			if err := three[i].stop(); err != nil {
				t.Fatal(err)
			}
			three[i] = nodes(t, s, 1, a)[0]
		}
		wantOwned(t, 12, three...)
		for _, b := range bulks {
			b, err := three[0].Get(t.Context(), b.ID())
			if err != nil {
				t.Fatal(err)
			}
			wantCounts(t, wait(t, b), 10_000, 0, 0)
		}
		calls.wantEach(t, 24*10_000, 1)
		if gap := starts.longest(); gap > 100*time.Millisecond {
			t.Errorf("a bulk action stood still for %v", gap)
		}
	})
}

func TestANodeThatIsCutOffIsReplacedWithinItsLeaseAndASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		var starts spans
		a, s := steady(&calls, &starts), several{memory()}
		var cut atomic.Bool
		lost := start(t, flakySeveral{&storetest.Flaky{Store: s, Fail: func(storetest.Call) storetest.Fault {
			if cut.Load() {
				return storetest.Fault{Before: errStore}
			}
			return storetest.Fault{}
		}}}, engine.Options{Partitions: 12, LeaseFor: 3 * time.Second}, action(a))
		two := nodes(t, s, 2, a)
		bulks := oneAtATime(t, two[0], a, 24, 10_000)
		time.Sleep(2 * time.Second)
		cut.Store(true)
		time.Sleep(4 * time.Second)
		wantOwned(t, 12, two...)
		for _, b := range bulks {
			wantCounts(t, wait(t, b), 10_000, 0, 0)
		}
		if gap := starts.longest(); gap > 4*time.Second {
			t.Errorf("a bulk action stood still for %v, want at most the lease and a second", gap)
		}
		most := 0
		for _, n := range calls.all() {
			most = max(most, n)
		}
		if most > 2 {
			t.Errorf("an item was run %d times by one loss", most)
		}
		cut.Store(false)
		time.Sleep(time.Second)
		wantOwned(t, 12, append(two, lost)...)
	})
}

// flakySeveral is a flaky store that counts as one that several processes use.
type flakySeveral struct{ *storetest.Flaky }

func (flakySeveral) Shared() bool { return true }

func TestADamagedPartitionStopsAloneAndOpenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := noop("step"), several{memory()}
		var repaired atomic.Bool
		damaged := flakySeveral{&storetest.Flaky{Store: s, Fail: func(c storetest.Call) storetest.Fault {
			if c.Op == storetest.OpScan && c.Partition == 1 && !repaired.Load() {
				return storetest.Fault{Before: store.ErrCorrupt}
			}
			return storetest.Fault{}
		}}}
		r := start(t, damaged, engine.Options{Partitions: 4}, action(a))
		time.Sleep(time.Second)
		if owned := r.Owned(); !slices.Equal(owned, []int{0, 2, 3}) {
			t.Errorf("owned = %v, want all but partition 1", owned)
		}
		if err := r.Health(); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("health = %v, want the damage", err)
		}
		repaired.Store(true)
		time.Sleep(time.Minute)
		if err := r.Health(); err != nil || len(r.Owned()) != 4 {
			t.Errorf("health = %v, owned %v, after the damage was repaired", err, r.Owned())
		}
	})
}

func TestANodeFollowsWhatAnotherRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := slow("step", 500*time.Millisecond), several{memory()}
		runs := nodes(t, s, 1, a)[0]
		asks := open(t, s, engine.Options{Partitions: 12}, action(a)) // submits, and runs nothing
		b := submit(t, asks, spec(a), numbers(1000))
		var seen []int64
		for p := range b.Progress(t.Context()) {
			seen = append(seen, p.Counts.Done)
		}
		if len(seen) < 3 || !slices.IsSorted(seen) || seen[len(seen)-1] != 1000 {
			t.Errorf("progress = %v, want it to rise to 1,000 in steps", seen)
		}
		do(t, func(ctx context.Context, reason string) error {
			err := b.Cancel(ctx, reason)
			if !errors.Is(err, weir.ErrEnded) {
				return fmt.Errorf("cancel = %w", err)
			}
			return nil
		})
		if runs.Health() != nil {
			t.Error(runs.Health())
		}
	})
}

func TestATenantStaysInOnePartitionWhileItIsAtWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := slow("step", 10*time.Second), several{memory()}
		three := nodes(t, s, 3, a)
		homes := map[string]map[byte]bool{}
		for round := range 5 {
			for i := range 40 {
				sp := spec(a)
				sp.Tenant = fmt.Sprint("tenant ", i)
				b := submit(t, three[(round+i)%3], sp, numbers(100*(1+i%7)))
				if homes[sp.Tenant] == nil {
					homes[sp.Tenant] = map[byte]bool{}
				}
				homes[sp.Tenant][partitionIn(t, b)] = true
			}
			time.Sleep(5 * time.Second)
		}
		all := map[byte]int{}
		for tenant, in := range homes {
			if len(in) != 1 {
				t.Errorf("%s is in %d partitions at once", tenant, len(in))
			}
			for p := range maps.Keys(in) {
				all[p]++
			}
		}
		if len(all) < 8 {
			t.Errorf("40 tenants are in %d of 12 partitions", len(all))
		}
	})
}

func TestASmallBulkActionGoesWhereLessIsToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := slow("step", time.Second), several{memory()}
		three := nodes(t, s, 3, a)
		flood := map[byte]bool{}
		for i := range 3 {
			sp := spec(a)
			sp.Tenant = fmt.Sprint("flood ", i)
			flood[partitionIn(t, submit(t, three[0], sp, numbers(20_000)))] = true
		}
		time.Sleep(2 * time.Second)
		hit := 0
		for i := range 200 {
			sp := spec(a)
			sp.Tenant = fmt.Sprint("small ", i)
			if flood[partitionIn(t, submit(t, three[i%3], sp, numbers(1)))] {
				hit++
			}
		}
		// With one choice a quarter would share a partition with a flood; with two, both have to have one: 1 in 22.
		if hit > 25 {
			t.Errorf("%d of 200 small bulk actions went to a partition with a flood", hit)
		}
	})
}
