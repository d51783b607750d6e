package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store"
)

// manyItems is a number of items that do not fit into the message of a bulk action: they are in blocks.
const manyItems = 5000

// wantBlocks checks how many bulk actions have blocks: a refused submit leaves none behind.
func wantBlocks(t testing.TB, s store.Store, owners int) {
	t.Helper()
	n := 0
	for p := range 4 {
		ids, err := s.BlockOwners(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		n += len(ids)
	}
	if n != owners {
		t.Errorf("%d bulk actions have blocks, want %d", n, owners)
	}
}

func TestAnIdempotencyKeyMakesOneBulkActionOfManySubmits(t *testing.T) {
	var calls tally
	a := each("once", func(b *weir.Batch[int, string], i int, it weir.Item[int]) { calls.add(it.ID); b.Done(i, "") })
	s := memory()
	r := start(t, s, engine.Options{}, action(a))
	sp := spec(a)
	sp.IdempotencyKey = "spring"
	var ids tally
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			b, err := attempt(t.Context(), r.Engine, sp, engine.Items(numbers(1500)))
			if err != nil {
				t.Error(err)
				return
			}
			ids.add(string(b.ID()))
		})
	}
	wg.Wait()
	ids.wantEach(t, 1, 32)
	wantBlocks(t, s, 1)
	for id := range ids.all() {
		b, err := r.Get(t.Context(), weir.BulkID(id))
		if err != nil {
			t.Fatal(err)
		}
		wantCounts(t, wait(t, b), 1500, 0, 0)
	}
	calls.wantEach(t, 1500, 1)
}

func TestAnIdempotencyKeyWithOtherContentIsAConflict(t *testing.T) {
	a, other := noop("step"), noop("other")
	for _, tt := range []struct {
		name   string
		change func(*job[int], []weir.Item[int]) []weir.Item[int]
	}{
		{"another value", func(_ *job[int], it []weir.Item[int]) []weir.Item[int] { it[1].Value = 9; return it }},
		{"another id", func(_ *job[int], it []weir.Item[int]) []weir.Item[int] { it[1].ID = "x"; return it }},
		{"one item less", func(_ *job[int], it []weir.Item[int]) []weir.Item[int] { return it[1:] }},
		{"another chain", func(s *job[int], it []weir.Item[int]) []weir.Item[int] {
			s.Chain = weir.Start(other)
			return it
		}},
		{"another tier", func(s *job[int], it []weir.Item[int]) []weir.Item[int] {
			s.Tier = weir.TierHigh
			return it
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := memory()
			r := open(t, s, engine.Options{}, action(a), action(other))
			sp := spec(a)
			sp.IdempotencyKey = "key"
			first := submit(t, r, sp, numbers(manyItems))
			items := tt.change(&sp, numbers(manyItems))
			_, err := attempt(t.Context(), r.Engine, sp, engine.Items(items))
			if !errors.Is(err, weir.ErrConflict) || !strings.Contains(err.Error(), string(first.ID())) {
				t.Errorf("error = %v, want ErrConflict that names %s", err, first.ID())
			}
			wantBlocks(t, s, 1)
		})
	}
}

func TestAnIdempotencyKeyIsOneTenantsOwn(t *testing.T) {
	a := noop("step")
	r := open(t, memory(), engine.Options{Partitions: 1}, action(a))
	sp := spec(a)
	sp.IdempotencyKey, sp.Tenant = "key", "ann"
	first := submit(t, r, sp, numbers(5))
	sp.Tenant = "ben"
	if second := submit(t, r, sp, numbers(7)); second.ID() == first.ID() {
		t.Error("two tenants with the same key share a bulk action")
	}
}

func TestDuplicateIDsAreRefusedLeftOutOrKept(t *testing.T) {
	items := append(numbers(2000), weir.Item[int]{ID: id(5), Value: 99}, weir.Item[int]{ID: id(6), Value: 99})
	a := each("echo", func(b *weir.Batch[int, string], i int, it weir.Item[int]) { b.Done(i, fmt.Sprint(it.Value)) })
	t.Run("refused by default", func(t *testing.T) {
		s := memory()
		_, err := attempt(t.Context(), open(t, s, engine.Options{}, action(a)).Engine, spec(a), engine.Items(items))
		var dup *weir.DuplicateError
		if !errors.As(err, &dup) || dup.ID != id(5) || dup.Item != 2001 || dup.First != 6 {
			t.Errorf("error = %v, want a duplicate of %s at items 6 and 2001", err, id(5))
		}
		wantBlocks(t, s, 0)
	})
	for _, tt := range []struct {
		name       string
		rule       weir.DuplicateRule
		done       int
		duplicates int64
	}{{"the first is kept", weir.KeepFirst, 2000, 2}, {"all are kept", weir.KeepAll, 2002, 0}} {
		t.Run(tt.name, func(t *testing.T) {
			sp := spec(a)
			sp.Duplicates = tt.rule
			b := submit(t, start(t, memory(), engine.Options{}, action(a)), sp, items)
			rep := wait(t, b)
			wantCounts(t, rep, tt.done, 0, 0)
			if b.Duplicates() != tt.duplicates || rep.Duplicates != tt.duplicates || b.Items() != int64(tt.done) {
				t.Errorf("duplicates %d, in the report %d, items %d; want %d and %d", b.Duplicates(), rep.Duplicates, b.Items(), tt.duplicates, tt.done)
			}
			if got := string(rowOf(t, rep, id(5)).Output); got != `"5"` {
				t.Errorf("first item %s answered %s, want its own value", id(5), got)
			}
		})
	}
}

