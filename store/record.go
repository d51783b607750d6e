package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Limits of a lasting record in every backend.
const (
	MaxName   = 1 << 10 // bytes of a name
	MaxRecord = 1 << 20 // bytes of a value
)

// CheckLimit returns the error of [Registry].List for a limit below 1.
func CheckLimit(limit int) error {
	if limit < 1 {
		return fmt.Errorf("list of at most %d records: ask for 1 at least", limit)
	}
	return nil
}

const sealLen = 4 // CRC32C of all that follows

// SealRecord returns a lasting record as a backend stores it: with its name and a checksum of
// both, so that damage and mix-ups are detected. The same record always has the same sealed
// form.
func SealRecord(name string, value []byte) []byte {
	b := make([]byte, sealLen, sealLen+binary.MaxVarintLen32+len(name)+len(value))
	b = binary.AppendUvarint(b, uint64(len(name)))
	b = append(append(b, name...), value...)
	binary.BigEndian.PutUint32(b, crc32.Checksum(b[sealLen:], castagnoli))
	return b
}

// UnsealRecord checks a record that was sealed under a name and returns its
// value, which is never nil and shares the bytes of b, or [ErrCorrupt].
func UnsealRecord(name string, b []byte) ([]byte, error) {
	if len(b) < sealLen || binary.BigEndian.Uint32(b) != crc32.Checksum(b[sealLen:], castagnoli) {
		return nil, fmt.Errorf("record %q: %w: checksum does not match", name, ErrCorrupt)
	}
	n, used := binary.Uvarint(b[sealLen:])
	rest := b[sealLen+max(used, 0):]
	if used <= 0 || n > uint64(len(rest)) || !bytes.Equal(rest[:n], []byte(name)) {
		return nil, fmt.Errorf("record %q: %w: it is another's", name, ErrCorrupt)
	}
	return rest[n:], nil
}
