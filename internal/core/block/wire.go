package block

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// ErrCorrupt is wrapped by every error about bytes that this package cannot have written.
var ErrCorrupt = errors.New("corrupt")

// The first byte of packed data: its type and the version of its layout.
const (
	magicItems   = 0xB2
	magicResults = 0xC2
)

// sealedHeader is the length of the header that seal fills in: a magic byte and a CRC32C over
// the magic byte and all that follows the checksum.
const sealedHeader = 1 + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// begin appends a header for seal to fill in.
func begin(dst []byte, magic byte) []byte { return append(dst, magic, 0, 0, 0, 0) }

// seal puts the checksum into raw, which starts with the header of begin.
func seal(raw []byte) { binary.LittleEndian.PutUint32(raw[1:], checksum(raw)) }

func checksum(raw []byte) uint32 {
	return crc32.Update(crc32.Checksum(raw[:1], castagnoli), castagnoli, raw[sealedHeader:])
}

// unseal returns what follows the header, if magic and checksum are right.
func unseal(raw []byte, magic byte, what string) ([]byte, error) {
	switch {
	case len(raw) < sealedHeader:
		return nil, corrupt("%s of %d bytes, shorter than its header", what, len(raw))
	case raw[0] != magic:
		return nil, corrupt("%s starts with %#x, want %#x", what, raw[0], magic)
	case binary.LittleEndian.Uint32(raw[1:]) != checksum(raw):
		return nil, corrupt("%s of %d bytes fails its checksum", what, len(raw))
	}
	return raw[sealedHeader:], nil
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrCorrupt)
}

// reader reads the parts of a packed value in order. After a missing part it stays bad and
// returns zeros, so callers check once at the end.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.bad = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) uvarint() uint64 {
	if len(r.rest) > 0 && r.rest[0] < 0x80 { // most numbers here are small
		return uint64(r.byte())
	}
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// upTo reads a number that may not be above limit.
func (r *reader) upTo(limit int) int {
	v := r.uvarint()
	if v > uint64(limit) {
		r.bad, r.rest = true, nil
		return 0
	}
	return int(v)
}

// bytes returns the next n bytes, aliasing the input.
func (r *reader) bytes(n int) []byte {
	if n > len(r.rest) {
		r.bad, r.rest = true, nil
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}
