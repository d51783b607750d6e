package pebblestore

import (
	"errors"
	"runtime"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// reserve creates a file that takes size bytes from the disk.
func reserve(fs vfs.FS, name string, size int64) error {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	// On Linux this allocates the space at once, and the file's length stays 0. Elsewhere it
	// does nothing, and not every file system supports it.
	if runtime.GOOS != "linux" || f.Preallocate(0, size) != nil {
		err = fill(f, size)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// fill writes zeros, where Preallocate allocates no space.
func fill(f vfs.File, size int64) error {
	zeros := make([]byte, min(size, 1<<20))
	for left := size; left > 0; left -= int64(len(zeros)) {
		if _, err := f.Write(zeros[:min(left, int64(len(zeros)))]); err != nil {
			return err
		}
	}
	return nil
}
