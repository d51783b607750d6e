package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/report"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
	"github.com/weirhq/weir/store/pebblestore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is an engine under test.
type rig struct {
	*engine.Engine
	store store.Store
	stop  func() error // ends Run and returns what it returned; may be called again
	ended <-chan error // Run returned; one value
}

// registration is one chain that a rig knows.
type registration func(*engine.Engine) error

func chain[In, Out any](c weir.Chain[In, Out]) registration {
	return func(e *engine.Engine) error { return e.Handle(c) }
}

func action[In, Out any](a weir.Action[In, Out]) registration { return chain(weir.Start(a)) }

// open makes an engine that does not run.
func open(t testing.TB, s store.Store, o engine.Options, chains ...registration) *rig {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	o.Partitions = cmp.Or(o.Partitions, 2)
	e, err := engine.Open(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, register := range chains {
		if err := register(e); err != nil {
			t.Fatal(err)
		}
	}
	return &rig{Engine: e, store: s}
}

// start makes an engine that runs until the test ends or calls stop.
func start(t testing.TB, s store.Store, o engine.Options, chains ...registration) *rig {
	t.Helper()
	return open(t, s, o, chains...).run(t)
}

func (r *rig) run(t testing.TB) *rig {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	var once sync.Once
	var err error
	r.stop = func() error {
		once.Do(func() { cancel(); err = <-ended })
		return err
	}
	r.ended = ended
	go func() { ended <- r.Run(ctx); close(ended) }()
	t.Cleanup(func() { _ = r.stop() }) // tests that expect an error look at it themselves
	return r
}

func memory() *memstore.Store { return memstore.New(memstore.Options{}) }

// disk opens the embedded store in a folder; it is closed at the end of the test at the latest.
func disk(t testing.TB, dir string) *pebblestore.Store {
	t.Helper()
	s, err := pebblestore.Open(dir, pebblestore.Options{MinFree: -1, Ballast: -1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // a second Close is no matter
	return s
}

// each makes an action that calls f for every item.
func each(name string, f func(b *weir.Batch[int, string], i int, it weir.Item[int])) weir.Action[int, string] {
	return weir.Action[int, string]{Name: name, BatchSize: 10, Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
		for i, it := range b.Items() {
			f(b, i, it)
		}
		return nil
	}}
}

// noop answers done for every item.
func noop(name string) weir.Action[int, string] {
	return each(name, func(b *weir.Batch[int, string], i int, _ weir.Item[int]) { b.Done(i, "") })
}

// slow answers done after a time per task.
func slow(name string, d time.Duration) weir.Action[int, string] {
	return weir.Action[int, string]{Name: name, BatchSize: 10, Handle: func(ctx context.Context, b *weir.Batch[int, string]) error {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return ctx.Err()
		}
		b.DoneRest()
		return nil
	}}
}

func id(i int) string { return fmt.Sprintf("i%05d", i) }

func numbers(n int) []weir.Item[int] {
	items := make([]weir.Item[int], n)
	for i := range items {
		items[i] = weir.Item[int]{ID: id(i), Value: i}
	}
	return items
}

// job is what to do, and how.
type job[In any] struct {
	Chain weir.Work[In]
	weir.Spec
}

// spec makes a job of one action.
func spec[In, Out any](a weir.Action[In, Out]) job[In] { return job[In]{Chain: a} }

// attempt submits a job.
func attempt[In any](ctx context.Context, e *engine.Engine, j job[In], items iter.Seq2[weir.Item[In], error]) (*engine.BulkAction, error) {
	return engine.Submit(ctx, e, j.Chain, items, j.Spec)
}

func submit[In any](t testing.TB, r *rig, j job[In], items []weir.Item[In]) *engine.BulkAction {
	t.Helper()
	b, err := attempt(t.Context(), r.Engine, j, engine.Items(items))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func wait(t testing.TB, b *engine.BulkAction) *engine.Report {
	t.Helper()
	rep, err := b.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantRowsToMatch(t, rep)
	return rep
}

// wantRowsToMatch checks that the counts of a report are those of its rows.
func wantRowsToMatch(t testing.TB, rep *engine.Report) {
	t.Helper()
	if err := rep.Check(); err != nil {
		t.Error(err)
	}
	got := weir.Counts{}
	for _, row := range rowsOf(t, rep) {
		got.Total++
		switch row.State {
		case report.StateDone:
			got.Done++
		case report.StateFailed:
			got.Failed++
		case report.StateCancelled:
			got.Cancelled++
		case report.StateReady:
			got.Ready++
		}
	}
	if got != rep.Counts {
		t.Errorf("rows add up to %+v, the report counts %+v", got, rep.Counts)
	}
}

func rowsOf(t testing.TB, rep *engine.Report) (rows []report.Row) {
	t.Helper()
	for row, err := range rep.Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func rowOf(t testing.TB, rep *engine.Report, id string) report.Row {
	t.Helper()
	rows := rowsOf(t, rep)
	i := slices.IndexFunc(rows, func(r report.Row) bool { return r.ID == id })
	if i < 0 {
		t.Fatalf("no row for %s", id)
	}
	return rows[i]
}

// wantCounts checks how many items ended how.
func wantCounts(t testing.TB, rep *engine.Report, done, failed, cancelled int) {
	t.Helper()
	c := rep.Counts
	if c.Done != int64(done) || c.Failed != int64(failed) || c.Cancelled != int64(cancelled) {
		t.Errorf("done, failed, cancelled = %d, %d, %d; want %d, %d, %d (%s)", c.Done, c.Failed, c.Cancelled, done, failed, cancelled, rep.State)
	}
}

// tally counts by name, from several goroutines.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) add(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[name]++
	return c.n[name]
}

func (c *tally) all() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.n)
}

func (c *tally) sum() (n int) {
	for _, x := range c.all() {
		n += x
	}
	return n
}

// wantEach checks that n names were counted, each so many times.
func (c *tally) wantEach(t testing.TB, n, times int) {
	t.Helper()
	all := c.all()
	if len(all) != n {
		t.Errorf("%d different ones were counted, want %d", len(all), n)
	}
	for name, got := range all {
		if got != times {
			t.Errorf("%s was counted %d times, want %d", name, got, times)
		}
	}
}

// counting counts the rows that are written.
type counting struct {
	store.Store
	rows atomic.Int64
}

func (s *counting) Commit(ctx context.Context, partition int, tok store.Token, b *store.Batch) error {
	s.rows.Add(int64(len(b.Set) + len(b.Delete)))
	return s.Store.Commit(ctx, partition, tok, b)
}
