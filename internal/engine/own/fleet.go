package own

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/internal/core/route"
	"github.com/weirhq/weir/store"
)

const (
	nodesTopic    = "nodes"
	announceEvery = 250 * time.Millisecond
	restEvery     = time.Second     // at rest: sooner than what was read of the limits ends to hold
	awakeFor      = 3 * time.Second // without work until a node is at rest
)

// Record is what a node tells the others about itself.
type Record struct {
	Slots   int           `json:"slots"`
	Pending map[int]int64 `json:"pending,omitempty"` // items that have not ended, by partition that it owns
	Taking  []int         `json:"taking,omitempty"`  // partitions that it has the lease of, and is loading
	Limits  uint64        `json:"limits,omitempty"`  // version of the limits that it keeps to
	Beat    uint64        `json:"beat,omitempty"`    // counts its announcements
	Rest    bool          `json:"rest,omitempty"`    // it announces itself less often for now
	Leads   bool          `json:"leads,omitempty"`   // it decides for all
	// InDoubt says that it takes no partition for now but those that it had last, see [doubt].
	InDoubt bool `json:"in_doubt,omitempty"`
	// Stopped is why it does not run partitions that are its to run.
	Stopped map[int]string `json:"stopped,omitempty"`
}

// Fleet is what this node knows of all nodes.
type Fleet struct {
	store    store.Store
	node     string
	leaseFor time.Duration
	log      *slog.Logger
	// Left is told of each partition that another node is seen to own.
	Left func(partition int)
	// News rings when another node tells something.
	News Bell
	// Woken rings when this node is at rest no more; see [Fleet.Resting].
	Woken Bell

	mu    sync.Mutex
	nodes map[string]Record // live ones
	heard hearing

	rests atomic.Bool // there is nothing to do

	leads        atomic.Bool   // this node decides for all
	beat         atomic.Uint64 // announcements of this node
	inDoubt      atomic.Bool   // this node is
	seen         atomic.Uint64 // newest notice
	old, cleared uint64        // of the leader: notices to take down next, and taken down last
}

// NewFleet makes what the node of a name knows of the others on its store.
func NewFleet(s store.Store, node string, leaseFor time.Duration, log *slog.Logger) *Fleet {
	return &Fleet{store: s, node: node, leaseFor: leaseFor, log: log}
}

// Look reads what the nodes have announced.
func (f *Fleet) Look(ctx context.Context) error {
	records, err := f.store.Announced(ctx, nodesTopic)
	if err != nil {
		return err
	}
	return f.look(records)
}

// look takes note of what the nodes have announced.
func (f *Fleet) look(records []store.Record) error {
	nodes, err := decode(records)
	if err != nil {
		return err
	}
	led := f.led()
	defer func() {
		if led && !f.led() {
			f.News.Ring() // the leader is gone: its lease has run out, too
		}
	}()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes = nodes
	f.heard.look(time.Now(), nodes, f.leaseFor)
	for name, n := range nodes {
		for p := range n.Pending {
			if name != f.node {
				f.Left(p)
			}
		}
	}
	return nil
}

// Announced reads what the nodes have announced of themselves.
func Announced(ctx context.Context, s store.Registry) (map[string]Record, error) {
	records, err := s.Announced(ctx, nodesTopic)
	if err != nil {
		return nil, err
	}
	return decode(records)
}

// decode reads the records of nodes, by name.
func decode(records []store.Record) (map[string]Record, error) {
	nodes := make(map[string]Record, len(records))
	for _, r := range records {
		var n Record
		if err := json.Unmarshal(r.Value, &n); err != nil {
			return nil, fmt.Errorf("record of node %q: %w: %w", r.Name, store.ErrCorrupt, err)
		}
		nodes[r.Name] = n
	}
	return nodes, nil
}

// Alive reports whether the node of a name is a member, by the clock of the store:
// one that has been silent for LeaseFor is not.
func (f *Fleet) Alive(ctx context.Context, name string) (bool, error) {
	records, err := f.store.Announced(ctx, nodesTopic)
	return slices.ContainsFunc(records, func(r store.Record) bool { return r.Name == name }), err
}

// Size returns how many nodes there are.
func (f *Fleet) Size() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.nodes)
}

// Members lists the nodes that are announced, and those that may be dead nevertheless.
func (f *Fleet) Members() (names []string, silent map[string]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.nodes)), f.heard.silent()
}

// Resting reports whether no node has anything to do, as far as this one knows. What looks at the store regularly does so
// less often then.
func (f *Fleet) Resting() bool { return f.rests.Load() }

// rest notes whether there is nothing to do, and wakes what waits for the end of that.
func (f *Fleet) rest(rests bool) {
	if f.rests.Swap(rests) && !rests {
		f.Woken.Ring()
	}
}

// led reports whether a live node says that it leads.
func (f *Fleet) led() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.nodes {
		if n.Leads {
			return true
		}
	}
	return false
}

// busy reports whether a node has items to do, or takes a partition, or does not run what it should.
func (f *Fleet) busy() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.nodes {
		if len(n.Taking) > 0 || len(n.Stopped) > 0 || n.InDoubt {
			return true
		}
		for _, items := range n.Pending {
			if items > 0 {
				return true
			}
		}
	}
	return false
}

// pending is how many items a partition has to do, as its owner says.
func (f *Fleet) pending(partition int) (most int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.nodes {
		most = max(most, n.Pending[partition])
	}
	return most
}

// Elsewhere reports whether another node owns a partition, as far as is known.
func (f *Fleet) Elsewhere(partition int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, n := range f.nodes {
		if _, owns := n.Pending[partition]; owns && name != f.node {
			return true
		}
	}
	return false
}

// runs reports whether a live node owns a partition. The caller holds the lock.
func (f *Fleet) runs(partition int) bool {
	for _, n := range f.nodes {
		if _, owns := n.Pending[partition]; owns {
			return true
		}
	}
	return false
}

// assign names the node that should own each partition. One in doubt would let a partition that is new to it
// wait: until it is certain, the partition stays where it is, or goes to another node.
func (f *Fleet) assign(partitions int) map[int]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all, certain, held := f.list()
	owner := route.Assign(upTo(partitions), all, held)
	if len(certain) == 0 || len(certain) == len(all) {
		return owner
	}
	among := route.Assign(upTo(partitions), certain, held)
	for p, name := range owner {
		if !f.nodes[name].InDoubt || held[p] == name {
			continue
		}
		owner[p] = among[p]
		if _, live := f.nodes[held[p]]; live {
			owner[p] = held[p]
		}
	}
	return owner
}

// list returns the live nodes, those of them that are not in doubt, and who owns what or is about to. The caller
// holds the lock.
func (f *Fleet) list() (all, certain []route.Node, held map[int]string) {
	held = map[int]string{}
	for name, n := range f.nodes {
		node := route.Node{Name: name, Slots: n.Slots}
		all = append(all, node)
		if !n.InDoubt {
			certain = append(certain, node)
		}
		for _, p := range n.Taking {
			held[p] = max(held[p], name) // one of them has the lease; all nodes have to think of the same one
		}
	}
	for name, n := range f.nodes {
		for p := range n.Pending {
			held[p] = name
		}
	}
	return all, certain, held
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
