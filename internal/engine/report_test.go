package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/engine/readback"
	"github.com/weirhq/weir/report"
	"github.com/weirhq/weir/store/storetest"
)

// campaign fails odd numbers at its first step, and those that broken says at its second.
func campaign(first, second *tally, broken func(n int) bool) weir.Chain[int, string] {
	one := each("award", func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
		first.add(it.ID)
		if it.Value%2 == 1 && broken(it.Value) {
			b.Fail(i, "odd", errors.New("odd"))
			return
		}
		b.Done(i, fmt.Sprint("out-", it.Value))
	})
	two := relay("message", func(b *weir.Batch[string, string], i int, it weir.Item[string]) {
		second.add(it.ID)
		var n int
		_, _ = fmt.Sscanf(it.Value, "%d:", &n)
		if n%10 == 4 && broken(n) {
			b.Fail(i, "four", errors.New("four"))
			return
		}
		b.Done(i, it.Value)
	})
	return weir.Then(weir.Start(one), two, joined).Named("campaign")
}

func TestRetryingTheFailedStartsWhereTheyFailed(t *testing.T) {
	var first, second tally
	rounds := 0
	c := campaign(&first, &second, func(n int) bool { return rounds < 1 || rounds < 2 && n%20 == 4 })
	r := start(t, memory(), engine.Options{}, chain(c))
	b := submit(t, r, job[int]{Chain: c}, numbers(2000))
	wantCounts(t, wait(t, b), 800, 1200, 0)

	rounds = 1
	again, err := b.RetryFailed(t.Context())
	if err != nil || len(again) != 2 {
		t.Fatalf("RetryFailed = %d bulk actions, %v; want one per failed step", len(again), err)
	}
	fromOne, fromTwo := wait(t, again[0]), wait(t, again[1])
	wantCounts(t, fromOne, 1000, 0, 0)
	wantCounts(t, fromTwo, 100, 100, 0)
	for _, rep := range []*engine.Report{fromOne, fromTwo} {
		if rep.RetryOf != string(b.ID()) {
			t.Errorf("retry of %q, want %s", rep.RetryOf, b.ID())
		}
	}
	if got := first.all()[id(4)]; got != 1 {
		t.Errorf("step one ran %d times for an item that failed at step two, want once", got)
	}
	if row := rowOf(t, fromTwo, id(14)); string(row.Output) != `"14:out-14"` {
		t.Errorf("output = %s: the first step's answer was not carried over", row.Output)
	}
	if s := fromTwo.Steps; s[0].Attempts != 0 || s[1].Attempts != 200 {
		t.Errorf("steps of the retry = %+v, want attempts at the second alone", s)
	}

	rounds = 2 // a retry of a retry still knows what step one answered long ago
	last, err := again[1].RetryFailed(t.Context())
	if err != nil || len(last) != 1 {
		t.Fatalf("second RetryFailed = %d, %v", len(last), err)
	}
	rep := wait(t, last[0])
	wantCounts(t, rep, 100, 0, 0)
	if row := rowOf(t, rep, id(4)); string(row.Output) != `"4:out-4"` {
		t.Errorf("output = %s: the answer was lost on the second retry", row.Output)
	}
}

func TestRetryingNeedsAnEndAndAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := slow("step", time.Second)
		b := submit(t, start(t, memory(), engine.Options{}, action(a)), spec(a), numbers(10))
		time.Sleep(time.Second / 2)
		if _, err := b.RetryFailed(t.Context()); err == nil || !strings.Contains(err.Error(), "wait for its end") {
			t.Errorf("retry while it runs: %v, want a refusal", err)
		}
		wait(t, b)
		if _, err := b.RetryFailed(t.Context()); err == nil || !strings.Contains(err.Error(), " failed") {
			t.Errorf("retry with no failures: %v, want a refusal", err)
		}
	})
}

// summary is what the reducer of the tests makes of results.
type summary struct {
	Done, Failed, Sum int
	IDs               []string
}

