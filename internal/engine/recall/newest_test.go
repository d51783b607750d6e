package recall

import (
	"fmt"
	"testing"
	"time"

	"github.com/weirhq/weir/store"
)

var (
	mine   = store.Token{Epoch: 1, Nonce: 11}
	newer  = store.Token{Epoch: 2, Nonce: 22}
	theirs = store.Token{Epoch: 2, Nonce: 33}
)

func batch(number uint64) *store.Batch {
	return &store.Batch{Number: number, Set: []store.Row{{Key: []byte("k"), Value: make([]byte, 1000)}}}
}

// filled is one that was opened at commit 10 and has seen 11 to 20, one a
// second; the store has acknowledged up to acked.
func filled(acked uint64) *newest {
	w := &newest{}
	w.open(store.Last{Number: 10, By: theirs})
	for n := uint64(11); n <= 20; n++ {
		w.add(time.Unix(int64(n), 0), batch(n), mine)
	}
	w.ack(acked)
	return w
}

func numbersOf(kept []keptCommit) string {
	var list []uint64
	for _, k := range kept {
		list = append(list, k.batch.Number)
	}
	return fmt.Sprint(list)
}

func TestWhatAStoreLacks(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*newest)
		last   store.Last
		want   string
		ok     bool
	}{
		{"nothing, if it has all", nil, store.Last{Number: 19, By: mine}, "[]", true},
		{"nothing, if it also has what no answer came for", nil, store.Last{Number: 20, By: mine}, "[]", true},
		{"nothing, if others went on", nil, store.Last{Number: 99, By: theirs}, "[]", true},
		{"the newest, and what no answer came for", nil, store.Last{Number: 17, By: mine}, "[18 19 20]", true},
		{"all that is kept", nil, store.Last{Number: 10, By: theirs}, "[11 12 13 14 15 16 17 18 19 20]", true},
		{"more than is kept", nil, store.Last{Number: 9, By: theirs}, "[]", false},
		{"everything", nil, store.Last{}, "[]", false},
		{"a part, and somebody went on from there", nil, store.Last{Number: 17, By: theirs}, "[]", false},
		{"the newest, and somebody made it again", nil, store.Last{Number: 19, By: theirs}, "[]", false},
		{"a part, after others may have owned it", func(w *newest) { w.mine = false }, store.Last{Number: 17, By: mine}, "[]", false},
		{"nothing, after others owned it and did nothing", func(w *newest) { w.mine = false }, store.Last{Number: 19, By: mine}, "[]", true},
		{"what was trimmed", func(w *newest) { w.trim(time.Unix(15, 0), 1<<20) }, store.Last{Number: 12, By: mine}, "[]", false},
		{"what is left after a trim", func(w *newest) { w.trim(time.Unix(15, 0), 1<<20) }, store.Last{Number: 14, By: mine}, "[15 16 17 18 19 20]", true},
		{"what was put back with a newer token before", func(w *newest) { w.restore(17, newer) }, store.Last{Number: 17, By: newer}, "[18 19 20]", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := filled(19)
			if tt.change != nil {
				tt.change(w)
			}
			lost, ok := w.missing(tt.last)
			if numbersOf(lost) != tt.want || ok != tt.ok {
				t.Errorf("missing(%+v) = %s, %t; want %s, %t", tt.last, numbersOf(lost), ok, tt.want, tt.ok)
			}
		})
	}
}

func TestOpeningAWindowAgain(t *testing.T) {
	for _, tt := range []struct {
		name string
		last store.Last
		kept string
	}{
		{"by the same history keeps all", store.Last{Number: 20, By: mine}, "[11 12 13 14 15 16 17 18 19 20]"},
		{"without what was never written forgets that", store.Last{Number: 19, By: mine}, "[11 12 13 14 15 16 17 18 19]"},
		{"after others forgets all", store.Last{Number: 25, By: theirs}, "[]"},
		{"by another history of the same length forgets all", store.Last{Number: 19, By: theirs}, "[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := filled(19)
			w.mine = false
			w.open(tt.last)
			if got := numbersOf(w.kept); got != tt.kept || w.acked != tt.last.Number || !w.mine {
				t.Errorf("after open(%+v): kept %s, acked %d, mine %t; want %s", tt.last, got, w.acked, w.mine, tt.kept)
			}
			w.add(time.Unix(30, 0), batch(tt.last.Number+1), newer)
			if w.last() != tt.last.Number+1 {
				t.Errorf("newest = %d, want the one just added, %d", w.last(), tt.last.Number+1)
			}
			var bytes int64
			for _, k := range w.kept {
				bytes += k.bytes
			}
			if bytes != w.bytes {
				t.Errorf("bytes = %d, those kept have %d", w.bytes, bytes)
			}
		})
	}
}

func TestTrimming(t *testing.T) {
	one := size(batch(1))
	for _, tt := range []struct {
		name   string
		before int64
		most   int64
		kept   string
	}{
		{"nothing is old and there is room", 0, 10 * one, "[11 12 13 14 15 16 17 18 19 20]"},
		{"what is old goes", 18, 10 * one, "[18 19 20]"},
		{"what is too much goes, oldest first", 0, 3 * one, "[18 19 20]"},
		{"what is not acknowledged stays", 100, 0, "[20]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := filled(19)
			w.trim(time.Unix(tt.before, 0), tt.most)
			if got := numbersOf(w.kept); got != tt.kept || w.bytes != int64(len(w.kept))*one {
				t.Errorf("kept %s with %d bytes, want %s", got, w.bytes, tt.kept)
			}
			if w.acked != 19 || w.last() != 20 {
				t.Errorf("acked %d, newest %d; want 19 and 20 whatever is kept", w.acked, w.last())
			}
		})
	}
}

func TestTheBusiestPartitionGivesWay(t *testing.T) {
	var p Past
	now := time.Unix(100, 0)
	big := func(number uint64) *store.Batch {
		return &store.Batch{Number: number, Set: []store.Row{{Value: make([]byte, 1<<20)}}}
	}
	add := func(no int, number uint64, at time.Time) {
		p.remember(at, no, big(number), mine)
		p.confirm(at, no, number)
	}
	add(1, 1, now)
	add(2, 1, now.Add(-time.Hour)) // nothing has happened there since
	for n := uint64(1); n <= 100; n++ {
		add(3, n, now)
	}
	count := func(no int) (n int) { p.with(no, func(w *newest) { n = len(w.kept) }); return n }
	if count(1) != 1 || count(2) != 0 || count(3) < 50 || count(3) > 63 {
		t.Errorf("kept %d, %d and %d commits; want the quiet one's, none of the old ones, and some 60 of the busy one's", count(1), count(2), count(3))
	}
	if p.bytes.Load() > rememberBytes {
		t.Errorf("%d bytes are kept, want at most %d", p.bytes.Load(), rememberBytes)
	}
}

// BenchmarkRemember is what a commit costs more on a store that can be set back.
func BenchmarkRemember(b *testing.B) {
	var p Past
	bt := &store.Batch{}
	for range 20 {
		bt.Set = append(bt.Set, store.Row{Key: make([]byte, 30), Value: make([]byte, 100)})
	}
	now := time.Unix(100, 0)
	b.ReportAllocs()
	for b.Loop() {
		next := *bt
		next.Number = bt.Number + 1
		bt = &next
		now = now.Add(time.Millisecond)
		p.remember(now, 1, bt, mine)
		p.confirm(now, 1, bt.Number)
	}
}
