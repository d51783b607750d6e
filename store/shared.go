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
	// Swap replaces the lasting record of a name, if it is still what the caller
	// saw last; nil stands for none. It returns what is there afterwards, which
	// tells whether it was replaced.
	//
	//  - Atomic: of several at once with the same old value, one replaces it.
	//  - Durable: once it returned nil, what it wrote survives what Durability promises.
	Swap(ctx context.Context, name string, old, value []byte) ([]byte, error)
	// Lookup returns a lasting record, or ErrNotFound.
	Lookup(ctx context.Context, name string) ([]byte, error)
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
// gone silent.
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
