package block

import "encoding/binary"

// Size is the number of items in a full block.
const Size = 1024

// Limits of an item, the same as the limits of package weir.
const (
	MaxIDBytes   = 256
	MaxItemBytes = 256 << 10
)

// Builder collects the items of one block. The zero value is ready for use; a
// Builder that is Reset keeps its memory, so filling it again allocates nothing.
type Builder struct {
	n        int
	idLens   []byte // uvarints
	dataLens []byte // uvarints
	ids      []byte
	data     []byte
	plain    []byte // the columns in order, put together by Seal
}

// Add copies an item into the block. The caller keeps the limits: at most Size
// items, MaxIDBytes of id, MaxItemBytes of data.
func (b *Builder) Add(id string, data []byte) {
	if b.n == Size || len(id) > MaxIDBytes || len(data) > MaxItemBytes {
		panic("block: Add beyond the limits of a block")
	}
	b.n++
	b.idLens = binary.AppendUvarint(b.idLens, uint64(len(id)))
	b.dataLens = binary.AppendUvarint(b.dataLens, uint64(len(data)))
	b.ids = append(b.ids, id...)
	b.data = append(b.data, data...)
}

// Len returns the number of items added.
func (b *Builder) Len() int { return b.n }

// Bytes returns the bytes of ids and data added.
func (b *Builder) Bytes() int { return len(b.ids) + len(b.data) }

// Full reports whether the block has Size items.
func (b *Builder) Full() bool { return b.n == Size }

// Reset empties the block and keeps its memory.
func (b *Builder) Reset() {
	b.n = 0
	b.idLens, b.dataLens = b.idLens[:0], b.dataLens[:0]
	b.ids, b.data = b.ids[:0], b.data[:0]
}

// Seal appends the packed block to dst: header, number of items, bytes of ids,
// bytes of all columns, and then the columns, compressed: lengths of ids, lengths
// of documents, the documents, the ids. Like goes next to like, so lengths nearly
// vanish. The ids come last because most of them are also found in the data: an
// id that repeats a part of a document packs better than the other way round.
func (c *Codec) Seal(dst []byte, b *Builder) []byte {
	b.plain = append(b.plain[:0], b.idLens...)
	b.plain = append(b.plain, b.dataLens...)
	b.plain = append(b.plain, b.data...)
	b.plain = append(b.plain, b.ids...)

	start := len(dst)
	dst = begin(dst, magicItems)
	dst = binary.AppendUvarint(dst, uint64(b.n))
	dst = binary.AppendUvarint(dst, uint64(len(b.ids)))
	dst = binary.AppendUvarint(dst, uint64(len(b.plain)))
	dst = c.compress(dst, b.plain)
	seal(dst[start:])
	return dst
}

// Items is an opened block. It never changes and may be used by several goroutines.
type Items struct {
	ids  string
	data []byte
	ends []uint32 // where each item's id ends in ids, then where each one's data ends in data
	mem  int
}

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
	// A length takes at most three bytes, as MaxItemBytes is below 1<<21.
	size := r.upTo(n * (MaxIDBytes + MaxItemBytes + 2*3))
	if r.bad {
		return nil, corrupt("block of %d bytes has sizes beyond the limits", len(raw))
	}
	plain, err := c.decompress(r.rest, size, "block")
	if err != nil {
		return nil, err
	}
	return columns(plain, n, idBytes)
}

// columns finds the items in the unpacked columns.
func columns(plain []byte, n, idBytes int) (*Items, error) {
	it := &Items{ends: make([]uint32, 2*n)}
	r := reader{rest: plain}
	ids := r.ends(it.ends[:n], MaxIDBytes)
	data := r.ends(it.ends[n:], MaxItemBytes)
	if r.bad || ids != idBytes || ids+data != len(r.rest) {
		return nil, corrupt("block of %d items: lengths do not add up", n)
	}
	it.data, it.ids = r.rest[:data:data], string(r.rest[data:])
	const self = 80 // bytes of an Items without what it points to
	it.mem = self + cap(plain) + len(it.ids) + 4*len(it.ends)
	return it, nil
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

// Len returns the number of items.
func (it *Items) Len() int { return len(it.ends) / 2 }

// ID returns the id of item i.
func (it *Items) ID(i int) string {
	ends := it.ends[:it.Len()]
	if i == 0 {
		return it.ids[:ends[0]]
	}
	return it.ids[ends[i-1]:ends[i]]
}

// Data returns the document of item i, the bytes that were given to Add. They
// belong to the block and must not be changed.
func (it *Items) Data(i int) []byte {
	ends := it.ends[it.Len():]
	start := uint32(0)
	if i > 0 {
		start = ends[i-1]
	}
	return it.data[start:ends[i]:ends[i]]
}

// MemSize returns the bytes of memory that the opened block holds.
func (it *Items) MemSize() int { return it.mem }
