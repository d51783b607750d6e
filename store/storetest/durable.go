package storetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/weirhq/weir/store"
)

// durableCases need a backend that can be reopened.
var durableCases = []struct {
	name string
	run  func(t *testing.T, s store.Store, reopen func() store.Store)
}{
	{"a commit survives", func(t *testing.T, s store.Store, reopen func() store.Store) {
		tok := acquire(t, s, part, "a")
		must(t, s.Commit(t.Context(), part, tok, set(1, "a", "1", "b", "2")))
		b := set(2, "c", "3")
		b.Delete = [][]byte{[]byte("a")}
		must(t, s.Commit(t.Context(), part, tok, b))
		s = reopen()
		want(t, "rows", fmt.Sprint(rows(t, s, part, "")), "[b=2 c=3]")
		want(t, "last", last(t, s, part), store.Last{Number: 2, By: tok})
		must(t, s.Commit(t.Context(), part, acquire(t, s, part, "a"), set(3)))
	}},
	{"a message survives with its claim and the blocks before it", func(t *testing.T, s store.Store, reopen func() store.Store) {
		must(t, s.PutBlocks(t.Context(), part, bulk, 0, [][]byte{[]byte("zero"), []byte("one")}))
		must(t, s.Append(t.Context(), part, []byte("created"), store.Claim{Key: "k", Value: []byte("v")}))
		s = reopen()
		bodies, _ := inbox(t, s, part, 0)
		want(t, "inbox", fmt.Sprint(bodies), "[created]")
		want(t, "block 1", block(t, s, part, bulk, 1), "one")
		err := s.Append(t.Context(), part, nil, store.Claim{Key: "k"})
		wantErr(t, err, store.ErrClaimed)
	}},
	{"sequence numbers go on although all messages are gone", func(t *testing.T, s store.Store, reopen func() store.Store) {
		appendMessage(t, s, part, "one")
		_, last := inbox(t, s, part, 0)
		must(t, s.Commit(t.Context(), part, acquire(t, s, part, "a"), &store.Batch{Number: 1, Ack: last}))
		s = reopen()
		wantEmpty(t, s, part, 0)
		appendMessage(t, s, part, "two")
		bodies, next := inbox(t, s, part, 0)
		want(t, "inbox", fmt.Sprint(bodies), "[two]")
		if next <= last {
			t.Fatalf("sequence number %d was given again after %d", next, last)
		}
	}},
	{"claims of a generation that is over stay refused", func(t *testing.T, s store.Store, reopen func() store.Store) {
		must(t, s.CloseClaims(t.Context(), part, 4))
		s = reopen()
		wantErr(t, s.Append(t.Context(), part, []byte("one"), store.Claim{Key: "k", Generation: 3}), store.ErrMoved)
		must(t, s.Append(t.Context(), part, []byte("one"), store.Claim{Key: "k", Generation: 4}))
	}},
	{"epochs go on", func(t *testing.T, s store.Store, reopen func() store.Store) {
		before := acquire(t, s, part, "a")
		s = reopen()
		if tok := acquire(t, s, part, "a"); tok.Epoch <= before.Epoch {
			t.Fatalf("token %+v is not newer than %+v", tok, before)
		}
		wantErr(t, s.Commit(t.Context(), part, before, set(1)), store.ErrFenced)
	}},
	{"a lasting record survives", func(t *testing.T, s store.Store, reopen func() store.Store) {
		swap(t, s, "map", nil, "one")
		swap(t, s, "map", []byte("one"), "two")
		s = reopen()
		want(t, "record", lookup(t, s, "map"), "two")
		want(t, "from an older one", swap(t, s, "map", []byte("one"), "three"), "two")
		want(t, "from the newest", swap(t, s, "map", []byte("two"), "three"), "three")
	}},
	{"a removed record stays removed, and the others are listed", func(t *testing.T, s store.Store, reopen func() store.Store) {
		for _, name := range []string{"a", "b", "c", "d"} {
			swap(t, s, name, nil, "one")
		}
		swap(t, s, "b", []byte("one"), "")
		swap(t, s, "d", []byte("one"), "")
		swap(t, s, "d", nil, "again")
		s = reopen()
		want(t, "records", listed(t, s, "", "", 9), `["a" "c" "d"]`)
		_, err := s.Lookup(t.Context(), "b")
		wantErr(t, err, store.ErrNotFound)
		want(t, "made again", lookup(t, s, "d"), "again")
	}},
	{"what was listed survives, although its writer has no answer yet", listedSurvives},
}

// listedSurvives lists while others write, and crashes without waiting for them.
func listedSurvives(t *testing.T, s store.Store, reopen func() store.Store) {
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 100 {
				if _, err := s.Swap(t.Context(), fmt.Sprintf("r/%d/%03d", w, i), nil, []byte("x")); err != nil {
					return // the store was closed by the crash
				}
			}
		})
	}
	var seen []store.Record
	for len(seen) < 50 {
		var err error
		seen, err = s.List(t.Context(), "r/", "", 1000)
		must(t, err)
	}
	after := reopen()
	wg.Wait()
	for _, r := range seen {
		want(t, r.Name, lookup(t, after, r.Name), "x")
	}
}
