package redisstore_test

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/redisstore"
	"github.com/weirhq/weir/store/storetest"
)

func TestMain(m *testing.M) {
	// A client that was about to ask for the slots when it was closed sleeps on for up to a second, and one
	// that has found a server gone closes the way there after five.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"))
}

// open opens a store, quietly.
func open(t testing.TB, o redisstore.Options) *redisstore.Store {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	s, err := redisstore.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// backend gives every store a stage of its own, on which a new client finds it again.
func backend(o redisstore.Options) storetest.Backend {
	var stages atomic.Int64
	at := map[store.Store]redisstore.Options{}
	return storetest.Backend{
		Open: func(t *testing.T) store.Store {
			o := o
			o.Stage = fmt.Sprint("test-", stages.Add(1))
			s := open(t, o)
			at[s] = o
			return s
		},
		Reopen: func(t *testing.T, s store.Store) store.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			again := open(t, at[s])
			at[again] = at[s]
			return again
		},
	}
}

func TestConformanceOnACluster(t *testing.T) {
	t.Parallel()
	c := testenv.NewCluster(t)
	storetest.RunBackend(t, backend(restrictCluster(t, c, redisstore.Options{Addresses: c.Addrs(), Mode: redisstore.Memory})))
}

func TestConformanceOnASentinelSet(t *testing.T) {
	t.Parallel()
	s := testenv.NewSentinelSet(t)
	storetest.RunBackend(t, backend(restrictSet(t, s, redisstore.Options{Addresses: s.Addrs(), Primary: testenv.PrimaryName, Mode: redisstore.Memory})))
}
