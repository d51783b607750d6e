package block

import (
	"encoding/binary"
	"slices"
)

// maxExtra is how many bytes an item may take in the columns besides its id and its document: the lengths of both and of
// its values, and the number of its shape. A length takes at most three bytes, as MaxItemBytes is below 1<<20.
const maxExtra = 3 + 3*(maxColumns+1) + 1

// maxShapeBytes is how many bytes a shape may take.
const maxShapeBytes = MaxItemBytes + 3*(maxColumns+2)

// Open reads a packed block. It copies: raw may be changed afterwards. An error
// wraps ErrCorrupt.
func (c *Codec) Open(raw []byte) (*Items, error) {
	body, err := unseal(raw, magicItems, "block")
	if err != nil {
		return nil, err
	}
	r := reader{rest: body}
	n := r.upTo(Size)
	idBytes := r.upTo(n * MaxIDBytes)
	dataBytes := r.upTo(n * MaxItemBytes)
	size := r.upTo(idBytes + dataBytes + n*maxExtra + maxShapes*maxShapeBytes + 1)
	if r.bad || dataBytes > len(raw)*maxGrowth {
		return nil, corrupt("block of %d bytes has sizes beyond the limits", len(raw))
	}
	plain, err := c.decompress(r.rest, size, "block")
	if err != nil {
		return nil, err
	}
	return columns(plain, n, idBytes, dataBytes)
}

// columns finds the items in the unpacked columns.
func columns(plain []byte, n, idBytes, dataBytes int) (*Items, error) {
	it := &Items{ends: make([]uint32, 2*n)}
	j := joiner{reader: reader{rest: plain}, plain: plain}
	j.readShapes(n)
	ids := j.ends(it.ends[:n], MaxIDBytes)
	data := j.readColumns()
	if j.bad || ids != idBytes || data != dataBytes || ids != len(j.rest) {
		return nil, corrupt("block of %d items: lengths do not add up", n)
	}
	it.ids = string(j.rest)
	if len(j.shapes) == 0 {
		it.data = plain[j.raw.at : j.raw.at+dataBytes : j.raw.at+dataBytes]
		it.mem = cap(plain) - cap(it.data)
	} else {
		it.data = make([]byte, dataBytes+slack)
	}
	if !j.join(it.data, it.ends[n:]) {
		return nil, corrupt("block of %d items: a document is longer than %d bytes", n, MaxItemBytes)
	}
	const self = 80 // bytes of an Items without what it points to
	it.mem += self + len(it.ids) + 4*len(it.ends) + cap(it.data)
	it.data = it.data[:dataBytes]
	return it, nil
}

// joiner puts documents together again.
type joiner struct {
	reader
	plain  []byte // all columns; its capacity has slack behind them
	which  []byte // the shape of each document, counted from 1; nil: all have the same
	shapes []packed
	sizes  [maxShapes + 1]int // documents of each shape; first those without
	raw    packedColumn
}

// packed is a shape in a packed block.
type packed struct {
	parts [][]byte // the capacity of each has slack behind it
	cols  []packedColumn
}

// packedColumn is where the next length and the next value of a column are.
type packedColumn struct {
	len, at int
	mixed   bool // some values are strings and some are not; else the quotes are in the parts
}

// readShapes reads the shapes, and how many of n documents have each.
func (j *joiner) readShapes(n int) {
	head := j.upTo(maxShapes<<1 | 1)
	j.shapes = make([]packed, head>>1)
	for i := range j.shapes {
		s := &j.shapes[i]
		s.cols = make([]packedColumn, j.upTo(maxColumns))
		s.parts = make([][]byte, len(s.cols)+1)
		for p := range s.parts {
			s.parts[p] = j.bytes(j.upTo(MaxItemBytes))
		}
	}
	switch {
	case head&1 == 1:
		j.which = j.bytes(n)
		for _, k := range j.which {
			if int(k) > len(j.shapes) {
				j.bad = true
				return
			}
			j.sizes[k]++
		}
	case len(j.shapes) > 1:
		j.bad = true
	default:
		j.sizes[len(j.shapes)] = n
	}
}

// readColumns finds the columns, and returns the bytes of all documents.
func (j *joiner) readColumns() (data int) {
	j.raw.len, j.raw.at, _ = j.lengths(j.sizes[0]) // how many bytes there are, until all lengths are read
	data = j.raw.at
	for i := range j.shapes {
		data += j.readLengths(&j.shapes[i], j.sizes[i+1])
	}
	at := len(j.plain) - len(j.rest)
	j.raw.at, at = at, at+j.raw.at
	for i := range j.shapes {
		cols := j.shapes[i].cols
		for c := range cols {
			cols[c].at, at = at, at+cols[c].at
		}
	}
	if j.bad || at > len(j.plain) {
		j.bad = true
		return 0
	}
	j.rest = j.plain[at:]
	return data
}

