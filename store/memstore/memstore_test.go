package memstore_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
	"github.com/weirhq/weir/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return memstore.New(memstore.Options{}) })
}

func TestLeasesRunOutByTheClockGiven(t *testing.T) {
	now := int64(0)
	s := memstore.New(memstore.Options{Now: func() int64 { return now }})
	stale, err := s.Acquire(t.Context(), 0, "a", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	now += int64(time.Second) - 1
	if _, err := s.Acquire(t.Context(), 0, "b", time.Second); !errors.Is(err, store.ErrHeld) {
		t.Errorf("Acquire just before the end = %v, want ErrHeld", err)
	}
	now++
	if _, err := s.Acquire(t.Context(), 0, "b", time.Second); err != nil {
		t.Errorf("Acquire at the end = %v", err)
	}
	if _, err := s.Renew(t.Context(), 0, stale, time.Second); !errors.Is(err, store.ErrFenced) {
		t.Errorf("Renew by the former owner = %v, want ErrFenced", err)
	}
}

func TestTheSameCallsGiveTheSameTokens(t *testing.T) {
	var runs [2]string
	for i := range runs {
		s := memstore.New(memstore.Options{Now: func() int64 { return 1_700_000_000_000_000_000 }})
		for partition := range 3 {
			for range 3 {
				tok, err := s.Acquire(t.Context(), partition, "a", time.Second)
				if err != nil {
					t.Fatal(err)
				}
				runs[i] += fmt.Sprint(tok)
			}
		}
	}
	if runs[0] != runs[1] {
		t.Errorf("tokens of the second run = %s, want %s", runs[1], runs[0])
	}
}

// TestReadDoesNotPoll has the message come between any two round moments at
// which a reader that polls could look.
func TestReadDoesNotPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(memstore.Options{})
		got := make(chan time.Time)
		go func() {
			if _, err := s.Read(t.Context(), 0, 0, 1); err != nil {
				t.Errorf("Read() = %v", err)
			}
			got <- time.Now()
		}()
		time.Sleep(24*time.Hour + time.Nanosecond)
		sent := time.Now()
		if err := s.Append(t.Context(), 0, nil, store.Claim{}); err != nil {
			t.Fatal(err)
		}
		if woken := <-got; !woken.Equal(sent) {
			t.Errorf("reader woke %v after the message, want at once", woken.Sub(sent))
		}
	})
}

func BenchmarkCommit(b *testing.B) {
	s := memstore.New(memstore.Options{})
	tok, err := s.Acquire(b.Context(), 0, "a", time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	batch := &store.Batch{}
	for i := range 10 {
		batch.Set = append(batch.Set, store.Row{Key: fmt.Appendf(nil, "row %d", i), Value: make([]byte, 64)})
	}
	b.ReportAllocs()
	for b.Loop() {
		batch.Number++
		if err := s.Commit(b.Context(), 0, tok, batch); err != nil {
			b.Fatal(err)
		}
	}
}
