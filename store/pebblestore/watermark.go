package pebblestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirhq/weir/store"
)

// marks is the watermark: how far each partition was when it was last noted
// down. It is kept beside Pebble in two files, so that a log that lost its tail,
// a file that is missing and a copy from last week are all found out.
type marks map[int]mark

type mark struct{ number, seq uint64 }

func (m marks) sorted() []int { return slices.Sorted(maps.Keys(m)) }

// The two copies are written in turn: whatever happens to one while it is written, the other is whole.
var markFiles = [2]string{"WATERMARK-0", "WATERMARK-1"}

const (
	markMagic = "weirmk01"
	markHead  = len(markMagic) + 8 // magic, generation
	markEntry = 4 + 8 + 8          // partition, number, sequence number
	markTail  = 4                  // CRC32C of all before
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encodeMarks(generation uint64, m marks) []byte {
	b := make([]byte, 0, markHead+len(m)*markEntry+markTail)
	b = append(b, markMagic...)
	b = binary.BigEndian.AppendUint64(b, generation)
	for _, no := range m.sorted() {
		b = binary.BigEndian.AppendUint32(b, uint32(no))
		b = binary.BigEndian.AppendUint64(b, m[no].number)
		b = binary.BigEndian.AppendUint64(b, m[no].seq)
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func decodeMarks(b []byte) (generation uint64, m marks, err error) {
	body := len(b) - markHead - markTail
	if body < 0 || body%markEntry != 0 || string(b[:len(markMagic)]) != markMagic {
		return 0, nil, fmt.Errorf("%w: not a watermark", store.ErrCorrupt)
	}
	sum := len(b) - markTail
	if binary.BigEndian.Uint32(b[sum:]) != crc32.Checksum(b[:sum], castagnoli) {
		return 0, nil, fmt.Errorf("%w: watermark has a wrong checksum", store.ErrCorrupt)
	}
	m = make(marks, body/markEntry)
	for e := b[markHead:sum]; len(e) > 0; e = e[markEntry:] {
		m[int(binary.BigEndian.Uint32(e))] = mark{binary.BigEndian.Uint64(e[4:]), binary.BigEndian.Uint64(e[12:])}
	}
	return binary.BigEndian.Uint64(b[len(markMagic):]), m, nil
}

// readMarks returns the newer copy of the watermark; none for a new store. One
// damaged copy is survived, two are not: then nothing vouches for the store.
func (s *Store) readMarks() (marks, error) {
	var newest marks
	var found int
	var bad error
	for _, name := range markFiles {
		b, err := readFile(s.fs, s.fs.PathJoin(s.dir, name))
		if oserror.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		generation, m, err := decodeMarks(b)
		if err != nil {
			bad = errors.Join(bad, fmt.Errorf("%s: %w", name, err))
			continue
		}
		found++
		if newest == nil || generation > s.generation {
			newest, s.generation = m, generation
		}
	}
	if bad == nil || found > 0 {
		return newest, nil
	}
	if s.opts.AcceptLoss {
		s.logError("damaged watermark accepted", bad)
		return nil, nil
	}
	return nil, fmt.Errorf("%w. Put the whole directory back from a backup, or open it with AcceptLoss to go on unchecked", bad)
}

// writeMarks replaces the older copy. The rename makes it whole or not there.
func (s *Store) writeMarks(m marks) error {
	generation := s.generation + 1
	name := s.fs.PathJoin(s.dir, markFiles[generation%2])
	if err := writeFile(s.fs, name+".new", encodeMarks(generation, m)); err != nil {
		return err
	}
	if err := s.fs.Rename(name+".new", name); err != nil {
		return err
	}
	s.generation = generation
	return syncDir(s.fs, s.dir)
}

// acknowledged returns how far the partitions are for those who have an answer.
func (s *Store) acknowledged() marks {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := make(marks, len(s.partitions))
	for no, p := range s.partitions {
		if k := (mark{p.durableNumber.Load(), p.durableSeq.Load()}); k != (mark{}) {
			m[no] = k
		}
	}
	return m
}

func readFile(fs vfs.FS, name string) ([]byte, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	return b, errors.Join(err, f.Close())
}

func writeFile(fs vfs.FS, name string, b []byte) error {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}
