package readback

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

// ledger writes the rows of bulk actions as the owner of a partition does.
type ledger struct {
	t     *testing.T
	store *memstore.Store
	token store.Token
	no    uint64
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	s := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = s.Close() })
	token, err := s.Acquire(t.Context(), 0, "me", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return &ledger{t: t, store: s, token: token}
}

func (l *ledger) commit(set, remove []string) {
	l.t.Helper()
	l.no++
	b := &store.Batch{Number: l.no}
	for _, key := range set {
		b.Set = append(b.Set, store.Row{Key: []byte(key), Value: []byte("x")})
	}
	for _, key := range remove {
		b.Delete = append(b.Delete, []byte(key))
	}
	if err := l.store.Commit(l.t.Context(), 0, l.token, b); err != nil {
		l.t.Fatal(err)
	}
}

// idAt returns the id of a bulk action of partition 0 that was made at a time.
func idAt(at time.Time) weir.BulkID {
	id := ulid.MustNew(ulid.Timestamp(at), ulid.DefaultEntropy())
	binary.BigEndian.PutUint16(id[6:8], 0)
	return weir.BulkID("ba_" + strings.ToLower(id.String()))
}

func TestTheIndexFindsWhatIsNewAndForgetsWhatIsGone(t *testing.T) {
	l := newLedger(t)
	r := &Reader{store: l.store, Partitions: func() int { return 1 }}
	now := time.Now()
	look := func(at time.Time) []weir.BulkID {
		ids, err := r.index.look(t.Context(), r, at)
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	want := func(what string, at time.Time, ids ...weir.BulkID) {
		t.Helper()
		if got := look(at); !slices.Equal(got, ids) {
			t.Errorf("%s: the index has %v, want %v", what, got, ids)
		}
	}
	old, young, long, draft := idAt(now.Add(-time.Hour)), idAt(now), idAt(now.Add(-2*time.Hour)), idAt(now.Add(-30*time.Minute))
	l.commit([]string{"b" + string(old)}, nil)
	want("at first", now, old)
	l.commit([]string{"b" + string(young)}, nil)
	want("one that was made and ended since", now, young, old)
	l.commit([]string{"a" + string(draft), "b" + string(draft)}, nil)
	want("one with an old id that runs", now, young, draft, old)
	l.commit(nil, []string{"a" + string(draft)})
	want("when that has ended", now, young, draft, old)
	l.commit([]string{"b" + string(long)}, nil)
	want("one that took long to submit, and ended since", now.Add(wholeEvery/2), young, draft, old)
	want("the same a minute later", now.Add(2*wholeEvery), young, draft, old, long)
	l.commit(nil, []string{"b" + string(old)})
	want("one that was removed, a minute later", now.Add(4*wholeEvery), young, draft, long)
	want("without a commit", now.Add(8*wholeEvery), young, draft, long)
}

// A list that was handed out does not change under its reader.
func TestAListOfIdsStaysAsItWas(t *testing.T) {
	l := newLedger(t)
	r := &Reader{store: l.store, Partitions: func() int { return 1 }}
	now := time.Now()
	var lists [][]weir.BulkID
	for i := range 20 {
		l.commit([]string{"b" + string(idAt(now.Add(time.Duration((i*7)%20)*time.Millisecond)))}, nil)
		ids, err := r.index.look(context.Background(), r, now)
		if err != nil {
			t.Fatal(err)
		}
		lists = append(lists, ids)
	}
	for i, ids := range lists {
		if len(ids) != i+1 || !slices.IsSortedFunc(ids, newestFirst) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
			t.Errorf("list %d has become %v", i, ids)
		}
	}
}
