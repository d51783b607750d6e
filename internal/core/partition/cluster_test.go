package partition

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/store"
)

// cluster is several machines that share bulk actions, and a network that
// delivers late, twice, out of order, or not at all.
type cluster struct {
	t       *testing.T
	random  *rand.Rand
	now     int64
	codec   *block.Codec
	chains  map[string][]weir.Step
	sites   []*site
	bulks   []*watched
	network []letter   // sent, and in no inbox yet
	old     []Outgoing // delivered, may come again
	nodes   []int      // which node runs each partition, as the machines are told
	slots   []int      // of each site; nil: 4
	favour  int        // the number of the site that steps are mostly of, from 1; 0: of any
	hangs   int        // the number of the site whose tasks do not end, from 1; 0: all end
	ends    map[*Task]int64
	clean   bool // the network delivers everything once and in order
	crashes int
}

// letter is a message on its way.
type letter struct {
	Outgoing
	from int
}

// site is one partition: its owner and what is stored of it.
type site struct {
	*cluster
	no      int
	m       *Machine
	rows    memory
	inbox   []store.Message // all that ever came
	read    int             // of them, by this owner
	acked   uint64
	flying  *store.Batch
	number  uint64
	running []*Task
}

// watched is a bulk action as the test sees it.
type watched struct {
	spec   *Created
	runBy  map[uint32]int // block -> the partition that ran items of it
	states map[uint32]*block.State
	ends   int  // commits that showed it as ended
	lossy  bool // a store has lost some of it: what was shown may go back
	seen   weir.Progress
	shown  bool

	approved bool // the rest after the canary was approved

	strict bool               // its own bounds hold at any time: they are not changed
	starts map[string][]began // by step
}

// began is the start of a task, with so many items.
type began struct {
	at int64
	n  int
}

func newCluster(t *testing.T, seed uint64, partitions int) *cluster {
	t.Helper()
	codec, err := block.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), now: 1_800_000_000e9, codec: codec,
		chains: map[string][]weir.Step{"c": steps(2, 4)},
	}
	for i := range partitions {
		s := &site{cluster: c, no: i, rows: memory{}}
		s.m = New(s.config(), 0)
		c.sites = append(c.sites, s)
	}
	return c
}

func (s *site) config() Config {
	slots := 4
	if s.slots != nil {
		slots = s.slots[s.no]
	}
	return Config{Capacity: capacity.New(capacity.Config{Slots: slots, NoFlow: true}).Join(nil), Seed: s.random.Uint64(), Codec: s.codec, Chain: func(name string) []weir.Step { return s.chains[name] }}
}

// submit adds a bulk action of so many blocks of three items, all of them shards of it.
func (c *cluster) submit(home, blocks int, rule weir.StopRule, deadline time.Duration) *watched {
	spec := &Created{
		ID: weir.BulkID(fmt.Sprintf("ba_%d", len(c.bulks))), Tenant: "t", Chain: "c", Steps: []string{"s0", "s1"},
		Items: int64(3 * blocks), Sizes: slices.Repeat([]uint16{3}, blocks), StopOn: rule,
	}
	if deadline > 0 {
		spec.Deadline = c.now + int64(deadline)
	}
	for i := range c.sites {
		spec.Shards = append(spec.Shards, (home+i)%len(c.sites))
	}
	return c.add(home, spec)
}

func (c *cluster) add(home int, spec *Created) *watched {
	b := &watched{spec: spec, runBy: map[uint32]int{}, states: map[uint32]*block.State{}}
	c.bulks = append(c.bulks, b)
	c.append(home, envelope{Created: spec})
	if spec.Shards == nil {
		spec.Shards = []int{home} // as far as the test is concerned
	}
	return b
}

func (c *cluster) append(to int, e envelope) {
	c.t.Helper()
	body, err := json.Marshal(e)
	if err != nil {
		c.t.Fatal(err)
	}
	c.put(Outgoing{Partition: to, Body: body})
}

func (c *cluster) put(o Outgoing) {
	s := c.sites[o.Partition]
	s.inbox = append(s.inbox, store.Message{Seq: uint64(len(s.inbox) + 1), Body: o.Body})
}

func (c *cluster) command(b *watched, v Verb) {
	b.approved = b.approved || v == Approve
	c.append(b.spec.Shards[0], envelope{Command: &Command{ID: b.spec.ID, Verb: v}})
}

// turn is one turn of an owner's loop.
func (s *site) turn() {
	s.t.Helper()
	for ; s.read < len(s.inbox); s.read++ {
		if _, err := s.m.Message(s.now, s.inbox[s.read]); err != nil {
			s.t.Fatal(err)
		}
	}
	do := s.m.Advance(s.now)
	for _, o := range do.Send {
		s.network = append(s.network, letter{o, s.no})
	}
	for i := range do.Views {
		s.view(&do.Views[i])
	}
	for _, task := range do.Start {
		s.started(task)
	}
	if do.Commit != nil {
		s.flying = do.Commit
	}
}

// write makes the commit under way durable; its owner does not know yet.
func (s *site) write() {
	if s.flying == nil || s.flying.Number == s.number {
		return
	}
	for _, r := range s.flying.Set {
		s.row(r)
	}
	s.rows.apply(s.flying)
	s.acked = max(s.acked, s.flying.Ack)
	s.number = s.flying.Number
}

func (s *site) confirm() {
	if s.write(); s.flying != nil {
		s.flying = nil
		s.m.Committed(s.now)
	}
}

