// Package filter finds the blocks of a bulk action that may hold an item id. Finding one id
// among millions opens a handful of blocks instead of all of them, and costs no index row per
// item: ten bits are kept per id.
//
// The blocks of a bulk action are taken [SegmentBlocks] at a time. The ids of
// such a segment fall into as many buckets as there are ids, by the first bits
// of their hash. A bucket has a byte for each of its ids: the number of the
// block in the segment and, in the bits that this number does not need, the last
// bits of the hash. How many ids each bucket has is written in unary, which
// takes two bits an id. A full segment is cut into [MaxPages] pages between
// buckets, and a lookup reads one of them.
//
// This is a quotient filter, sorted once. Compared with binary fuse filters it takes no more
// room at these sizes and about a quarter of the time to build, which counts because submits
// are many and lookups few; it accepts duplicate ids, and building it cannot fail.
//
// A segment of bulk actions instead of blocks is a joint filter: it tells which of 256 bulk
// actions may have an id ([Segment.Joint]). Its entries are sorted by the hash over all members, so that it needs no more
// than ten bits an id however much their sizes differ.
//
// A page never misses an id, and names a block wrongly in about one of 256 cases. It carries a
// checksum and is checked before it is used: invalid data is reported as [ErrCorrupt].
//
// The package is pure. A Segment belongs to one goroutine at a time; a Page
// never changes.
package filter
