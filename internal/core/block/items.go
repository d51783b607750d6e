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
	dataLens []byte // uvarints, twice the length: a document has no quotes that are left out, see column
	ids      []byte
	data     []byte
	split    splitter
	checked  bool   // split has all documents
	plain    []byte // the columns in order, put together by Seal
}

// Add copies an item into the block. The caller keeps the limits: at most Size
// items, MaxIDBytes of id, MaxItemBytes of data.
func (b *Builder) Add(id string, data []byte) {
	if b.n == Size || len(id) > MaxIDBytes || len(data) > MaxItemBytes {
		panic("block: Add beyond the limits of a block")
	}
	b.n++
	b.checked = false
	b.idLens = binary.AppendUvarint(b.idLens, uint64(len(id)))
	b.dataLens = binary.AppendUvarint(b.dataLens, uint64(len(data))<<1)
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
	b.n, b.checked = 0, false
	b.idLens, b.dataLens = b.idLens[:0], b.dataLens[:0]
	b.ids, b.data = b.ids[:0], b.data[:0]
}

// Check returns the first document that is not valid JSON, or -1, and has the block packed by the shapes of its documents.
// valid decides about JSON. It is not asked about documents that differ from an earlier one in values alone.
func (b *Builder) Check(valid func(doc []byte) bool) (bad int) {
	b.split.reset()
	lens, data := b.dataLens, b.data
	for i := range b.n {
		size, n := binary.Uvarint(lens)
		size >>= 1
		if !b.split.add(data[:size:size], valid) {
			return i
		}
		lens, data = lens[n:], data[size:]
	}
	b.checked = true
	return -1
}

// Seal appends the packed block to dst: header, number of items, bytes of ids, bytes of documents, bytes of all columns,
// and then the columns, compressed: shapes, the shape of each document if they differ, lengths of ids, lengths of
// documents and values, the documents without a shape, the values, the ids. Like goes next to like, so lengths nearly
// vanish. The ids come last because most of them are also found in the data: an
// id that repeats a part of a document packs better than the other way round.
func (c *Codec) Seal(dst []byte, b *Builder) []byte {
	if !b.checked { // they may be anything
		b.split.reset()
		b.split.rawLens, b.split.raw = append(b.split.rawLens, b.dataLens...), append(b.split.raw, b.data...)
	}
	b.plain = b.split.append(b.plain[:0], b.idLens, b.ids)

	start := len(dst)
	dst = begin(dst, magicItems)
	for _, size := range []int{b.n, len(b.ids), len(b.data), len(b.plain)} {
		dst = binary.AppendUvarint(dst, uint64(size))
	}
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
