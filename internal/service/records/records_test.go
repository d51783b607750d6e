package records_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
	"github.com/weirhq/weir/store/pebblestore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counter is what most tests keep.
type counter struct {
	N    int               `json:"n"`
	Tags map[string]string `json:"tags,omitempty"`
}

func increment(c *counter) error { c.N++; return nil }

func newTable(t *testing.T) (*records.Table[counter], *memstore.Store) {
	t.Helper()
	s := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = s.Close() })
	return records.New[counter](s, "counter"), s
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func TestARecordIsMadeReadChangedAndRemoved(t *testing.T) {
	table, _ := newTable(t)
	ctx := t.Context()
	_, err := table.Get(ctx, "a")
	wantErr(t, "Get before it is there", err, weir.ErrNotFound)
	_, err = table.Update(ctx, "a", increment)
	wantErr(t, "Update before it is there", err, weir.ErrNotFound)
	wantErr(t, "Delete before it is there", table.Delete(ctx, "a"), weir.ErrNotFound)

	made := must[records.Entry[counter]](t)(table.Insert(ctx, "a", counter{N: 1}))
	got := must[records.Entry[counter]](t)(table.Get(ctx, "a"))
	if got.Name != "a" || got.Value.N != 1 || got.Version != made.Version || got.Version == "" {
		t.Errorf("Get() = %+v, want what Insert returned, %+v", got, made)
	}
	changed := must[records.Entry[counter]](t)(table.Update(ctx, "a", increment))
	if changed.Value.N != 2 || changed.Version == made.Version {
		t.Errorf("Update() = %+v, want 2 in another version than %s", changed, made.Version)
	}
	if got := must[records.Entry[counter]](t)(table.Get(ctx, "a")); got.Value.N != 2 || got.Version != changed.Version {
		t.Errorf("Get() = %+v, want what Update returned, %+v", got, changed)
	}
	wantErr(t, "Delete", table.Delete(ctx, "a"), nil)
	_, err = table.Get(ctx, "a")
	wantErr(t, "Get after Delete", err, weir.ErrNotFound)
	if again := must[records.Entry[counter]](t)(table.Insert(ctx, "a", counter{N: 1})); again.Version == made.Version {
		t.Errorf("made anew it has version %s again", again.Version)
	}
}

func TestInsertReturnsWhatIsThere(t *testing.T) {
	table, _ := newTable(t)
	first := must[records.Entry[counter]](t)(table.Insert(t.Context(), "a", counter{N: 1}))
	there, err := table.Insert(t.Context(), "a", counter{N: 2})
	wantErr(t, "second Insert", err, records.ErrExists)
	if there.Value.N != 1 || there.Version != first.Version {
		t.Errorf("second Insert() = %+v, want the first, %+v", there, first)
	}
}

func TestPutMakesAndChanges(t *testing.T) {
	table, _ := newTable(t)
	for i := range 3 {
		e, err := table.Put(t.Context(), "a", func(c *counter, found bool) error {
			if found != (i > 0) {
				t.Errorf("round %d: found = %v", i, found)
			}
			return increment(c)
		})
		if err != nil || e.Value.N != i+1 {
			t.Errorf("Put() = %+v, %v; want %d", e, err, i+1)
		}
	}
}

func TestWritesThatKnowWhatIsThereDoNotReadIt(t *testing.T) {
	_, s := newTable(t)
	looks := &looking{Keeper: s}
	table := records.New[counter](looks, "counter")
	e := must[records.Entry[counter]](t)(table.PutNew(t.Context(), "a", func(c *counter, found bool) error { return increment(c) }))
	e = must[records.Entry[counter]](t)(table.UpdateFrom(t.Context(), e, increment))
	must[records.Entry[counter]](t)(table.Insert(t.Context(), "b", counter{N: 1}))
	if e.Value.N != 2 || looks.lookups != 0 {
		t.Errorf("%d after %d lookups, want 2 without any", e.Value.N, looks.lookups)
	}
	found := []bool{}
	again := must[records.Entry[counter]](t)(table.PutNew(t.Context(), "a", func(c *counter, there bool) error {
		found = append(found, there)
		return increment(c)
	}))
	if again.Value.N != 3 || len(found) != 2 || !found[1] {
		t.Errorf("PutNew of what is there gives %d, asked with %v; want 3, and at last with what is there", again.Value.N, found)
	}
	behind := must[records.Entry[counter]](t)(table.UpdateFrom(t.Context(), e, increment))
	if behind.Value.N != 4 {
		t.Errorf("UpdateFrom what was overwritten since gives %d, want 4", behind.Value.N)
	}
	wantErr(t, "Delete", table.Delete(t.Context(), "a"), nil)
	_, err := table.UpdateFrom(t.Context(), behind, increment)
	wantErr(t, "UpdateFrom what was removed since", err, weir.ErrNotFound)
}

