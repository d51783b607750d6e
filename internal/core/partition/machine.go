// Package partition implements the state machine of one partition: its bulk actions, their
// blocks and steps, retries, pause, cancel, failure rules, deadlines and completion.
//
// The owner's loop feeds a [Machine] with inputs ([Machine.Message], [Machine.Result],
// [Machine.Committed]) and after each burst of inputs calls [Machine.Advance], which returns
// effects: tasks to start, one batch to commit, and when to call again. A task start needs no
// write. The effects of a result (the next step, completion, published counters) take place
// only when the commit that carries it has been confirmed.
//
// Several partitions share a bulk action that is large or takes long: its home gives ranges of
// blocks to the shards and adds up their tallies, by messages to their inboxes, which [Effects]
// holds for the owner to send; see shard.go and spread.go.
//
// The package is pure: time and random numbers are arguments, nothing blocks, and the same
// inputs give the same outputs. It uses the types of messages, rows and batches of package
// store, but calls no store. A Machine belongs to one goroutine. Times are Unix nanoseconds.
package partition

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/store"
)

// Never stands for no time.
const Never = math.MaxInt64

// Config connects a machine to its surroundings.
type Config struct {
	// Capacity is the machine's access to the capacity of its node.
	Capacity *capacity.Party
	// Workers is the number of workers of a lane without a command; 0: no bound.
	Workers int
	// Node names the process and is new at each start; empty: crashes of processes are not
	// investigated.
	Node string
	// Trials lets one suspect run at a time on the node; nil: the machine is the only one
	// there.
	Trials Trials
	// Seed seeds the jitter of retries.
	Seed uint64
	// Chain returns a registered chain's steps by its name; nil: unknown.
	Chain func(name string) []weir.Step
	// Describe returns the steps of a chain that is not registered, from its text; nil: it
	// cannot.
	Describe func(text []byte) []weir.Step
	// Tenant returns the limits of a tenant; nil: tenants have no limits of their own.
	Tenant func(name string) capacity.TenantLimits
	// Codec packs what is written.
	Codec *block.Codec
}

// Machine is one partition in memory.
type Machine struct {
	cfg      Config
	queue    *capacity.Party
	offers   bool // its offers may start
	bulks    map[weir.BulkID]*bulk
	reach    Reach
	shared   []*bulk              // those of them that other partitions work on too
	over     map[weir.BulkID]bool // shards that have ended: late orders do not start them again
	lately   []weir.BulkID        // that have ended, oldest first
	tenants  map[string]tenant    // with bulk actions here
	lanes    lanes
	answered map[string]bool // actions with a successful call since the takeover
	knows    map[string]bool // actions with a successful call at any time
	waits    waits
	random   *rand.Rand
	gen      *generation // collects what the next commit writes
	flying   *generation // is being committed; nil: none
	number   uint64      // of the last commit handed out
	lastCut  int64       // when that was
	resized  int64       // when the sizes of tasks were last updated
	inFlight int         // tasks

	uncommitted int  // items whose results no confirmed commit carries
	window      int  // the most of them
	stopped     bool // starts nothing more
	effects     Effects
	tenure      tenure
	wants       []*step // whose next task has to be marked
	filters     []*step // whose filter has items to check
	filtering   bool    // a filter runs
	suspects    []*retryTask
	condemned   []*retryTask // found guilty, until all is loaded
	guilty      []Guilty
	trial       trial
	views       []weir.Progress // durable, not yet returned
	ended       int64           // items that ended durably, not yet returned
	sends       []Outgoing      // durable, not yet returned
	events      []Event         // durable, not yet returned
	removals    int             // durable, not yet returned
	freeTasks   []*Task
	freeOuts    [][][]byte
}

// Effects lists what the owner has to do. It is valid until the next call of Advance.
type Effects struct {
	// Start holds the tasks to start now.
	Start []*Task
	// Commit is the batch to commit; nil: none. The next one comes after Committed.
	Commit *store.Batch
	// Views holds the bulk actions whose durable progress changed.
	Views []weir.Progress
	// Ended is the number of items that ended durably since the last call.
	Ended int64
	// Send holds messages for other partitions. One that is lost is sent again, later.
	Send []Outgoing
	// Events holds events to deliver. After a takeover each is returned again until it was
	// noted.
	Events []Event
	// Removed is the number of removals that became durable since the last call.
	Removed int
	// Wake is when Advance must be called again without any input.
	Wake int64
}

