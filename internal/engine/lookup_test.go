package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/report"
	"github.com/weirhq/weir/store"
)

// filterBlocks is where the filters of a bulk action begin.
const filterBlocks = 1 << 30

// opening counts the blocks of items that are read, and can do as if there were no filters.
type opening struct {
	store.Store
	old    bool
	opened atomic.Int64
}

func (s *opening) PutBlocks(ctx context.Context, partition int, id weir.BulkID, first uint32, blocks [][]byte) error {
	if s.old && first >= filterBlocks {
		return nil
	}
	return s.Store.PutBlocks(ctx, partition, id, first, blocks)
}

func (s *opening) GetBlock(ctx context.Context, partition int, id weir.BulkID, no uint32) ([]byte, error) {
	if no < filterBlocks {
		s.opened.Add(1)
	}
	return s.Store.GetBlock(ctx, partition, id, no)
}

func foundAs(t *testing.T, r *rig, id string, o engine.LookupOptions) (all []engine.Found) {
	t.Helper()
	for f, err := range r.Lookup(t.Context(), id, o) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

func bulksOf(all []engine.Found) (ids []weir.BulkID) {
	for _, f := range all {
		ids = append(ids, f.Bulk)
	}
	return ids
}

// thirds submits three bulk actions a moment apart, of tenants a, b and a, that have the even, all, and every third number.
func thirds(t *testing.T, r *rig, n int) (ids []weir.BulkID) {
	t.Helper()
	for k, keep := range []func(int) bool{
		func(i int) bool { return i%2 == 0 }, func(int) bool { return true }, func(i int) bool { return i%3 == 0 },
	} {
		items := slices.DeleteFunc(numbers(n), func(it weir.Item[int]) bool { return !keep(it.Value) })
		s := spec(noop("step"))
		s.Tenant = []string{"a", "b", "a"}[k]
		ids = append(ids, submit(t, r, s, items).ID())
		time.Sleep(2 * time.Millisecond) // ids of one millisecond are in no order
	}
	time.Sleep(time.Second) // they are read
	return ids
}

func TestLookupFindsAnIDInAllBulkActionsNewestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &opening{Store: memory()}
		r := start(t, s, engine.Options{}, action(noop("step")))
		ids := thirds(t, r, 30_000)
		for _, tt := range []struct {
			name string
			no   int
			o    engine.LookupOptions
			want []weir.BulkID
		}{
			{"in all three", 23_436, engine.LookupOptions{}, []weir.BulkID{ids[2], ids[1], ids[0]}},
			{"in one", 23_435, engine.LookupOptions{}, []weir.BulkID{ids[1]}},
			{"in none", 30_001, engine.LookupOptions{}, nil},
			{"the newest alone", 23_436, engine.LookupOptions{Most: 1}, []weir.BulkID{ids[2]}},
			{"of a tenant", 23_436, engine.LookupOptions{Tenants: []string{"a", "c"}}, []weir.BulkID{ids[2], ids[0]}},
			{"of no tenant", 23_436, engine.LookupOptions{Tenants: []string{}}, nil},
			{"before the second", 23_436, engine.LookupOptions{Before: ids[1]}, []weir.BulkID{ids[0]}},
		} {
			s.opened.Store(0)
			got := foundAs(t, r, id(tt.no), tt.o)
			if !slices.Equal(bulksOf(got), tt.want) {
				t.Errorf("%s: found in %v, want %v", tt.name, bulksOf(got), tt.want)
			}
			for _, f := range got {
				if f.Row.ID != id(tt.no) || f.Row.State != report.StateDone || string(f.Row.Data) != fmt.Sprint(tt.no) {
					t.Errorf("%s: found %+v, want item %d, done", tt.name, f.Row, tt.no)
				}
			}
			if n := s.opened.Load(); n > 8 { // of 55
				t.Errorf("%s: %d blocks were opened for %d items", tt.name, n, len(tt.want))
			}
		}
	})
}

func TestLookupReadsAllBlocksWhereThereAreNoFilters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &opening{Store: memory(), old: true}
		r := start(t, s, engine.Options{}, action(noop("step")))
		ids := thirds(t, r, 30_000)
		s.opened.Store(0)
		if got := foundAs(t, r, id(12_000), engine.LookupOptions{}); len(got) != len(ids) {
			t.Errorf("found in %v, want all of %v", bulksOf(got), ids)
		}
		if n := s.opened.Load(); n != 15+30+10 {
			t.Errorf("%d blocks were opened, want all 55", n)
		}
	})
}

