package pebblestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirhq/weir/store"
)

// note is the watermark: what a store must have at least. It is kept beside Pebble in two
// files, so that a log that lost its tail, a missing file and a copy from last week are all
// detected.
type note struct {
	generation uint64
	marks      marks
	// files holds those that Pebble would not miss, by name: logs that are not obsolete, the
	// markers of the current manifest, and the manifests, whose end it would not miss.
	files map[string]extent
}

// extent records how a file began when it was noted. It is zero for a file that only has to
// exist.
type extent struct {
	size uint64
	sum  uint32 // CRC32C
}

func (e extent) add(b []byte) extent {
	return extent{e.size + uint64(len(b)), crc32.Update(e.sum, castagnoli, b)}
}

// marks records the progress of each partition.
type marks map[int]mark

type mark struct{ number, seq uint64 }

func (m marks) sorted() []int { return slices.Sorted(maps.Keys(m)) }

// Both copies are written, one after the other: if one is damaged, the other has the same
// content.
var markFiles = [2]string{"WATERMARK-0", "WATERMARK-1"}

// A watermark of any version begins with markName and ends with the checksum.
const (
	markName  = "weirmk"
	markMagic = markName + "03"
	markHead  = len(markMagic) + 8 + 4 // magic, generation, number of files: each has one byte for the length of its name
	markFile  = 8 + 4                  // extent, after the name
	markEntry = 4 + 8 + 8              // partition, number, sequence number
	markTail  = 4                      // CRC32C of all before
)

var errLength = fmt.Errorf("%w: watermark of a wrong length", store.ErrCorrupt)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (n *note) encode() []byte {
	b := make([]byte, 0, markHead+len(n.files)*64+len(n.marks)*markEntry+markTail)
	b = append(b, markMagic...)
	b = binary.BigEndian.AppendUint64(b, n.generation)
	b = binary.BigEndian.AppendUint32(b, uint32(len(n.files)))
	for _, name := range slices.Sorted(maps.Keys(n.files)) {
		b = append(append(b, byte(len(name))), name...)
		b = binary.BigEndian.AppendUint64(b, n.files[name].size)
		b = binary.BigEndian.AppendUint32(b, n.files[name].sum)
	}
	for _, no := range n.marks.sorted() {
		b = binary.BigEndian.AppendUint32(b, uint32(no))
		b = binary.BigEndian.AppendUint64(b, n.marks[no].number)
		b = binary.BigEndian.AppendUint64(b, n.marks[no].seq)
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func decodeNote(b []byte) (note, error) {
	sum := len(b) - markTail
	if sum < markHead || string(b[:len(markName)]) != markName {
		return note{}, fmt.Errorf("%w: not a watermark", store.ErrCorrupt)
	}
	if binary.BigEndian.Uint32(b[sum:]) != crc32.Checksum(b[:sum], castagnoli) {
		return note{}, fmt.Errorf("%w: watermark has a wrong checksum", store.ErrCorrupt)
	}
	if string(b[:len(markMagic)]) != markMagic {
		return note{}, errNewer
	}
	n := note{generation: binary.BigEndian.Uint64(b[len(markMagic):]), marks: marks{}}
	e, err := n.decodeFiles(b[markHead:sum], binary.BigEndian.Uint32(b[markHead-4:]))
	if err != nil {
		return note{}, err
	}
	if len(e)%markEntry != 0 {
		return note{}, errLength
	}
	for ; len(e) > 0; e = e[markEntry:] {
		n.marks[int(binary.BigEndian.Uint32(e))] = mark{binary.BigEndian.Uint64(e[4:]), binary.BigEndian.Uint64(e[12:])}
	}
	return n, nil
}

// decodeFiles reads count files from the front of b and returns the rest.
func (n *note) decodeFiles(b []byte, count uint32) ([]byte, error) {
	n.files = map[string]extent{}
	for ; count > 0; count-- {
		if len(b) == 0 || int(b[0]) > len(b)-1 {
			return nil, errLength
		}
		name := string(b[1 : 1+int(b[0])])
		b = b[1+len(name):]
		if len(b) < markFile {
			return nil, errLength
		}
		n.files[name] = extent{binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:])}
		b = b[markFile:]
	}
	return b, nil
}

// readNote returns the newer copy of the watermark, an empty one for a new store. It tolerates
// one damaged copy, but not two: then the store cannot be verified.
func (s *Store) readNote() (note, error) {
	newest := note{files: map[string]extent{}}
	var bad error
	for _, name := range markFiles {
		b, err := readFile(s.fs, s.fs.PathJoin(s.dir, name))
		if oserror.IsNotExist(err) {
			continue
		}
		if err != nil {
			return note{}, err
		}
		n, err := decodeNote(b)
		switch {
		case errors.Is(err, errNewer):
			return note{}, fmt.Errorf("%s: %w", name, err)
		case err != nil:
			bad = errors.Join(bad, fmt.Errorf("%s: %w", name, err))
		case n.generation > newest.generation:
			newest = n
		}
	}
	if bad == nil && newest.generation == 0 {
		bad = s.missNote()
	}
	if bad == nil || newest.generation > 0 {
		return newest, nil
	}
	if s.opts.AcceptLoss {
		s.logError("damaged or missing watermark accepted", bad)
		return newest, nil
	}
	return note{}, fmt.Errorf("%w. Put the whole directory back from a backup, or open it with AcceptLoss to go on unchecked", bad)
}

// missNote returns an error if the watermark is missing although the store holds something. A
// store that crashed before its first log was recorded holds nothing.
func (s *Store) missNote() error {
	names, err := s.fs.List(s.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := s.fs.Stat(s.fs.PathJoin(s.dir, name))
		if err != nil {
			return err
		}
		if held := strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, logSuffix); held && info.Size() > 0 {
			return &LossError{Missing: markFiles[:]}
		}
	}
	return nil
}

// writeNote changes the watermark and replaces both copies. A rename makes each replacement
// atomic. If it fails, the change is written with the next one.
func (s *Store) writeNote(change func(*note)) error {
	s.noteMu.Lock()
	defer s.noteMu.Unlock()
	change(&s.note)
	s.note.generation++
	for _, file := range markFiles {
		name := s.fs.PathJoin(s.dir, file)
		if err := writeFile(s.reserve, name+".new", s.note.encode()); err != nil {
			return err
		}
		if err := s.reserve.Rename(name+".new", name); err != nil {
			return err
		}
	}
	return syncDir(s.fs, s.dir)
}

// acknowledged returns the acknowledged progress of the partitions.
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
