package pebblestore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ordered is a file system on which a new manifest is durable before anything points to it.
// Pebble relies on directory entries becoming durable in the order of their creation, which not
// every file system promises.
type ordered struct{ vfs.FS }

// Create syncs the directory if the file is a manifest.
func (o ordered) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := o.FS.Create(name, category)
	if err != nil || !isManifest(o.PathBase(name)) {
		return f, err
	}
	if err := syncDir(o.FS, o.PathDir(name)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// failStop is a file system on which a log, a manifest or a directory that cannot be written
// breaks the store, except for lack of space: then it waits. Pebble would panic, in some places
// with a mutex in a state that ends the process before an error is reported.
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

// Create does not fail for a log, a marker or a manifest, and records the file in the
// watermark; a manifest once it is synced.
func (f failStop) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	manifest := isManifest(f.PathBase(name))
	if !f.vital(name) && !manifest {
		return f.FS.Create(name, category)
	}
	var file vfs.File
	f.must("create a log, a marker or a manifest", f.s.untilRoom(func() (err error) {
		file, err = f.FS.Create(name, category)
		return err
	}))
	if manifest {
		return &manifestFile{safeFile: safeFile{file, f}, name: f.PathBase(name)}, nil
	}
	f.begin(name)
	return safeFile{file, f}, nil
}

// ReuseForWrite does not fail for a log, and records the new name.
func (f failStop) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if !f.vital(name) { // Pebble only reuses logs
		return f.FS.ReuseForWrite(old, name, category)
	}
	f.must("note the files", f.s.untilRoom(func() error { return f.end(old) }))
	var file vfs.File
	f.must("reuse a log", f.s.untilRoom(func() (err error) {
		file, err = f.FS.ReuseForWrite(old, name, category)
		return err
	}))
	f.begin(name)
	return safeFile{file, f}, nil
}

// Remove records that a log, a marker or a manifest is obsolete before it is removed.
func (f failStop) Remove(name string) error {
	if f.vital(name) || isManifest(f.PathBase(name)) {
		err := f.end(name)
		if isFull(err) && strings.HasSuffix(name, logSuffix) {
			err = errors.Join(f.empty(name), f.end(name))
		}
		if err != nil {
			return err
		}
	}
	return f.FS.Remove(name)
}

// empty frees the space of an obsolete log whose removal cannot be recorded for lack of space.
// The rest is removed when the store is opened again.
func (f failStop) empty(name string) error {
	file, err := f.s.fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	return file.Close()
}

// begin records a file once it is durable, so that no file is reported missing that never
// existed.
func (f failStop) begin(name string) {
	f.must("sync the directory", syncDir(f.s.fs, f.s.dir))
	f.mustNote(func(n *note) { n.files[f.PathBase(name)] = extent{} })
}

// mustNote returns when the watermark is written.
func (f failStop) mustNote(change func(*note)) {
	f.must("note the files", f.s.untilRoom(func() error { return f.s.writeNote(change) }))
}

func (f failStop) end(name string) error {
	return f.s.writeNote(func(n *note) { delete(n.files, f.PathBase(name)) })
}

const (
	logSuffix    = ".log"
	markerPrefix = "marker."
)

func isManifest(base string) bool { return strings.HasPrefix(base, "MANIFEST-") }

// vital reports whether Pebble would open the store without a file, and without its content: a
// log, or a marker.
func (f failStop) vital(name string) bool {
	base := f.PathBase(name)
	return strings.HasSuffix(base, logSuffix) || strings.HasPrefix(base, markerPrefix)
}

// safeFile does not return from a write that fails.
type safeFile struct {
	vfs.File
	f failStop
}

func (s safeFile) Write(p []byte) (n int, err error) {
	s.f.must("write a log or a manifest", s.f.s.untilRoom(func() error {
		m, err := s.File.Write(p[n:])
		n += m
		return err
	}))
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

// manifestFile records how far a manifest is synced. Pebble removes tables and logs only after
// that sync, so anything that a crash leaves unrecorded is not needed yet.
type manifestFile struct {
	safeFile
	name    string
	written extent
}

// Write adds all of p to the checksum, since no write fails. It does so first: under the race
// detector, Pebble's file system in memory overwrites the bytes that it was given.
func (m *manifestFile) Write(p []byte) (int, error) {
	m.written = m.written.add(p)
	return m.safeFile.Write(p)
}

func (m *manifestFile) Sync() error {
	if err := m.safeFile.Sync(); err != nil {
		return err
	}
	m.f.mustNote(func(n *note) { n.files[m.name] = m.written })
	return nil
}

// openPebble opens the database.
func (s *Store) openPebble() (db *pebble.DB, err error) {
	fs := failStop{ordered{s.reserve}, s}
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
