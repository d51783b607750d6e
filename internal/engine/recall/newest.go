package recall

import (
	"time"

	"github.com/weirhq/weir/store"
)

// newest is what this process remembers of its newest commits to one partition,
// to put them back if the store is set back to a moment before them. It has no
// clock and no lock.
type newest struct {
	base  store.Last   // the commit before the oldest that is kept
	kept  []keptCommit // base.Number+1, base.Number+2, ...
	acked uint64       // the newest that the store has acknowledged, or held when the partition was loaded
	bytes int64
	// mine says that no other node has owned the partition since, as far as is known: others may have committed, and lost that, too.
	mine bool
}

// keptCommit shares the batch with the machine, which does not touch it again.
type keptCommit struct {
	batch *store.Batch
	by    store.Token
	at    time.Time
	bytes int64
}

// last is the number of the newest commit that is known, acknowledged or not.
func (w *newest) last() uint64 { return w.base.Number + uint64(len(w.kept)) }

// open begins a time as owner with what the store holds. Commits that it does not
// hold are forgotten; all are, if its history is not the one that is remembered.
func (w *newest) open(last store.Last) {
	if by, known := w.by(last.Number); known && by == last.By {
		w.cut(int(last.Number - w.base.Number))
	} else {
		w.cut(0)
		w.base = last
	}
	w.acked, w.mine = last.Number, true
}

// by returns the token that made a commit, if it is remembered.
func (w *newest) by(number uint64) (tok store.Token, known bool) {
	switch {
	case number == w.base.Number:
		return w.base.By, true
	case number > w.base.Number && number <= w.last():
		return w.kept[number-w.base.Number-1].by, true
	}
	return store.Token{}, false
}

// add remembers a commit before it is tried: it may be written although no answer
// comes. One that is tried again is there already.
func (w *newest) add(now time.Time, b *store.Batch, by store.Token) {
	if b.Number == w.last() && len(w.kept) > 0 {
		return
	}
	if b.Number != w.last()+1 {
		w.cut(0)
		w.base = store.Last{Number: b.Number - 1}
	}
	k := keptCommit{batch: b, by: by, at: now, bytes: size(b)}
	w.kept = append(w.kept, k)
	w.bytes += k.bytes
}

// ack tells that a commit was acknowledged.
func (w *newest) ack(number uint64) { w.acked = max(w.acked, number) }

// restore tells that a commit is about to be put back, with another token perhaps.
func (w *newest) restore(number uint64, by store.Token) {
	switch {
	case number == w.base.Number:
		w.base.By = by
	case number > w.base.Number && number <= w.last(): // else it was trimmed meanwhile
		w.kept[number-w.base.Number-1].by = by
	}
}

// missing returns the commits that a store lacks whose last one is given, oldest
// first. If it lacks some that was acknowledged and cannot be had from here, ok is
// false.
func (w *newest) missing(last store.Last) (lost []keptCommit, ok bool) {
	if last.Number > w.acked {
		return nil, true
	}
	by, known := w.by(last.Number)
	if last.Number == w.acked {
		return nil, !known || by == last.By // else another node has made that commit again
	}
	if !known || by != last.By || !w.mine {
		return nil, false
	}
	return w.kept[last.Number-w.base.Number:], true
}

// trim forgets acknowledged commits that are older than a moment, and further
// ones as long as more than most bytes are kept.
func (w *newest) trim(before time.Time, most int64) {
	n, bytes := 0, w.bytes
	for ; n < len(w.kept); n++ {
		k := &w.kept[n]
		if k.batch.Number > w.acked || !k.at.Before(before) && bytes <= most {
			break
		}
		bytes -= k.bytes
	}
	if n == 0 {
		return
	}
	last := w.kept[n-1]
	w.base = store.Last{Number: last.batch.Number, By: last.by}
	w.bytes = bytes
	clear(w.kept[:n])
	w.kept = w.kept[n:]
}

// cut keeps the first n commits.
func (w *newest) cut(n int) {
	for _, k := range w.kept[n:] {
		w.bytes -= k.bytes
	}
	clear(w.kept[n:])
	w.kept = w.kept[:n]
}

// rowCost is what a row takes besides its bytes.
const rowCost = 64

func size(b *store.Batch) int64 {
	n := int64(rowCost)
	for i := range b.Set {
		n += rowCost + int64(len(b.Set[i].Key)+len(b.Set[i].Value))
	}
	for _, k := range b.Delete {
		n += rowCost + int64(len(k))
	}
	return n
}
