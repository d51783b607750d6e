package redisstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/redisstore"
)

// TestAFormerOwnerHasPrecedenceOnARestartedServer takes leases on a server that is
// killed and started again after they have run out.
func TestAFormerOwnerHasPrecedenceOnARestartedServer(t *testing.T) {
	t.Parallel()
	const kept, left, taken = 0, 1, 2
	r := testenv.Redis(t, "appendfsync", "always")
	s := open(t, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
	defer s.Close()
	brief := 50 * time.Millisecond
	for _, p := range []int{kept, left, taken} {
		tok, err := s.Acquire(t.Context(), p, "a", brief)
		if err == nil && p == left {
			err = s.Release(t.Context(), p, tok)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	<-time.After(2 * brief)
	r.Kill()
	r.Restart()
	until(t, "the server answers", func() bool { _, err := s.Last(t.Context(), kept); return err == nil })
	for _, tt := range []struct {
		name      string
		partition int
		owner     string
		take      func(context.Context, int, string, time.Duration) (store.Token, error)
		want      error
	}{
		{"another node waits for the owner", kept, "b", s.Acquire, store.ErrHeld},
		{"and waits when it asks again", kept, "b", s.Acquire, store.ErrHeld},
		{"the owner has its lease back", kept, "a", s.Acquire, nil},
		{"what was given back is free", left, "b", s.Acquire, nil},
		{"another node waits here, too", taken, "b", s.Acquire, store.ErrHeld},
		{"a node that remembers need not wait", taken, "c", s.Reclaim, nil},
		{"and then it is held", taken, "b", s.Reclaim, store.ErrHeld},
	} {
		var err error
		until(t, "the server answers", func() bool { // a connection from before the restart may have been left
			_, err = tt.take(t.Context(), tt.partition, tt.owner, time.Minute)
			return !errors.Is(err, store.ErrUnavailable)
		})
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}
