package engine_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/engine/readback"
	"github.com/weirhq/weir/report"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/storetest"
)

// sharedItems is enough for four shards of sixteen partitions.
const sharedItems = 760_000

var sharedOptions = engine.Options{Partitions: 16, Slots: 16}

// journal is what a handler has seen and said, by item.
type journal struct {
	calls []atomic.Int32
	said  []atomic.Int32 // outcome
	seen  atomic.Int64
	ended atomic.Int64  // calls
	half  chan struct{} // closed when half of the items were seen
	once  sync.Once
}

func newJournal(items int) *journal {
	return &journal{calls: make([]atomic.Int32, items), said: make([]atomic.Int32, items), half: make(chan struct{})}
}

// action fails some items for good, and some at their first attempt.
func (j *journal) action() weir.Action[int, string] {
	return weir.Action[int, string]{Name: "record", BatchSize: 500, Handle: func(ctx context.Context, b *weir.Batch[int, string]) error {
		if j.seen.Add(int64(b.Len())) > int64(len(j.calls)/2) {
			j.once.Do(func() { close(j.half) })
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		for i, it := range b.Items() {
			j.calls[it.Value].Add(1)
			switch said := j.outcome(it.Value, b.Attempt()); said {
			case weir.OutcomeFailed:
				b.Fail(i, "unlucky", errDown)
			case weir.OutcomeRetry:
				b.Retry(i, errDown, time.Second)
			default:
				b.Done(i, it.ID)
			}
		}
		j.ended.Add(1)
		return nil
	}}
}

func (j *journal) outcome(value, attempt int) (o weir.OutcomeKind) {
	switch o = weir.OutcomeDone; {
	case value%97 == 0:
		o = weir.OutcomeFailed
	case value%53 == 0 && attempt == 1:
		o = weir.OutcomeRetry
	}
	j.said[value].Store(int32(o))
	return o
}

// check compares a report with what the handler has said of each item last.
func (j *journal) check(t *testing.T, rep *engine.Report) {
	t.Helper()
	at, failed := 0, 0
	for row, err := range rep.Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if row.ID != id(at) {
			t.Fatalf("row %d is of %s: rows are not in the order of the input", at, row.ID)
		}
		want, attempts := report.StateDone, 1
		if weir.OutcomeKind(j.said[at].Load()) == weir.OutcomeFailed {
			want = report.StateFailed
			failed++
		} else if at%53 == 0 {
			attempts = 2
		}
		if row.State != want || row.Attempts != attempts || want == report.StateDone && string(row.Output) != `"`+row.ID+`"` {
			t.Fatalf("row %+v, want %s after %d attempts", row, want, attempts)
		}
		at++
	}
	if at != len(j.calls) || failed == 0 {
		t.Errorf("%d rows and %d failed, want %d", at, failed, len(j.calls))
	}
	wantCounts(t, rep, len(j.calls)-failed, failed, 0)
	if len(rep.Errors) != 1 || rep.Errors[0].Count != int64(failed) {
		t.Errorf("errors are grouped as %+v, want one group of %d", rep.Errors, failed)
	}
}

// sharedRows reads a partition's rows.
type sharedRows struct {
	t         *testing.T
	s         store.Store
	partition int
}

func (r sharedRows) Get(key []byte) ([]byte, error) { return r.s.Get(r.t.Context(), r.partition, key) }

func (r sharedRows) Scan(prefix []byte, yield func(key, value []byte) error) error {
	return r.s.Scan(r.t.Context(), r.partition, prefix, yield)
}

// workers lists the partitions that have ended items of a bulk action.
func workers(t *testing.T, s store.Store, b weir.BulkID) (list []int) {
	t.Helper()
	for p := range sharedOptions.Partitions {
		if _, status, err := partition.ReadStatus(sharedRows{t, s, p}, b); err == nil && status.Done > 0 {
			list = append(list, p)
		}
	}
	return list
}