// jointFilters counts the joint filters that have pages.
func jointFilters(t *testing.T, s store.Store) (n int) {
	t.Helper()
	owners, err := s.BlockOwners(t.Context(), 0)
	must(t, err)
	for _, name := range owners {
		if strings.HasPrefix(string(name), "jf_") {
			n++
		}
	}
	return n
}

func TestFiltersAreJoinedAndSurviveTheirOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &opening{Store: memory()}
		o := engine.Options{Partitions: 1, KeepFor: time.Hour}
		r := start(t, s, o, action(noop("step")))
		var ids []weir.BulkID
		for k := range 20 {
			n := []int{100, 3000}[k%2] // inline, and in blocks
			ids = append(ids, submit(t, r, spec(noop("step")), numbers(n)).ID())
			time.Sleep(2 * time.Millisecond)
		}
		slices.Reverse(ids)
		wantFound := func(when string) {
			t.Helper()
			if got := bulksOf(foundAs(t, r, id(7), engine.LookupOptions{})); !slices.Equal(got, ids) {
				t.Errorf("%s: found in %v, want %v", when, got, ids)
			}
			if got := bulksOf(foundAs(t, r, id(2000), engine.LookupOptions{Before: ids[18]})); len(got) != 0 {
				t.Errorf("%s: found in %v, want none that is older", when, got)
			}
			if got := bulksOf(foundAs(t, r, id(2000), engine.LookupOptions{})); len(got) != 10 || got[9] != ids[18] {
				t.Errorf("%s: found in %v, want the ten large ones", when, got)
			}
		}
		wantFound("before they are joined")
		if n := jointFilters(t, s); n > 0 {
			t.Fatalf("%d joint filters at once", n)
		}
		time.Sleep(2 * time.Minute)
		if n := jointFilters(t, s); n != 1 {
			t.Fatalf("%d joint filters after two minutes, want 1", n)
		}
		wantFound("joined")
		must(t, r.stop())
		// What a former owner left that died before its filter counted.
		must(t, s.PutBlocks(t.Context(), 0, "jf_01hzzzzzzzzzzzzzzzzzzzzzzz", 0, [][]byte{{1}}))
		r = start(t, s, o, action(noop("step")))
		time.Sleep(time.Second)
		if n := jointFilters(t, s); n != 1 {
			t.Errorf("%d joint filters after a restart, want 1", n)
		}
		wantFound("after a restart")
		time.Sleep(2 * time.Hour)
		if n := jointFilters(t, s); n > 0 {
			t.Errorf("%d joint filters are left of bulk actions that were removed", n)
		}
		ids = nil
		if got := foundAs(t, r, id(7), engine.LookupOptions{}); len(got) > 0 {
			t.Errorf("found %v after all were removed", got)
		}
	})
}

