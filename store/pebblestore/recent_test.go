package pebblestore

import (
	"bytes"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirhq/weir/store"
)

// Messages are read from the disk, from memory, and from both in turns: always all, in order.
func TestMessagesAreReadWhereverTheyAre(t *testing.T) {
	s := openMem(t, vfs.NewMem(), Options{})
	defer s.Close()
	const n, size = 40, 10_000 // three times of what is kept in memory
	for i := range n {
		if err := s.Append(t.Context(), 0, bytes.Repeat([]byte{byte(i)}, size), store.Claim{}); err != nil {
			t.Fatal(err)
		}
	}
	p, err := s.partition(0)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.recent.bytes; got > mostRecent || got < mostRecent-size {
		t.Errorf("in memory are %d bytes, want just under %d", got, mostRecent)
	}
	for _, limit := range []int{1, 7, n + 1} {
		next := 0
		for after := uint64(0); next < n; {
			found, err := s.Peek(t.Context(), 0, after, limit)
			if err != nil || len(found) == 0 || len(found) > limit {
				t.Fatalf("Peek(%d, limit %d) = %d messages, %v", after, limit, len(found), err)
			}
			for _, m := range found {
				if m.Seq != after+1 || len(m.Body) != size || m.Body[0] != byte(next) {
					t.Fatalf("message %d has the body of %d, want %d behind %d", m.Seq, m.Body[0], next, after)
				}
				after, next = m.Seq, next+1
			}
		}
	}
	tok, err := s.Acquire(t.Context(), 0, "a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), 0, tok, &store.Batch{Number: 1, Ack: n - 2}); err != nil {
		t.Fatal(err)
	}
	found, err := s.Peek(t.Context(), 0, 0, n)
	if err != nil || len(found) != 2 || found[0].Seq != n-1 || p.recent.bytes != 2*size {
		t.Errorf("behind the acknowledged: %d messages, %v, %d bytes in memory; want 2", len(found), err, p.recent.bytes)
	}
}

func TestOfTwoRowsForOneKeyTheLaterCounts(t *testing.T) {
	rows := []store.Row{{Key: []byte("b"), Value: []byte("1")}, {Key: []byte("a")}, {Key: []byte("b"), Value: []byte("2")}, {Key: []byte("ab")}}
	var got []byte
	for _, i := range inOrder(rows) {
		got = append(append(got, rows[i].Key...), rows[i].Value...)
	}
	if string(got) != "aabb1b2" {
		t.Errorf("order = %s, want aabb1b2", got)
	}
}