func TestABadItemRefusesEverythingAndLeavesNothingBehind(t *testing.T) {
	good := json.RawMessage(`{"a":1}`)
	errSource := errors.New("file ended in the middle")
	for _, tt := range []struct {
		name  string
		item  weir.RawItem
		err   error
		field string
	}{
		{"an empty id", weir.RawItem{ID: "", Value: good}, nil, "items[3000].id"},
		{"a long id", weir.RawItem{ID: strings.Repeat("x", 257), Value: good}, nil, "items[3000].id"},
		{"an id that is not UTF-8", weir.RawItem{ID: "a\xff", Value: good}, nil, "items[3000].id"},
		{"an id with a zero byte", weir.RawItem{ID: "a\x00b", Value: good}, nil, "items[3000].id"},
		{"a huge document", weir.RawItem{ID: "x", Value: json.RawMessage(`"` + strings.Repeat("x", 256<<10) + `"`)}, nil, "items[3000].data"},
		{"no document", weir.RawItem{ID: "x"}, nil, "items[3000].data"},
		{"broken JSON", weir.RawItem{ID: "x", Value: json.RawMessage(`{"a":`)}, nil, "items[3000].data"},
		{"two JSON values", weir.RawItem{ID: "x", Value: json.RawMessage(`1 2`)}, nil, "items[3000].data"},
		{"a name twice", weir.RawItem{ID: "x", Value: json.RawMessage(`{"a":1,"a":2}`)}, nil, "items[3000].data"},
		{"text that is not UTF-8", weir.RawItem{ID: "x", Value: json.RawMessage("\"\xff\"")}, nil, "items[3000].data"},
		{"an error from the input", weir.RawItem{}, errSource, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := memory()
			raw := weir.Raw("raw", weir.RawStep(weir.Action[json.RawMessage, struct{}]{Name: "raw", Handle: ignore[json.RawMessage]}))
			r := open(t, s, engine.Options{}, chain(raw))
			var seq iter.Seq2[weir.RawItem, error] = func(yield func(weir.RawItem, error) bool) {
				for i := range 5000 {
					it, err := weir.RawItem{ID: id(i), Value: good}, error(nil)
					if i == 3000 {
						it, err = tt.item, tt.err
					}
					if !yield(it, err) {
						return
					}
				}
			}
			_, err := engine.Submit(t.Context(), r.Engine, raw, seq, weir.Spec{})
			var field *weir.FieldError
			if tt.err != nil && !errors.Is(err, tt.err) || tt.err == nil && (!errors.As(err, &field) || field.Field != tt.field || field.Fix == "") {
				t.Errorf("error = %v, want one about %s%v with a fix", err, tt.field, tt.err)
			}
			wantBlocks(t, s, 0)
		})
	}
}

func TestNoItemsAreRefused(t *testing.T) {
	a := noop("step")
	_, err := attempt(t.Context(), open(t, memory(), engine.Options{}, action(a)).Engine, spec(a), engine.Items[int](nil))
	var field *weir.FieldError
	if !errors.As(err, &field) || field.Code != "no_items" {
		t.Errorf("error = %v, want no_items", err)
	}
}

func TestASpecWithFaultsNamesAllOfThem(t *testing.T) {
	r := open(t, memory(), engine.Options{}, action(noop("known")))
	sp := spec(noop("unknown"))
	sp.Tenant, sp.Name, sp.Priority, sp.Concurrency, sp.Tier = "a\x00", strings.Repeat("n", 129), 101, -1, 7
	sp.StopOn.FailureRate, sp.Deadline = 1.5, time.Now().Add(-time.Hour)
	_, err := attempt(t.Context(), r.Engine, sp, engine.Items(numbers(1)))
	var bad *weir.InputError
	if !errors.As(err, &bad) {
		t.Fatalf("error = %v, want an InputError", err)
	}
	got := map[string]bool{}
	for _, f := range bad.Fields {
		got[f.Field] = f.Problem != "" && f.Fix != ""
	}
	for _, field := range []string{"chain", "tenant", "name", "priority", "concurrency", "tier", "stop_on", "deadline"} {
		if !got[field] {
			t.Errorf("field %s is not named with problem and fix in:\n%v", field, err)
		}
	}
	if !strings.Contains(err.Error(), "known: known") {
		t.Errorf("error does not list the known chains: %v", err)
	}
}