// readLengths finds the lengths in the columns of a shape, and returns the bytes of its n documents.
func (j *joiner) readLengths(s *packed, n int) (data int) {
	for i := range s.cols {
		c, texts := &s.cols[i], 0
		c.len, c.at, texts = j.lengths(n)
		data += c.at
		if c.mixed = texts > 0 && texts < n; c.mixed {
			data += 2 * texts
		} else if texts > 0 {
			s.quote(i)
		}
	}
	for p, part := range s.parts {
		data += len(part) * n
		s.parts[p] = append(make([]byte, 0, len(part)+slack), part...)
	}
	return data
}

// quote puts the quotes around the values of a column into the parts.
func (s *packed) quote(c int) {
	s.parts[c] = slices.Concat(s.parts[c], []byte{'"'})
	s.parts[c+1] = slices.Concat([]byte{'"'}, s.parts[c+1])
}

// lengths reads the lengths of so many values, and returns where they begin, how many bytes the values have together and
// how many are strings.
func (j *joiner) lengths(n int) (at, sum, texts int) {
	at = len(j.plain) - len(j.rest)
	short := j.rest[:min(n, len(j.rest))]
	for i, b := range short {
		if b >= 0x80 {
			short = short[:i]
			break
		}
		sum += int(b >> 1)
		texts += int(b & 1)
	}
	j.rest = j.rest[len(short):]
	for range n - len(short) {
		size := j.upTo(MaxItemBytes<<1 | 1)
		sum += size >> 1
		texts += size & 1
	}
	return at, sum, texts
}

// next reads the next length.
func (c *packedColumn) next(plain []byte) (size int, text bool) {
	v, n := uint64(plain[c.len]), 1
	if v >= 0x80 {
		v, n = binary.Uvarint(plain[c.len:])
	}
	c.len += n
	return int(v >> 1), v&1 == 1
}

// join writes all documents to data, which has slack behind them, and writes down where each ends. It returns false if one
// is too long.
func (j *joiner) join(data []byte, ends []uint32) bool {
	plain := j.plain[:cap(j.plain)]
	at, same := 0, len(j.shapes)
	for i := range ends {
		from, k := at, same
		if j.which != nil {
			k = int(j.which[i])
		}
		if k > 0 {
			at = j.shapes[k-1].join(data, at, plain)
		} else {
			size, _ := j.raw.next(plain)
			copy(data[at:], plain[j.raw.at:j.raw.at+size])
			at, j.raw.at = at+size, j.raw.at+size
		}
		if at-from > MaxItemBytes {
			return false
		}
		ends[i] = uint32(at)
	}
	return true
}

// join writes the next document of a shape to data, and returns where it ends.
func (s *packed) join(data []byte, at int, plain []byte) int {
	for i := range s.cols {
		at = put(data, at, s.parts[i], 0, len(s.parts[i]))
		c := &s.cols[i]
		size, text := c.next(plain)
		quote := text && c.mixed
		if quote {
			data[at] = '"'
			at++
		}
		at = put(data, at, plain, c.at, size)
		c.at += size
		if quote {
			data[at] = '"'
			at++
		}
	}
	last := s.parts[len(s.cols)]
	return put(data, at, last, 0, len(last))
}

// put copies bytes, in words: it may also write up to [slack] bytes behind them, which the next ones overwrite.
func put(dst []byte, at int, src []byte, from, n int) int {
	if n > slack {
		copy(dst[at:], src[from:from+n])
		return at + n
	}
	d, s := dst[at:at+slack], src[from:from+slack]
	binary.LittleEndian.PutUint64(d, binary.LittleEndian.Uint64(s))
	binary.LittleEndian.PutUint64(d[8:], binary.LittleEndian.Uint64(s[8:]))
	return at + n
}

// ends reads len(dst) lengths of at most limit each, writes down where each
// piece ends, and returns where the last one does. It is where Open spends its
// own time, so it moves an index instead of the reader.
func (r *reader) ends(dst []uint32, limit int) int {
	raw, at, end := r.rest, 0, 0
	for i := range dst {
		var n uint64
		if at < len(raw) && raw[at] < 0x80 {
			n = uint64(raw[at])
			at++
		} else {
			v, k := binary.Uvarint(raw[at:])
			n, at = v, at+max(k, 0)
			r.bad = r.bad || k <= 0
		}
		if r.bad || n > uint64(limit) {
			r.bad, r.rest = true, nil
			return 0
		}
		end += int(n)
		dst[i] = uint32(end)
	}
	r.rest = raw[at:]
	return end
}
