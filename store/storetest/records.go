package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir/store"
)

var recordCases = []testCase{
	{"a lasting record is made of nothing and replaced by who saw it", func(t *testing.T, s store.Store) {
		_, err := s.Lookup(t.Context(), "map")
		wantErr(t, err, store.ErrNotFound)
		want(t, "first", swap(t, s, "map", nil, "one"), "one")
		want(t, "second", swap(t, s, "map", []byte("one"), "two"), "two")
		want(t, "record", lookup(t, s, "map"), "two")
		_, err = s.Lookup(t.Context(), "maps")
		wantErr(t, err, store.ErrNotFound)
	}},
	{"a swap by who saw something else returns what is there", func(t *testing.T, s store.Store) {
		held, err := s.Swap(t.Context(), "map", []byte("zero"), []byte("one"))
		must(t, err)
		if held != nil {
			t.Fatalf("Swap of a record that was never there = %q, want nil", held)
		}
		swap(t, s, "map", nil, "one")
		want(t, "from nothing", swap(t, s, "map", nil, "two"), "one")
		want(t, "from another", swap(t, s, "map", []byte("zero"), "two"), "one")
		want(t, "from an empty one", swap(t, s, "map", []byte{}, "two"), "one")
		held, err = s.Swap(t.Context(), "map", []byte("zero"), nil)
		must(t, err)
		want(t, "a removal from another", string(held), "one")
		want(t, "record", lookup(t, s, "map"), "one")
	}},
	{"of 16 swaps at once one wins", func(t *testing.T, s store.Store) {
		for _, old := range [][]byte{nil, []byte("start")} {
			if old != nil {
				swap(t, s, "race", nil, "start")
			}
			name := map[bool]string{true: "first", false: "race"}[old == nil]
			swapAtOnce(t, s, name, old)
		}
	}},
	{"a swap with nothing removes a record, and it can be made again", func(t *testing.T, s store.Store) {
		for _, none := range [][]byte{nil, {}} {
			want(t, "first", swap(t, s, "map", none, "one"), "one")
			held, err := s.Swap(t.Context(), "map", []byte("one"), none)
			must(t, err)
			if held != nil {
				t.Fatalf("Swap with nothing = %q, want nil", held)
			}
			_, err = s.Lookup(t.Context(), "map")
			wantErr(t, err, store.ErrNotFound)
			want(t, "records", listed(t, s, "", "", 9), "[]")
			want(t, "from what was removed", swap(t, s, "map", []byte("one"), "two"), "")
		}
	}},
	{"to remove what is not there changes nothing", func(t *testing.T, s store.Store) {
		held, err := s.Swap(t.Context(), "map", nil, nil)
		must(t, err)
		want(t, "held", held == nil, true)
		want(t, "records", listed(t, s, "", "", 9), "[]")
		swap(t, s, "map", nil, "one")
		held, err = s.Swap(t.Context(), "map", nil, nil)
		must(t, err)
		want(t, "what is there", string(held), "one")
	}},
	{"a name of any bytes and a value of 1 MiB are kept", func(t *testing.T, s store.Store) {
		value := bytes.Repeat([]byte("0123456789abcde\xff"), store.MaxRecord/16)
		names := []string{strings.Repeat("n", store.MaxName), "{a}:*?[ ]\\/", "\x00", "\xff\xff", "a\nb", "ä"}
		for _, name := range names {
			held, err := s.Swap(t.Context(), name, nil, value)
			must(t, err)
			want(t, "length", len(held), len(value))
		}
		records, err := s.List(t.Context(), "", "", len(names)+1)
		must(t, err)
		slices.Sort(names)
		want(t, "records", len(records), len(names))
		for i, r := range records {
			want(t, "name", r.Name, names[i])
			want(t, "same value", bytes.Equal(r.Value, value), true)
			want(t, "same value", lookup(t, s, r.Name) == string(value), true)
		}
	}},
	{"a list keeps to its prefix, in byte order", func(t *testing.T, s store.Store) {
		for _, name := range []string{"b/", "a0", "a/b/c", "a/", "a", "a/\xff", "a/b", "A/b", "a.b", "a/\xff\xff/", "\xff", "\xff\x01"} {
			swap(t, s, name, nil, "of "+name)
		}
		announce(t, s, "a/", "a/announced", "x", long)
		for prefix, names := range map[string][]string{
			"a/":     {"a/", "a/b", "a/b/c", "a/\xff", "a/\xff\xff/"},
			"a/b":    {"a/b", "a/b/c"},
			"a":      {"a", "a.b", "a/", "a/b", "a/b/c", "a/\xff", "a/\xff\xff/", "a0"},
			"a/\xff": {"a/\xff", "a/\xff\xff/"},
			"\xff":   {"\xff", "\xff\x01"},
			"c":      nil,
			"a/b/c/": nil,
		} {
			want(t, fmt.Sprintf("records of %q", prefix), listed(t, s, prefix, "", 99), fmt.Sprintf("%q", names))
		}
		records, err := s.List(t.Context(), "A", "", 1)
		must(t, err)
		want(t, "value", string(records[0].Value), "of A/b")
	}},
	{"a list begins after a name and ends at its limit", func(t *testing.T, s store.Store) {
		for _, name := range []string{"a", "k/1", "k/2", "k/20", "k/3", "z"} {
			swap(t, s, name, nil, "x")
		}
		for _, tt := range []struct {
			prefix, after string
			limit         int
			want          []string
		}{
			{"k/", "", 2, []string{"k/1", "k/2"}},
			{"k/", "k/2", 2, []string{"k/20", "k/3"}},
			{"k/", "k/3", 2, nil},
			{"k/", "k/15", 9, []string{"k/2", "k/20", "k/3"}}, // a missing one
			{"k/", "a", 1, []string{"k/1"}},                   // before the prefix
			{"k/", "z", 9, nil},                               // behind it
			{"k/2", "k/2", 9, []string{"k/20"}},
			{"", "k/3", 9, []string{"z"}},
			{"", "", 6, []string{"a", "k/1", "k/2", "k/20", "k/3", "z"}},
		} {
			got := listed(t, s, tt.prefix, tt.after, tt.limit)
			want(t, fmt.Sprintf("at most %d of %q after %q", tt.limit, tt.prefix, tt.after), got, fmt.Sprintf("%q", tt.want))
		}
		for _, limit := range []int{0, -1} {
			if records, err := s.List(t.Context(), "k/", "", limit); err == nil || records != nil {
				t.Fatalf("List of at most %d = %v, %v; want an error", limit, records, err)
			}
		}
	}},
	{"a long list comes page by page", longList},
	{"what stays is listed while others come and go", listWhileOthersSwap},
	{"swappers at once lose no write, also when the record comes and goes", swapAndRemove},
}

