package store

import (
	"context"

	"github.com/weirhq/weir"
)

// Portable is a store whose content can be copied into another one, of the same backend or of another.
type Portable interface {
	// Snapshot opens a view of the content. It is as of one moment if Shared returns false; else as of several, and the
	// caller makes sure that nothing is written until it is closed.
	Snapshot(ctx context.Context) (Snapshot, error)
	// Advance makes number that of the last commit, without a commit. Rows are named by commits, so a partition that is
	// filled from a snapshot must go on counting where the other one stood.
	//
	//  - Fenced: returns ErrFenced, and changes nothing, unless tok is the newest token granted.
	//  - Forward: a number that is not greater than the last is refused with a *NumberError.
	//  - Durable: as a commit.
	Advance(ctx context.Context, partition int, tok Token, number uint64) error
}

// Snapshot is a view of a store's content: of all that lasts, so without leases, quotas and what nodes announce. What a
// method gives to yield is valid until yield returns. Every method returns the first error of yield.
type Snapshot interface {
	// Head returns what a partition has besides its content.
	Head(ctx context.Context, partition int) (Head, error)
	// Blocks yields the blocks of a partition: those of one bulk action one after the other.
	Blocks(ctx context.Context, partition int, yield func(id weir.BulkID, no uint32, block []byte) error) error
	// Claims yields the claims of a partition. One may come twice.
	Claims(ctx context.Context, partition int, yield func(key string, value []byte) error) error
	// Messages yields the inbox of a partition, oldest first.
	Messages(ctx context.Context, partition int, yield func(body []byte) error) error
	// Rows yields the rows of a partition in order of keys.
	Rows(ctx context.Context, partition int, yield func(key, value []byte) error) error
	// Records yields the lasting records in order of names, without those that a backend wrote for itself.
	Records(ctx context.Context, yield func(r Record) error) error
	Close() error
}

// Head is what a partition has besides its content.
type Head struct {
	Number     uint64 // of the last commit
	Generation uint64 // the first whose new claims are accepted, see [Inbox].CloseClaims
}
