// Package store defines the contract between the engine and the backends that store its work.
//
// A store holds numbered partitions. Each has blocks (items, written by submitters), an inbox
// (messages, written by any node, read by the owner), state (rows, written by the owner alone)
// and a lease (which names the owner). The roles are small interfaces; [Store] combines them.
// Package storetest checks every promise made here against a backend.
//
// The engine depends on this contract and never on a backend.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/weirhq/weir"
)

// Errors to branch on with [errors.Is].
var (
	// ErrFenced means that the token is not the newest granted for the partition: another node
	// owns it.
	ErrFenced = errors.New("fenced: the partition has another owner")
	// ErrHeld means that another owner holds the lease and it has not run out.
	ErrHeld = errors.New("lease is held by another owner")
	// ErrUnknown means that a write got no answer: it may or may not have happened. Repeating
	// the same commit shows: a repeat is refused by its number.
	ErrUnknown = errors.New("outcome of the write is unknown")
	// ErrNotFound means that the block or row does not exist.
	ErrNotFound = errors.New("no such block or row")
	// ErrCorrupt means that the data read is not the data written.
	ErrCorrupt = errors.New("stored data is damaged")
	// ErrClaimed means that another message holds the claim; see [ClaimedError].
	ErrClaimed = errors.New("claimed before")
	// ErrMoved means that the partition takes no more claims of that generation: the partition
	// map has changed.
	ErrMoved = errors.New("claims are made in another partition by now")
	// ErrFull means that the store is low on space and accepts no new work.
	ErrFull = errors.New("store is low on space")
	// ErrUnavailable means that the store cannot be reached, or refuses the call for now:
	// repeat the call later. An error that is also ErrUnknown may have been written all the
	// same. A backend that is always reachable need not return it.
	ErrUnavailable = errors.New("store is unavailable for now")
	// ErrClosed means that the store was closed.
	ErrClosed = errors.New("store is closed")
)

// ClaimedError carries the value of an earlier claim. It matches [ErrClaimed].
type ClaimedError struct{ Value []byte }

// Error states that the claim is taken.
func (e *ClaimedError) Error() string { return ErrClaimed.Error() }

// Is makes errors.Is(err, ErrClaimed) true.
func (e *ClaimedError) Is(target error) bool { return target == ErrClaimed }

// Store combines everything the engine needs of a backend. All methods are safe for concurrent
// use. After Close every call returns ErrClosed, and calls that wait return.
type Store interface {
	Blocks
	Inbox
	State
	Leases
	Registry
	Quotas
	io.Closer
	// Durability returns what an acknowledged write survives: "memory", "disk" or "replicated".
	Durability() string
}

// Blocks stores the items. A block is immutable once written.
type Blocks interface {
	// PutBlocks writes blocks first, first+1, ... of a bulk action.
	//
	// - Ordered: once an Append to the same partition that came after PutBlocks returned nil, the blocks are as
	// durable as that message.
	//  - Repeatable: writing a block again with the same bytes changes nothing.
	//  - Copied: the store keeps no reference to the slices.
	//  - Empty: without blocks it writes none. A store that is low on space, or that cannot keep blocks as it
	//    promises now, returns the error all the same, so that a submit whose items are in its message can ask.
	PutBlocks(ctx context.Context, partition int, id weir.BulkID, first uint32, blocks [][]byte) error
	// GetBlock returns the bytes of one block, or ErrNotFound. The caller may keep them.
	GetBlock(ctx context.Context, partition int, id weir.BulkID, no uint32) ([]byte, error)
	// DeleteBlocks removes every block of a bulk action. It is not an error if there are none.
	// A crash may undo it.
	DeleteBlocks(ctx context.Context, partition int, id weir.BulkID) error
	// BlockOwners lists the bulk actions of a partition that have blocks, each once.
	BlockOwners(ctx context.Context, partition int) ([]weir.BulkID, error)
}

// Message is one entry of an inbox.
type Message struct {
	Seq  uint64 // set by the store: rises with every Append to the partition, never repeats
	Body []byte
}

// Claim makes an Append conditional: only the first message with a key gets in.
type Claim struct {
	Key   string // empty: no condition
	Value []byte // stored with the key, and returned to later callers
	// Generation is the generation of the partition map by which the partition was chosen.
	Generation uint64
}

