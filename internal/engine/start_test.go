package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/engine/ingest"
)

// now reads a bulk action's progress.
func now(t testing.TB, b *engine.BulkAction) weir.Progress {
	t.Helper()
	p, err := b.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// is waits, in a bubble, for everything to be at rest, and wants a state and so many items done.
func is(t testing.TB, b *engine.BulkAction, state weir.BulkState, done int64) {
	t.Helper()
	synctest.Wait()
	if p := now(t, b); p.State != state || p.Counts.Done != done {
		t.Fatalf("it is %v with %d done, want %v with %d", p.State, p.Counts.Done, state, done)
	}
}

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsHeldStartsWhenToldAlsoAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a := memory(), noop("noop")
		r := start(t, s, engine.Options{}, action(a))
		held := spec(a)
		held.Hold = true
		b := submit(t, r, held, numbers(25))
		time.Sleep(time.Minute)
		is(t, b, weir.BulkSealed, 0)
		must(t, r.stop())

		r = start(t, s, engine.Options{}, action(a))
		b, err := r.Get(t.Context(), b.ID())
		must(t, err)
		time.Sleep(time.Minute)
		is(t, b, weir.BulkSealed, 0)
		must(t, b.Start(t.Context(), time.Time{}))
		time.Sleep(time.Second)
		is(t, b, weir.BulkCompleted, 25)
	})
}

func TestWhatIsScheduledStartsAtItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a := memory(), noop("noop")
		r := start(t, s, engine.Options{}, action(a))
		later := spec(a)
		later.StartAt = time.Now().Add(10 * time.Minute)
		b := submit(t, r, later, numbers(5))
		c := submit(t, r, later, numbers(5))
		d := submit(t, r, later, numbers(5))
		time.Sleep(time.Minute)
		is(t, b, weir.BulkScheduled, 0)
		must(t, c.Start(t.Context(), time.Now().Add(20*time.Minute)))
		must(t, d.Unschedule(t.Context()))
		must(t, r.stop())
		start(t, s, engine.Options{}, action(a)) // times survive
		time.Sleep(8*time.Minute + 50*time.Second)
		is(t, b, weir.BulkScheduled, 0)
		time.Sleep(20 * time.Second)
		is(t, b, weir.BulkCompleted, 5)
		is(t, c, weir.BulkScheduled, 0)
		is(t, d, weir.BulkSealed, 0)
		time.Sleep(20 * time.Minute)
		is(t, c, weir.BulkCompleted, 5)
		is(t, d, weir.BulkSealed, 0)
	})
}

func TestACanaryRunsFirstAndTheRestAfterADecision(t *testing.T) {
	bad := each("bad", func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
		if it.Value%10 == 0 {
			b.Fail(i, "no", errors.New("no"))
			return
		}
		b.Done(i, "")
	})
	for _, tt := range []struct {
		name   string
		canary weir.Canary
		action weir.Action[int, string]
		after  weir.BulkState // the canary
		done   int64
		end    int64
	}{
		{"a person decides", weir.Canary{Percent: 1}, noop("noop"), weir.BulkAwaiting, 30, 3000},
		{"so many items", weir.Canary{Items: 1500}, noop("noop"), weir.BulkAwaiting, 1500, 3000},
		{"the rule holds", weir.Canary{Percent: 10, Auto: true}, noop("noop"), weir.BulkCompleted, 3000, 3000},
		{"the rule does not hold", weir.Canary{Percent: 10, Auto: true}, bad, weir.BulkAwaiting, 270, 2700},
		{"the rule asks for little", weir.Canary{Percent: 10, Auto: true, SuccessRate: 0.5}, bad, weir.BulkCompleted, 2700, 2700},
		{"too slow", weir.Canary{Items: 10, Auto: true, P95: time.Second}, slow("slow", 2*time.Second), weir.BulkAwaiting, 10, 3000},
		{"all of it is the canary", weir.Canary{Percent: 100}, noop("noop"), weir.BulkCompleted, 3000, 3000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memory()
				r := start(t, s, engine.Options{}, action(tt.action))
				c := spec(tt.action)
				c.Canary = &tt.canary
				b := submit(t, r, c, numbers(3000))
				time.Sleep(5 * time.Minute)
				is(t, b, tt.after, tt.done)
				must(t, r.stop())
				r = start(t, s, engine.Options{}, action(tt.action))
				b, err := r.Get(t.Context(), b.ID())
				must(t, err)
				if tt.after == weir.BulkAwaiting {
					time.Sleep(time.Minute)
					is(t, b, tt.after, tt.done)
					must(t, b.Approve(t.Context(), "looks good"))
				}
				time.Sleep(10 * time.Minute)
				is(t, b, weir.BulkCompleted, tt.end)
			})
		})
	}
}

func TestARateOfItsOwnIsKeptAndChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := noop("noop")
		s := memory()
		r := start(t, s, engine.Options{}, action(a))
		paced := spec(a)
		paced.Rates = map[string]weir.Rate{"noop": 10}
		b := submit(t, r, paced, numbers(10_000))
		time.Sleep(100 * time.Second)
		synctest.Wait()
		if got := now(t, b).Counts.Done; got < 980 || got > 1010 {
			t.Errorf("100 s at 10/s: %d done", got)
		}
		must(t, b.Change(t.Context(), weir.Rules{Rates: map[string]weir.Rate{"noop": 20}}, ""))
		before := now(t, b).Counts.Done
		time.Sleep(100 * time.Second)
		synctest.Wait()
		if got := now(t, b).Counts.Done - before; got < 1960 || got > 2010 {
			t.Errorf("100 s at 20/s: %d done", got)
		}
		if w := now(t, b); w.State != weir.BulkRunning {
			t.Errorf("it is %v", w.State)
		}
		must(t, r.stop())
		r = start(t, s, engine.Options{}, action(a)) // what was changed is stored
		b, err := r.Get(t.Context(), b.ID())
		must(t, err)
		before = now(t, b).Counts.Done
		time.Sleep(50 * time.Second)
		synctest.Wait()
		if got := now(t, b).Counts.Done - before; got < 960 || got > 1010 {
			t.Errorf("50 s at 20/s after a restart: %d done", got)
		}
		must(t, b.Change(t.Context(), weir.Rules{Rates: map[string]weir.Rate{"noop": 0}}, ""))
		time.Sleep(10 * time.Second)
		is(t, b, weir.BulkCompleted, 10_000)
	})
}

func TestLimitsFollowOperatorsWhileWorkRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := noop("noop")
		a.Resource.Rate = 10
		r := start(t, memory(), engine.Options{}, action(a))
		b := submit(t, r, spec(a), numbers(100_000))
		per := func(d time.Duration) float64 {
			before := now(t, b).Counts.Done
			time.Sleep(d)
			synctest.Wait()
			return float64(now(t, b).Counts.Done-before) / d.Seconds()
		}
		if got := per(60 * time.Second); got < 9.5 || got > 10.5 {
			t.Errorf("at 10/s: %v/s", got)
		}
		rate := weir.Rate(50)
		must(t, r.Operator().SetLimits(t.Context(), func(l *weir.Limits) { l.Resources["noop"] = weir.ResourceLimits{Rate: &rate} }))
		time.Sleep(time.Second)
		if got := per(60 * time.Second); got < 48 || got > 52 {
			t.Errorf("raised to 50/s: %v/s", got)
		}
		low := weir.Rate(5)
		must(t, r.Operator().SetLimits(t.Context(), func(l *weir.Limits) { l.Resources["noop"] = weir.ResourceLimits{Rate: &low} }))
		time.Sleep(time.Second)
		if got := per(60 * time.Second); got < 4.5 || got > 5.5 {
			t.Errorf("lowered to 5/s: %v/s", got)
		}
		must(t, r.Operator().SetLimits(t.Context(), func(l *weir.Limits) { l.Tenants["default"] = weir.TenantLimits{Paused: true} }))
		time.Sleep(time.Second)
		if got := per(60 * time.Second); got != 0 {
			t.Errorf("with the tenant paused: %v/s", got)
		}
		must(t, r.Operator().SetLimits(t.Context(), func(l *weir.Limits) { *l = weir.Limits{} }))
		time.Sleep(time.Second)
		if got := per(60 * time.Second); got < 9.5 || got > 10.5 {
			t.Errorf("without limits of operators: %v/s", got)
		}
	})
}

func TestAWeightGivesATenantItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := noop("noop")
		a.BatchSize, a.Resource.Rate = 1, 100
		r := start(t, memory(), engine.Options{Partitions: 1}, action(a))
		must(t, r.Operator().SetLimits(t.Context(), func(l *weir.Limits) { l.Tenants["big"] = weir.TenantLimits{Weight: 3} }))
		time.Sleep(time.Second)
		of := func(tenant string) *engine.BulkAction {
			s := spec(a)
			s.Tenant = tenant
			return submit(t, r, s, numbers(20_000))
		}
		big, small := of("big"), of("small")
		time.Sleep(100 * time.Second)
		synctest.Wait()
		x, y := now(t, big).Counts.Done, now(t, small).Counts.Done
		if ratio := float64(x) / float64(y); ratio < 2.8 || ratio > 3.2 {
			t.Errorf("weight 3 did %d, weight 1 did %d: ratio %.2f, want 3", x, y, ratio)
		}
	})
}

func TestADescribedChainRunsWithoutBeingRegistered(t *testing.T) {
	describe := func(text []byte) ([]weir.Step, error) {
		if string(text) != `{"do":"echo"}` {
			return nil, fmt.Errorf("unknown text %s", text)
		}
		st := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: "echo", Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			b.DoneRest()
			return nil
		}})
		return []weir.Step{st}, nil
	}
	synctest.Test(t, func(t *testing.T) {
		r := start(t, memory(), engine.Options{Describe: describe})
		item := engine.Items([]weir.RawItem{{ID: "1", Value: json.RawMessage(`{}`)}})
		b, err := r.SubmitAs(t.Context(), engine.Ticket{}, weir.Definition{Name: "echo", Text: json.RawMessage(`{"do":"echo"}`)}, item, weir.Spec{Hold: true})
		must(t, err)
		must(t, r.stop())
		r = start(t, r.store, engine.Options{Describe: describe})
		must(t, b.Start(t.Context(), time.Time{}))
		time.Sleep(time.Second)
		is(t, b, weir.BulkCompleted, 1)
		if _, err := r.SubmitAs(t.Context(), engine.Ticket{}, weir.Definition{Name: "x", Text: json.RawMessage(`{}`)}, item, weir.Spec{Hold: true}); err == nil {
			t.Error("a text that describes no steps was accepted")
		}
	})
}

// raw turns numbers into items as they are.
func raw(n int) []weir.RawItem {
	items := make([]weir.RawItem, n)
	for i := range items {
		items[i] = weir.RawItem{ID: id(i), Value: json.RawMessage(fmt.Sprint(i))}
	}
	return items
}

func TestADraftIsSubmittedOnceHoweverOftenItIsTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory()
		drafts := func(context.Context, weir.BulkID) (bool, error) { return true, nil }
		one := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: "noop", Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			b.DoneRest()
			return nil
		}})
		c := weir.Raw("c", one)
		r := start(t, s, engine.Options{Drafts: drafts}, chain(c))
		bulk, err := r.Intake().NewID(t.Context(), "t")
		must(t, err)
		var parts []ingest.Stage
		for i := range 3 {
			st, err := r.Intake().Stage(t.Context(), bulk, weir.KeepFirst, engine.Items(raw(1000*(i+1))))
			must(t, err)
			parts = append(parts, st)
		}
		must(t, r.stop())
		r = start(t, s, engine.Options{Drafts: drafts}, chain(c)) // what was set aside survives the sweep of a start
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				b, err := r.SubmitStaged(t.Context(), engine.Ticket{ID: bulk}, c.Definition(), parts, weir.Spec{Tenant: "t", Duplicates: weir.KeepFirst})
				if err != nil || b.ID() != bulk {
					t.Errorf("SubmitAs = %v, %v", b, err)
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Second)
		b, err := r.Get(t.Context(), bulk)
		must(t, err)
		is(t, b, weir.BulkCompleted, 3000)
		if b.Duplicates() != 3000 {
			t.Errorf("duplicates = %d, want 3000", b.Duplicates())
		}
		for _, p := range parts {
			must(t, r.Intake().DropStage(t.Context(), p))
		}
	})
}

func TestEventsAreToldUntilTheyAreTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a := memory(), noop("noop")
		var mu sync.Mutex
		var told []engine.Event
		broken := true
		o := engine.Options{Events: func(_ context.Context, ev engine.Event) error {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, ev)
			if broken {
				return errors.New("nobody is there")
			}
			return nil
		}}
		r := start(t, s, o, action(a))
		c := job[json.RawMessage]{Chain: weir.Raw("noop", weir.Start(a).Steps()...), Spec: weir.Spec{Tenant: "acme", Canary: &weir.Canary{Items: 5}}}
		b := submitAs(t, r, engine.Ticket{Notify: true, Extra: json.RawMessage(`{"by":"us"}`)}, c, 20)
		time.Sleep(time.Minute)
		is(t, b, weir.BulkAwaiting, 5)
		must(t, r.stop())
		broken = false
		r = start(t, s, o, action(a))
		must(t, b.Approve(t.Context(), ""))
		time.Sleep(time.Minute)
		is(t, b, weir.BulkCompleted, 20)
		must(t, r.stop())
		before := len(told)
		start(t, s, o, action(a))
		time.Sleep(time.Minute)
		if len(told) != before {
			t.Errorf("what was taken is told again: %v", told[before:])
		}
		var kinds []string
		for _, ev := range told {
			if ev.Tenant != "acme" || string(ev.Extra) != `{"by":"us"}` { // also those that a takeover repeats
				t.Errorf("event %+v, want the tenant acme, and what came with the ticket", ev)
			}
			if kind := fmt.Sprint(ev.State, ev.Number); !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
		if len(kinds) != 2 {
			t.Errorf("told of %v, want the canary and the end, each always with the same number", kinds)
		}
	})
}

func submitAs(t *testing.T, r *rig, k engine.Ticket, s job[json.RawMessage], n int) *engine.BulkAction {
	t.Helper()
	b, err := r.SubmitAs(t.Context(), k, s.Chain.Definition(), engine.Items(raw(n)), s.Spec)
	must(t, err)
	return b
}

func TestARetryKeepsTheKeysUnlessNewOnesAreAskedFor(t *testing.T) {
	var mu sync.Mutex
	keys := map[string]map[string]bool{} // by item
	second := false
	a := weir.Action[int, string]{Name: "a", BatchSize: 7, Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
		mu.Lock()
		defer mu.Unlock()
		for i, it := range b.Items() {
			if keys[it.ID] == nil {
				keys[it.ID] = map[string]bool{}
			}
			keys[it.ID][b.Key(i)] = true
			if it.Value%3 == 0 && !second {
				b.Fail(i, "no", errors.New("no"))
				continue
			}
			b.Done(i, "")
		}
		return nil
	}}
	for _, keep := range []bool{true, false} {
		t.Run(fmt.Sprint("keep ", keep), func(t *testing.T) {
			keys, second = map[string]map[string]bool{}, false
			r := start(t, memory(), engine.Options{}, action(a))
			b := submit(t, r, spec(a), numbers(300))
			wait(t, b)
			second = true
			again, err := b.Retry(t.Context(), engine.RetryOptions{NewKeys: !keep, IdempotencyKey: "k"})
			must(t, err)
			same, err := b.Retry(t.Context(), engine.RetryOptions{NewKeys: !keep, IdempotencyKey: "k"})
			must(t, err)
			if same[0].ID() != again[0].ID() {
				t.Errorf("a second retry with the same key made %s beside %s", same[0].ID(), again[0].ID())
			}
			wait(t, again[0])
			want := 1
			if !keep {
				want = 2
			}
			for i := 0; i < 300; i += 3 {
				if got := len(keys[id(i)]); got != want {
					t.Fatalf("item %d had %d keys, want %d", i, got, want)
				}
			}
		})
	}
}
