package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/route"
	"github.com/weirhq/weir/store"
)

const (
	nodesTopic    = "nodes"
	announceEvery = 250 * time.Millisecond
)

// nodeRecord is what a node tells the others about itself.
type nodeRecord struct {
	Slots   int           `json:"slots"`
	Pending map[int]int64 `json:"pending,omitempty"` // items that have not ended, by partition that it owns
	Taking  []int         `json:"taking,omitempty"`  // partitions that it has the lease of, and is loading
	Limits  uint64        `json:"limits,omitempty"`  // version of the limits that it keeps to
	Beat    uint64        `json:"beat,omitempty"`    // counts its announcements
	// InDoubt says that it takes no partition for now but those that it had last, see [doubt].
	InDoubt bool `json:"in_doubt,omitempty"`
	// Stopped is why it does not run partitions that are its to run.
	Stopped map[int]string `json:"stopped,omitempty"`
}

// fleet is what this node knows of all nodes.
type fleet struct {
	news bell

	mu    sync.Mutex
	nodes map[string]nodeRecord // live ones
	heard hearing

	beat         atomic.Uint64 // announcements of this node
	inDoubt      atomic.Bool   // this node is
	seen         atomic.Uint64 // newest notice
	old, cleared uint64        // of the leader: notices to take down next, and taken down last
}

// stay is this node's membership: it announces itself, takes the partitions that
// are its to own and hands over those that are not, until ctx ends. It returns
// when all are handed over.
func (e *Engine) stay(ctx context.Context) error {
	o := &ownership{engine: e, ctx: ctx, owned: map[int]context.CancelFunc{}, ended: make(chan release)}
	tick := time.NewTicker(announceEvery)
	defer tick.Stop()
	changed := "joined" // what to tell the others once it is announced
	for ctx.Err() == nil {
		news := e.fleet.news.rung()
		if err := o.look(ctx); err == nil {
			o.follow()
			if changed != "" {
				e.tell(ctx, changed, 0)
				changed = ""
			}
		} else if ctx.Err() == nil {
			e.log.LogAttrs(ctx, slog.LevelWarn, "the other nodes are not known, will ask again", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-news:
		case x := <-o.ended:
			if err := o.end(x); err != nil {
				return errors.Join(err, o.leave())
			}
			changed = "owns less"
		}
	}
	return o.leave()
}

// look tells the others about this node, and finds out which limits hold, who is
// there and which map holds.
func (e *Engine) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.opts.LeaseFor/3)
	defer cancel()
	if err := e.announceAndObey(ctx); err != nil {
		return err
	}
	if err := e.lookAround(ctx); err != nil {
		return err
	}
	old, m, err := e.readLayout(ctx)
	switch {
	case err != nil:
		return err
	case m == nil:
		return e.restoreLayout(ctx)
	case m.Closing:
		return e.closeClaims(ctx, old, m) // the node that began it may have died
	}
	return e.settleLosses(ctx, m)
}

// announceAndObey announces this node, reads the limits, and says so if they
// have changed: the caller that changed them waits for that.
func (e *Engine) announceAndObey(ctx context.Context) error {
	before := time.Now()
	said, err := e.announceSelf(ctx)
	if err != nil {
		return err
	}
	if err := e.obey(ctx, before); err != nil {
		return err
	}
	if e.limits.version() != said {
		_, err = e.announceSelf(ctx)
	}
	return err
}

// announceSelf tells the others about this node, and returns the version of the
// limits that it said it keeps to.
func (e *Engine) announceSelf(ctx context.Context) (limits uint64, err error) {
	self := nodeRecord{
		Slots: e.opts.Slots, Pending: map[int]int64{}, Limits: e.limits.version(), Stopped: e.health.reasons(),
		InDoubt: e.fleet.inDoubt.Load(), Beat: e.fleet.beat.Add(1),
	}
	for i := range e.parts {
		if p := e.parts[i].Load(); p != nil {
			self.Pending[i] = p.pending.Load()
		} else if e.taking[i].Load() {
			self.Taking = append(self.Taking, i)
		}
	}
	raw, err := json.Marshal(self)
	if err != nil {
		return 0, err
	}
	return self.Limits, e.store.Announce(ctx, nodesTopic, store.Record{Name: e.node, Value: raw}, e.opts.LeaseFor)
}

// lookAround reads what the nodes have announced.
func (e *Engine) lookAround(ctx context.Context) error {
	nodes, err := announcedNodes(ctx, e.store)
	if err != nil {
		return err
	}
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	e.fleet.nodes = nodes
	e.fleet.heard.look(time.Now(), nodes, e.opts.LeaseFor)
	for name, n := range nodes {
		for p := range n.Pending {
			if name != e.node {
				e.pending.Add(-e.submits.drop(p))
			}
		}
	}
	return nil
}

