package own

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine/loss"
	"github.com/weirhq/weir/internal/engine/recall"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// Config is what a [Member] needs to know of its node.
type Config struct {
	Store      store.Store
	Shared     bool // other processes may use the store, too
	Node       string
	Slots      int
	LeaseFor   time.Duration
	AcceptLoss bool
	Log        *slog.Logger
	Past       *recall.Past
	Losses     *loss.Book

	// Obey has the limits kept that hold now, as the records named in Reads say; this node was announced after a time, and
	// the records were read after that. Version is that of the limits that it keeps to.
	Obey    func(ctx context.Context, announced time.Time, records [][]byte) error
	Reads   []string
	Version func() uint64
	// Moved is told that other nodes run other partitions than before; see [Member.Reach].
	Moved func()
	// Run loads a partition and runs it until ctx ends, as its tenure says.
	Run func(ctx context.Context, t *Tenure) error
}

// Member is this node among all nodes: it announces itself, takes the partitions that are its to own, and hands over
// those that are not. Its own goroutine, [Member.Stay], is the only one that begins and ends tenures.
type Member struct {
	Config
	layout *Layout
	fleet  *Fleet
	router *Router

	reach   atomic.Pointer[[]int]
	running [stored.MaxPartitions]atomic.Pointer[Tenure] // that this node owns now
	taking  [stored.MaxPartitions]atomic.Bool            // that this node has the lease of, and is loading
	health  health

	ctx   context.Context // of Stay, as all that follows
	rest  rest
	owned map[int]context.CancelFunc
	ended chan release
	doubt doubt
	sole  map[int]bool // partitions of which only this node can put back what the store has lost
}

// NewMember makes a member, which does nothing before [Member.Stay].
func NewMember(c Config, l *Layout, f *Fleet) *Member {
	m := &Member{Config: c, layout: l, fleet: f, owned: map[int]context.CancelFunc{}, ended: make(chan release)}
	m.router = &Router{layout: l, fleet: f, losses: c.Losses, store: c.Store, local: m.Running}
	return m
}

// Router returns what chooses where new work goes.
func (m *Member) Router() *Router { return m.router }

// Running returns the tenure of a partition that this node runs now, else nil.
func (m *Member) Running(partition int) *Tenure { return m.running[partition].Load() }

// Stay is this node's membership until ctx ends. It returns when all partitions are handed over.
func (m *Member) Stay(ctx context.Context) error {
	m.ctx = ctx
	tick := time.NewTicker(announceEvery)
	defer tick.Stop()
	changed := "joined" // what to tell the others once it is announced
	for ctx.Err() == nil {
		news := m.fleet.News.Rung()
		err := m.look(ctx)
		if err == nil {
			m.follow()
			m.survey()
			if changed != "" {
				m.fleet.Tell(ctx, changed, 0)
				changed = ""
			}
		} else if ctx.Err() == nil {
			m.Log.LogAttrs(ctx, slog.LevelWarn, "the other nodes are not known, will ask again", slog.Any("error", err))
		}
		if m.settle(time.Now(), err == nil) {
			m.fleet.Tell(ctx, "works", 0)
		}
		for wait := true; wait && ctx.Err() == nil; {
			wait = false
			select {
			case <-ctx.Done():
			case <-tick.C:
				wait = m.canWait(time.Now())
			case <-news:
			case x := <-m.ended:
				if err := m.end(x); err != nil {
					return errors.Join(err, m.leave())
				}
				changed = "owns less"
			}
		}
	}
	return m.leave()
}

// lookAround tells the others about this node, and finds out which limits hold, who is
// there and which map holds.
func (m *Member) lookAround(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.LeaseFor/3)
	defer cancel()
	asked := time.Now()
	raw, err := m.announceAndObey(ctx, asked)
	if err != nil {
		return err
	}
	now, err := m.layout.follow(asked, raw)
	switch {
	case err != nil:
		return err
	case now == nil:
		return m.layout.restore(ctx)
	case now.Closing:
		return m.layout.closeClaims(ctx, raw, now) // the node that began it may have died
	}
	return m.layout.settleLosses(ctx, now)
}

// announceAndObey announces this node, looks who is there, has the limits kept, and says so if they
// have changed: the caller that changed them waits for that. It returns the map of partitions.
func (m *Member) announceAndObey(ctx context.Context, asked time.Time) (layout []byte, err error) {
	self, raw, err := m.self()
	if err != nil {
		return nil, err
	}
	here, err := m.Store.CheckIn(ctx, nodesTopic, raw, m.LeaseFor, append([]string{MapName}, m.Reads...)...)
	if err != nil {
		return nil, err
	}
	if err := m.Obey(ctx, asked, here.Values[1:]); err != nil {
		return nil, err
	}
	m.rest.looked(asked, here.Expires)
	if m.Version() != self.Limits {
		if _, raw, err = m.self(); err == nil {
			err = m.Store.Announce(ctx, nodesTopic, raw, m.LeaseFor)
		}
	}
	return here.Values[0], errors.Join(err, m.fleet.look(here.Records))
}

