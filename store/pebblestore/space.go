package pebblestore

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/errors/oserror"

	"github.com/weirhq/weir/store"
)

const (
	// smallMessage is the size up to which a message is accepted although space is low: a
	// command, not new work.
	smallMessage = 4 << 10
	bigMessage   = math.MaxInt

	defaultMinFree = 2 << 30
	defaultBallast = 256 << 20
	ballastFile    = "BALLAST"
	// leastMemtable is the size of a memtable on a disk smaller than memtableShare times as
	// much.
	leastMemtable = 1 << 20
	memtableShare = 64
	// roomEvery is how often a write is retried on a full disk.
	roomEvery = 500 * time.Millisecond
)

// space watches the free bytes of the disk.
type space struct {
	free    atomic.Int64
	minFree int64 // 0: not checked
	// memtable is the size of a memtable. A small disk has small ones, and so small logs:
	// opening the store writes the content of the logs to tables, which has to fit into the
	// space that is kept free.
	memtable int64
}

// prepare checks the disk before anything is written to it: opening Pebble on a full disk does
// not fail, it hangs.
func (sp *space) prepare(s *Store) error {
	sp.memtable = memtableBytes
	u, err := s.fs.GetDiskUsage(s.dir)
	if err != nil || u.TotalBytes == 0 || s.opts.MinFree < 0 {
		return nil // a file system that does not report free space is not watched
	}
	total := int64(min(u.TotalBytes, math.MaxInt64))
	sp.minFree = s.opts.MinFree
	if sp.minFree == 0 {
		sp.minFree = min(total/10, defaultMinFree)
	}
	sp.memtable = min(max(total/memtableShare, leastMemtable), memtableBytes)
	sp.look(s)
	need, err := sp.toOpen(s)
	if err != nil {
		return err
	}
	if sp.free.Load() < need {
		s.releaseBallast()
		sp.look(s)
	}
	if free := sp.free.Load(); free < need {
		return fmt.Errorf("%w: %d MiB free, opening takes up to %d MiB; make room on the disk",
			store.ErrFull, free>>20, need>>20)
	}
	return sp.keepBallast(s, total)
}

// toOpen returns how much space opening takes: the logs become tables. Pebble would wait for
// ever for missing space.
func (sp *space) toOpen(s *Store) (need int64, err error) {
	names, err := s.fs.List(s.dir)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, logSuffix) {
			continue
		}
		log, err := s.fs.Stat(s.fs.PathJoin(s.dir, name))
		if err != nil {
			return 0, err
		}
		need += log.Size()
	}
	return max(need, min(sp.memtable, sp.minFree/2)), nil
}

// keepBallast creates the ballast if it is missing and there is room to spare.
func (sp *space) keepBallast(s *Store, total int64) error {
	size := s.opts.Ballast
	if size == 0 {
		size = min(defaultBallast, total/100)
	}
	if size < 0 || sp.free.Load() < 2*sp.minFree {
		return nil
	}
	name := s.fs.PathJoin(s.dir, ballastFile)
	if _, err := s.fs.Stat(name); err == nil {
		return nil
	}
	if err := reserve(s.fs, name, size); err != nil {
		return errors.Join(fmt.Errorf("create the ballast of %d MiB: %w", size>>20, err), s.fs.Remove(name))
	}
	return nil
}

// look updates the free bytes of the disk.
func (sp *space) look(s *Store) {
	if sp.minFree == 0 {
		return
	}
	if u, err := s.fs.GetDiskUsage(s.dir); err == nil {
		sp.free.Store(int64(min(u.AvailBytes, math.MaxInt64)))
	}
}

// allow refuses a message of size bytes if space is low.
func (sp *space) allow(s *Store, size int) error {
	if sp.minFree == 0 {
		return nil
	}
	need := sp.minFree
	if size <= smallMessage {
		need /= 2
	}
	if free := sp.free.Load(); free < need {
		return fmt.Errorf("%w: %d MiB free in %q, want %d MiB; make room on the disk or lower MinFree (limits.min_free of a "+
			"server), now %d MiB",
			store.ErrFull, free>>20, s.dir, need>>20, sp.minFree>>20)
	}
	return nil
}

// diskFull is called by the file system with writes held back: it makes room, and they are
// retried once. Without a ballast it slows them down: Pebble retries a table at once.
func (s *Store) diskFull() {
	s.space.free.Store(0)
	if s.releaseBallast() {
		s.logError("disk is full, ballast released", store.ErrFull)
		return
	}
	s.pause()
}

// untilRoom calls f again while the disk is too full for it. So commits wait for space and
// readers continue. A store that is being opened or closed does not wait.
func (s *Store) untilRoom(f func() error) error {
	for {
		err := f()
		if !isFull(err) || !s.guard.armed.Load() || s.gate.isShut() {
			return err
		}
		s.pause()
	}
}

// pause waits before the next attempt on a full disk.
func (s *Store) pause() {
	select {
	case <-time.After(roomEvery):
	case <-s.gate.shut:
	}
}

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) }

// releaseBallast removes the ballast, and reports whether there was one.
func (s *Store) releaseBallast() bool {
	err := s.fs.Remove(s.fs.PathJoin(s.dir, ballastFile))
	if err != nil && !oserror.IsNotExist(err) {
		s.logError("release the ballast", err)
	}
	return err == nil
}
