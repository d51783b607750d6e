package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/internal/inprocess"
)

// Store is a [store.Store] in a directory.
type Store struct {
	dir  string
	opts Options
	fs   vfs.FS // without the wrapper that releases the ballast
	log  *slog.Logger
	db   *pebble.DB
	lock *pebble.Lock

	reserve vfs.FS // fs, and it releases the ballast when the disk is full

	gate  *gate
	guard guard
	pulse pulse
	space space
	tail  *tail

	noteMu sync.Mutex
	note   note // content of the watermark

	lost []store.Loss // accepted when the store was opened

	mu         sync.Mutex
	partitions map[int]*partition

	*nodes
	registry registry
}

// nodes is what nodes announce and share. The directory is locked, so all nodes are in this
// process, and all of it ends with the process.
type nodes = inprocess.Nodes

var _ store.Store = (*Store)(nil)

// Open opens the store in dir, and creates both if they do not exist. Only one process at a
// time can have a directory open.
func Open(dir string, o Options) (*Store, error) {
	o = o.withDefaults()
	s := &Store{
		dir: dir, opts: o, fs: o.FS, log: o.Logger,
		gate: newGate(), partitions: map[int]*partition{},
	}
	s.reserve = vfs.OnDiskFull(s.fs, s.diskFull)
	s.guard.init(o.OnFatal)
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("open store in %q: %w", dir, err)
	}
	s.nodes = s.newNodes()
	s.guard.armed.Store(true)
	if err := s.guard.err(); err != nil { // broke in the background before the hook could be called
		return nil, fmt.Errorf("open store in %q: %w", dir, err)
	}
	s.tail = newTail(s)
	go s.tail.run()
	return s, nil
}

func (s *Store) open() (err error) {
	if err := makeDir(s.fs, s.dir); err != nil {
		return err
	}
	if s.lock, err = lockDir(s.fs, s.dir); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.lock.Close())
		}
	}()
	if err := s.space.prepare(s); err != nil {
		return err
	}
	if s.note, err = s.readNote(); err != nil {
		return err
	}
	marks := s.note.marks // opening Pebble changes the rest
	if err := s.missFiles(); err != nil {
		return err
	}
	if s.db, err = s.openLog(marks); err != nil {
		return err
	}
	if err := s.recover(marks); err != nil {
		return errors.Join(err, s.guard.watch(s.db.Close))
	}
	return nil
}

// Durability returns "disk", or "memory" in mode [Memory].
func (s *Store) Durability() string { return s.opts.Mode.String() }

// Close closes the store: calls that wait return [store.ErrClosed], others are waited for, and
// the watermark is written. A broken store is left as it is, and the reason returned.
func (s *Store) Close() error {
	if !s.gate.close() {
		return nil
	}
	if err := s.guard.err(); err != nil {
		return err
	}
	select {
	case <-s.gate.empty:
	case <-s.guard.broken:
		return s.guard.err()
	}
	err := s.guard.watch(s.tail.stop)
	if cause := s.guard.err(); cause != nil {
		return cause
	}
	return errors.Join(err, s.guard.watch(s.db.Close), s.lock.Close())
}

// enter starts a call. A caller that gets nil must call s.gate.leave at the end.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.guard.err(); err != nil {
		return err
	}
	return s.gate.enter()
}

// get returns a copy of a value.
func (s *Store) get(key []byte) ([]byte, error) {
	v, done, err := s.db.Get(key)
	if err != nil {
		return nil, readError(err)
	}
	kept := make([]byte, len(v))
	copy(kept, v)
	return kept, done.Close()
}

// readError translates Pebble's errors to those of package store.
func readError(err error) error {
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return store.ErrNotFound
	case pebble.IsCorruptionError(err):
		return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	return err
}
