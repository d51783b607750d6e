package storetest

import (
	"fmt"
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
		records, err := s.List(t.Context(), "", "", 1)
		must(t, err)
		copy(records[0].Value, "zzz")
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
		_, err = s.List(t.Context(), "", "", 1)
		wantErr(t, err, store.ErrClosed)
	}},
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
