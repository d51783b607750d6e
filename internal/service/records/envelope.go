package records

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/weirhq/weir/store"
)

// A stored record is
//
//	version (1 byte), number of marks (1 byte), marks (8 bytes each), JSON, CRC32C (4 bytes)
//
// The first mark belongs to this write, the others to the writes before it, newest first, back to
// the one that created the record. The checksum covers the name in the store and everything before
// the checksum.
const (
	envelopeVersion = 1
	markLen         = 8
	maxMarks        = 8 // how many writes later a write can still be recognised
	sumLen          = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// mark identifies a write; it is random.
type mark [markLen]byte

func newMark() (m mark) {
	_, _ = rand.Read(m[:]) // it never fails
	return m
}

// String returns the mark as a version.
func (m mark) String() string { return hex.EncodeToString(m[:]) }

// seal returns the stored bytes of a record that replaces one with the marks before.
func seal(key string, before []mark, content []byte) []byte {
	marks := append([]mark{newMark()}, before...)
	marks = marks[:min(len(marks), maxMarks)]
	b := make([]byte, 0, 2+len(marks)*markLen+len(content)+sumLen)
	b = append(b, envelopeVersion, byte(len(marks)))
	for _, m := range marks {
		b = append(b, m[:]...)
	}
	b = append(b, content...)
	return binary.BigEndian.AppendUint32(b, checksum(key, b))
}

func checksum(key string, b []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(key), castagnoli), castagnoli, b)
}

// open checks the stored bytes of a record and returns its marks, at least one, and its JSON.
func open(key string, b []byte) (marks []mark, content []byte, err error) {
	n := len(b) - sumLen
	if n < 2 || binary.BigEndian.Uint32(b[n:]) != checksum(key, b[:n]) {
		return nil, nil, fmt.Errorf("%w: checksum does not match", store.ErrCorrupt)
	}
	if b[0] != envelopeVersion {
		return nil, nil, fmt.Errorf("%w: it has version %d, this program knows %d", store.ErrCorrupt, b[0], envelopeVersion)
	}
	count, b := int(b[1]), b[2:n]
	if count == 0 || len(b) < count*markLen {
		return nil, nil, fmt.Errorf("%w: it is truncated", store.ErrCorrupt)
	}
	for m := range slices.Chunk(b[:count*markLen], markLen) {
		marks = append(marks, mark(m))
	}
	return marks, b[count*markLen:], nil
}
