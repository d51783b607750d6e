package pebblestore

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/store"
)

// The order of the log is reliable for these reasons. Pebble writes batches to its log under
// one mutex, in the order in which it makes them visible, and a sync covers all that was
// written before it. When a log is full it is synced and closed before the next is created. A
// batch too big for the memtable goes directly into the tables, but it too is written to the
// log first. After a crash no table is used that did not come from a log synced by then.

// enqueue puts b into the log and makes it visible, without waiting for the disk. The caller
// holds the partition's lock, so that the order in the log is that of the partition, and calls
// settle after releasing the lock.
func (s *Store) enqueue(b *pebble.Batch) (err error) {
	s.pulse.begin()
	if s.opts.Mode == Memory {
		err = s.db.Apply(b, pebble.NoSync)
	} else {
		err = s.db.ApplyNoSyncWait(b, pebble.Sync)
	}
	if err != nil {
		s.pulse.end()
	}
	return err
}

// settle waits until b is as durable as the mode promises.
func (s *Store) settle(b *pebble.Batch) error {
	defer s.pulse.end()
	if s.opts.Mode == Disk {
		if err := b.SyncWait(); err != nil {
			return s.guard.fail(fmt.Errorf("sync the log: %w", err))
		}
	}
	s.tail.touch()
	return b.Close()
}

// flush waits until all that is visible is durable. Calls that answer from another call's
// unfinished write need it.
func (s *Store) flush() error {
	if s.opts.Mode == Memory {
		return nil
	}
	return s.logSync([]byte{0})
}

// logSync writes data without a reader to the log, and waits for the disk.
func (s *Store) logSync(data []byte) error {
	s.pulse.begin()
	defer s.pulse.end()
	return s.db.LogData(data, pebble.Sync)
}

// lazily applies b without waiting for the disk.
func (s *Store) lazily(b *pebble.Batch) error {
	s.pulse.begin()
	defer s.pulse.end()
	if err := s.db.Apply(b, pebble.NoSync); err != nil {
		return err
	}
	return b.Close()
}

// unknown wraps the error of a write that may or may not have happened.
func unknown(err error) error { return fmt.Errorf("%w: %w", store.ErrUnknown, err) }
