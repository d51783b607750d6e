package sim

import (
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/store"
)

// The kinds of row of the index; the id of a bulk action comes after a hash or a time.
const (
	rowTerm = 'j'
	rowItem = 'u'
	rowDue  = 'z'
)

const beforeIndexedID = 1 + 8

func ofIndex(key []byte) bool { return key[0] == rowTerm || key[0] == rowItem || key[0] == rowDue }

// appliedIndex notes what a commit changes of the index.
func (w *World) appliedIndex(o *owner, batch *store.Batch) {
	of := func(key []byte) map[string]string {
		b := w.byID[weir.BulkID(key[beforeIndexedID:])]
		w.must(b != nil && b.partition == o.partition, "I19", b, -1, "row %q of the index is not in the home of a bulk action", key)
		if b.inIndex == nil {
			b.inIndex = map[string]string{}
		}
		return b.inIndex
	}
	for _, k := range batch.Delete {
		if ofIndex(k) {
			delete(of(k), string(k))
		}
	}
	for _, r := range batch.Set {
		if ofIndex(r.Key) && !(r.Key[0] == rowDue && w.isShard(o, weir.BulkID(r.Key[beforeIndexedID:]))) {
			of(r.Key)[string(r.Key)] = string(r.Value)
		}
	}
}

// isShard reports whether a partition has a part in a bulk action and is not its home.
func (w *World) isShard(o *owner, id weir.BulkID) bool {
	b := w.byID[id]
	return b != nil && b.partition != o.partition && b.worksIn(o.partition)
}

// checkIndex: the index has of a bulk action what follows from its spec and its status, and nothing else. One that is in a
// joint filter has a row that says so in place of that of the unlisted.
func (w *World) checkIndex(b *truth) {
	if !b.fresh {
		return
	}
	rows := partition.IndexRows(&b.spec, &b.status)
	joined := string(partition.JoinedTerm()) + string(b.spec.ID)
	for i, r := range rows {
		if name, is := b.inIndex[joined]; is && string(r.Key) == string(partition.UnlistedTerm())+string(b.spec.ID) {
			rows[i] = store.Row{Key: []byte(joined), Value: []byte(name)}
		}
	}
	for _, r := range rows {
		value, there := b.inIndex[string(r.Key)]
		w.must(there && value == string(r.Value), "I19", b, -1, "%s is %v, and row %q of the index is missing or has another value",
			b.spec.ID, b.status.State, r.Key)
	}
	for key := range b.inIndex {
		w.must(slices.ContainsFunc(rows, func(r store.Row) bool { return string(r.Key) == key }), "I19", b, -1,
			"%s is %v, and is in the index as %q", b.spec.ID, b.status.State, key)
	}
}