func TestAHugeBulkActionIsSharedAndReportedAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, s := newJournal(sharedItems), memory()
		a := j.action()
		r := start(t, s, sharedOptions, action(a))
		b := submit(t, r, spec(a), numbers(sharedItems))
		<-j.half
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		keeping := sharedOptions
		keeping.KeepFor = keptFor
		again := start(t, s, keeping, action(a))
		b, err := again.Get(t.Context(), b.ID())
		if err != nil {
			t.Fatal(err)
		}
		rep := wait(t, b)
		j.check(t, rep)
		wantFoundInShards(t, again)
		if got, want := rep.Steps[0].Calls, j.ended.Load(); got != want {
			t.Errorf("%d calls, want %d", got, want)
		}
		if rep.Steps[0].Latency.P50 < report.Duration(19*time.Millisecond) {
			t.Errorf("latencies are not those of the tasks: %+v", rep.Steps[0].Latency)
		}
		if w := workers(t, s, b.ID()); len(w) != 4 {
			t.Errorf("partitions %v worked on it, want four", w)
		}
		listed := 0
		for x, err := range again.List(t.Context()) {
			if listed++; err != nil || x.ID() != b.ID() {
				t.Errorf("List yields %v, %v", x, err)
			}
		}
		if listed != 1 {
			t.Errorf("it is listed %d times", listed)
		}
		time.Sleep(10 * time.Second) // shards hear of the end
		for p := range sharedOptions.Partitions {
			if on, err := partition.TenantActive(sharedRows{t, s, p}, "default"); on || err != nil {
				t.Errorf("partition %d: the tenant is at work after the end: %v, %v", p, on, err)
			}
		}
		time.Sleep(keptFor + 2*time.Minute)
		if got := left(t, s, sharedOptions.Partitions, b.ID()); got != "sx" {
			t.Errorf("rows of kinds %q are left after its time, want tombstones, and what tells shards that they are over", got)
		}
	})
}

func TestASharedBulkActionIsPausedResumedAndCancelledAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, s := newJournal(sharedItems), memory()
		a := j.action()
		b := submit(t, start(t, s, sharedOptions, action(a)), spec(a), numbers(sharedItems))
		time.Sleep(200 * time.Millisecond)
		do(t, b.Pause)
		time.Sleep(time.Second)
		paused := j.seen.Load()
		time.Sleep(time.Minute)
		if now := j.seen.Load(); now != paused || paused == 0 || paused > sharedItems/2 {
			t.Errorf("%d items had started at the pause, and %d a minute later", paused, now)
		}
		p, err := b.Now(t.Context())
		if err != nil || p.State != weir.BulkPaused || p.Counts.Done == 0 {
			t.Errorf("Now = %+v, %v", p, err)
		}
		do(t, b.Resume)
		time.Sleep(100 * time.Millisecond)
		do(t, b.Cancel)
		last := p.Counts
		for p := range b.Progress(t.Context()) {
			c := p.Counts
			if c.Done < last.Done || c.Failed < last.Failed || c.Cancelled < last.Cancelled || c.Ready+c.Waiting+c.InFlight+c.Ended() != c.Total {
				t.Errorf("progress went from %+v to %+v", last, c)
			}
			last = c
		}
		rep := wait(t, b)
		if rep.State != "cancelled" || rep.Counts.Done <= p.Counts.Done || rep.Counts.Cancelled == 0 {
			t.Errorf("it ended as %s with %+v", rep.State, rep.Counts)
		}
		wantCancelledSteps(t, b, last.Cancelled)
		if w := workers(t, s, b.ID()); len(w) != 4 {
			t.Errorf("partitions %v worked on it, want four", w)
		}
	})
}

func TestReduceAndRetryOfASharedBulkAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, s := newJournal(sharedItems), memory()
		a := j.action()
		r := start(t, s, sharedOptions, action(a))
		b := submit(t, r, spec(a), numbers(sharedItems))
		wait(t, b)
		var want []string
		for i := 0; i < sharedItems; i += 97 {
			want = append(want, id(i))
		}
		got, err := readback.Reduce(t.Context(), b.Bulk, readback.Reducer[string, []string]{
			New: func() []string { return nil },
			Add: func(acc []string, x readback.ItemResult[string]) []string {
				if x.State == report.StateFailed {
					acc = append(acc, x.ID)
				}
				return acc
			},
			Merge: func(a, b []string) []string { return append(a, b...) },
		})
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("the reducer saw %d failures, %v; want %d in order", len(got), err, len(want))
		}
		made, err := b.RetryFailed(t.Context())
		if err != nil || len(made) != 1 || made[0].Items() != int64(len(want)) {
			t.Fatalf("RetryFailed = %v, %v", made, err)
		}
		wantCounts(t, wait(t, made[0]), 0, len(want), 0)
	})
}

func TestAFailureRuleCountsAllShardsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, s := newJournal(sharedItems), memory()
		a := j.action()
		sp := spec(a)
		sp.StopOn = weir.StopRule{MaxFailures: 500}
		b := submit(t, start(t, s, sharedOptions, action(a)), sp, numbers(sharedItems))
		if _, err := b.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // tasks that ran end, and their shards say so
		rep := wait(t, b)
		if n := rep.Counts.Failed; rep.State != "stopped" || n <= 500 || n > 1500 {
			t.Errorf("it is %s with %d failed, want it stopped soon after 500", rep.State, n)
		}
		seen := j.seen.Load()
		time.Sleep(time.Minute)
		if now := j.seen.Load(); now != seen {
			t.Errorf("%d more items started after the stop", now-seen)
		}
	})
}

func TestTheSameHugeSubmitIsKnownWhateverTheNumberOfPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a := memory(), noop("noop")
		sp := spec(a)
		sp.IdempotencyKey = "once"
		var ids []weir.BulkID
		for _, partitions := range []int{16, 2} {
			r := open(t, s, engine.Options{Partitions: partitions}, action(a))
			ids = append(ids, submit(t, r, sp, numbers(sharedItems)).ID())
		}
		if ids[0] != ids[1] {
			t.Errorf("two submits with one key made %v", ids)
		}
	})
}

func TestSharedWorkEndsOnceWhateverTheStoreDoes(t *testing.T) {
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal(sharedItems)
			a := j.action()
			var on atomic.Bool
			faults := nowAndThen(seed, storetest.OpCommit, storetest.OpRead, storetest.OpGetBlock, storetest.OpAppend)
			s := &storetest.Flaky{Store: memory(), Fail: func(c storetest.Call) storetest.Fault {
				if !on.Load() || c.Partition == store.Control {
					return storetest.Fault{}
				}
				return faults(c)
			}}
			b := submit(t, start(t, s, sharedOptions, action(a)), spec(a), numbers(sharedItems))
			on.Store(true)
			for p := range b.Progress(t.Context()) {
				on.Store(!p.State.Final())
			}
			j.check(t, wait(t, b))
			for i := range j.calls {
				want := int32(1)
				if i%53 == 0 && i%97 != 0 {
					want = 2
				}
				if got := j.calls[i].Load(); got != want {
					t.Fatalf("item %d was run %d times, want %d", i, got, want)
				}
			}
		})
	}
}

func TestSharedWorkOutlivesANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, s := newJournal(sharedItems), memory()
		a := j.action()
		var cut atomic.Bool
		options := sharedOptions
		options.LeaseFor = 3 * time.Second
		start(t, &storetest.Flaky{Store: s, Fail: func(storetest.Call) storetest.Fault {
			if cut.Load() {
				return storetest.Fault{Before: errStore}
			}
			return storetest.Fault{}
		}}, options, action(a))
		second := start(t, s, options, action(a))
		time.Sleep(2 * time.Second) // they share the partitions
		b := submit(t, second, spec(a), numbers(sharedItems))
		<-j.half
		cut.Store(true)
		j.check(t, wait(t, b))
	})
}
