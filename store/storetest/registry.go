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
	{"a check-in announces, lists the topic and reads records", func(t *testing.T, s store.Store) {
		announce(t, s, "nodes", "b", "2", long)
		announce(t, s, "lanes", "c", "3", brief)
		_, err := s.Swap(t.Context(), "map", nil, []byte("one"))
		must(t, err)
		want(t, "check-in", checkIn(t, s, "a", "1", "map", "none"), `[a="1" b="2"] [one nil]`)
		want(t, "check-in without records", checkIn(t, s, "a", "4"), `[a="4" b="2"] []`)
		want(t, "nodes", announcedIn(t, s, "nodes"), `[a="4" b="2"]`)
	}},
	{"a check-in tells when the first other record expires", func(t *testing.T, s store.Store) {
		first := func(ttl time.Duration) time.Duration {
			a, err := s.CheckIn(t.Context(), "nodes", store.Record{Name: "a"}, ttl)
			must(t, err)
			return a.Expires
		}
		want(t, "time without another", first(brief/2), time.Duration(0))
		announce(t, s, "nodes", "b", "2", long)
		announce(t, s, "nodes", "c", "3", 2*long)
		if got := first(brief); got <= long/2 || got > long+time.Millisecond {
			t.Errorf("the first record expires in %v, want about %v", got, long)
		}
	}},
	{"a check-in with a ttl of 0 removes the record, and lists none that is gone", func(t *testing.T, s store.Store) {
		announce(t, s, "nodes", "a", "1", long)
		announce(t, s, "nodes", "b", "2", brief)
		began := time.Now()
		for {
			a, err := s.CheckIn(t.Context(), "nodes", store.Record{Name: "a"}, 0)
			must(t, err)
			if len(a.Records) == 0 {
				return
			}
			if time.Since(began) > patience {
				t.Fatalf("%d records after %v, want none", len(a.Records), patience)
			}
			<-time.After(brief / 10)
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
		_, err = s.CheckIn(t.Context(), "nodes", store.Record{Name: "a"}, long, "map")
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

// checkIn returns what a check-in to the nodes answers: the records of the topic, and the values of those that are named.
func checkIn(t fataler, s store.Store, name, value string, names ...string) string {
	t.Helper()
	a, err := s.CheckIn(t.Context(), "nodes", store.Record{Name: name, Value: []byte(value)}, long, names...)
	must(t, err)
	values := make([]string, len(a.Values))
	for i, v := range a.Values {
		values[i] = string(v)
		if v == nil {
			values[i] = "nil"
		}
	}
	return fmt.Sprint(recordList(a.Records), " ", values)
}

// announcedIn returns the records of a topic as name="value", in the order of the list.
func announcedIn(t fataler, s store.Store, topic string) string {
	t.Helper()
	records, err := s.Announced(t.Context(), topic)
	must(t, err)
	return recordList(records)
}

// recordList writes records as name="value", in their order.
func recordList(records []store.Record) string {
	list := make([]string, len(records))
	for i, r := range records {
		list[i] = fmt.Sprintf("%s=%q", r.Name, r.Value)
	}
	return fmt.Sprint(list)
}