// self returns what this node tells the others about itself.
func (m *Member) self() (self Record, encoded store.Record, err error) {
	self = Record{
		Slots: m.Slots, Pending: map[int]int64{}, Limits: m.Version(), Stopped: m.health.reasons(),
		InDoubt: m.fleet.inDoubt.Load(), Beat: m.fleet.beat.Add(1), Rest: m.fleet.Resting() && !m.works(), Leads: m.fleet.Leads(),
	}
	for i := range m.running {
		if t := m.Running(i); t != nil {
			self.Pending[i] = t.Pending.Load()
		} else if m.taking[i].Load() {
			self.Taking = append(self.Taking, i)
		}
	}
	raw, err := json.Marshal(self)
	return self, store.Record{Name: m.Node, Value: raw}, err
}

// release is how the owning of a partition ended.
type release struct {
	partition int
	err       error
}

// follow begins and ends tenures, so that this node owns what it should.
func (m *Member) follow() {
	owner := m.fleet.assign(m.layout.Now().Most)
	for p, node := range owner {
		_, owned := m.owned[p]
		if (node == m.Node && m.mayTake(p) || m.sole[p]) && !owned && m.health.mayTry(p) && m.mayRun(p) {
			m.begin(p)
		}
	}
	for p, handOver := range m.owned {
		if owner[p] != m.Node && !m.sole[p] {
			handOver()
		}
	}
}

func (m *Member) begin(p int) {
	ctx, handOver := context.WithCancel(m.ctx)
	m.owned[p] = handOver
	t := &Tenure{of: m, no: p, restored: m.layout.Now().Restored}
	go func() {
		err := m.Run(ctx, t)
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) || errors.Is(err, errInDoubt) {
			err = nil // told to hand over, or taken up again later: not a failure
		}
		m.ended <- release{p, err}
	}()
}

// end takes note of the end of a tenure, and returns an error that ends the
// engine. Where other nodes use the store too, a partition that cannot go on is
// stopped alone and openly: it would end one node after the other.
func (m *Member) end(x release) error {
	m.owned[x.partition]()
	delete(m.owned, x.partition)
	switch {
	case x.err == nil:
		return nil
	case errors.Is(x.err, store.ErrFenced):
		m.Log.LogAttrs(m.ctx, slog.LevelWarn, "partition dropped: another node owns it", slog.Int("partition", x.partition),
			slog.Any("error", x.err))
		return nil
	case !m.Shared:
		return x.err
	}
	m.Log.LogAttrs(m.ctx, slog.LevelError, "partition stopped", slog.Int("partition", x.partition), slog.Any("error", x.err))
	if lost, ok := errors.AsType[*weir.LossError](x.err); ok {
		m.Losses.Stop(lost) // the next look makes that durable, for all nodes
		return nil
	}
	m.health.stop(x.partition, x.err)
	return nil
}

// leave tells the others that this node takes no more part, and waits until all
// partitions are handed over. It returns the first failure to do so.
func (m *Member) leave() error {
	brief, cancel := context.WithTimeout(context.WithoutCancel(m.ctx), m.LeaseFor/3)
	defer cancel()
	if err := m.Store.Announce(brief, nodesTopic, store.Record{Name: m.Node}, 0); err == nil {
		m.fleet.Tell(brief, "left", 0)
	}
	for _, handOver := range m.owned {
		handOver()
	}
	var failed error
	for len(m.owned) > 0 {
		failed = cmp.Or(failed, m.end(<-m.ended))
	}
	return failed
}

// Owned lists the partitions that this node owns now.
func (m *Member) Owned() (partitions []int) {
	for i := range m.running {
		if m.Running(i) != nil {
			partitions = append(partitions, i)
		}
	}
	return partitions
}

// Owners tells which node owns which partition, as far as this node knows.
func (m *Member) Owners() map[int]string {
	m.fleet.mu.Lock()
	defer m.fleet.mu.Unlock()
	owners := map[int]string{}
	for name, n := range m.fleet.nodes { // one owner each: order does not reach the output
		for p := range n.Pending {
			owners[p] = name
		}
	}
	for _, p := range m.Owned() {
		owners[p] = m.Node
	}
	return owners
}