// Alive reports whether the node of a name is a member, by the clock of the store:
// one that has been silent for LeaseFor is not.
func (e *Engine) Alive(ctx context.Context, name string) (bool, error) {
	records, err := e.store.Announced(ctx, nodesTopic)
	return slices.ContainsFunc(records, func(r store.Record) bool { return r.Name == name }), err
}

// elsewhere reports whether another node owns a partition, as far as is known.
func (f *fleet) elsewhere(partition int, self string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, n := range f.nodes {
		if _, owns := n.Pending[partition]; owns && name != self {
			return true
		}
	}
	return false
}

// runs reports whether a live node owns a partition. The caller holds the lock.
func (f *fleet) runs(partition int) bool {
	for _, n := range f.nodes {
		if _, owns := n.Pending[partition]; owns {
			return true
		}
	}
	return false
}

// assign names the node that should own each partition. One in doubt would let a partition that is new to it
// wait: until it is certain, the partition stays where it is, or goes to another node.
func (f *fleet) assign(partitions int) map[int]string {
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
func (f *fleet) list() (all, certain []route.Node, held map[int]string) {
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

// ownership is the partitions that this node has taken or is taking. It belongs to one goroutine.
type ownership struct {
	engine *Engine
	ctx    context.Context
	owned  map[int]context.CancelFunc
	ended  chan release
	doubt  doubt
	sole   map[int]bool // partitions of which only this node can put back what the store has lost
}

// release is how the owning of a partition ended.
type release struct {
	partition int
	err       error
}

// follow begins and ends ownerships, so that this node owns what it should.
func (o *ownership) follow() {
	e := o.engine
	owner := e.fleet.assign(e.layout.now().Most)
	for p, node := range owner {
		_, owned := o.owned[p]
		if (node == e.node && o.mayTake(p) || o.sole[p]) && !owned && e.health.mayTry(p) && e.mayRun(p) {
			o.begin(p)
		}
	}
	for p, handOver := range o.owned {
		if owner[p] != e.node && !o.sole[p] {
			handOver()
		}
	}
}

func (o *ownership) begin(p int) {
	ctx, handOver := context.WithCancel(o.ctx)
	o.owned[p] = handOver
	go func() {
		err := newPart(o.engine, p).own(ctx)
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) || errors.Is(err, errInDoubt) {
			err = nil // told to hand over, or taken up again later: not a failure
		}
		o.ended <- release{p, err}
	}()
}

// end takes note of the end of an ownership, and returns an error that ends the
// engine. Where other nodes use the store too, a partition that cannot go on is
// stopped alone and openly: it would end one node after the other.
func (o *ownership) end(x release) error {
	o.owned[x.partition]()
	delete(o.owned, x.partition)
	e := o.engine
	switch {
	case x.err == nil:
		return nil
	case errors.Is(x.err, store.ErrFenced):
		e.log.LogAttrs(o.ctx, slog.LevelWarn, "partition dropped: another node owns it", slog.Int("partition", x.partition), slog.Any("error", x.err))
		return nil
	case !e.shared():
		return x.err
	}
	e.log.LogAttrs(o.ctx, slog.LevelError, "partition stopped", slog.Int("partition", x.partition), slog.Any("error", x.err))
	if loss, ok := errors.AsType[*weir.LossError](x.err); ok {
		e.losses.stop(loss) // the next look makes that durable, for all nodes
		return nil
	}
	e.health.stop(x.partition, x.err)
	return nil
}

// leave tells the others that this node takes no more part, and waits until all
// partitions are handed over. It returns the first failure to do so.
func (o *ownership) leave() error {
	e, ctx := o.engine, context.WithoutCancel(o.ctx)
	brief, cancel := context.WithTimeout(ctx, e.opts.LeaseFor/3)
	defer cancel()
	if err := e.store.Announce(brief, nodesTopic, store.Record{Name: e.node}, 0); err == nil {
		e.tell(brief, "left", 0)
	}
	for _, handOver := range o.owned {
		handOver()
	}
	var failed error
	for len(o.owned) > 0 {
		failed = cmp.Or(failed, o.end(<-o.ended))
	}
	return failed
}

// Owned lists the partitions that this node owns now.
func (e *Engine) Owned() (partitions []int) {
	for i := range e.parts {
		if e.parts[i].Load() != nil {
			partitions = append(partitions, i)
		}
	}
	return partitions
}
