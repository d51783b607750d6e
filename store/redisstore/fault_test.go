package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/redisstore"
)

const patience = 30 * time.Second

// one opens a store on one server, and acquires partition 0.
func one(t *testing.T, r *testenv.Server) (*redisstore.Store, store.Token) {
	t.Helper()
	s := open(t, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
	t.Cleanup(func() { _ = s.Close() })
	tok, err := s.Acquire(t.Context(), 0, "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return s, tok
}

func rows(kv ...string) (rows []store.Row) {
	for i := 0; i < len(kv); i += 2 {
		rows = append(rows, store.Row{Key: []byte(kv[i]), Value: []byte(kv[i+1])})
	}
	return rows
}

func TestACommitWithoutAnAnswerIsUnknownAndTheSameAgainTells(t *testing.T) {
	r := testenv.Redis(t)
	s, tok := one(t, r)
	r.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	b := &store.Batch{Number: 1, Set: rows("k", "v")}
	err := s.Commit(ctx, 0, tok, b)
	r.Thaw()
	if !errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Commit to a server that does not answer = %v, want ErrUnknown for the deadline", err)
	}
	until(t, "the commit can be repeated", func() bool {
		err = s.Commit(t.Context(), 0, tok, b)
		return !errors.Is(err, store.ErrUnknown)
	})
	var order *store.NumberError
	if err != nil && (!errors.As(err, &order) || order.Want != 2) {
		t.Errorf("the same commit again = %v, want nil or a *NumberError that asks for 2", err)
	}
}

func TestACommitThatWasNeverSentIsNotUnknown(t *testing.T) {
	r := testenv.Redis(t)
	s, tok := one(t, r)
	r.Kill()
	b := &store.Batch{Number: 1, Set: rows("k", "v")}
	var err error
	until(t, "every connection has noticed", func() bool {
		err = s.Commit(t.Context(), 0, tok, b)
		return !errors.Is(err, store.ErrUnknown)
	})
	if err == nil || errors.Is(err, store.ErrFenced) {
		t.Errorf("Commit without a connection = %v, want an ordinary error", err)
	}
	r.Restart()
	until(t, "the store is back", func() bool { _, err := s.Last(t.Context(), 0); return err == nil })
}

func TestAServerThatLostEverythingFencesTheOwner(t *testing.T) {
	r := testenv.Redis(t)
	s, tok := one(t, r)
	r.Do("FLUSHALL")
	r.Do("SCRIPT", "FLUSH")
	if err := s.Commit(t.Context(), 0, tok, &store.Batch{Number: 1}); !errors.Is(err, store.ErrFenced) {
		t.Errorf("Commit after FLUSHALL = %v, want ErrFenced", err)
	}
	if _, err := s.Renew(t.Context(), 0, tok, time.Hour); !errors.Is(err, store.ErrFenced) {
		t.Errorf("Renew after FLUSHALL = %v, want ErrFenced", err)
	}
	next, err := s.Acquire(t.Context(), 0, "b", time.Hour)
	if err != nil || next.Epoch <= tok.Epoch {
		t.Errorf("Acquire after FLUSHALL = %+v, %v; want a newer epoch than %d", next, err, tok.Epoch)
	}
}

func TestAReadThatWaitsEndsWithItsContext(t *testing.T) {
	r := testenv.Redis(t)
	s, _ := one(t, r)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := s.Read(ctx, 0, 0, 1)
		ended <- err
	}()
	until(t, "the read waits in the server", func() bool { return strings.Contains(r.Do("INFO", "clients"), "blocked_clients:1") })
	began := time.Now()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || time.Since(began) > time.Second {
		t.Errorf("Read() = %v, %v after its context ended; want context.Canceled at once", err, time.Since(began))
	}
	until(t, "no client waits in the server", func() bool { return strings.Contains(r.Do("INFO", "clients"), "blocked_clients:0") })
}

// TestFailoverEndsAndNothingAcknowledgedIsFenced also guards the client: some
// go on dialling a dead primary long after the servers have another.
func TestFailoverEndsAndNothingAcknowledgedIsFenced(t *testing.T) {
	t.Parallel() // most of it is waiting
	t.Run("of a Cluster", func(t *testing.T) {
		t.Parallel()
		c := testenv.NewCluster(t)
		failover(t, redisstore.Options{Addresses: c.Addrs()}, c.Primaries[0], func() *testenv.Server { return promoted(c) })
	})
	t.Run("of a Sentinel set", func(t *testing.T) {
		t.Parallel()
		s := testenv.NewSentinelSet(t)
		failover(t, redisstore.Options{Addresses: s.Addrs(), Primary: testenv.PrimaryName}, s.Primary, func() *testenv.Server { return named(s) })
	})
}

// late is by how much a store may be back later than its servers, which took own.
// Twice their time leaves room for a machine that has other things to do.
func late(own time.Duration) time.Duration { return own + 2*time.Second }

// failover kills a primary and wants all of six partitions to take commits again.
func failover(t *testing.T, o redisstore.Options, primary *testenv.Server, next func() *testenv.Server) {
	t.Helper()
	o.Mode = redisstore.Memory
	s := open(t, o)
	defer s.Close()
	tokens, number := [6]store.Token{}, [6]uint64{}
	for p := range tokens {
		var err error
		if tokens[p], err = s.Acquire(t.Context(), p, "a", time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	commit := func(p int) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := s.Commit(ctx, p, tokens[p], &store.Batch{Number: number[p] + 1, Set: rows("k", fmt.Sprint(number[p]))})
		var order *store.NumberError
		if errors.As(err, &order) && order.Want == number[p]+2 {
			err = nil
		}
		if err == nil {
			number[p]++
		}
		return err
	}
	for range 10 {
		for p := range tokens {
			if err := commit(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	primary.Do("WAIT", "1", "1000")
	primary.Kill()
	killed, ended := time.Now(), make(chan time.Duration, 1)
	go func() {
		for next() == nil && time.Since(killed) < patience {
			<-time.After(5 * time.Millisecond)
		}
		ended <- time.Since(killed)
	}()
	for p := range tokens {
		var err error
		until(t, "partition "+fmt.Sprint(p)+" takes commits", func() bool {
			err = commit(p)
			return err == nil || errors.Is(err, store.ErrFenced)
		})
		if err != nil {
			t.Errorf("partition %d: %v", p, err)
		}
	}
	took, own := time.Since(killed), <-ended
	t.Logf("the servers needed %v, all partitions took commits again after %v", own.Round(time.Millisecond), took.Round(time.Millisecond))
	if took-own > late(own) {
		t.Errorf("unavailable for %v, the servers for %v", took, own)
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v until %s", patience, what)
		}
	}
}
