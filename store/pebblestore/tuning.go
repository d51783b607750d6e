package pebblestore

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Sizes, chosen so that the blocks of a bulk action of a million items, some 25 MB, are
// written, read and removed within one memtable, and that Pebble takes no more than about 150
// MiB under any load. Twice the memtable makes writing a little faster and takes 80 MiB more.
const (
	memtableBytes = 32 << 20
	// memtables is the number that may exist before writers wait: one fills while two are
	// flushed.
	memtables = 3
	// cacheBytes includes the memtables: Pebble subtracts them from the cache.
	cacheBytes = memtables*memtableBytes + 24<<20
	// batchBytes bounds one record of the log. Pebble keeps a batch of half a memtable as a
	// memtable of its own, which would cost the memory twice.
	batchBytes = 4 << 20
)

// tuned returns Pebble's options for fs.
func (s *Store) tuned(fs vfs.FS) *pebble.Options {
	o := &pebble.Options{
		FS:                 fs,
		Logger:             pebbleLog{s},
		EventListener:      s.events(),
		FormatMajorVersion: pebble.FormatNewest, // logs whose damage is detected: see openLog

		MemTableSize:                uint64(s.space.memtable),
		MemTableStopWritesThreshold: memtables,
		CacheSize:                   cacheBytes,
		BytesPerSync:                1 << 20,
		WALBytesPerSync:             1 << 20, // the sync that follows 25 MB of blocks finds most of it written

		// Blocks are read once or twice, soon, and then removed: leaving them in L0 for a while
		// is cheaper than sorting them again. Keeping their values in separate files was not
		// measurably faster.
		L0CompactionThreshold:     8,
		L0CompactionFileThreshold: 32,
		L0StopWritesThreshold:     64,
		LBaseMaxBytes:             256 << 20,
		MaxOpenFiles:              256,
		Lock:                      s.lock,
	}
	o.TargetFileSizes[0] = 16 << 20
	for i := range o.Levels {
		// Blocks and results are already compressed. No filters: the keys that are read exist.
		o.Levels[i].Compression = func() *sstable.CompressionProfile { return sstable.NoCompression }
		o.Levels[i].BlockSize = 32 << 10
	}
	return o
}