// size returns the number of records of the long list.
func size() int {
	if testing.Short() {
		return 1000
	}
	return 5000
}

// fill creates n records concurrently, so that a store can write them together.
func fill(t *testing.T, s store.Store, n int, name func(int) string) {
	t.Helper()
	const writers = 50
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := w; i < n; i += writers {
				if _, err := s.Swap(t.Context(), name(i), nil, []byte(name(i))); err != nil {
					t.Errorf("Swap(%q) = %v", name(i), err)
				}
			}
		})
	}
	wg.Wait()
}

func longList(t *testing.T, s store.Store) {
	name := func(i int) string { return fmt.Sprintf("list/%05d", i) }
	fill(t, s, size(), name)
	swap(t, s, "list0", nil, "behind it")
	seen, after := 0, ""
	for {
		page, err := s.List(t.Context(), "list/", after, 100)
		must(t, err)
		for _, r := range page {
			want(t, "name", r.Name, name(seen))
			want(t, "value", string(r.Value), r.Name)
			seen, after = seen+1, r.Name
		}
		if len(page) < 100 {
			break
		}
	}
	want(t, "records", seen, size())
	all, err := s.List(t.Context(), "list/", "", size()+1)
	must(t, err)
	want(t, "records at once", len(all), size())
}

// listWhileOthersSwap lists records of which every other one is removed and created again all
// the time.
func listWhileOthersSwap(t *testing.T, s store.Store) {
	const n = 40
	name := func(i int) string { return fmt.Sprintf("r/%02d", i) }
	fill(t, s, n, name)
	stop := make(chan struct{})
	var swaps atomic.Int64
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	for w := range 4 {
		wg.Go(func() {
			for i := 2*w + 1; ; i = (i + 8) % n {
				select {
				case <-stop:
					return
				default:
				}
				for _, v := range [][2]string{{name(i), ""}, {"", name(i)}} {
					if _, err := s.Swap(t.Context(), name(i), []byte(v[0]), []byte(v[1])); err != nil {
						t.Errorf("Swap(%q) = %v", name(i), err)
						return
					}
					swaps.Add(1)
				}
			}
		})
	}
	for began, lists := time.Now(), 0; lists < 20 || swaps.Load() < 500; lists++ {
		if time.Since(began) > patience {
			t.Fatalf("%d swaps in %v, want 500", swaps.Load(), patience)
		}
		records, err := s.List(t.Context(), "r/", "", n)
		must(t, err)
		last, stay := "", 0
		for _, r := range records {
			if r.Name <= last || string(r.Value) != r.Name {
				t.Fatalf("record %q = %q came after %q", r.Name, r.Value, last)
			}
			if last = r.Name; (last[len(last)-1]-'0')%2 == 0 {
				stay++
			}
		}
		want(t, "records that were there all the time", stay, n/2)
	}
}

