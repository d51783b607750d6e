package memstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAStoreThatIsSetBackHoldsWhatItHeldThen(t *testing.T) {
	s, ctx := memstore.New(memstore.Options{Now: func() int64 { return 0 }}), t.Context()
	tok, err := s.Acquire(ctx, 1, "a", time.Hour)
	check(t, err)
	write := func(number uint64, name string) {
		check(t, s.Commit(ctx, 1, tok, &store.Batch{Number: number, Set: []store.Row{{Key: []byte(name)}}}))
		check(t, s.PutBlocks(ctx, 1, "ba", uint32(number), [][]byte{[]byte(name)}))
		check(t, s.Append(ctx, 1, []byte(name), store.Claim{Key: name}))
		_, err := s.Swap(ctx, name, nil, []byte(name))
		check(t, err)
	}
	write(1, "kept")
	moment := s.Save()
	write(2, "lost")
	for range 2 { // a moment can be gone back to again
		s.Restore(moment)
		if last, err := s.Last(ctx, 1); last != (store.Last{Number: 1, By: tok}) || err != nil {
			t.Errorf("Last() = %+v, %v; want number 1", last, err)
		}
		for name, want := range map[string]error{"kept": nil, "lost": store.ErrNotFound} {
			_, row := s.Get(ctx, 1, []byte(name))
			_, claim := s.Claimed(ctx, 1, name)
			_, record := s.Lookup(ctx, name)
			for what, err := range map[string]error{"row": row, "claim": claim, "record": record} {
				if !errors.Is(err, want) {
					t.Errorf("%s %q: %v, want %v", what, name, err, want)
				}
			}
		}
		if list, err := s.List(ctx, "", "", 9); err != nil || len(list) != 1 || list[0].Name != "kept" {
			t.Errorf("List() = %q, %v; want kept alone", list, err)
		}
		if _, err := s.GetBlock(ctx, 1, "ba", 2); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("GetBlock of a lost block = %v, want ErrNotFound", err)
		}
		write(2, "new")
	}
}

func TestTimeDoesNotGoBackWithTheStore(t *testing.T) {
	s, ctx := memstore.New(memstore.Options{Now: func() int64 { return 0 }}), t.Context()
	moment := s.Save()
	lost, err := s.Acquire(ctx, 1, "a", time.Hour)
	check(t, err)
	check(t, s.Append(ctx, 1, []byte("lost"), store.Claim{}))
	s.Restore(moment)
	again, err := s.Acquire(ctx, 1, "b", time.Hour)
	check(t, err)
	if again == lost {
		t.Errorf("the token %+v was granted twice", lost)
	}
	check(t, s.Append(ctx, 1, []byte("new"), store.Claim{}))
	found, err := s.Read(ctx, 1, 1, 10)
	if err != nil || len(found) != 1 || string(found[0].Body) != "new" {
		t.Errorf("Read behind the lost message = %v, %v; want the new one", found, err)
	}
}

func TestAReaderThatWaitsSeesTheMomentGoneBackTo(t *testing.T) {
	s := memstore.New(memstore.Options{})
	check(t, s.Append(t.Context(), 1, []byte("old"), store.Claim{}))
	moment := s.Save()
	tok, err := s.Acquire(t.Context(), 1, "a", time.Hour)
	check(t, err)
	check(t, s.Commit(t.Context(), 1, tok, &store.Batch{Number: 1, Ack: 1}))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	got := make(chan error, 1)
	go func() {
		_, err := s.Read(ctx, 1, 0, 1)
		got <- err
	}()
	s.Restore(moment)
	if err := <-got; err != nil {
		t.Errorf("Read() = %v, want the message that is there again", err)
	}
}
