package outside

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/engine"
	"github.com/weirhq/weir/report"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

type user struct{ Name string }

// award fails users without a name, as long as broken.
func award(broken *bool) weir.Action[user, int] {
	return weir.Action[user, int]{Name: "award", BatchSize: 2, Handle: func(_ context.Context, b *weir.Batch[user, int]) error {
		for i, it := range b.Items() {
			if it.Value.Name == "" && *broken {
				b.Fail(i, "no_name", errors.New("user has no name"))
				continue
			}
			b.Done(i, len(it.Value.Name))
		}
		return nil
	}}
}

var notify = weir.Action[int, string]{Name: "notify", Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
	for i := range b.Items() {
		b.Done(i, "sent")
	}
	return nil
}}

// slow takes a second for each item, one after another.
var slow = weir.Action[user, struct{}]{
	Name: "slow", BatchSize: 1, Resource: weir.Resource{Name: "mail", Concurrency: 1},
	Handle: func(_ context.Context, b *weir.Batch[user, struct{}]) error {
		time.Sleep(time.Second)
		b.DoneRest()
		return nil
	},
}

func users() []weir.Item[user] {
	return []weir.Item[user]{{ID: "a", Value: user{"Ann"}}, {ID: "b"}, {ID: "c", Value: user{"Cleo"}}, {ID: "a"}}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func get[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		ok(t, err)
		return v
	}
}

// start opens and runs an engine until the test ends.
func start(t *testing.T, s store.Store, works ...weir.Definer) *engine.Engine {
	t.Helper()
	eng, err := engine.Open(t.Context(), s, engine.Options{Partitions: 2, Logger: slog.New(slog.DiscardHandler)})
	ok(t, err)
	ok(t, eng.Handle(works...))
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error)
	go func() { ended <- eng.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return eng
}

func TestABulkActionFromSubmitToRetry(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, broken := t.Context(), true
		chain := weir.Then(weir.Start(award(&broken)), notify, func(_ weir.Item[user], n int) int { return n })
		eng := start(t, memstore.New(memstore.Options{}), chain, notify)
		b, err := engine.Submit(ctx, eng, chain, engine.Items(users()), weir.Spec{Name: "spring", Tenant: "acme", Duplicates: weir.KeepFirst})
		ok(t, err)
		last := weir.Progress{}
		for p := range b.Progress(ctx) {
			last = p
		}
		rep, err := b.Wait(ctx)
		ok(t, err)
		want := weir.Counts{Total: 3, Done: 2, Failed: 1}
		if rep.Counts != want || last.Counts != want || b.Items() != 3 || b.Duplicates() != 1 {
			t.Errorf("counts = %+v, last progress %+v, items %d, duplicates %d", rep.Counts, last.Counts, b.Items(), b.Duplicates())
		}
		look(t, eng, b)
		write(t, rep, dir)
		again(t, b, &broken)
		if err := eng.Health(); err != nil || errors.As(err, new(*weir.LossError)) || eng.Name() == "" || len(eng.Owned()) != 2 {
			t.Errorf("health %v, name %q, owned %v", err, eng.Name(), eng.Owned())
		}
		if _, err := eng.Get(ctx, "ba_unknown"); err == nil || errors.As(err, new(*weir.LostError)) {
			t.Errorf("Get of an unknown id = %v", err)
		}
	})
}

// look reads the bulk action in every way.
func look(t *testing.T, eng *engine.Engine, b *engine.BulkAction) {
	t.Helper()
	ctx := t.Context()
	same := get[*engine.BulkAction](t)(eng.Get(ctx, b.ID()))
	if i := same.Info(); i.Name != "spring" || i.Tenant != "acme" || !slices.Equal(i.Steps, []string{"award", "notify"}) {
		t.Errorf("info = %+v", i)
	}
	for x, err := range eng.List(ctx) {
		if ok(t, err); x.ID() != b.ID() {
			t.Errorf("listed %s", x.ID())
		}
	}
	if p := get[weir.Progress](t)(b.Now(ctx)); p.State != weir.BulkCompleted {
		t.Errorf("state = %v", p.State)
	}
	found := 0
	for f, err := range eng.Lookup(ctx, "b", engine.LookupOptions{Tenants: []string{"acme"}, Most: 5}) {
		if ok(t, err); f.Bulk == b.ID() && f.Row.State == report.StateFailed {
			found++
		}
	}
	byID, byNo := get[engine.Found](t)(b.ItemByID(ctx, "a")), get[engine.Found](t)(b.Item(ctx, 0))
	if found != 1 || byID.Row.ID != byNo.Row.ID || len(byID.Steps) != 2 || byID.Steps[1].State != report.StateDone {
		t.Errorf("found %d; by id %+v; by position %+v", found, byID, byNo)
	}
	if _, err := b.ItemByID(ctx, "x"); !errors.Is(err, weir.ErrNotFound) {
		t.Errorf("unknown item: %v", err)
	}
	failed := 0
	for row, err := range b.Rows(ctx, engine.RowOptions{State: report.StateFailed}) {
		if ok(t, err); row.ID == "b" && row.Code == "no_name" {
			failed++
		}
	}
	groups := get[[]weir.ErrorGroup](t)(b.ErrorGroups(ctx))
	if failed != 1 || len(groups) != 1 || groups[0].Code != "no_name" {
		t.Errorf("%d rows failed, groups %+v", failed, groups)
	}
	letters, err := engine.Reduce(ctx, b, engine.Reducer[string, []string]{
		New:   func() []string { return nil },
		Add:   func(all []string, r engine.ItemResult[string]) []string { return append(all, r.ID+" "+r.Output) },
		Merge: func(a, b []string) []string { return append(a, b...) },
	})
	if ok(t, err); !slices.Equal(letters, []string{"a sent", "b ", "c sent"}) {
		t.Errorf("reduced to %q", letters)
	}
}