// swapAndRemove replaces and removes one record from several goroutines. Every value is written
// once, so two calls that replaced the same one did not exclude each other; and for each
// creation, except the first, there must have been a removal.
func swapAndRemove(t *testing.T, s store.Store) {
	const swappers, each = 8, 20
	var replaced, removed sync.Map
	var made, gone atomic.Int64
	swapOne := func(old []byte, mine string) error {
		held, err := s.Swap(t.Context(), "record", old, []byte(mine))
		switch {
		case err != nil:
			return err
		case mine == "" && held == nil:
			if _, twice := removed.LoadOrStore(string(old), true); !twice {
				gone.Add(1)
			}
		case string(held) != mine: // another call was faster
		case old == nil:
			made.Add(1)
		default:
			if _, twice := replaced.LoadOrStore(string(old), true); twice {
				return fmt.Errorf("%q was replaced twice", old)
			}
		}
		return nil
	}
	var wg sync.WaitGroup
	for w := range swappers {
		wg.Go(func() {
			for i := range each {
				old, err := s.Lookup(t.Context(), "record")
				if err != nil && !errors.Is(err, store.ErrNotFound) {
					t.Errorf("Lookup() = %v", err)
				}
				mine := fmt.Sprint(w, ".", i)
				if i%3 == 2 {
					mine = ""
				}
				if err := swapOne(old, mine); err != nil {
					t.Errorf("Swap() = %v", err)
				}
			}
		})
	}
	wg.Wait()
	if made.Load() > gone.Load()+1 {
		t.Errorf("the record was made of nothing %d times and removed %d times at most", made.Load(), gone.Load())
	}
}

// swapAtOnce replaces a value from 16 goroutines that all saw it. All must agree on the winner.
func swapAtOnce(t *testing.T, s store.Store, name string, old []byte) {
	t.Helper()
	var won atomic.Int32
	var answers sync.Map
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			mine := fmt.Sprint("node ", i)
			held, err := s.Swap(t.Context(), name, old, []byte(mine))
			if err != nil {
				t.Errorf("Swap() = %v", err)
			}
			if string(held) == mine {
				won.Add(1)
			}
			answers.Store(string(held), true)
		})
	}
	wg.Wait()
	want(t, "winners", won.Load(), 1)
	held := lookup(t, s, name)
	answers.Range(func(k, _ any) bool {
		want(t, "what a swap returned", k.(string), held)
		return true
	})
}

func swap(t fataler, s store.Store, name string, old []byte, value string) string {
	t.Helper()
	held, err := s.Swap(t.Context(), name, old, []byte(value))
	must(t, err)
	return string(held)
}

func lookup(t fataler, s store.Store, name string) string {
	t.Helper()
	held, err := s.Lookup(t.Context(), name)
	must(t, err)
	return string(held)
}

// listed returns the names of a list, quoted.
func listed(t fataler, s store.Store, prefix, after string, limit int) string {
	t.Helper()
	records, err := s.List(t.Context(), prefix, after, limit)
	must(t, err)
	var names []string
	for _, r := range records {
		names = append(names, r.Name)
	}
	return fmt.Sprintf("%q", names)
}
