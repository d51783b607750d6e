package pebblestore

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/store"
)

// Why the order of the log can be relied on: Pebble writes batches to its log
// under one mutex, in the order in which it makes them visible, and a sync
// covers all that was written before it. When a log is full it is synced and
// closed before the next is created. A batch too big for the memtable takes a
// way of its own into the tables, but it too is written to the log first. And
// no table is used after a crash that did not come from a log synced by then.

// enqueue puts b into the log and makes it visible, without waiting for the
// disk. The caller holds the partition's lock, so that the order in the log is
// that of the partition, and calls settle after giving the lock back.
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

// settle waits until b is as durable as the mode says.
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

// flush waits until all that is visible is durable. Those who answer from what
// somebody else is still writing need it.
func (s *Store) flush() error {
	if s.opts.Mode == Memory {
		return nil
	}
	return s.logSync([]byte{0})
}

// logSync writes data that nobody reads to the log, and waits for the disk.
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

// unknown says that a write may or may not have happened, and why.
func unknown(err error) error { return fmt.Errorf("%w: %w", store.ErrUnknown, err) }