// looking counts the lookups of a store.
type looking struct {
	records.Keeper
	lookups int
}

func (l *looking) Lookup(ctx context.Context, name string) ([]byte, error) {
	l.lookups++
	return l.Keeper.Lookup(ctx, name)
}

func TestPutMakesAZeroValueThatWasNotThere(t *testing.T) {
	table, _ := newTable(t)
	must[records.Entry[counter]](t)(table.Put(t.Context(), "zero", func(*counter, bool) error { return nil }))
	must[records.Entry[counter]](t)(table.Get(t.Context(), "zero"))
}

// written counts the writes of a store.
type written struct {
	records.Keeper
	swaps int
}

func (w *written) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	w.swaps++
	return w.Keeper.Swap(ctx, name, old, value)
}

func TestWhatChangesNothingWritesNothing(t *testing.T) {
	_, s := newTable(t)
	w := &written{Keeper: s}
	table := records.New[counter](w, "counter")
	made := must[records.Entry[counter]](t)(table.Insert(t.Context(), "a", counter{Tags: map[string]string{"x": "1", "y": "2"}}))
	w.swaps = 0
	same := must[records.Entry[counter]](t)(table.Update(t.Context(), "a", func(c *counter) error {
		c.Tags = maps.Clone(c.Tags)
		return nil
	}))
	if w.swaps != 0 || same.Version != made.Version {
		t.Errorf("%d writes, version %s; want none and %s", w.swaps, same.Version, made.Version)
	}
	errNo := errors.New("no")
	_, err := table.Update(t.Context(), "a", func(c *counter) error { c.N = 9; return errNo })
	wantErr(t, "Update", err, errNo)
	_, err = table.Put(t.Context(), "b", func(c *counter, _ bool) error { c.N = 9; return errNo })
	wantErr(t, "Put", err, errNo)
	if w.swaps != 0 {
		t.Errorf("%d writes although the change failed, want none", w.swaps)
	}
}

func TestOnlyTheVersionSeenIsChangedOrRemoved(t *testing.T) {
	table, _ := newTable(t)
	ctx := t.Context()
	_, err := table.UpdateIf(ctx, "a", "0123456789abcdef", increment)
	wantErr(t, "UpdateIf of none", err, weir.ErrNotFound)
	wantErr(t, "DeleteIf of none", table.DeleteIf(ctx, "a", "0123456789abcdef"), weir.ErrNotFound)
	first := must[records.Entry[counter]](t)(table.Insert(ctx, "a", counter{}))
	second := must[records.Entry[counter]](t)(table.UpdateIf(ctx, "a", first.Version, increment))
	_, err = table.UpdateIf(ctx, "a", first.Version, increment)
	wantErr(t, "UpdateIf of an older version", err, records.ErrChanged)
	wantErr(t, "DeleteIf of an older version", table.DeleteIf(ctx, "a", first.Version), records.ErrChanged)
	if got := must[records.Entry[counter]](t)(table.Get(ctx, "a")); got.Value.N != 1 {
		t.Errorf("after refused changes it is %+v, want 1", got)
	}
	wantErr(t, "DeleteIf of the newest", table.DeleteIf(ctx, "a", second.Version), nil)
}

func TestListsKeepToTheirKindPrefixAndLimit(t *testing.T) {
	table, s := newTable(t)
	for _, kind := range []string{"counter", "counter0", "count", "counters"} {
		for _, name := range []string{"x/2", "x/1", "x0", "w", "x/"} {
			must[records.Entry[counter]](t)(records.New[counter](s, kind).Insert(t.Context(), name, counter{N: len(kind)}))
		}
	}
	for _, tt := range []struct {
		name, prefix, after string
		limit               int
		want                []string
	}{
		{"all of a kind", "", "", 99, []string{"w", "x/", "x/1", "x/2", "x0"}},
		{"a prefix", "x/", "", 99, []string{"x/", "x/1", "x/2"}},
		{"after a name", "x/", "x/1", 99, []string{"x/2"}},
		{"at most two", "", "w", 2, []string{"x/", "x/1"}},
		{"none", "y", "", 2, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var names []string
			for _, e := range must[[]records.Entry[counter]](t)(table.List(t.Context(), tt.prefix, tt.after, tt.limit)) {
				if names = append(names, e.Name); e.Value.N != len("counter") || e.Version == "" {
					t.Errorf("entry %+v is not of this table", e)
				}
			}
			if !slices.Equal(names, tt.want) {
				t.Errorf("List(%q, %q, %d) = %q, want %q", tt.prefix, tt.after, tt.limit, names, tt.want)
			}
		})
	}
	if _, err := table.List(t.Context(), "", "", 0); err == nil {
		t.Error("List of none = nil, want an error")
	}
}