func add(acc summary, r readback.ItemResult[string]) summary {
	acc.IDs = append(acc.IDs, r.ID)
	if r.State != "done" {
		acc.Failed++
		return acc
	}
	acc.Done++
	acc.Sum += len(r.Output)
	return acc
}

func merge(a, b summary) summary {
	return summary{a.Done + b.Done, a.Failed + b.Failed, a.Sum + b.Sum, append(a.IDs, b.IDs...)}
}

func TestReduceIsAFoldInTheOrderOfTheInput(t *testing.T) {
	var first, second tally
	c := campaign(&first, &second, func(int) bool { return true })
	b := submit(t, start(t, memory(), engine.Options{}, chain(c)), job[int]{Chain: c}, numbers(10_000))
	rep := wait(t, b)
	var want summary
	for _, row := range rowsOf(t, rep) {
		var out string
		if row.State == report.StateDone {
			if err := json.Unmarshal(row.Output, &out); err != nil {
				t.Fatal(err)
			}
		}
		want = add(want, readback.ItemResult[string]{ID: row.ID, State: row.State, Output: out})
	}
	for range 5 {
		got, err := readback.Reduce(t.Context(), b.Bulk, readback.Reducer[string, summary]{New: func() summary { return summary{} }, Add: add, Merge: merge})
		if err != nil {
			t.Fatal(err)
		}
		if got.Done != want.Done || got.Failed != want.Failed || got.Sum != want.Sum || !slices.Equal(got.IDs, want.IDs) {
			t.Fatalf("reduced to %d, %d, %d, %d ids; a fold gives %d, %d, %d", got.Done, got.Failed, got.Sum, len(got.IDs), want.Done, want.Failed, want.Sum)
		}
	}
	if _, err := readback.Reduce(t.Context(), b.Bulk, readback.Reducer[int, int]{New: func() int { return 0 }, Add: func(a int, _ readback.ItemResult[int]) int { return a }, Merge: func(a, _ int) int { return a }}); err == nil {
		t.Error("outputs that do not fit the reducer's type must be an error")
	}
}

func TestAReportIsWrittenWithOneRowPerItem(t *testing.T) {
	var first, second tally
	c := campaign(&first, &second, func(int) bool { return true })
	b := submit(t, start(t, memory(), engine.Options{}, chain(c)), job[int]{Chain: c, Spec: weir.Spec{Name: "spring", Tenant: "growth"}}, numbers(3000))
	rep := wait(t, b)
	dir := filepath.Join(t.TempDir(), "out")
	if err := rep.WriteDir(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for file, lines := range map[string]int{"done.csv": 1200, "failed.csv": 1800} {
		raw, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(raw), "\n") - 1; got != lines {
			t.Errorf("%s has %d rows, want %d", file, got, lines)
		}
	}
	raw, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var sum report.Summary
	if err := json.Unmarshal(raw, &sum); err != nil {
		t.Fatal(err)
	}
	if sum.Name != "spring" || sum.Tenant != "growth" || sum.Counts != rep.Counts || len(sum.Errors) != 2 || sum.FinishedAt == nil {
		t.Errorf("report.json = %+v", sum)
	}
	if sum.Steps[0].Latency.Max == 0 {
		t.Error("no latency of the first step")
	}
}

func TestAReportBeforeTheEndSaysWhatIsStillReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		a := oneByOne(&calls)
		r := open(t, memory(), engine.Options{}, action(a))
		b := submit(t, r, spec(a), numbers(3000))
		early, err := b.Report(t.Context())
		if err != nil {
			t.Fatalf("report before its owner has read it: %v", err)
		}
		wantRowsToMatch(t, early)
		r.run(t)
		time.Sleep(2500 * time.Millisecond)
		rep, err := b.Report(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wantRowsToMatch(t, rep)
		if rep.Counts.Done != 20 || rep.Counts.Ready != 2980 {
			t.Errorf("counts = %+v, want 20 done and 2980 ready", rep.Counts)
		}
		do(t, b.Cancel)
	})
}

