package pebblestore

import (
	"log/slog"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Mode determines when a write is acknowledged.
type Mode uint8

const (
	// Disk acknowledges a write once it is on the disk: it survives a loss of power.
	Disk Mode = iota
	// Memory acknowledges a write before it is in a file: a kill of the process
	// and a loss of power cost up to a second of work.
	Memory
)

// String returns the name of the mode, as in [store.Store].
func (m Mode) String() string {
	if m == Memory {
		return "memory"
	}
	return "disk"
}

// Options configures [Open]. The zero value is ready for production.
type Options struct {
	// Mode determines when a write is acknowledged. Default [Disk].
	Mode Mode
	// FS is the file system of the files. Default: the disk.
	FS vfs.FS
	// Logger receives the store's log. Default [slog.Default].
	Logger *slog.Logger
	// OnFatal is called when the store is broken, for instance by a sync that failed. The
	// content of the disk is unknown then, so it should end the process: calls under way may
	// never return, and later ones fail. Default: [os.Exit] with code 74.
	OnFatal func(error)
	// MinFree is the number of free bytes that the disk must have for new work to be accepted.
	// Small messages, such as a cancel, are accepted down to half of it. Default: a tenth of
	// the disk, or 2 GiB if that is less. If it is negative, or the file system does not report
	// free space, space is not checked and no ballast is kept.
	MinFree int64
	// Ballast is the size in bytes of a file that is removed when the disk is full, so that
	// running work can end. Default: 256 MiB, or a hundredth of the disk if that is
	// less; none with an FS of your own. Negative: none.
	Ballast int64
	// AcceptLoss opens a store that has lost acknowledged work, and drops the record of it.
	AcceptLoss bool
}

// exitBroken is the exit code for an input/output error, by the convention of sysexits.
const exitBroken = 74

func (o Options) withDefaults() Options {
	if o.FS == nil {
		o.FS = vfs.Default
	} else if o.Ballast == 0 {
		o.Ballast = -1
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.OnFatal == nil {
		o.OnFatal = func(error) { os.Exit(exitBroken) }
	}
	return o
}
