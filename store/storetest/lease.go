package storetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir/store"
)

// brief is a lease that a test can wait out, and that does not run out between two calls.
const brief = 100 * time.Millisecond

var leaseCases = []testCase{
	{"a lease is exclusive", func(t *testing.T, s store.Store) {
		acquire(t, s, part, "a")
		_, err := s.Acquire(t.Context(), part, "b", long)
		wantErr(t, err, store.ErrHeld)
		acquire(t, s, other, "b")
	}},
	{"of 16 owners one gets the lease", func(t *testing.T, s store.Store) {
		var won atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				_, err := s.Acquire(t.Context(), part, string(rune('a'+i)), long)
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, store.ErrHeld):
					t.Errorf("Acquire() = %v, want ErrHeld", err)
				}
			})
		}
		wg.Wait()
		want(t, "winners", won.Load(), 1)
	}},
	{"acquiring again gives a newer token and fences the older", func(t *testing.T, s store.Store) {
		first := acquire(t, s, part, "a")
		second := acquire(t, s, part, "a")
		if second.Epoch <= first.Epoch || second.Nonce == 0 {
			t.Fatalf("token %+v is not newer than %+v", second, first)
		}
		wantErr(t, s.Commit(t.Context(), part, first, set(1)), store.ErrFenced)
		wantErr(t, renew(t, s, first), store.ErrFenced)
		must(t, s.Commit(t.Context(), part, second, set(1)))
	}},
	{"a lease that has run out is free, and its token fenced once another has it", func(t *testing.T, s store.Store) {
		stale, err := s.Acquire(t.Context(), part, "a", brief)
		must(t, err)
		tok := await(t, s, "b")
		wantErr(t, renew(t, s, stale), store.ErrFenced)
		wantErr(t, s.Commit(t.Context(), part, stale, set(1)), store.ErrFenced)
		must(t, s.Commit(t.Context(), part, tok, set(1)))
	}},
	{"a renewed lease lasts", func(t *testing.T, s store.Store) {
		tok, err := s.Acquire(t.Context(), part, "a", brief)
		must(t, err)
		must(t, renew(t, s, tok))
		<-time.After(brief + brief/2)
		_, err = s.Acquire(t.Context(), part, "b", long)
		wantErr(t, err, store.ErrHeld)
	}},
	{"renewing a lease returns the last commit", func(t *testing.T, s store.Store) {
		tok := acquire(t, s, part, "a")
		for i := range uint64(3) {
			last, err := s.Renew(t.Context(), part, tok, long)
			must(t, err)
			want(t, "number of the last commit", last.Number, i)
			if known, err := s.Last(t.Context(), part); err != nil || known != last {
				t.Errorf("Renew returned %+v, Last %+v, %v", last, known, err)
			}
			must(t, s.Commit(t.Context(), part, tok, set(i+1)))
		}
	}},
	{"a released lease is free at once", func(t *testing.T, s store.Store) {
		tok := acquire(t, s, part, "a")
		must(t, s.Release(t.Context(), part, tok))
		if next := acquire(t, s, part, "b"); next.Epoch <= tok.Epoch {
			t.Fatalf("token %+v is not newer than %+v", next, tok)
		}
		wantErr(t, s.Commit(t.Context(), part, tok, set(1)), store.ErrFenced)
	}},
	{"a token given back is worth nothing", func(t *testing.T, s store.Store) {
		tok := acquire(t, s, part, "a")
		must(t, s.Release(t.Context(), part, tok))
		wantErr(t, renew(t, s, tok), store.ErrFenced)
		wantErr(t, s.Commit(t.Context(), part, tok, set(1)), store.ErrFenced)
	}},
	{"releasing with a stale token changes nothing", func(t *testing.T, s store.Store) {
		stale := acquire(t, s, part, "a")
		tok := acquire(t, s, part, "a")
		must(t, s.Release(t.Context(), part, stale))
		must(t, s.Release(t.Context(), part, store.Token{}))
		_, err := s.Acquire(t.Context(), part, "b", long)
		wantErr(t, err, store.ErrHeld)
		must(t, s.Commit(t.Context(), part, tok, set(1)))
	}},
}

// await acquires a lease that is about to run out.
func await(t *testing.T, s store.Store, owner string) store.Token {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		tok, err := s.Acquire(ctx, part, owner, long)
		if !errors.Is(err, store.ErrHeld) {
			must(t, err)
			return tok
		}
		<-time.After(brief / 10)
	}
}

var closeCases = []testCase{
	{"a closed store says so", func(t *testing.T, s store.Store) {
		tok := acquire(t, s, part, "a")
		must(t, s.Close())
		must(t, s.Close())
		wantErr(t, s.Commit(t.Context(), part, tok, set(1)), store.ErrClosed)
		wantErr(t, s.Append(t.Context(), part, nil, store.Claim{}), store.ErrClosed)
		wantErr(t, s.PutBlocks(t.Context(), part, bulk, 0, [][]byte{{1}}), store.ErrClosed)
		_, err := s.GetBlock(t.Context(), part, bulk, 0)
		wantErr(t, err, store.ErrClosed)
	}},
	{"closing wakes those who wait", func(t *testing.T, s store.Store) {
		ended := make(chan error, 1)
		go func() {
			_, err := s.Read(t.Context(), part, 0, 1)
			ended <- err
		}()
		must(t, s.Close())
		wantErr(t, <-ended, store.ErrClosed)
	}},
	{"calls under way when it is closed end well or are refused", func(t *testing.T, s store.Store) {
		tok := acquire(t, s, part, "a")
		calls := []func() error{
			func() error { return s.Append(t.Context(), part, []byte("m"), store.Claim{}) },
			func() error { _, err := s.Read(t.Context(), part, 0, 1); return err },
			func() error { return s.PutBlocks(t.Context(), part, bulk, 0, [][]byte{{1}}) },
			func() error { return renew(t, s, tok) },
			func() error { return s.Scan(t.Context(), part, nil, func(_, _ []byte) error { return nil }) },
		}
		var begun, wg sync.WaitGroup
		begun.Add(len(calls))
		for i, call := range calls {
			wg.Go(func() {
				err := call()
				begun.Done()
				for err == nil {
					err = call()
				}
				if !errors.Is(err, store.ErrClosed) {
					t.Errorf("call %d, while the store was closed = %v, want ErrClosed", i, err)
				}
			})
		}
		begun.Wait()
		must(t, s.Close())
		wg.Wait()
	}},
	{"the durability is one of the three words", func(t *testing.T, s store.Store) {
		if d := s.Durability(); d != "memory" && d != "disk" && d != "replicated" {
			t.Fatalf("Durability() = %q, want memory, disk or replicated", d)
		}
	}},
}

// renew extends the lease of part.
func renew(t fataler, s store.Store, tok store.Token) error {
	t.Helper()
	_, err := s.Renew(t.Context(), part, tok, long)
	return err
}
