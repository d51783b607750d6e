package serve

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/cli/clitest"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
)

// Several servers share the partitions, and each is found again only in its place.
func TestUnrelatedServersShareThePartitionsAndKeepTheirPlaces(t *testing.T) {
	servers := []*testenv.Server{testenv.Redis(t), testenv.Redis(t)}
	a, b := "redis://"+servers[0].Addr, "redis://"+servers[1].Addr
	settings := func(urls string, spread bool) map[string]string {
		set := map[string]string{"redis": urls, "durability": "memory"}
		if spread {
			set["redis_spread"] = "true"
		}
		return set
	}
	s, err := OpenRedis(t.Context(), clitest.Settings(t, settings(a+","+b, true)), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for p := range 2 {
		if err := s.Append(t.Context(), p, []byte("x"), store.Claim{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for i, r := range servers {
		if mine := r.Do("EXISTS", "weir:{prod:p"+string(rune('0'+i))+"}:inbox"); mine != "1" {
			t.Errorf("server %d has not the inbox of partition %d", i, i)
		}
		if other := r.Do("EXISTS", "weir:{prod:p"+string(rune('1'-i))+"}:inbox"); other != "0" {
			t.Errorf("server %d has the inbox of partition %d as well", i, 1-i)
		}
	}
	for _, tt := range []struct {
		name, urls string
		spread     bool
		want       string // in the error; empty: it opens
	}{
		{"the same list", a + "," + b, true, ""},
		{"another order", b + "," + a, true, "is number 2 of 2, and would be number 1 of 2"},
		{"one more", a + "," + b + ",redis://" + testenv.Redis(t).Addr, true, "is number 1 of 2, and would be number 1 of 3"},
		{"one alone", b, false, "is number 2 of 2, and would be number 1 of 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := OpenRedis(t.Context(), clitest.Settings(t, settings(tt.urls, tt.spread)), slog.New(slog.DiscardHandler))
			if err == nil {
				defer s.Close()
			}
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("OpenRedis = %v, want %q", err, tt.want)
			}
		})
	}
}

// A server that was used alone has all partitions: over several most would not be found.
func TestAServerThatWasUsedAloneDoesNotBecomeOneOfSeveral(t *testing.T) {
	one, more := "redis://"+testenv.Redis(t).Addr, "redis://"+testenv.Redis(t).Addr
	s, err := OpenRedis(t.Context(), clitest.Settings(t, map[string]string{"redis": one, "durability": "memory"}), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Swap(t.Context(), "map", nil, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	_, err = OpenRedis(t.Context(), clitest.Settings(t, map[string]string{"redis": one + "," + more, "redis_spread": "true", "durability": "memory"}), slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "is number 1 of 1, and would be number 1 of 2") {
		t.Errorf("OpenRedis = %v, want an error that names both places", err)
	}
}