func TestLargeItemsInUnevenBlocksComeThroughByteForByte(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	items := make([]weir.RawItem, 200)
	for i := range items {
		raw := make([]byte, 200<<10-random.IntN(1000))
		for j := range raw {
			raw[j] = 'a' + byte(random.IntN(26))
		}
		raw[0], raw[len(raw)-1] = '"', '"'
		items[i] = weir.RawItem{ID: id(i), Value: raw}
	}
	var mu sync.Mutex
	seen := map[string]string{}
	c := weir.Raw("big", weir.RawStep(weir.Action[json.RawMessage, struct{}]{Name: "big", Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, struct{}]) error {
		mu.Lock()
		defer mu.Unlock()
		for _, it := range b.Items() {
			seen[it.ID] = string(it.Value)
		}
		b.DoneRest()
		return nil
	}}))
	b := submit(t, start(t, memory(), engine.Options{}, chain(c)), job[json.RawMessage]{Chain: c}, items)
	rep := wait(t, b)
	wantCounts(t, rep, 200, 0, 0)
	rows := rowsOf(t, rep)
	for i, it := range items {
		if seen[it.ID] != string(it.Value) || rows[i].ID != it.ID || string(rows[i].Data) != string(it.Value) {
			t.Fatalf("item %s was changed on its way", it.ID)
		}
	}
}

func TestAFullBacklogSaysWhenToComeBack(t *testing.T) {
	a, s := noop("step"), memory()
	r := open(t, s, engine.Options{MaxPending: 2000}, action(a))
	b := submit(t, r, spec(a), numbers(1960))
	_, err := attempt(t.Context(), r.Engine, spec(a), engine.Items(numbers(41)))
	var full *weir.BacklogError
	if !errors.As(err, &full) || full.Limit != 2000 || full.Pending != 1960 || full.RetryAfter < time.Second {
		t.Fatalf("error = %v, want a backlog of 1960 of 2000 with a time to come back", err)
	}
	var never *weir.FieldError
	if _, err := attempt(t.Context(), r.Engine, spec(a), engine.Items(numbers(manyItems))); !errors.As(err, &full) && !errors.As(err, &never) {
		t.Errorf("error = %v, want a full backlog, or too_many_items", err)
	}
	wantBlocks(t, s, 1)
	submit(t, r, spec(a), numbers(40)) // exactly full
	if _, err := attempt(t.Context(), r.Engine, spec(a), engine.Items(numbers(1))); !errors.As(err, &full) {
		t.Errorf("error = %v, want a full backlog", err)
	}
	r.run(t)
	wait(t, b)
}

func TestMoreItemsThanEverFitIntoTheBacklogAreRefusedForGood(t *testing.T) {
	a, s := noop("step"), memory()
	r := open(t, s, engine.Options{MaxPending: 100}, action(a))
	var never *weir.FieldError
	if _, err := attempt(t.Context(), r.Engine, spec(a), engine.Items(numbers(101))); !errors.As(err, &never) ||
		never.Code != "too_many_items" {
		t.Errorf("error = %v, want too_many_items: 101 items never fit into a backlog of 100", err)
	}
	wantBlocks(t, s, 0)
}

func TestTheBacklogIsKnownAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := slow("step", time.Second), memory()
		b := submit(t, open(t, s, engine.Options{MaxPending: 100}, action(a)), spec(a), numbers(60)) // never run by this one
		r := start(t, s, engine.Options{MaxPending: 100}, action(a))
		time.Sleep(time.Second / 2)
		var full *weir.BacklogError
		_, err := attempt(t.Context(), r.Engine, spec(a), engine.Items(numbers(41)))
		if !errors.As(err, &full) || full.Pending != 60 {
			t.Errorf("error = %v, want a full backlog: 60 items of an earlier process are pending", err)
		}
		if b, err = r.Get(t.Context(), b.ID()); err != nil {
			t.Fatal(err)
		}
		wait(t, b)
		submit(t, r, spec(a), numbers(100))
	})
}

// ignore answers nothing.
func ignore[In any](context.Context, *weir.Batch[In, struct{}]) error { return nil }