// crash is a death and a takeover: what was not written is lost, and so is what was not sent.
func (s *site) crash() {
	s.t.Helper()
	s.crashes++
	s.flying, s.running = nil, nil
	s.network = slices.DeleteFunc(s.network, func(l letter) bool { return l.from == s.no && s.random.IntN(2) == 0 })
	s.m = New(s.config(), s.number)
	if err := s.m.Load(s.now, s.rows); err != nil {
		s.t.Fatal(err)
	}
	s.read = int(s.acked)
	s.m.Reach(s.now, Reach{s.no, s.nodes})
}

// started notes who runs what: a block is one partition's, for ever. One that was begun before the
// bulk action was shared, by an owner that died, may go to another if nothing of it was written.
func (s *site) started(task *Task) {
	s.running = append(s.running, task)
	b := s.find(task.Bulk)
	s.checkBounds(b, task)
	if by, ok := b.runBy[task.Block]; ok && by != s.no && (by != b.spec.Shards[0] || b.states[task.Block] != nil || s.crashes == 0) {
		s.t.Fatalf("block %d of %s runs in partition %d and in %d", task.Block, task.Bulk, by, s.no)
	}
	b.runBy[task.Block] = s.no
	if want := b.spec.position(task.Block); task.Base != want {
		s.t.Fatalf("block %d of %s: first item is %d, want %d", task.Block, task.Bulk, task.Base, want)
	}
	if home := task.Home(s.no); home != b.spec.Shards[0] {
		s.t.Fatalf("items of %s are looked for in partition %d, and lie in %d", task.Bulk, home, b.spec.Shards[0])
	}
}

// end gives a running task its result, drawn by chance.
func (s *site) end(at int, good bool) {
	task := s.running[at]
	s.running = slices.Delete(s.running, at, at+1)
	if !good && s.random.IntN(20) == 0 {
		s.m.Result(s.now, &Result{Task: task, Service: 1e6, Failure: &Failure{Code: "down"}})
		return
	}
	outcomes := make([]weir.Outcome, len(task.Items))
	for i := range outcomes {
		outcomes[i] = weir.Outcome{Kind: weir.OutcomeDone, Output: []byte("x")}
		if good {
			continue
		}
		switch s.random.IntN(12) {
		case 0:
			outcomes[i] = weir.Outcome{Kind: weir.OutcomeFailed, Code: "bad"}
		case 1:
			outcomes[i] = weir.Outcome{Kind: weir.OutcomeRetry, Code: "again"}
		case 2:
			outcomes[i] = weir.Outcome{Kind: weir.OutcomeLeftOut, Code: "no"}
		}
	}
	s.m.Result(s.now, &Result{Task: task, Outcomes: outcomes, Service: 1e6})
}

// deliver puts one message of the network into its inbox.
func (c *cluster) deliver() {
	if len(c.network) == 0 {
		return
	}
	at := 0
	if !c.clean {
		at = c.random.IntN(len(c.network))
	}
	o := c.network[at].Outgoing
	c.network = slices.Delete(c.network, at, at+1)
	c.put(o)
	c.old = append(c.old, o)
}

func (c *cluster) find(id weir.BulkID) *watched {
	i := slices.IndexFunc(c.bulks, func(b *watched) bool { return b.spec.ID == id })
	return c.bulks[i]
}

// step does one thing, drawn by chance.
func (c *cluster) step() {
	c.t.Helper()
	s := c.sites[c.random.IntN(len(c.sites))]
	if c.favour > 0 && c.random.IntN(4) > 0 {
		s = c.sites[c.favour-1]
	}
	switch c.random.IntN(25) {
	case 0:
		if c.random.IntN(8) == 0 {
			if c.random.IntN(2) == 0 {
				s.write() // it died after the commit and before it knew
			}
			s.crash()
		}
	case 1, 2, 3, 4, 5:
		s.turn()
	case 6, 7, 8:
		s.confirm()
	case 9, 10, 11:
		c.deliver()
	case 12:
		if len(c.old) > 0 {
			c.put(c.old[c.random.IntN(len(c.old))])
		}
	case 13:
		if len(c.network) > 0 && c.random.IntN(4) == 0 { // as a store that fails over may do
			c.network = slices.Delete(c.network, 0, 1)
		}
	case 14:
		c.now += c.random.Int64N(int64(400 * time.Millisecond))
	default:
		if len(s.running) > 0 {
			s.end(c.random.IntN(len(s.running)), false)
		}
	}
	c.now += c.random.Int64N(int64(time.Millisecond))
}

// finish runs everything to its end: no owner dies, and messages arrive.
func (c *cluster) finish() {
	c.t.Helper()
	c.clean = true
	for range 20_000 {
		busy := false
		for _, s := range c.sites {
			s.turn()
			s.confirm()
			for len(s.running) > 0 {
				s.end(0, true)
			}
			busy = busy || len(s.m.bulks) > 0 || !s.m.Written() || s.read < len(s.inbox)
		}
		for len(c.network) > 0 {
			c.deliver()
			busy = true
		}
		if !busy {
			return
		}
		c.now += int64(20 * time.Millisecond)
	}
	for _, s := range c.sites {
		for _, b := range s.m.bulks {
			c.t.Errorf("partition %d: %s is %v, %+v; shard %+v", s.no, b.spec.ID, b.state, b.status, b.shard)
		}
	}
	for _, b := range c.bulks {
		c.t.Errorf("%s: %s", b.spec.ID, c.partsOf(b))
	}
	c.t.Fatal("it does not come to an end")
}
