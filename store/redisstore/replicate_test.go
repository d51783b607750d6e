package redisstore_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/redisstore"
	"github.com/weirhq/weir/store/storetest"
)

func TestConformanceWithReplicas(t *testing.T) {
	t.Parallel()
	c := testenv.NewCluster(t, "appendfsync", "always")
	o := restrictCluster(t, c, redisstore.Options{Addresses: c.Addrs(), Mode: redisstore.Replicated, Replicas: 1}, waitsFor(c.Primaries[0]))
	storetest.Run(t, backend(o).Open)
}

// TestAWriteThatAReplicaDoesNotHaveIsNotAcknowledged has one of two replicas
// stand still: what it has not received must not be acknowledged, nor when it is repeated.
func TestAWriteThatAReplicaDoesNotHaveIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	set := testenv.NewSentinelSet(t, "appendfsync", "always")
	o := restrictSet(t, set, redisstore.Options{Addresses: set.Addrs(), Primary: testenv.PrimaryName, Mode: redisstore.Replicated, Replicas: 1}, waitsFor(set.Primary))
	defer func() { wantUsed(t, []string{"+role", "+wait"}, set.Primary) }()
	wantRefusal(t, o, "2 replicas are connected, 1 were promised")
	o.Replicas = 2
	set.Replicas[1].Do("CONFIG", "SET", "appendfsync", "everysec")
	wantRefusal(t, o, "server "+set.Replicas[1].Addr+": mode replicated needs appendonly yes and appendfsync always")
	set.Replicas[1].Do("CONFIG", "SET", "appendfsync", "always")
	s := open(t, o)
	defer s.Close()
	tok, err := s.Acquire(t.Context(), 0, "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	swapped(t, s, "old", "", "one")
	set.Replicas[0].Freeze()
	b := &store.Batch{Number: 1, Set: rows("k", "v")}
	claim := store.Claim{Key: "key", Value: []byte("v")}
	var calls sync.WaitGroup // each takes its time
	calls.Go(func() {
		for try := range 2 { // the second time it is a repeat, which writes nothing
			var lag *redisstore.LagError
			err := s.Commit(t.Context(), 0, tok, b)
			if !errors.Is(err, store.ErrUnknown) || !errors.Is(err, store.ErrUnavailable) || !errors.As(err, &lag) || lag.Have != 1 {
				t.Errorf("Commit %d with a replica that stands still = %v, want ErrUnknown for 1 of 2", try, err)
			}
		}
	})
	calls.Go(func() {
		for try := range 2 {
			if err := s.Append(t.Context(), 0, []byte("m"), claim); !errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrClaimed) {
				t.Errorf("Append %d with a replica that stands still = %v, want ErrUnknown", try, err)
			}
		}
	})
	calls.Go(func() {
		for try := range 2 { // the second time it is not there any more
			if v, err := s.Swap(t.Context(), "old", []byte("one"), nil); !errors.Is(err, store.ErrUnknown) {
				t.Errorf("Swap %d that removes, with a replica that stands still = %q, %v; want ErrUnknown", try, v, err)
			}
		}
	})
	calls.Go(func() {
		if err := s.PutBlocks(t.Context(), 0, "ba_1", 0, [][]byte{{1}}); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("PutBlocks with a replica that stands still = %v, want ErrUnavailable", err)
		}
	})
	calls.Wait()
	if err := s.Health(); err != nil {
		t.Errorf("Health() = %v with a replica that is connected and slow", err)
	}
	set.Replicas[0].Thaw()
	var order *store.NumberError
	until(t, "the replica has caught up", func() bool { return errors.As(s.Commit(t.Context(), 0, tok, b), &order) })
	if order.Want != 2 {
		t.Errorf("the commit once more = %v, want it to be there", order)
	}
	if err := s.Append(t.Context(), 0, []byte("m"), claim); !errors.Is(err, store.ErrClaimed) {
		t.Errorf("Append once more = %v, want ErrClaimed", err)
	}
}

// TestALostReplicaStopsWorkOnAnUnconfirmedPrimary runs a primary without Cluster or Sentinels to confirm it.
func TestALostReplicaStopsWorkOnAnUnconfirmedPrimary(t *testing.T) {
	t.Parallel()
	primary := testenv.Redis(t, "appendfsync", "always", "repl-diskless-sync-delay", "0")
	replica := testenv.Redis(t, "appendfsync", "always", "replicaof", strings.Replace(primary.Addr, ":", " ", 1))
	until(t, "the replica is connected", func() bool { return is(primary, "state=online") })
	s := open(t, redisstore.Options{Addresses: []string{primary.Addr}, Mode: redisstore.Replicated, Replicas: 1})
	defer s.Close()
	tok, err := s.Acquire(t.Context(), 0, "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), 0, tok, &store.Batch{Number: 1}); err != nil {
		t.Fatal(err)
	}
	replica.Kill()
	var lag *redisstore.LagError
	if err := s.Commit(t.Context(), 0, tok, &store.Batch{Number: 2}); !errors.As(err, &lag) || *lag != (redisstore.LagError{Have: 0, Want: 1}) {
		t.Errorf("Commit = %v, want a *LagError with 0 of 1", err)
	}
	wantShort(t, s, always(primary), 0, 1, true)
}