func TestAFoundItemTellsWhatHappenedAtEachStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := each("award", func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
			switch {
			case it.Value == 1:
				b.Fail(i, "closed", errors.New("account 1 is closed"))
			case it.Value == 2 && b.Attempt() == 1:
				b.Retry(i, errDown, time.Second)
			case it.Value == 3:
				b.Retry(i, errDown, time.Hour)
			case it.Value == 4:
				b.LeaveOut(i, "not wanted")
			default:
				b.Done(i, fmt.Sprint("reward-", it.Value))
			}
		})
		two := relay("message", func(b *weir.Batch[string, string], i int, it weir.Item[string]) {
			if strings.HasPrefix(it.Value, "5:") {
				b.Fail(i, "bounced", errors.New("no such address"))
				return
			}
			b.Done(i, "sent")
		})
		c := weir.Then(weir.Start(one), two, joined).Named("campaign")
		r := start(t, memory(), engine.Options{}, chain(c))
		began := time.Now()
		b := submit(t, r, job[int]{Chain: c, Spec: weir.Spec{Name: "spring", Tenant: "growth"}}, numbers(10))
		time.Sleep(time.Minute)
		type step struct{ step, state, code, message, output string }
		for _, tt := range []struct {
			no    int
			state report.State
			tries []int
			steps []step
		}{
			{0, report.StateDone, []int{1, 1}, []step{{"award", "done", "", "", `"reward-0"`}, {"message", "done", "", "", `"sent"`}}},
			{1, report.StateFailed, []int{1}, []step{{"award", "failed", "closed", "account 1 is closed", ""}}},
			{2, report.StateDone, []int{2, 1}, []step{{"award", "done", "", "", `"reward-2"`}, {"message", "done", "", "", `"sent"`}}},
			{3, report.StateWaiting, []int{1}, []step{{"award", "waiting", "", "", ""}}},
			{4, report.StateCancelled, []int{1}, []step{{"award", "cancelled", "not wanted", "", ""}}},
			{5, report.StateFailed, []int{1, 1}, []step{{"award", "done", "", "", `"reward-5"`}, {"message", "failed", "bounced", "no such address", ""}}},
		} {
			f, err := b.Item(t.Context(), int64(tt.no))
			if err != nil {
				t.Fatal(err)
			}
			byID, err := b.ItemByID(t.Context(), id(tt.no))
			if err != nil || byID.No != f.No || byID.Row.State != f.Row.State {
				t.Errorf("item %d by its id is %+v, %v; by its place %+v", tt.no, byID, err, f)
			}
			if f.Bulk != b.ID() || f.Name != "spring" || f.Tenant != "growth" || f.No != int64(tt.no) || f.Row.State != tt.state {
				t.Errorf("item %d: %+v, want it to be %s", tt.no, f, tt.state)
			}
			var got []step
			var tries []int
			for _, s := range f.Steps {
				got = append(got, step{s.Step, string(s.State), s.Code, s.Message, string(s.Output)})
				tries = append(tries, s.Attempts)
				if s.State != report.StateWaiting && (s.At.Before(began) || s.At.Sub(began) > 30*time.Second) {
					t.Errorf("item %d, step %s: at %v, want a time soon after %v", tt.no, s.Step, s.At, began)
				}
			}
			if !slices.Equal(got, tt.steps) || !slices.Equal(tries, tt.tries) {
				t.Errorf("item %d: steps %+v after %v attempts, want %+v after %v", tt.no, got, tries, tt.steps, tt.tries)
			}
		}
	})
}

func TestAnItemThatIsNotThere(t *testing.T) {
	r := start(t, memory(), engine.Options{}, action(noop("step")))
	b := submit(t, r, spec(noop("step")), numbers(3))
	for name, look := range map[string]func() (engine.Found, error){
		"before the first": func() (engine.Found, error) { return b.Item(t.Context(), -1) },
		"after the last":   func() (engine.Found, error) { return b.Item(t.Context(), 3) },
		"by an unknown id": func() (engine.Found, error) { return b.ItemByID(t.Context(), "nobody") },
	} {
		if f, err := look(); !errors.Is(err, weir.ErrNotFound) {
			t.Errorf("%s: %+v, %v; want ErrNotFound", name, f, err)
		}
	}
}

func TestItemsAreFoundInBlocksOfAllSizesAndWhereIDsRepeat(t *testing.T) {
	a := weir.Action[string, string]{Name: "store", Handle: func(_ context.Context, b *weir.Batch[string, string]) error {
		b.DoneRest()
		return nil
	}}
	r := start(t, memory(), engine.Options{}, action(a))
	var items []weir.Item[string]
	for i := range 60 { // blocks are cut after 4 MiB: some thirty of the large ones
		items = append(items, weir.Item[string]{ID: id(i % 50), Value: strings.Repeat("x", i%2*250_000)})
	}
	s := spec(a)
	s.Duplicates = weir.KeepAll
	b := submit(t, r, s, items)
	wait(t, b)
	for i := range items {
		f, err := b.Item(t.Context(), int64(i))
		if err != nil || f.No != int64(i) || f.Row.ID != items[i].ID {
			t.Fatalf("item %d is %s at %d, %v", i, f.Row.ID, f.No, err)
		}
	}
	var at []int64
	for _, f := range foundAs(t, r, id(7), engine.LookupOptions{}) {
		at = append(at, f.No)
	}
	if !slices.Equal(at, []int64{7, 57}) {
		t.Errorf("an id that came twice was found at %v, want 7 and 57", at)
	}
}

