// Package filter tells in which blocks of a bulk action an item id may be, so
// that finding one id among millions opens a handful of blocks and not all of
// them, and costs no index row per item: ten bits are kept of an id.
//
// The blocks of a bulk action are taken [SegmentBlocks] at a time. The ids of
// such a segment fall into as many buckets as there are ids, by the first bits
// of their hash. A bucket has a byte for each of its ids: the number of the
// block in the segment and, in the bits that this number does not need, the last
// bits of the hash. How many ids each bucket has is written in unary, which
// takes two bits an id. A full segment is cut into [MaxPages] pages between
// buckets, and a lookup reads one of them.
//
// This is a quotient filter, sorted once and for good. Against binary fuse filters
// it takes no more room at these sizes and about a quarter of the time to make,
// which counts because submits are many and lookups few; it takes ids that come
// several times, and making it cannot fail.
//
// A page never misses an id, and names a block wrongly in about one of 256
// cases. It carries a checksum and is checked before it is used: what does not
// add up is reported as [ErrCorrupt].
//
// The package is pure. A Segment belongs to one goroutine at a time; a Page
// never changes.
package filter