func TestAllGoesThroughManyPages(t *testing.T) {
	table, s := newTable(t)
	const n = 300
	for i := range n {
		must[records.Entry[counter]](t)(table.Insert(t.Context(), fmt.Sprintf("c%03d", i), counter{N: i}))
	}
	i := 0
	for e, err := range table.All(t.Context(), "c") {
		if err != nil || e.Value.N != i {
			t.Fatalf("entry %d = %+v, %v", i, e, err)
		}
		i++
	}
	if i != n {
		t.Errorf("%d entries, want %d", i, n)
	}
	for range table.All(t.Context(), "c") {
		break // and nothing panics
	}
	_ = s.Close()
	i = 0
	for _, err := range table.All(t.Context(), "c") {
		wantErr(t, "All of a closed store", err, store.ErrClosed)
		i++
	}
	if i != 1 {
		t.Errorf("All of a closed store gave %d errors, want 1", i)
	}
}

func TestWritersAtOnceLoseNothing(t *testing.T) {
	p, err := pebblestore.Open("data", pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name          string
		store         store.Store
		writers, each int
	}{
		{"in memory", memstore.New(memstore.Options{}), 32, 100},
		{"on a disk, where each waits for it", p, 16, 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.store
			defer s.Close()
			table := records.New[counter](s, "counter")
			must[records.Entry[counter]](t)(table.Insert(t.Context(), "a", counter{}))
			var wg sync.WaitGroup
			var versions sync.Map
			for range tt.writers {
				wg.Go(func() {
					for range tt.each {
						e, err := table.Update(t.Context(), "a", increment)
						if err != nil {
							t.Errorf("Update() = %v", err)
						}
						if _, twice := versions.LoadOrStore(e.Version, true); twice {
							t.Errorf("version %s came twice", e.Version)
						}
					}
				})
			}
			wg.Wait()
			if got := must[records.Entry[counter]](t)(table.Get(t.Context(), "a")); got.Value.N != tt.writers*tt.each {
				t.Errorf("%d increments gave %d", tt.writers*tt.each, got.Value.N)
			}
		})
	}
}

func TestOfManyInsertsOneWinsAndTheOthersSeeIt(t *testing.T) {
	table, _ := newTable(t)
	won := make(chan int, 32)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			e, err := table.Insert(t.Context(), "a", counter{N: i})
			if err == nil {
				won <- i
			} else if !errors.Is(err, records.ErrExists) || e.Version == "" {
				t.Errorf("Insert() = %+v, %v; want the one that is there and ErrExists", e, err)
			}
		})
	}
	wg.Wait()
	close(won)
	if len(won) != 1 || must[records.Entry[counter]](t)(table.Get(t.Context(), "a")).Value.N != <-won {
		t.Errorf("%d inserts won, want one, and its value there", len(won))
	}
}

func TestNamesAndValuesThatDoNotFitAreRefused(t *testing.T) {
	table, s := newTable(t)
	texts := records.New[string](s, "text")
	if _, err := table.Insert(t.Context(), "", counter{}); err == nil {
		t.Error("Insert without a name = nil, want an error")
	}
	_, err := table.Get(t.Context(), "")
	wantErr(t, "Get without a name", err, weir.ErrNotFound)
	_, err = table.Insert(t.Context(), strings.Repeat("n", store.MaxName), counter{})
	wantErr(t, "Insert with a long name", err, records.ErrTooBig)
	_, err = texts.Insert(t.Context(), "a", strings.Repeat("x", store.MaxRecord))
	wantErr(t, "Insert of too much", err, records.ErrTooBig)
	must[records.Entry[string]](t)(texts.Insert(t.Context(), "a", strings.Repeat("x", store.MaxRecord-100)))
	for _, kind := range []string{"", "a/b"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("New(%q) did not panic", kind)
				}
			}()
			records.New[string](s, kind)
		}()
	}
}
