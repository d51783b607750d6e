package redisstore_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/redisstore"
)

const controlKeys = "weir:{prod:p65535}:"

func TestATopicDoesNotStayForEver(t *testing.T) {
	r := testenv.Redis(t)
	s := open(t, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
	defer s.Close()
	for _, ttl := range []time.Duration{time.Minute, time.Hour, time.Second} {
		if err := s.Announce(t.Context(), "nodes", store.Record{Name: ttl.String()}, ttl); err != nil {
			t.Fatal(err)
		}
	}
	left, err := strconv.Atoi(r.Do("PTTL", controlKeys+"topic:nodes"))
	if want := int(time.Hour.Milliseconds()); err != nil || left < want || left > 2*want {
		t.Errorf("the topic is gone in %d ms, %v; want after its longest record, %d ms, and some time", left, err, want)
	}
}

func TestRecordsThatAreGoneAreRemovedByListing(t *testing.T) {
	r := testenv.Redis(t)
	s := open(t, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
	defer s.Close()
	for name, ttl := range map[string]time.Duration{"brief": time.Millisecond, "long": time.Hour} {
		if err := s.Announce(t.Context(), "nodes", store.Record{Name: name}, ttl); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "one record is listed", func() bool {
		list, err := s.Announced(t.Context(), "nodes")
		return err == nil && len(list) == 1
	})
	if n := r.Do("HLEN", controlKeys+"topic:nodes"); n != "1" {
		t.Errorf("the server has %s records, want 1", n)
	}
}

func TestADamagedLastingRecordIsNoticed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(r *testenv.Server)
	}{
		{"a flipped byte", func(r *testenv.Server) { r.Do("SETRANGE", controlKeys+"record:map", "9", "X") }},
		{"a record that was cut", func(r *testenv.Server) { r.Do("SET", controlKeys+"record:map", "ab") }},
		{"a record in the place of another", func(r *testenv.Server) {
			r.Do("COPY", controlKeys+"record:other", controlKeys+"record:map", "REPLACE")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := testenv.Redis(t)
			s := open(t, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
			defer s.Close()
			for _, name := range []string{"map", "other"} {
				if _, err := s.Swap(t.Context(), name, nil, []byte("value")); err != nil {
					t.Fatal(err)
				}
			}
			tt.damage(r)
			if v, err := s.Lookup(t.Context(), "map"); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("Lookup() = %q, %v; want ErrCorrupt", v, err)
			}
			if v, err := s.Swap(t.Context(), "map", []byte("value"), []byte("new")); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("Swap() = %q, %v; want ErrCorrupt", v, err)
			}
			if list, err := s.List(t.Context(), "", "", 9); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("List() = %q, %v; want ErrCorrupt", list, err)
			}
		})
	}
}
