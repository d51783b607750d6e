package redisstore_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/redisstore"
	"github.com/weirhq/weir/store/storetest"
)

// TestConformanceOverCrashesOfTheServer kills the server itself where the suite
// asks for a crash: mode disk says that nothing acknowledged is lost. Restarts
// take their time, so only the first ones and then some of them are real.
func TestConformanceOverCrashesOfTheServer(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t, "appendfsync", "always")
	b := backend(redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Disk})
	reopen, crashes := b.Reopen, 0
	b.Reopen = func(t *testing.T, s store.Store) store.Store {
		if crashes++; crashes < 10 || crashes%5 == 0 {
			r.Kill()
			r.Restart()
		}
		return reopen(t, s)
	}
	storetest.RunBackend(t, b)
}

// big is a batch that no single command of a script has room for.
func big(number uint64, n int) *store.Batch {
	b := &store.Batch{Number: number}
	for i := range n {
		b.Set = append(b.Set, store.Row{Key: fmt.Appendf(nil, "row-%06d", i), Value: fmt.Appendf(nil, "\x00\r\n%d of %d\xff", i, number)})
	}
	return b
}

func TestABatchOfAnySizeIsSetScannedAndDeleted(t *testing.T) {
	s, tok := one(t, testenv.Redis(t))
	const n = 25_000
	b := big(1, n)
	if err := s.Commit(t.Context(), 0, tok, b); err != nil {
		t.Fatal(err)
	}
	next := 0
	err := s.Scan(t.Context(), 0, []byte("row-"), func(k, v []byte) error {
		if r := b.Set[next]; !bytes.Equal(k, r.Key) || !bytes.Equal(v, r.Value) {
			return fmt.Errorf("row %d is %q = %q, want %q = %q", next, k, v, r.Key, r.Value)
		}
		next++
		return nil
	})
	if err != nil || next != n {
		t.Fatalf("Scan() = %v after %d rows, want %d", err, next, n)
	}
	del := &store.Batch{Number: 2}
	for _, r := range b.Set[1:] {
		del.Delete = append(del.Delete, r.Key)
	}
	if err := s.Commit(t.Context(), 0, tok, del); err != nil {
		t.Fatal(err)
	}
	left := 0
	if err := s.Scan(t.Context(), 0, nil, func(_, _ []byte) error { left++; return nil }); err != nil || left != 1 {
		t.Errorf("Scan() = %v, %d rows left after all but one were deleted", err, left)
	}
}

// TestAScanOverManyPagesSeesOneMoment has commits come between the pages all the time.
func TestAScanOverManyPagesSeesOneMoment(t *testing.T) {
	s, tok := one(t, testenv.Redis(t))
	const n = 5_000
	if err := s.Commit(t.Context(), 0, tok, big(1, n)); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for number := uint64(2); ; number++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := s.Commit(t.Context(), 0, tok, big(number, n)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 5 {
		moments, seen := map[string]bool{}, 0
		err := s.Scan(t.Context(), 0, nil, func(_, v []byte) error {
			_, of, _ := bytes.Cut(v, []byte(" of "))
			moments[string(of)] = true
			seen++
			return nil
		})
		if err != nil || seen != n || len(moments) != 1 {
			t.Errorf("Scan() = %v, %d rows of %d commits; want %d of one", err, seen, len(moments), n)
		}
	}
	close(stop)
	writer.Wait()
}

func TestStagesOnOneServerAreApart(t *testing.T) {
	r := testenv.Redis(t)
	prod, _ := one(t, r)
	test := open(t, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory, Stage: "test"})
	defer test.Close()
	if err := prod.PutBlocks(t.Context(), 0, "ba_1", 0, [][]byte{{1}}); err != nil {
		t.Fatal(err)
	}
	if ids, err := test.BlockOwners(t.Context(), 0); err != nil || len(ids) != 0 {
		t.Errorf("BlockOwners() of another stage = %v, %v; want none", ids, err)
	}
}