func TestAttemptsAreReportedAlsoWithoutAnOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := each("thrice", func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
			if it.Value == 5 && b.Attempt() < 3 {
				b.Retry(i, errDown, 0)
			}
			b.DoneRest()
		})
		a.BatchSize = 1
		rep := wait(t, submit(t, start(t, memory(), engine.Options{}, action(a)), spec(a), numbers(10)))
		if row := rowOf(t, rep, id(5)); row.State != "done" || row.Attempts != 3 {
			t.Errorf("row = %+v, want done at the third attempt", row)
		}
	})
}

func TestRowsOfAReportEndWithTheStoresError(t *testing.T) {
	s, away := failOn(storetest.OpScan, storetest.Fault{Before: errStore})
	a := noop("step")
	r := start(t, s, engine.Options{}, action(a))
	b := submit(t, r, spec(a), numbers(10))
	rep := wait(t, b)
	away.Store(true)
	var last error
	for _, err := range rep.Rows(t.Context()) {
		last = err
	}
	if !errors.Is(last, errStore) {
		t.Errorf("rows ended with %v, want the store's error", last)
	}
	_, err := readback.Reduce(t.Context(), b.Bulk, readback.Reducer[string, int]{
		New: func() int { return 0 }, Add: func(n int, _ readback.ItemResult[string]) int { return n + 1 }, Merge: func(a, b int) int { return a + b },
	})
	if !errors.Is(err, errStore) {
		t.Errorf("Reduce = %v, want the store's error", err)
	}
	away.Store(false)
}

func TestAReportOpensOnlyTheBlocksInWhichSomethingFailed(t *testing.T) {
	var opened atomic.Int64
	s := &storetest.Flaky{Store: memory(), Fail: func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.OpGetBlock {
			opened.Add(1)
		}
		return storetest.Fault{}
	}}
	a := each("step", func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
		if it.Value == 5000 {
			b.Fail(i, "bad", errDown)
		} else {
			b.Done(i, "")
		}
	})
	b := submit(t, start(t, s, engine.Options{}, action(a)), spec(a), numbers(20_000))
	wait(t, b)
	before := opened.Load()
	rep, err := b.Report(t.Context())
	if err != nil || len(rep.Errors) != 1 || rep.Errors[0].Count != 1 {
		t.Fatalf("errors = %+v, %v; want one", rep.Errors, err)
	}
	if n := opened.Load() - before; n != 1 {
		t.Errorf("%d blocks were opened, want the one with a failure", n)
	}
}

func TestAReportDuringACancelAddsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := slow("step", 10*time.Second)
		b := submit(t, start(t, memory(), engine.Options{Slots: 2}, action(a)), spec(a), numbers(100))
		time.Sleep(time.Second)
		do(t, b.Cancel)
		time.Sleep(time.Second)
		wantState(t, b, weir.BulkCancelling)
		rep, err := b.Report(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := rep.Check(); err != nil || rep.Counts.InFlight != 20 || rep.Counts.Cancelled != 80 {
			t.Errorf("counts = %+v, %v; want 20 in flight and 80 cancelled", rep.Counts, err)
		}
	})
}

func TestAReaderMayLeaveAReportInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := slow("step", time.Millisecond)
		r := start(t, memory(), engine.Options{}, action(a))
		b := submit(t, r, spec(a), numbers(3000))
		rep := wait(t, b)
		for _, most := range []int{1, 1024, 2500} {
			n := 0
			for _, err := range rep.Rows(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n == most {
					break
				}
			}
			if n != most {
				t.Errorf("read %d rows, want %d", n, most)
			}
		}
	})
}

func TestARunIsAsLongAsItsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := slow("step", 2*time.Millisecond)
		r := start(t, memory(), engine.Options{}, action(a))
		for _, n := range []int{1, 10} {
			rep := wait(t, submit(t, r, spec(a), numbers(n)))
			// A percentile is the upper end of its class, which is up to a 32nd above the time itself.
			if p99 := rep.Steps[0].Latency.P99; rep.Duration < p99*32/33 || p99 < report.Duration(2*time.Millisecond) {
				t.Errorf("%d items took %v, and a call %v", n, rep.Duration, p99)
			}
		}
	})
}
