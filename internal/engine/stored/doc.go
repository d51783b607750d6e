// Package stored reads what a store holds of bulk actions: the rows of a partition, blocks of items, messages that the
// owner has not read yet. It says how a bulk action lies in the store: its id names the partition, and its blocks are
// numbered by what is in them.
//
// It writes nothing and owns no partition: any process may read.
package stored

// Numbers of blocks. The blocks of a bulk action's items begin at 0.
const (
	// FilterBlocks is where a bulk action keeps what tells in which of its blocks an id may be: page p of segment s is
	// block FilterBlocks + s*filter.MaxPages + p.
	FilterBlocks = 1 << 30
	// CarriedBlocks is where a retry keeps what the steps before its first one answered: block no of the items has its
	// answers in block no + CarriedBlocks.
	CarriedBlocks = 1 << 31
)
