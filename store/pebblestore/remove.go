package pebblestore

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// fewKeys is the number of keys up to which they are removed one by one. A memtable sorts its
// range tombstones again for the first read after each write of one: a read costs as much as
// there are, and every bulk action would leave some.
const fewKeys = 1024

// removeRange puts the removal of all keys in [from, to) into an empty batch.
func (s *Store) removeRange(b *pebble.Batch, from, to []byte) error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return readError(err)
	}
	n := 0
	for ok := it.First(); ok && n <= fewKeys && err == nil; ok = it.Next() {
		err = b.Delete(it.Key(), nil)
		n++
	}
	if err = errors.Join(err, it.Close()); err == nil && n > fewKeys {
		b.Reset()
		err = b.DeleteRange(from, to, nil)
	}
	return err
}

// removeMessages adds the removal of the messages first to last of a partition to a batch.
func removeMessages(b *pebble.Batch, partition int, first, last uint64) (err error) {
	if last-first >= fewKeys {
		return b.DeleteRange(inboxKey(partition, first), inboxKey(partition, last+1), nil)
	}
	for seq := first; seq <= last && err == nil; seq++ {
		err = b.Delete(inboxKey(partition, seq), nil)
	}
	return err
}