// New returns an empty machine whose last commit had the given number.
func New(cfg Config, number uint64) *Machine {
	return &Machine{
		cfg:      cfg,
		queue:    cfg.Capacity,
		bulks:    map[weir.BulkID]*bulk{},
		over:     map[weir.BulkID]bool{},
		tenants:  map[string]tenant{},
		answered: map[string]bool{}, knows: map[string]bool{},
		lanes:  lanes{by: map[string]*lane{}, told: map[string]*Scale{}},
		random: rand.New(rand.NewPCG(cfg.Seed, number)),
		gen:    &generation{},
		number: number,
		window: leastWindow,
	}
}

// Advance does what is due and returns what the owner has to do.
func (m *Machine) Advance(now int64) *Effects {
	m.resize(now)
	m.due(now)
	e := &m.effects
	e.Views, m.views = m.views, e.Views[:0]
	e.Ended, m.ended = m.ended, 0
	e.Send, m.sends = m.sends, e.Send[:0]
	e.Events, m.events = m.events, e.Events[:0]
	e.Removed, m.removals = m.removals, 0
	m.beginTenure()
	e.Start = m.start(now, m.tryTrial(now, e.Start[:0]))
	e.Start = m.startFilter(now, e.Start)
	m.markAll(now) // also tasks that a start made the next ones
	e.Commit = m.cutCommit(now)
	e.Wake = m.queue.Wake() // also if nothing of this machine may start: it picks for others, too
	if !m.stopped {
		e.Wake = min(e.Wake, m.waits.next(), m.trial.wake)
	}
	if m.flying == nil { // else Committed wakes it
		e.Wake = min(e.Wake, m.cutAt())
	}
	return e
}

// behind reports whether so many results are uncommitted that a crash would re-run more than
// promised: nothing starts until the store has caught up.
func (m *Machine) behind() bool { return m.uncommitted >= m.window }

// start takes tasks from the queue while limits and slots allow.
func (m *Machine) start(now int64, tasks []*Task) []*Task {
	if open := !m.stopped && !m.behind() && m.mayStart() && !m.trial.alone(); open != m.offers {
		m.offers = open
		m.queue.SetOpen(now, open)
	}
	for {
		pick, ok := m.queue.Next(now)
		if !ok {
			break
		}
		tasks = append(tasks, m.cut(now, pick))
	}
	return tasks
}

// Stop makes the machine start nothing more; results and commits go on. The owner calls it for
// a clean drain, or when it may have lost its lease.
func (m *Machine) Stop() { m.stopped = true }

// Proceed ends a Stop: the owner is sure of its lease again.
func (m *Machine) Proceed() { m.stopped = false }

// Settled reports whether nothing runs and everything is written.
func (m *Machine) Settled() bool { return m.inFlight == 0 && m.Written() }

// Written reports whether all changes are durable, apart from the tenure, for which see
// [Machine.Close].
func (m *Machine) Written() bool { return (m.flying == nil || m.flying.bare()) && m.gen.bare() }

// Pending returns the number of items that have not ended.
func (m *Machine) Pending() (n int64) {
	for _, b := range m.bulks { // a sum: order does not reach the output
		if !b.away() { // its home counts it
			n += b.spec.Items - b.shown
		}
	}
	return n
}

// InFlight returns the number of tasks that were started and have no result yet.
func (m *Machine) InFlight() int { return m.inFlight }

// Leave removes the machine's work from the node's queue when the partition is handed over or
// lost. The caller still passes tasks in flight to Abandon.
func (m *Machine) Leave(now int64) {
	for _, b := range m.ordered() {
		m.queue.RemoveBulk(now, b.queued)
	}
	m.queue.Leave(now)
}

// Abandon releases what a task holds that ended after the machine left. Any goroutine may call
// it.
func (m *Machine) Abandon(now int64, t *Task) {
	if t.Filter {
		return
	}
	m.queue.Done(now, t.pick, &capacity.Ending{Silent: true, Service: now - t.pick.At})
}

// must panics on a broken invariant.
func must(ok bool, format string, args ...any) {
	if !ok {
		panic(fmt.Sprintf("partition: "+format, args...))
	}
}