// Inbox takes messages from any node and delivers them to the partition's owner in order.
type Inbox interface {
	// Append adds a message.
	//
	//  - Durable: once it returned nil, the message survives what Durability promises.
	//  - Claimed: if the claim's key was claimed before, a *ClaimedError is returned and nothing is written.
	//    The message that holds the claim can be read by then.
	//  - Atomic: claim and message are both written, or neither.
	//  - Closed: returns ErrMoved, and writes nothing, if the claim is new and CloseClaims was called with
	//    a later generation.
	Append(ctx context.Context, partition int, body []byte, c Claim) error
	// Claimed returns the value of a claim, whose message can be read by then, or ErrNotFound.
	Claimed(ctx context.Context, partition int, key string) ([]byte, error)
	// CloseClaims refuses new claims of generations before this one from now on. It is as
	// durable as a message.
	CloseClaims(ctx context.Context, partition int, generation uint64) error
	// Read returns up to limit messages after seq, oldest first. It waits, without polling,
	// until there is one or ctx ends.
	Read(ctx context.Context, partition int, after uint64, limit int) ([]Message, error)
	// Peek does the same as Read without the wait: it returns no message if there is none after
	// seq.
	Peek(ctx context.Context, partition int, after uint64, limit int) ([]Message, error)
}

// Row is one key and its value.
type Row struct{ Key, Value []byte }

// Batch is one commit to a partition's state.
type Batch struct {
	// Number is one more than that of the last commit.
	Number uint64
	Set    []Row
	// Delete lists keys to remove; one that is also in Set is set.
	Delete [][]byte
	// Ack removes the inbox messages up to and including this sequence number. 0: none.
	Ack uint64
}

// State stores the owner's rows.
type State interface {
	// Commit writes b to the partition's state.
	//
	//  - Atomic: all of b is there afterwards, or none of it.
	//  - Durable: once Commit returned nil, b survives what Durability promises.
	//  - Fenced: returns ErrFenced, and writes nothing, unless tok is the newest token granted.
	//  - Numbered: b.Number is one more than the last; a gap or a repeat is refused with a *NumberError.
	//  - Honest: an error that is ErrUnknown may have been written; any other was not.
	//  - Copied: the store keeps no reference to b's slices.
	Commit(ctx context.Context, partition int, tok Token, b *Batch) error
	// Last returns the last commit; the zero value if there was none.
	Last(ctx context.Context, partition int) (Last, error)
	// Get returns one row's value, or ErrNotFound. The caller may keep it.
	Get(ctx context.Context, partition int, key []byte) ([]byte, error)
	// GetMany returns several rows, in as few round trips as the backend can. The value of a
	// row that does not exist is nil, that of an empty row is not.
	GetMany(ctx context.Context, partition int, keys [][]byte) (values [][]byte, err error)
	// Scan calls yield for every row whose key begins with prefix, in order of keys, as of one
	// moment, until yield returns an error, which Scan returns. Key and value are valid until
	// yield returns.
	Scan(ctx context.Context, partition int, prefix []byte, yield func(key, value []byte) error) error
	// Page returns the first rows of a range as of one moment, limit at most. The caller may keep them. It costs
	// what it returns, however many rows there are.
	Page(ctx context.Context, partition int, r Range, limit int) ([]Row, error)
}

// Range selects rows by their keys.
type Range struct {
	Prefix []byte // that the keys begin with
	After  []byte // keys up to this one are left out; nil: none
	Before []byte // keys from this one on are left out; nil: none
	Back   bool   // the greatest key comes first
}

// Last is the last commit of a partition. It reveals that a store was set back to an earlier
// moment.
type Last struct {
	Number uint64
	By     Token // the token it was made with
}

// NumberError reports a commit out of order.
type NumberError struct{ Got, Want uint64 }

// Error states both numbers.
func (e *NumberError) Error() string {
	return fmt.Sprintf("commit number %d, want %d", e.Got, e.Want)
}

// Token proves an acquisition of a lease. Each has a random nonce: an epoch alone can repeat
// when a store is restored to an earlier moment.
type Token struct{ Epoch, Nonce uint64 }

// Leases decides which node owns a partition.
type Leases interface {
	// Acquire takes the partition's lease for ttl, if it is free, has run out, or is owner's own.
	//
	//  - Exclusive: returns ErrHeld while another owner's lease lasts.
	//  - Fencing: the token is newer than every one before; from now on all others are refused.
	//  - Patient: a store that is a [Witness] returns ErrHeld while a former owner has precedence, see [ReturnFor].
	Acquire(ctx context.Context, partition int, owner string, ttl time.Duration) (Token, error)
	// Renew extends the lease to ttl from now, or returns ErrFenced. It also returns the last commit
	// of the partition, as Last does.
	Renew(ctx context.Context, partition int, tok Token, ttl time.Duration) (Last, error)
	// Release gives the lease back, so that the next owner need not wait. The token is refused
	// from then on; a stale one changes nothing.
	Release(ctx context.Context, partition int, tok Token) error
}
