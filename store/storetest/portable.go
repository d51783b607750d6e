package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// portable runs the cases of a store that is a [store.Portable].
func portable(t *testing.T, b Backend) {
	s := b.Open(t)
	_, is := s.(store.Portable)
	closeStore(t, s)
	if !is {
		return
	}
	for _, c := range portableCases {
		t.Run(c.name, func(t *testing.T) {
			s := b.Open(t)
			t.Cleanup(func() { closeStore(t, s) }) // after the snapshots
			c.run(t, s)
		})
	}
}

var portableCases = []testCase{
	{"a snapshot of an empty store is empty", func(t *testing.T, s store.Store) {
		want(t, "snapshot", strings.Join(content(t, open(t, s), part, other), " "), "3: 0 0 4: 0 0")
	}},
	{"a snapshot has everything that lasts", func(t *testing.T, s store.Store) {
		fillAll(t, s)
		want(t, "snapshot", strings.Join(content(t, open(t, s), part, other), " "),
			"3: 2 7 block ba_one/0=zero block ba_one/1=one block ba_one/4294967295=last block ba_two/0= "+
				"claim k2= claim k=v message second message third row =empty row a=1 row b= "+
				"4: 0 0 message elsewhere record map=m record set/x=y")
	}},
	{"a snapshot of many of everything is complete", func(t *testing.T, s store.Store) { manyOfEverything(t, s) }},
	{"a snapshot is as of one moment", func(t *testing.T, s store.Store) {
		if sharing, ok := s.(store.Sharing); ok && sharing.Shared() {
			return // not promised
		}
		fillAll(t, s)
		v := open(t, s)
		before := fmt.Sprint(content(t, v, part, other))
		tok := acquire(t, s, part, "a")
		must(t, s.Commit(t.Context(), part, tok, set(3, "a", "changed", "c", "new")))
		must(t, s.DeleteBlocks(t.Context(), part, bulk))
		appendMessage(t, s, other, "later")
		swap(t, s, "map", []byte("m"), "changed")
		want(t, "snapshot after changes", fmt.Sprint(content(t, v, part, other)), before)
	}},
	{"a snapshot hands on the error of its reader", func(t *testing.T, s store.Store) {
		fillAll(t, s)
		v, enough := open(t, s), errors.New("enough")
		wantErr(t, v.Blocks(t.Context(), part, func(weir.BulkID, uint32, []byte) error { return enough }), enough)
		wantErr(t, v.Claims(t.Context(), part, func(string, []byte) error { return enough }), enough)
		wantErr(t, v.Messages(t.Context(), part, func([]byte) error { return enough }), enough)
		wantErr(t, v.Rows(t.Context(), part, func(_, _ []byte) error { return enough }), enough)
		wantErr(t, v.Records(t.Context(), func(store.Record) error { return enough }), enough)
	}},
	{"a snapshot ends with its context", func(t *testing.T, s store.Store) {
		fillAll(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantErr(t, open(t, s).Rows(ctx, part, func(_, _ []byte) error { return nil }), context.Canceled)
	}},
	{"advance sets the number of the last commit", func(t *testing.T, s store.Store) {
		p, tok := s.(store.Portable), acquire(t, s, part, "a")
		must(t, p.Advance(t.Context(), part, tok, 41))
		want(t, "last", last(t, s, part), store.Last{Number: 41, By: tok})
		must(t, s.Commit(t.Context(), part, tok, set(42, "a", "1")))
		want(t, "rows", fmt.Sprint(rows(t, s, part, "")), "[a=1]")
		for _, n := range []uint64{0, 41, 42} {
			var number *store.NumberError
			if err := p.Advance(t.Context(), part, tok, n); !errors.As(err, &number) || number.Want != 43 {
				t.Errorf("Advance to %d after 42 = %v, want a NumberError that wants 43", n, err)
			}
		}
	}},
	{"advance is fenced", func(t *testing.T, s store.Store) {
		p, tok := s.(store.Portable), acquire(t, s, part, "a")
		must(t, s.Release(t.Context(), part, tok))
		wantErr(t, p.Advance(t.Context(), part, tok, 5), store.ErrFenced)
		newer := acquire(t, s, part, "b")
		wantErr(t, p.Advance(t.Context(), part, tok, 5), store.ErrFenced)
		wantErr(t, p.Advance(t.Context(), part, store.Token{}, 5), store.ErrFenced)
		want(t, "last", last(t, s, part), store.Last{})
		must(t, p.Advance(t.Context(), part, newer, 5))
	}},
}

// open opens a snapshot, which ends with the test.
func open(t *testing.T, s store.Store) store.Snapshot {
	t.Helper()
	v, err := s.(store.Portable).Snapshot(t.Context())
	must(t, err)
	t.Cleanup(func() { must(t, v.Close()) })
	return v
}

// fillAll writes something of each kind.
func fillAll(t *testing.T, s store.Store) {
	t.Helper()
	ctx := t.Context()
	must(t, s.PutBlocks(ctx, part, bulk, 0, [][]byte{[]byte("zero"), []byte("one")}))
	must(t, s.PutBlocks(ctx, part, bulk, 1<<32-1, [][]byte{[]byte("last")}))
	must(t, s.PutBlocks(ctx, part, "ba_two", 0, [][]byte{{}}))
	must(t, s.Append(ctx, part, []byte("first"), store.Claim{Key: "k", Value: []byte("v")}))
	_, first := inbox(t, s, part, 0)
	must(t, s.Append(ctx, part, []byte("second"), store.Claim{Key: "k2"}))
	appendMessage(t, s, part, "third")
	appendMessage(t, s, other, "elsewhere")
	must(t, s.CloseClaims(ctx, part, 7))
	tok := acquire(t, s, part, "a")
	must(t, s.Commit(ctx, part, tok, set(1, "a", "1", "b", "", "gone", "x", "", "empty")))
	must(t, s.Commit(ctx, part, tok, &store.Batch{Number: 2, Delete: [][]byte{[]byte("gone")}, Ack: first}))
	swap(t, s, "map", nil, "m")
	swap(t, s, "set/x", nil, "y")
	swap(t, s, "set/gone", nil, "y")
	swap(t, s, "set/gone", []byte("y"), "")
}

// content lists what a snapshot has, partition by partition, and the records.
func content(t *testing.T, v store.Snapshot, partitions ...int) (all []string) {
	t.Helper()
	ctx := t.Context()
	add := func(format string, args ...any) error {
		all = append(all, fmt.Sprintf(format, args...))
		return nil
	}
	for _, p := range partitions {
		h, err := v.Head(ctx, p)
		must(t, err)
		must(t, add("%d: %d %d", p, h.Number, h.Generation))
		must(t, v.Blocks(ctx, p, func(id weir.BulkID, no uint32, block []byte) error { return add("block %s/%d=%s", id, no, block) }))
		from := len(all)
		must(t, v.Claims(ctx, p, func(key string, value []byte) error { return add("claim %s=%s", key, value) }))
		slices.Sort(all[from:])
		all = append(all[:from], slices.Compact(all[from:])...)
		must(t, v.Messages(ctx, p, func(body []byte) error { return add("message %s", body) }))
		must(t, v.Rows(ctx, p, func(key, value []byte) error { return add("row %s=%s", key, value) }))
	}
	must(t, v.Records(ctx, func(r store.Record) error { return add("record %s=%s", r.Name, r.Value) }))
	return all
}

// manyOfEverything writes more of each kind than backends read at once.
func manyOfEverything(t *testing.T, s store.Store) {
	const n = 2500
	ctx := t.Context()
	blocks := make([][]byte, n)
	b := &store.Batch{Number: 1}
	for i := range n {
		name := fmt.Sprintf("%05d", i)
		blocks[i] = []byte(name)
		b.Set = append(b.Set, store.Row{Key: []byte(name), Value: []byte(name)})
	}
	inParallel(t, n, func(name string) error {
		return s.Append(ctx, part, []byte(name), store.Claim{Key: name, Value: []byte(name)})
	})
	inParallel(t, 300, func(name string) error {
		_, err := s.Swap(ctx, name, nil, []byte("x"))
		return err
	})
	must(t, s.PutBlocks(ctx, part, bulk, 0, blocks))
	must(t, s.Commit(ctx, part, acquire(t, s, part, "a"), b))
	got := map[string]int{}
	for _, line := range content(t, open(t, s), part) {
		kind, rest, _ := strings.Cut(line, " ")
		got[kind]++
		if _, value, ok := strings.Cut(rest, "="); ok && kind != "record" && !strings.Contains(rest[:len(rest)-len(value)], strings.TrimLeft(value, "0")) {
			t.Fatalf("%s has the value of another", line)
		}
	}
	want(t, "snapshot", fmt.Sprint(got), fmt.Sprintf("map[3::1 block:%d claim:%d message:%d record:300 row:%d]", n, n, n, n))
}

// inParallel calls do for n names, many at a time: they share the syncs of a disk.
func inParallel(t *testing.T, n int, do func(name string) error) {
	t.Helper()
	var g errgroup.Group
	g.SetLimit(100)
	for i := range n {
		g.Go(func() error { return do(fmt.Sprintf("%05d", i)) })
	}
	must(t, g.Wait())
}