// wantFoundInShards looks up items of the shared bulk action of the tests: it has more than one segment of filters.
func wantFoundInShards(t *testing.T, r *rig) {
	t.Helper()
	for _, no := range []int{0, 97 * 100, 53 * 1000, 262_143, 262_144, sharedItems - 1} {
		got := foundAs(t, r, id(no), engine.LookupOptions{})
		if len(got) != 1 || got[0].No != int64(no) {
			t.Fatalf("item %d was found as %+v", no, got)
		}
		want := report.StateDone
		if no%97 == 0 {
			want = report.StateFailed
		}
		if got[0].Row.State != want || got[0].Steps[0].State != want {
			t.Errorf("item %d is %s, want %s", no, got[0].Row.State, want)
		}
	}
}

// holed has lost the items of one bulk action.
type holed struct {
	store.Store
	of atomic.Value // weir.BulkID
}

func (s *holed) GetBlock(ctx context.Context, partition int, id weir.BulkID, no uint32) ([]byte, error) {
	if s.of.Load() == id && no < filterBlocks {
		return nil, store.ErrNotFound
	}
	return s.Store.GetBlock(ctx, partition, id, no)
}

func (s *holed) Get(ctx context.Context, partition int, key []byte) ([]byte, error) {
	if id := weir.BulkID(key[1:]); s.of.Load() == id && key[0] == 'i' {
		return nil, store.ErrNotFound
	}
	return s.Store.Get(ctx, partition, key)
}

func (s *holed) GetMany(ctx context.Context, partition int, keys [][]byte) ([][]byte, error) {
	values, err := s.Store.GetMany(ctx, partition, keys)
	for i, key := range keys {
		if key[0] == 'i' && s.of.Load() == weir.BulkID(key[1:]) {
			values[i] = nil
		}
	}
	return values, err
}

func TestItemsThatAreMissingInTheStoreAreDamageNotUnknown(t *testing.T) {
	for _, items := range []int{100, manyItems} { // in the rows, and in blocks
		itemsAreMissing(t, items)
	}
}

func itemsAreMissing(t *testing.T, items int) {
	synctest.Test(t, func(t *testing.T) {
		s := &holed{Store: memory()}
		r := start(t, s, engine.Options{}, action(noop("step")))
		ids := thirds(t, r, items)
		s.of.Store(ids[1])
		b, err := r.Get(t.Context(), ids[1])
		if err != nil {
			t.Fatal(err)
		}
		_, item := b.Item(t.Context(), 7)
		_, byID := b.ItemByID(t.Context(), id(7))
		var lookup error
		for _, lookup = range r.Lookup(t.Context(), id(7), engine.LookupOptions{}) {
		}
		for name, err := range map[string]error{"an item": item, "an item by its id": byID, "a lookup": lookup} {
			if !errors.Is(err, store.ErrCorrupt) || errors.Is(err, weir.ErrNotFound) {
				t.Errorf("%s of a bulk action whose blocks are missing: %v, want store.ErrCorrupt", name, err)
			}
		}
	})
}

// After a node dies, new submissions are not read until another node takes over its partitions.
func TestWhatNobodyHasReadYetIsListedAndFound(t *testing.T) {
	e, err := engine.Open(t.Context(), memory(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := noop("step")
	if err := e.Handle(a); err != nil {
		t.Fatal(err)
	}
	b, err := attempt(t.Context(), e, spec(a), engine.Items(numbers(10)))
	if err != nil {
		t.Fatal(err)
	}
	page, next, err := e.Page(t.Context(), engine.Filter{}, 10)
	if err != nil || next != "" || len(page) != 1 || page[0].ID() != b.ID() {
		t.Errorf("Page = %v, %q, %v; want %s", page, next, err, b.ID())
	}
	for listed, err := range e.List(t.Context()) {
		if err != nil || listed.ID() != b.ID() {
			t.Errorf("List yields %v, %v; want %s", listed, err, b.ID())
		}
	}
	for f, err := range e.Lookup(t.Context(), id(7), engine.LookupOptions{}) {
		if err != nil || f.Bulk != b.ID() || f.Row.ID != id(7) || f.Row.State != report.StateReady {
			t.Errorf("Lookup yields %+v, %v; want item 7 of %s, ready", f, err, b.ID())
		}
		return
	}
	t.Error("Lookup yields nothing")
}
