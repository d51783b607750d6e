package block

import (
	"encoding/binary"
	"fmt"
)

// A packed set is a byte whose low two bits say how it is written, and then:
//
//	empty, full   nothing
//	runs          the upper six bits count the runs; per run the items skipped and the items in it, as uvarints
//	bitmap        one bit per item of the block, in whole bytes
const (
	packEmpty = iota
	packFull
	packRuns
	packBitmap
)

// maxRuns is the largest count in six bits. More runs are never shorter than a full block's
// bitmap, as each takes at least two bytes.
const maxRuns = 63

// pack appends the set, whose items are all below size, in its shortest form.
func (s *Set) pack(dst []byte, size int) []byte {
	if i := s.next(size, true); i < Size {
		panic(fmt.Sprintf("block: item %d in a block of %d", i, size))
	}
	switch {
	case s.Empty():
		return append(dst, packEmpty)
	case s.next(0, false) >= size:
		return append(dst, packFull)
	}
	bitmap := (size + 7) / 8
	if out, ok := s.packRuns(dst, bitmap); ok {
		return out
	}
	var raw [Size / 8]byte
	for i, w := range s {
		binary.LittleEndian.PutUint64(raw[i*8:], w)
	}
	return append(append(dst, packBitmap), raw[:bitmap]...)
}

// packRuns appends the set as runs, unless that takes more than limit bytes.
func (s *Set) packRuns(dst []byte, limit int) ([]byte, bool) {
	tag, runs := len(dst), 0
	dst = append(dst, 0)
	for at := 0; ; runs++ {
		from := s.next(at, true)
		if from == Size {
			break
		}
		to := s.next(from, false)
		dst = binary.AppendUvarint(dst, uint64(from-at))
		dst = binary.AppendUvarint(dst, uint64(to-from))
		if len(dst)-tag-1 > limit || runs == maxRuns {
			return dst[:tag], false
		}
		at = to
	}
	dst[tag] = byte(runs<<2 | packRuns)
	return dst, true
}

// unpack reads a set of a block of size items.
func (s *Set) unpack(r *reader, size int) {
	*s = Set{}
	tag := r.byte()
	switch {
	case tag == packEmpty:
	case tag == packFull:
		s.Fill(size)
	case tag == packBitmap:
		s.unpackBitmap(r, size)
	case tag&3 == packRuns:
		s.unpackRuns(r, size, int(tag>>2))
	default:
		r.bad = true
	}
}

func (s *Set) unpackBitmap(r *reader, size int) {
	var raw [Size / 8]byte
	copy(raw[:], r.bytes((size+7)/8))
	for i := range s {
		s[i] = binary.LittleEndian.Uint64(raw[i*8:])
	}
	if s.next(size, true) < Size {
		r.bad = true
	}
}

func (s *Set) unpackRuns(r *reader, size, runs int) {
	at := 0
	for range runs {
		from := at + r.upTo(size-at)
		at = from + r.upTo(size-from)
		s.addRange(from, at)
	}
}

// addRange adds items from to to-1.
func (s *Set) addRange(from, to int) {
	for from < to {
		n := min(to-from, 64-from%64)
		s[from/64] |= (^uint64(0) >> (64 - n)) << (from % 64)
		from += n
	}
}
