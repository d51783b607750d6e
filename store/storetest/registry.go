package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir/store"
)

var registryCases = []testCase{
	{"announced records are listed by name", func(t *testing.T, s store.Store) {
		want(t, "records", announcedIn(t, s, "nodes"), "[]")
		announce(t, s, "nodes", "b", "2", long)
		announce(t, s, "nodes", "a", "1", long)
		announce(t, s, "nodes", "c:\x00\xff", "\x00:\xff", long)
		want(t, "records", announcedIn(t, s, "nodes"), `[a="1" b="2" c:`+"\x00\xff"+`="\x00:\xff"]`)
	}},
	{"a record announced again replaces the earlier", func(t *testing.T, s store.Store) {
		announce(t, s, "nodes", "a", "a longer value", long)
		announce(t, s, "nodes", "a", "", long)
		want(t, "records", announcedIn(t, s, "nodes"), `[a=""]`)
	}},
	{"topics are apart", func(t *testing.T, s store.Store) {
		announce(t, s, "nodes", "a", "1", long)
		announce(t, s, "lanes", "a", "2", long)
		announce(t, s, "lanes", "a", "", 0)
		want(t, "nodes", announcedIn(t, s, "nodes"), `[a="1"]`)
		want(t, "lanes", announcedIn(t, s, "lanes"), "[]")
	}},
	{"a record that is not announced again is gone, and the others stay", func(t *testing.T, s store.Store) {
		announce(t, s, "nodes", "a", "1", brief)
		announce(t, s, "nodes", "b", "2", long)
		began := time.Now()
		for announcedIn(t, s, "nodes") != `[b="2"]` {
			if time.Since(began) > patience {
				t.Fatalf("records after %v = %s, want b alone", patience, announcedIn(t, s, "nodes"))
			}
			<-time.After(brief / 10)
		}
		announce(t, s, "nodes", "a", "3", long)
		want(t, "records", announcedIn(t, s, "nodes"), `[a="3" b="2"]`)
	}},
	{"announcing again extends a record", func(t *testing.T, s store.Store) {
		announce(t, s, "nodes", "a", "1", brief)
		announce(t, s, "nodes", "a", "1", long)
		<-time.After(brief + brief/2)
		want(t, "records", announcedIn(t, s, "nodes"), `[a="1"]`)
	}},
	{"a shorter record takes no longer one with it", func(t *testing.T, s store.Store) {
		announce(t, s, "nodes", "a", "1", long)
		announce(t, s, "nodes", "b", "2", brief/10)
		<-time.After(brief)
		want(t, "records", announcedIn(t, s, "nodes"), `[a="1"]`)
	}},
	{"a ttl of 0 removes a record, also one that is not there", func(t *testing.T, s store.Store) {
		announce(t, s, "nodes", "a", "1", long)
		announce(t, s, "nodes", "b", "2", long)
		announce(t, s, "nodes", "a", "", 0)
		announce(t, s, "nodes", "none", "", 0)
		want(t, "records", announcedIn(t, s, "nodes"), `[b="2"]`)
	}},
	{"a lasting record is made of nothing and replaced by who saw it", func(t *testing.T, s store.Store) {
		_, err := s.Lookup(t.Context(), "map")
		wantErr(t, err, store.ErrNotFound)
		want(t, "first", swap(t, s, "map", nil, "one"), "one")
		want(t, "second", swap(t, s, "map", []byte("one"), ""), "")
		want(t, "third", swap(t, s, "map", []byte{}, "three"), "three")
		want(t, "record", lookup(t, s, "map"), "three")
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
	{"records are copied", func(t *testing.T, s store.Store) {
		value := []byte("one")
		must(t, s.Announce(t.Context(), "nodes", store.Record{Name: "a", Value: value}, long))
		held, err := s.Swap(t.Context(), "map", nil, value)
		must(t, err)
		copy(value, "xxx")
		copy(held, "yyy")
		want(t, "announced", announcedIn(t, s, "nodes"), `[a="one"]`)
		want(t, "lasting", lookup(t, s, "map"), "one")
		listed, err := s.Announced(t.Context(), "nodes")
		must(t, err)
		copy(listed[0].Value, "zzz")
		found, err := s.Lookup(t.Context(), "map")
		must(t, err)
		copy(found, "zzz")
		want(t, "announced", announcedIn(t, s, "nodes"), `[a="one"]`)
		want(t, "lasting", lookup(t, s, "map"), "one")
	}},
	{"the registry of a closed store says so", func(t *testing.T, s store.Store) {
		must(t, s.Close())
		wantErr(t, s.Announce(t.Context(), "nodes", store.Record{Name: "a"}, long), store.ErrClosed)
		_, err := s.Announced(t.Context(), "nodes")
		wantErr(t, err, store.ErrClosed)
		_, err = s.Swap(t.Context(), "map", nil, []byte("one"))
		wantErr(t, err, store.ErrClosed)
		_, err = s.Lookup(t.Context(), "map")
		wantErr(t, err, store.ErrClosed)
	}},
}

// swapAtOnce has 16 replace what all of them saw. All must agree on who won.
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

func announce(t fataler, s store.Store, topic, name, value string, ttl time.Duration) {
	t.Helper()
	must(t, s.Announce(t.Context(), topic, store.Record{Name: name, Value: []byte(value)}, ttl))
}

// announcedIn returns the records of a topic as name="value", in the order of the list.
func announcedIn(t fataler, s store.Store, topic string) string {
	t.Helper()
	records, err := s.Announced(t.Context(), topic)
	must(t, err)
	list := make([]string, len(records))
	for i, r := range records {
		list[i] = fmt.Sprintf("%s=%q", r.Name, r.Value)
	}
	return fmt.Sprint(list)
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
