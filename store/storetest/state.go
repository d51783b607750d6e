package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/weirhq/weir/store"
)

var stateCases = []testCase{
	{"a commit sets and deletes rows", func(t *testing.T, s store.Store) {
		tok := acquire(t, s, part, "a")
		must(t, s.Commit(t.Context(), part, tok, set(1, "a", "1", "b", "2", "c", "")))
		b := set(2, "a", "one", "d", "4")
		b.Delete = [][]byte{[]byte("b"), []byte("never there")}
		must(t, s.Commit(t.Context(), part, tok, b))
		want(t, "rows", fmt.Sprint(rows(t, s, part, "")), "[a=one c= d=4]")
		v, err := s.Get(t.Context(), part, []byte("a"))
		must(t, err)
		want(t, "row a", string(v), "one")
		_, err = s.Get(t.Context(), part, []byte("b"))
		wantErr(t, err, store.ErrNotFound)
	}},
	{"a row that is both deleted and set is set", func(t *testing.T, s store.Store) {
		tok := acquire(t, s, part, "a")
		for n, v := range []string{"old", "new"} {
			b := set(uint64(n+1), "k", v)
			b.Delete = [][]byte{[]byte("k")}
			must(t, s.Commit(t.Context(), part, tok, b))
			want(t, "rows", fmt.Sprint(rows(t, s, part, "")), "[k="+v+"]")
		}
	}},
	{"partitions are apart", func(t *testing.T, s store.Store) {
		must(t, s.Commit(t.Context(), part, acquire(t, s, part, "a"), set(1, "k", "here")))
		must(t, s.Commit(t.Context(), other, acquire(t, s, other, "a"), set(1, "k", "there")))
		want(t, "rows", fmt.Sprint(rows(t, s, part, "")), "[k=here]")
		want(t, "rows", fmt.Sprint(rows(t, s, other, "")), "[k=there]")
	}},
	{"a stale token is fenced and writes nothing", func(t *testing.T, s store.Store) {
		stale := acquire(t, s, part, "a")
		appendMessage(t, s, part, "stays")
		tok := acquire(t, s, part, "a")
		for _, bad := range []store.Token{stale, {}, {Epoch: tok.Epoch}, {Epoch: tok.Epoch, Nonce: tok.Nonce + 1},
			{Epoch: tok.Epoch + 1, Nonce: tok.Nonce}} {
			b := set(1, "k", "v")
			b.Ack = 1 << 62
			wantErr(t, s.Commit(t.Context(), part, bad, b), store.ErrFenced)
		}
		want(t, "rows", len(rows(t, s, part, "")), 0)
		want(t, "number", number(t, s, part), 0)
		bodies, _ := inbox(t, s, part, 0)
		want(t, "inbox", fmt.Sprint(bodies), "[stays]")
		must(t, s.Commit(t.Context(), part, tok, set(1, "k", "v")))
	}},
	{"no token is valid for a partition that was never acquired", func(t *testing.T, s store.Store) {
		wantErr(t, s.Commit(t.Context(), part, store.Token{}, set(1, "k", "v")), store.ErrFenced)
	}},
	{"a gap or a repeat in the numbers is refused", func(t *testing.T, s store.Store) {
		tok := acquire(t, s, part, "a")
		must(t, s.Commit(t.Context(), part, tok, set(1, "k", "1")))
		must(t, s.Commit(t.Context(), part, tok, set(2, "k", "2")))
		for _, n := range []uint64{0, 1, 2, 4} {
			err := s.Commit(t.Context(), part, tok, set(n, "k", "bad"))
			var wrong *store.NumberError
			if !errors.As(err, &wrong) || wrong.Got != n || wrong.Want != 3 {
				t.Fatalf("Commit of number %d = %v, want a *NumberError that asks for 3", n, err)
			}
		}
		want(t, "rows", fmt.Sprint(rows(t, s, part, "")), "[k=2]")
		want(t, "number", number(t, s, part), 2)
	}},
	{"numbers go on under a new owner", func(t *testing.T, s store.Store) {
		tok := acquire(t, s, part, "a")
		must(t, s.Commit(t.Context(), part, tok, set(1)))
		must(t, s.Release(t.Context(), part, tok))
		must(t, s.Commit(t.Context(), part, acquire(t, s, part, "b"), set(2)))
		want(t, "number", number(t, s, part), 2)
	}},
	{"an acknowledgement removes messages, and their numbers do not come back", func(t *testing.T, s store.Store) {
		tok := acquire(t, s, part, "a")
		for _, b := range []string{"one", "two", "three"} {
			appendMessage(t, s, part, b)
		}
		m, err := s.Read(t.Context(), part, 0, 2)
		must(t, err)
		must(t, s.Commit(t.Context(), part, tok, &store.Batch{Number: 1, Ack: m[1].Seq}))
		bodies, last := inbox(t, s, part, 0)
		want(t, "inbox", fmt.Sprint(bodies), "[three]")
		must(t, s.Commit(t.Context(), part, tok, &store.Batch{Number: 2, Ack: last}))
		wantEmpty(t, s, part, 0)
		appendMessage(t, s, part, "four")
		bodies, next := inbox(t, s, part, last)
		want(t, "inbox", fmt.Sprint(bodies), "[four]")
		if next <= last {
			t.Fatalf("sequence number %d was given again after %d", next, last)
		}
	}},
	{"an acknowledgement takes no message that comes after it", func(t *testing.T, s store.Store) {
		tok := acquire(t, s, part, "a")
		appendMessage(t, s, part, "before")
		must(t, s.Commit(t.Context(), part, tok, &store.Batch{Number: 1, Ack: 1 << 62}))
		wantEmpty(t, s, part, 0)
		appendMessage(t, s, part, "after")
		bodies, _ := inbox(t, s, part, 0)
		want(t, "inbox", fmt.Sprint(bodies), "[after]")
	}},
	{"many rows come as they were asked for, and those that do not exist are nil", func(t *testing.T, s store.Store) {
		tok := acquire(t, s, part, "a")
		must(t, s.Commit(t.Context(), part, tok, set(1, "b\xff", "2", "b", "1", "a", "", "gone", "x")))
		must(t, s.Commit(t.Context(), part, tok, &store.Batch{Number: 2, Delete: [][]byte{[]byte("gone")}}))
		must(t, s.Commit(t.Context(), other, acquire(t, s, other, "a"), set(1, "c", "elsewhere")))
		got := many(t, s, part, "b\xff", "bb", "a", "b", "gone", "b", "c", "")
		want(t, "values", fmt.Sprintf("%q", got), `["2" "nil" "" "1" "nil" "1" "nil" "nil"]`)
		want(t, "values of nothing", len(many(t, s, part)), 0)
	}},
	{"more rows than go into one call come all", func(t *testing.T, s store.Store) {
		const n = 2500
		b, keys := set(1), make([]string, n)
		for i := range n {
			keys[i] = fmt.Sprintf("k%04d", i)
			if i%3 > 0 {
				b.Set = append(b.Set, store.Row{Key: []byte(keys[i]), Value: []byte(keys[i])})
			}
		}
		must(t, s.Commit(t.Context(), part, acquire(t, s, part, "a"), b))
		for i, v := range many(t, s, part, keys...) {
			if i%3 > 0 {
				want(t, "value", v, keys[i])
			} else {
				want(t, "value", v, "nil")
			}
		}
	}},
	{"scan goes in order of keys and keeps to the prefix", func(t *testing.T, s store.Store) {
		tok := acquire(t, s, part, "a")
		must(t, s.Commit(t.Context(), part, tok, set(1, "b\xff\x01", "3", "b", "1", "a", "0", "b\xff", "2", "c", "4")))
		want(t, "rows", fmt.Sprintf("%q", rows(t, s, part, "b")), `["b=1" "b\xff=2" "b\xff\x01=3"]`)
		want(t, "rows", fmt.Sprintf("%q", rows(t, s, part, "b\xff")), `["b\xff=2" "b\xff\x01=3"]`)
		want(t, "rows", len(rows(t, s, part, "")), 5)
		want(t, "rows", len(rows(t, s, part, "bb")), 0)
	}},
	{"scan sees one moment", func(t *testing.T, s store.Store) {
		tok := acquire(t, s, part, "a")
		must(t, s.Commit(t.Context(), part, tok, set(1, "a", "old", "b", "old")))
		var got string
		must(t, s.Scan(t.Context(), part, nil, func(k, v []byte) error {
			if string(k) == "a" {
				must(t, s.Commit(t.Context(), part, tok, set(2, "b", "new", "c", "new")))
			}
			got += string(k) + "=" + string(v) + " "
			return nil
		}))
		want(t, "rows", got, "a=old b=old ")
	}},
	{"scan returns the error of yield and stops", func(t *testing.T, s store.Store) {
		must(t, s.Commit(t.Context(), part, acquire(t, s, part, "a"), set(1, "a", "", "b", "")))
		enough, calls := errors.New("enough"), 0
		err := s.Scan(t.Context(), part, nil, func(_, _ []byte) error { calls++; return enough })
		wantErr(t, err, enough)
		want(t, "calls", calls, 1)
	}},
	{"a page has the first rows of a range, in both directions", func(t *testing.T, s store.Store) {
		tok := acquire(t, s, part, "a")
		must(t, s.Commit(t.Context(), part, tok, set(1, "b\xff\x01", "3", "b", "1", "a", "0", "b\xff", "", "c", "4", "b0", "5")))
		must(t, s.Commit(t.Context(), part, tok, &store.Batch{Number: 2, Delete: [][]byte{[]byte("b0")}}))
		must(t, s.Commit(t.Context(), other, acquire(t, s, other, "a"), set(1, "bb", "elsewhere")))
		for _, tt := range []struct {
			r     store.Range
			limit int
			want  string
		}{
			{store.Range{}, 2, `["a=0" "b=1"]`},
			{store.Range{Back: true}, 2, `["c=4" "b\xff\x01=3"]`},
			{store.Range{}, 0, `[]`},
			{store.Range{Prefix: []byte("b")}, 9, `["b=1" "b\xff=" "b\xff\x01=3"]`},
			{store.Range{Prefix: []byte("b"), Back: true}, 2, `["b\xff\x01=3" "b\xff="]`},
			{store.Range{Prefix: []byte("b"), After: []byte("b")}, 1, `["b\xff="]`},
			{store.Range{Prefix: []byte("b"), After: []byte("a")}, 1, `["b=1"]`},
			{store.Range{Prefix: []byte("b"), After: []byte("c")}, 1, `[]`},
			{store.Range{Prefix: []byte("b"), Before: []byte("b\xff"), Back: true}, 9, `["b=1"]`},
			{store.Range{Prefix: []byte("b"), After: []byte("b"), Before: []byte("b\xff\x01"), Back: true}, 9, `["b\xff="]`},
			{store.Range{Prefix: []byte("b"), After: []byte("b\xff"), Before: []byte("b\xff"), Back: true}, 9, `[]`},
			{store.Range{Prefix: []byte("b"), After: []byte("b\xff"), Before: []byte("b"), Back: true}, 9, `[]`},
			{store.Range{Prefix: []byte("b"), Before: []byte("c"), Back: true}, 1, `["b\xff\x01=3"]`},
			{store.Range{Prefix: []byte("b"), Before: []byte("a"), Back: true}, 9, `[]`},
			{store.Range{After: []byte("a"), Before: []byte("c")}, 9, `["b=1" "b\xff=" "b\xff\x01=3"]`},
			{store.Range{After: []byte("a"), Before: []byte("c"), Back: true}, 1, `["b\xff\x01=3"]`},
			{store.Range{After: []byte("c"), Before: []byte("a")}, 9, `[]`},
			{store.Range{Prefix: []byte("b\xff")}, 9, `["b\xff=" "b\xff\x01=3"]`},
		} {
			want(t, fmt.Sprintf("%d rows of %+v", tt.limit, tt.r), fmt.Sprintf("%q", page(t, s, part, tt.r, tt.limit)), tt.want)
		}
	}},
	{"rows are copied both ways", func(t *testing.T, s store.Store) {
		b := set(1, "key", "mine")
		must(t, s.Commit(t.Context(), part, acquire(t, s, part, "a"), b))
		copy(b.Set[0].Key, "xxx")
		copy(b.Set[0].Value, "xxxx")
		v, err := s.Get(t.Context(), part, []byte("key"))
		must(t, err)
		copy(v, "yyyy")
		all, err := s.GetMany(t.Context(), part, [][]byte{[]byte("key")})
		must(t, err)
		copy(all[0], "zzzz")
		first, err := s.Page(t.Context(), part, store.Range{}, 1)
		must(t, err)
		copy(first[0].Key, "xxx")
		copy(first[0].Value, "xxxx")
		want(t, "rows", fmt.Sprint(rows(t, s, part, "")), "[key=mine]")
	}},
	{"a commit whose context has ended writes nothing", func(t *testing.T, s store.Store) {
		tok := acquire(t, s, part, "a")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantErr(t, s.Commit(ctx, part, tok, set(1, "k", "v")), context.Canceled)
		want(t, "number", number(t, s, part), 0)
	}},
	{"the last commit is known with the token that made it", func(t *testing.T, s store.Store) {
		want(t, "last", last(t, s, part), store.Last{})
		first := acquire(t, s, part, "a")
		want(t, "last of one that has only been acquired", last(t, s, part), store.Last{})
		must(t, s.Commit(t.Context(), part, first, set(1)))
		must(t, s.Commit(t.Context(), part, first, set(2)))
		second := acquire(t, s, part, "a")
		_ = s.Commit(t.Context(), part, first, set(3))
		_ = s.Commit(t.Context(), part, second, set(2))
		want(t, "last after refused commits", last(t, s, part), store.Last{Number: 2, By: first})
		must(t, s.Commit(t.Context(), part, second, set(3)))
		must(t, s.Release(t.Context(), part, second))
		want(t, "last after a release", last(t, s, part), store.Last{Number: 3, By: second})
		want(t, "last of another partition", last(t, s, other), store.Last{})
	}},
}

func last(t fataler, s store.Store, partition int) store.Last {
	t.Helper()
	l, err := s.Last(t.Context(), partition)
	must(t, err)
	return l
}

func number(t fataler, s store.Store, partition int) uint64 {
	t.Helper()
	return last(t, s, partition).Number
}
