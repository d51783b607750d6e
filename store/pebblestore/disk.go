package pebblestore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ordered is a file system on which a new manifest is there for good before
// anything points to it. Pebble relies on the directory's entries becoming
// durable in the order in which they were made, which not every file system promises.
type ordered struct{ vfs.FS }

// Create syncs the directory if the file is a manifest.
func (o ordered) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := o.FS.Create(name, category)
	if err != nil || !strings.HasPrefix(o.PathBase(name), "MANIFEST-") {
		return f, err
	}
	if err := syncDir(o.FS, o.PathDir(name)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// failStop is a file system on which a log or a directory that cannot be
// written breaks the store. Pebble would panic, here and there with a mutex in
// a state that ends the process before anybody is told.
type failStop struct {
	vfs.FS
	s *Store
}

// must returns only if err is nil.
func (f failStop) must(what string, err error) {
	if err != nil {
		_ = f.s.guard.fail(fmt.Errorf("%s: %w", what, err))
		select {}
	}
}

// OpenDir returns a directory whose Sync does not fail.
func (f failStop) OpenDir(name string) (vfs.File, error) {
	d, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return safeFile{d, f}, nil
}

// Create does not fail for a log, and notes that there is one.
func (f failStop) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, category)
	log, isLog := f.logOf(name)
	if !isLog {
		return file, err
	}
	f.must("create a log", err)
	f.begin(log)
	return safeFile{file, f}, nil
}

// ReuseForWrite does not fail for a log, and notes that one has become another.
func (f failStop) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if log, isLog := f.logOf(old); isLog {
		f.must("note the logs", f.end(log))
	}
	file, err := f.FS.ReuseForWrite(old, name, category)
	log, isLog := f.logOf(name)
	if !isLog {
		return file, err
	}
	f.must("reuse a log", err)
	f.begin(log)
	return safeFile{file, f}, nil
}

// Remove notes that a log is obsolete before it goes.
func (f failStop) Remove(name string) error {
	if log, isLog := f.logOf(name); isLog {
		if err := f.end(log); err != nil {
			return err
		}
	}
	return f.FS.Remove(name)
}

// begin notes a log once it is there for good, so that none is missed that never was.
func (f failStop) begin(log uint64) {
	f.must("sync the directory", syncDir(f.s.fs, f.s.dir))
	f.must("note the logs", f.s.writeNote(func(n *note) { n.logs[log] = true }))
}

func (f failStop) end(log uint64) error {
	return f.s.writeNote(func(n *note) { delete(n.logs, log) })
}

const logSuffix = ".log"

// logName is how Pebble calls its logs.
func logName(log uint64) string { return fmt.Sprintf("%06d%s", log, logSuffix) }

// logOf returns the number of a log.
func (f failStop) logOf(name string) (log uint64, ok bool) {
	base, ok := strings.CutSuffix(f.PathBase(name), logSuffix)
	if !ok {
		return 0, false
	}
	log, err := strconv.ParseUint(base, 10, 64)
	return log, err == nil
}

// safeFile returns from no write that fails.
type safeFile struct {
	vfs.File
	f failStop
}

func (s safeFile) Write(p []byte) (int, error) {
	n, err := s.File.Write(p)
	s.f.must("write the log", err)
	return n, nil
}

func (s safeFile) Sync() error {
	s.f.must("sync", s.File.Sync())
	return nil
}

func (s safeFile) SyncData() error {
	s.f.must("sync the log", s.File.SyncData())
	return nil
}

func (s safeFile) SyncTo(length int64) (bool, error) {
	full, err := s.File.SyncTo(length)
	s.f.must("sync the log", err)
	return full, nil
}

func (s safeFile) Close() error {
	s.f.must("close", s.File.Close())
	return nil
}

// openPebble opens the database.
func (s *Store) openPebble() (db *pebble.DB, err error) {
	fs := failStop{vfs.OnDiskFull(ordered{s.fs}, s.diskFull), s}
	opened := make(chan *pebble.DB, 1)
	err = s.guard.watch(func() error {
		db, err := pebble.Open(s.dir, s.tuned(fs))
		opened <- db
		return err
	})
	if err != nil {
		return nil, err
	}
	return <-opened, nil
}
