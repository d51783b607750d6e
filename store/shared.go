package store

import (
	"context"
	"errors"
	"time"
)

// Control is the partition without work. All nodes read its inbox; its owner is the leader.
const Control = 1<<16 - 1

// ErrStale means that a newer leader has decided: the caller no longer leads.
var ErrStale = errors.New("stale: another leader has decided since")

// Record is one entry of the registry.
type Record struct {
	Name  string
	Value []byte
}

// Attendance is the answer to [Registry.CheckIn].
type Attendance struct {
	Records []Record // of the topic, the caller's own among them
	// Expires is when the first record of another name expires, counted from the answer; 0 if there is none.
	Expires time.Duration
	Values  [][]byte // of the lasting records, in the order of the names
}

// Registry stores what nodes publish about themselves. Times are the store's.
type Registry interface {
	// Announce writes a record of a topic and replaces an earlier one of that name. The record
	// expires if it is not announced again within ttl. A ttl of 0 removes it at once.
	Announce(ctx context.Context, topic string, r Record, ttl time.Duration) error
	// Announced lists the records of a topic that have not expired, by name.
	Announced(ctx context.Context, topic string) ([]Record, error)
	// CheckIn does the same as Announce, then Announced of that topic, then Lookup of each name,
	// in as few round trips as the backend can. A record that does not exist has the value nil.
	CheckIn(ctx context.Context, topic string, r Record, ttl time.Duration, names ...string) (Attendance, error)
	// Swap creates, replaces or removes the lasting record of a name, if it is still what the
	// caller saw last. A record is never empty: an empty slice, nil or not, stands for no
	// record, both in old and in value. It returns the record after the call, nil for none,
	// which shows whether it was replaced. It does not show which caller removed a record:
	// another may have been faster.
	//
	//  - Atomic: of several at once with the same old value, one replaces it.
	//  - Durable: once it returned nil, what it wrote or removed stays so through what Durability promises.
	//  - Honest: an error that is ErrUnknown may have been written; any other was not.
	//  - Roomy: a name has 1 to [MaxName] bytes of any kind, a value up to [MaxRecord] bytes.
	//
	// A store that is low on space may refuse to create a record, with ErrFull; it replaces and
	// removes existing ones as long as it can.
	Swap(ctx context.Context, name string, old, value []byte) ([]byte, error)
	// Lookup returns a lasting record, or ErrNotFound.
	Lookup(ctx context.Context, name string) ([]byte, error)
	// List returns lasting records, not announced ones: those whose name begins with prefix and
	// is greater than after, in byte order of names. It returns at most limit records, and
	// fewer only at the end. A limit below 1 is refused.
	//
	//  - Complete: a record that exists during the whole call, and is in range, is listed
	//    if the limit reaches so far. One that is created or removed meanwhile may be listed
	//    or not: the list need not be a snapshot.
	//  - Fresh: a value is one that the record had at some moment of the call.
	//  - Durable: what it shows is as durable as what Lookup shows.
	//  - Copied: the caller may keep the values.
	List(ctx context.Context, prefix, after string, limit int) ([]Record, error)
}

// Limit is what all nodes together may use of a resource: Units in any Window for a rate, and
// Units at any time, with a Window of 0, for a concurrency. All nodes must pass the same
// values.
type Limit struct {
	Resource string
	Units    int64
	Window   time.Duration
}

// Holding is a node's report of its use of a resource.
type Holding struct {
	Node string
	// Held is the most that the node will use from now until it has the answer.
	Held int64
	// Used is what it has used in the window that ends now, or uses now.
	Used int64
	// Want is what it could use, and Weight the weight of the tenants that want it, for the
	// leader.
	Want, Weight int64
	// Drawn is what it drew by Draw in the window that ends now, for the leader.
	Drawn int64
}

// Quotas shares the limits of resources between nodes so that they are never exceeded, even if
// nodes die.
//
// A node may use its quota, which it requests with Hold, and single permits, which it requests
// with Draw. The leader sets the quotas that nodes should get; the store grants no more than
// that, and no more than other nodes certainly do not use. What a node may use counts against
// the others until it has reported that it uses less, or has been silent for ttl and a window.
// A store that may have forgotten what it granted grants nothing new until every node has
// reported again or has gone silent. A store that can prove that it never granted any of a
// limit need not wait.
type Quotas interface {
	// Hold records what a node uses, and returns its quota: the node may use it from now until
	// ttl after it asked. A ttl of 0 gives everything back.
	//
	//  - Exact: what all nodes may use together, permits included, is never above the limit.
	//  - Aimed: the quota is at most the node's target, set by SetTargets; without one it is 0.
	Hold(ctx context.Context, l Limit, h Holding, ttl time.Duration) (quota int64, err error)
	// Draw takes units that no node holds, and that are not meant for a node that will ask for
	// them. The permit must be used no sooner than after from the answer, and no later than
	// after and DrawFor from the call, or not at all. If ok is false nothing was taken, and
	// after is when asking again makes sense. It is for rates only.
	Draw(ctx context.Context, l Limit, units int64) (after time.Duration, ok bool, err error)
	// Holdings returns the last reports of the nodes, by node, without those that have been
	// silent for too long.
	Holdings(ctx context.Context, l Limit) ([]Holding, error)
	// SetTargets sets the quotas that nodes should get. A node without a target gets none. It
	// returns ErrStale, and sets nothing, if a leader of a higher epoch has set targets.
	SetTargets(ctx context.Context, l Limit, epoch uint64, targets map[string]int64) error
}

// DrawFor bounds how late a permit may be used: permits count for that much longer than a
// window.
const DrawFor = 10 * time.Millisecond

// DrawAhead bounds how far ahead of its time a permit is given out.
const DrawAhead = 100 * time.Millisecond

// Sharing is a store that several processes can use at once, if Shared returns true.
type Sharing interface{ Shared() bool }