// write writes the report, with a summary that the caller has added to.
func write(t *testing.T, rep *engine.Report, dir string) {
	t.Helper()
	ctx, n := t.Context(), 0
	for _, err := range rep.Rows(ctx) {
		ok(t, err)
		n++
	}
	ok(t, rep.Check())
	rep.Invalid = 7
	ok(t, rep.WriteDir(ctx, filepath.Join(dir, "csv")))
	w, err := report.NewWriter(filepath.Join(dir, "ndjson"), report.FormatNDJSON, report.Options{})
	ok(t, err)
	ok(t, rep.WriteFiles(ctx, w))
	for _, name := range []string{"csv/done.csv", "csv/failed.csv", "ndjson/done.ndjson", "ndjson/report.json"} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if ok(t, err); strings.HasSuffix(name, "json") && name != "ndjson/done.ndjson" && !strings.Contains(string(raw), `"invalid": 7`) {
			t.Errorf("%s lacks what the caller has set: %s", name, raw)
		}
	}
	if n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}

// again retries the failed item after the cause is gone.
func again(t *testing.T, b *engine.BulkAction, broken *bool) {
	t.Helper()
	ctx := t.Context()
	*broken = false
	made := get[[]*engine.BulkAction](t)(b.Retry(ctx, engine.RetryOptions{Match: func(r *report.Row) bool { return r.Code == "no_name" }}))
	all := get[[]*engine.BulkAction](t)(b.Retries(ctx))
	if len(made) != 1 || len(all) != 1 || made[0].ID() != all[0].ID() || all[0].Info().RetryOf != b.ID() {
		t.Fatalf("%d retries made, %d found", len(made), len(all))
	}
	if rep := get[*engine.Report](t)(made[0].Wait(ctx)); rep.Counts.Done != 1 {
		t.Errorf("retry: %+v", rep.Counts)
	}
}

func TestTheVerbsOfABulkAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		eng := start(t, memstore.New(memstore.Options{}), slow)
		b := get[*engine.BulkAction](t)(engine.Submit(ctx, eng, slow, engine.Items(users()[:3]), weir.Spec{Hold: true, Canary: &weir.Canary{Items: 1}}))
		state := func(want weir.BulkState) {
			t.Helper()
			time.Sleep(100 * time.Millisecond)
			if p := get[weir.Progress](t)(b.Now(ctx)); p.State != want {
				t.Fatalf("state = %v, want %v", p.State, want)
			}
		}
		state(weir.BulkSealed)
		ok(t, b.Start(ctx, time.Now().Add(time.Hour)))
		state(weir.BulkScheduled)
		ok(t, b.Unschedule(ctx))
		state(weir.BulkSealed)
		ok(t, b.Start(ctx, time.Time{}))
		time.Sleep(2 * time.Second)
		state(weir.BulkAwaiting)
		ok(t, b.Approve(ctx, "looks well"))
		state(weir.BulkRunning)
		ok(t, b.Pause(ctx, "a look"))
		state(weir.BulkPaused)
		high := weir.TierHigh
		ok(t, b.Change(ctx, weir.Rules{Tier: &high}, "hurry"))
		ok(t, b.Resume(ctx, "seen"))
		state(weir.BulkRunning)
		if i := get[*engine.BulkAction](t)(eng.Get(ctx, b.ID())).Info(); i.Tier != weir.TierHigh {
			t.Errorf("tier = %v after the change", i.Tier)
		}
		ok(t, b.Cancel(ctx, "enough"))
		time.Sleep(3 * time.Second)
		rep := get[*engine.Report](t)(b.Report(ctx))
		if rep.State != "cancelled" || rep.Counts.Cancelled == 0 {
			t.Errorf("%s, %+v", rep.State, rep.Counts)
		}
		if err := b.Cancel(ctx, "again"); !errors.Is(err, weir.ErrEnded) {
			t.Errorf("a second cancel: %v", err)
		}
	})
}

func TestOptionsAreCheckedAndItemsToo(t *testing.T) {
	s := memstore.New(memstore.Options{})
	var bad *weir.InputError
	if _, err := engine.Open(t.Context(), s, engine.Options{Slots: -1}); !errors.As(err, &bad) {
		t.Errorf("bad options: %v", err)
	}
	eng, err := engine.Open(t.Context(), s, engine.Options{Logger: slog.New(slog.DiscardHandler)})
	ok(t, err)
	ok(t, eng.Handle(slow))
	twice := engine.Items([]weir.Item[user]{{ID: "a"}, {ID: "a"}})
	if _, err := engine.Submit(t.Context(), eng, slow, twice, weir.Spec{}); !errors.As(err, new(*weir.DuplicateError)) {
		t.Errorf("an id that comes twice: %v", err)
	}
	if b, err := engine.Submit(t.Context(), eng, slow, nil, weir.Spec{}); err == nil || b != nil {
		t.Errorf("no iterator: %v, %v", b, err)
	}
}
