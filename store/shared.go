package store

import (
	"context"
	"errors"
	"time"
)

// Control is the partition that holds no work. Its inbox is the nodes' notice
// board, which all of them read; its owner is the leader.
const Control = 1<<16 - 1

// ErrStale means that a newer leader has spoken: the caller leads no more.
var ErrStale = errors.New("stale: another leader has decided since")

// Record is one entry of the registry.
type Record struct {
	Name  string
	Value []byte
}

// Registry keeps what nodes tell each other about themselves. Times are the store's.
type Registry interface {
	// Announce writes a record of a topic, in place of an earlier one of that name.
	// It is gone when it has not been announced again for ttl. A ttl of 0 removes it at once.
	Announce(ctx context.Context, topic string, r Record, ttl time.Duration) error
	// Announced lists the records of a topic that are not gone, by name.
	Announced(ctx context.Context, topic string) ([]Record, error)
	// Swap makes, replaces or removes the lasting record of a name, if it is still
	// what the caller saw last. A record is never empty: an empty slice, nil or not,
	// stands for none, as what the caller saw and as what to leave there. It returns
	// what is there afterwards, nil for none, which tells whether it was replaced.
	// Of a removal it does not tell who removed it: somebody else may have been faster.
	//
	//  - Atomic: of several at once with the same old value, one replaces it.
	//  - Durable: once it returned nil, what it wrote or removed stays so through what Durability promises.
	//  - Honest: an error that is ErrUnknown may have been written; any other was not.
	//  - Roomy: a name has 1 to [MaxName] bytes of any kind, a value up to [MaxRecord] bytes.
	//
	// A store that is low on space may refuse to make a record, with ErrFull; it
	// replaces and removes those that are there as long as it can.
	Swap(ctx context.Context, name string, old, value []byte) ([]byte, error)
	// Lookup returns a lasting record, or ErrNotFound.
	Lookup(ctx context.Context, name string) ([]byte, error)
	// List returns lasting records, not announced ones: those whose name begins with
	// prefix and is greater than after, in byte order of names, at most limit of them
	// and fewer only if there are no more. A limit below 1 is refused.
	//
	//  - Complete: a record that is there during the whole call, and in range, is listed
	//    if the limit reaches so far. One that is made or removed meanwhile may be listed
	//    or not: it need not be the view of one moment.
	//  - Fresh: a value is one that the record had at some moment of the call.
	//  - Durable: what it shows is as durable as what Lookup shows.
	//  - Copied: the caller may keep the values.
	List(ctx context.Context, prefix, after string, limit int) ([]Record, error)
}

// Limit is what all nodes together may use of a resource: Units in any Window
// for a rate, and Units at any time, with a Window of 0, for a concurrency.
// All nodes must give the same.
type Limit struct {
	Resource string
	Units    int64
	Window   time.Duration
}

// Holding is what a node says of its use of a resource.
type Holding struct {
	Node string
	// Held is the most that the node lets itself use from now until it has the answer.
	Held int64
	// Used is what it has used in the window that ends now, or uses now.
	Used int64
	// Want is what it could use, and Weight the weight of those who want it, for the leader.
	Want, Weight int64
	// Drawn is what it drew by Draw in the window that ends now, for the leader.
	Drawn int64
}

// Quotas shares the limits of resources between nodes so that they are never
// exceeded, whatever dies.
//
// A node may use its quota, which it asks for with Hold, and single permits, which
// it asks for with Draw. The leader sets the quotas that nodes should get; the store
// gives no more than that, and no more than is certain not to be used by others.
// What a node may use counts against the others until it has said that it uses
// less, or has been silent for ttl and a window. A store that may have forgotten
// what it granted grants nothing new until every node has told it again or has
// gone silent. One that proves that it never granted any of a limit need not wait.
type Quotas interface {
	// Hold tells what a node uses, and returns its quota: the node may use it from
	// now until ttl after it asked. A ttl of 0 gives everything back.
	//
	//  - Exact: what all nodes may use together, permits included, is never above the limit.
	//  - Aimed: the quota is at most the node's target, of which SetTargets told; without one it is 0.
	Hold(ctx context.Context, l Limit, h Holding, ttl time.Duration) (quota int64, err error)
	// Draw takes units of what nobody holds, and of what is not meant for a node
	// that will ask for it. The permit is to be used no sooner than after from the
	// answer, and no later than after and DrawFor from the question, or not at all. If ok is false
	// nothing was taken, and after says when asking again makes sense. It is for rates only.
	Draw(ctx context.Context, l Limit, units int64) (after time.Duration, ok bool, err error)
	// Holdings lists what nodes said last, by node, without those that have been silent for too long.
	Holdings(ctx context.Context, l Limit) ([]Holding, error)
	// SetTargets sets the quotas that nodes should get. A node that is not named
	// gets none. It returns ErrStale, and sets nothing, if a leader of a higher
	// epoch has set some.
	SetTargets(ctx context.Context, l Limit, epoch uint64, targets map[string]int64) error
}

// DrawFor is how late a permit may be used: permits count for that much longer than a window.
const DrawFor = 10 * time.Millisecond

// DrawAhead is how far ahead of its time a permit is given out at most.
const DrawAhead = 100 * time.Millisecond

// Sharing is a store that several processes can use at once, if Shared says so.
type Sharing interface{ Shared() bool }
