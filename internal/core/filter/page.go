package filter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
)

// ErrCorrupt is wrapped by every error about bytes that this package cannot have written.
var ErrCorrupt = errors.New("corrupt")

// A page is a byte that says what it is, a CRC32C over that byte and all that
// follows the checksum, the bits of a mark that number the block, the number of
// buckets, the number of ids, for each bucket a one for each of its ids and then
// a zero, in whole words, and the marks.
const (
	magic  = 0xF1
	header = 1 + 4 + 1 + 4 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(raw []byte) uint32 {
	return crc32.Update(crc32.Checksum(raw[:1], castagnoli), castagnoli, raw[5:])
}

// unaryBytes returns the length of the unary counts.
func unaryBytes(buckets, ids uint32) int { return int((uint64(buckets)+uint64(ids)+63)/64) * 8 }

// appendPage appends a page. ends holds the end of each bucket in the marks of the segment,
// from the start of the page.
func appendPage(dst []byte, width int, ends []uint32, from uint32, marks []byte) []byte {
	start := len(dst)
	dst = append(dst, magic, 0, 0, 0, 0, byte(width))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(ends)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(marks)))
	dst = appendUnary(dst, ends, from)
	dst = append(dst, marks...)
	binary.LittleEndian.PutUint32(dst[start+1:], checksum(dst[start:]))
	return dst
}

// appendUnary appends for each bucket a one for each of its ids and then a zero. It
// fills a word before it writes it: setting bits in memory takes four times as long.
func appendUnary(dst []byte, ends []uint32, from uint32) []byte {
	word, fill := uint64(0), uint(0)
	put := func(bits uint64, width uint) {
		word |= bits << fill
		if fill += width; fill >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, word)
			fill -= 64
			word = bits >> (width - fill)
		}
	}
	for _, end := range ends {
		n := end - from
		for ; n >= 32; n -= 32 {
			put(1<<32-1, 32)
		}
		put(1<<n-1, uint(n)+1)
		from = end
	}
	if fill > 0 {
		dst = binary.LittleEndian.AppendUint64(dst, word)
	}
	return dst
}

// Page is an opened page.
type Page struct {
	width        int
	unary, marks []byte
}

// Open reads a page. The page keeps raw.
func Open(raw []byte) (*Page, error) {
	switch {
	case len(raw) < header || raw[0] != magic:
		return nil, fmt.Errorf("filter of %d bytes: %w: no header", len(raw), ErrCorrupt)
	case binary.LittleEndian.Uint32(raw[1:]) != checksum(raw):
		return nil, fmt.Errorf("filter of %d bytes: %w: checksum does not match", len(raw), ErrCorrupt)
	}
	width, buckets, ids := raw[5], binary.LittleEndian.Uint32(raw[6:]), binary.LittleEndian.Uint32(raw[10:])
	unary := unaryBytes(buckets, ids)
	if width > 8 || buckets == 0 || uint64(unary)+uint64(ids) != uint64(len(raw)-header) {
		return nil, fmt.Errorf("filter of %d bytes: %w: %d buckets, %d ids", len(raw), ErrCorrupt, buckets, ids)
	}
	body := raw[header:]
	return &Page{int(width), body[:unary], body[unary:]}, nil
}

// Blocks appends the numbers in the segment of the blocks that may have an id, in order, each
// once. shape is the shape of the segment.
func (p *Page) Blocks(dst []int, hash uint64, shape Shape) []int {
	from, to := p.bucket(shape.place(hash) % shape.buckets)
	for no := range 1 << p.width {
		want := mark(hash, no, p.width)
		for _, m := range p.marks[from:to] {
			if m == want {
				dst = append(dst, no)
				break
			}
		}
	}
	return dst
}

// bucket returns where the marks of a bucket begin and end.
func (p *Page) bucket(no int) (from, to int) {
	ones, left := 0, no // zeros to pass
	for at := 0; at < len(p.unary); at += 8 {
		w := binary.LittleEndian.Uint64(p.unary[at:])
		zeros := 64 - bits.OnesCount64(w)
		if zeros < left {
			left -= zeros
			ones += 64 - zeros
			continue
		}
		for i := range 64 {
			one := w>>i&1 != 0
			switch {
			case left > 0 && one:
				ones++
			case left > 0:
				left--
			default:
				return p.run(ones, at*8+i)
			}
		}
	}
	return p.run(ones, len(p.unary)*8)
}

// run returns the bucket whose ones begin at a bit, after so many in the buckets before.
func (p *Page) run(ones, bit int) (from, to int) {
	from, to = ones, ones
	for ; bit < len(p.unary)*8 && p.unary[bit/8]>>(bit%8)&1 != 0; bit++ {
		to++
	}
	return min(from, len(p.marks)), min(to, len(p.marks))
}
