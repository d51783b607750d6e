package experiment

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/quota"
	"github.com/weirhq/weir/internal/core/sched"
	"github.com/weirhq/weir/internal/lab/virtual"
	"github.com/weirhq/weir/store"
)

// owners are nodes that share a limit through a store, on a clock of its own. The
// queues, keepers, books and plans are the real ones; messages take 1 to 5 ms each way.
type owners struct {
	*virtual.Clock
	rnd *rand.Rand

	limit store.Limit
	chunk int64
	ttl   time.Duration
	table *quota.Table
	nodes []*owner
	lead  *leader

	log      []start
	served   []float64 // by tenant
	waits    []int64   // of tasks that were queued, in order of their start
	inFlight int
	most     int   // tasks in flight at once
	busy     int64 // time of tasks that have ended
}

// start is cost that began at a time.
type start struct{ at, cost int64 }

// owner is one process.
type owner struct {
	w       *owners
	no      int
	name    string
	can     *capacity.Node
	party   *capacity.Party
	res     *capacity.Resource
	tenants []*tenant
	keeper  *quota.Keeper
	askAt   int64
	wakeAt  int64
	dead    bool
	service func() int64 // how long a task takes
}

// tenant has work without end while it is on, or as much as queued says.
type tenant struct {
	no     int
	weight int64
	on     bool
	queued []int64 // when its tasks came, if it is not on
	entry  *sched.Entry
}

// newOwners makes nodes, and tenants of mixed weights among them.
func newOwners(seed uint64, l store.Limit, chunk int64, nodes, tenants int) *owners {
	w := &owners{
		Clock: virtual.NewClock(epoch), rnd: virtual.Chance(seed, 1), limit: l, chunk: chunk,
		ttl: 1200 * time.Millisecond, table: quota.New(l), served: make([]float64, tenants),
	}
	for i := range nodes {
		w.nodes = append(w.nodes, newOwner(w, i))
	}
	for i := range tenants {
		n := w.nodes[w.rnd.IntN(nodes)]
		if i < nodes {
			n = w.nodes[i]
		}
		n.add(&tenant{no: i, weight: 1 + w.rnd.Int64N(4)})
	}
	return w
}

func newOwner(w *owners, no int) *owner {
	n := &owner{w: w, no: no, name: fmt.Sprintf("n%02d", no),
		can: capacity.New(capacity.Config{Shared: true, NoFlow: true}), askAt: never, wakeAt: never}
	r := weir.Resource{Name: "r"}
	if w.limit.Window > 0 {
		r.Rate = weir.Rate(float64(w.limit.Units) / w.limit.Window.Seconds())
	} else {
		r.Concurrency = int(w.limit.Units)
	}
	n.res, n.party = n.can.Resource(r), n.can.Join(nil)
	n.party.SetOpen(w.Now(), true)
	n.keeper = quota.NewKeeper(w.limit, n.name, w.ttl, w.chunk)
	return n
}

// add gives a node a tenant.
func (n *owner) add(t *tenant) {
	name := fmt.Sprint(t.no)
	n.party.SetTenant(n.w.Now(), name, capacity.TenantLimits{Weight: float64(t.weight)})
	g := n.party.AddBulk(name, sched.BulkConfig{Tier: 2, Submit: n.w.Now()})
	t.entry = n.party.AddEntry(g, n.res, 0, t)
	n.tenants = append(n.tenants, t)
}

// endless is how many tasks a tenant has that never runs out of them.
const endless = 1_000_000

// offer says what a tenant has to do.
func (n *owner) offer(t *tenant) {
	tasks := int64(len(t.queued))
	if t.on {
		tasks = endless
	}
	if tasks == 0 {
		n.party.Update(n.w.Now(), t.entry, 0, 0)
		return
	}
	n.party.Update(n.w.Now(), t.entry, int(n.w.chunk), (tasks-1)*n.w.chunk)
}

func (w *owners) delay() int64 { return ms + w.rnd.Int64N(4*ms) }

// call makes a call of the store, and takes its answer.
func (w *owners) call(do func() (answer func())) {
	w.At(w.Now()+w.delay(), func() {
		answer := do()
		w.At(w.Now()+w.delay(), answer)
	})
}

// set lets the tenants of a node have work or not.
func (n *owner) set(on bool) {
	for _, t := range n.tenants {
		t.on = on
		n.offer(t)
	}
	n.ask()
}

// flap turns the node's work on and off, for so long on average.
func (n *owner) flap(mean int64, on bool) {
	n.w.At(n.w.Now()+int64(n.w.rnd.ExpFloat64()*float64(mean)), func() {
		n.set(on)
		n.flap(mean, !on)
	})
}

// ask starts what may start, and has the keeper look if that is worth it.
func (n *owner) ask() {
	w := n.w
	if n.dead {
		return
	}
	for {
		pick, ok := n.party.Next(w.Now())
		if !ok {
			break
		}
		n.start(pick)
	}
	if at := n.party.Wake(); at != n.askAt {
		n.askAt = at
		if at != never {
			w.At(at, func() {
				if n.askAt == at {
					n.askAt = never
					n.ask()
				}
			})
		}
	}
	n.can.Calls(nil) // the only node
	if len(n.can.Stirred(nil)) > 0 {
		n.keep()
	}
}

func (n *owner) start(pick sched.Pick) {
	w, t := n.w, pick.Entry.Data.(*tenant)
	w.log = append(w.log, start{w.Now(), int64(pick.Cost)})
	w.served[t.no] += float64(pick.Cost)
	if !t.on && int64(pick.Cost) == w.chunk { // what is left of one that was cut is a task of its own
		w.waits = append(w.waits, w.Now()-t.queued[0])
		t.queued = t.queued[1:]
	}
	n.offer(t)
	if n.service == nil {
		n.party.Done(w.Now(), pick, &capacity.Ending{})
		return
	}
	w.inFlight++
	w.most = max(w.most, w.inFlight)
	takes := n.service()
	w.At(w.Now()+takes, func() {
		w.inFlight--
		w.busy += takes
		if !n.dead {
			n.party.Done(w.Now(), pick, &capacity.Ending{Service: takes})
			n.ask()
		}
	})
}

// keep does what the keeper says.
func (n *owner) keep() {
	w := n.w
	if n.dead {
		return
	}
	a := n.keeper.Next(w.Now(), n.res.Observe(w.Now(), w.limit.Window == 0))
	n.apply()
	if a.Hold {
		w.call(func() func() {
			q := w.table.Hold(w.Now(), a.Holding, a.TTL)
			return func() { n.held(q) }
		})
	}
	if a.Draw > 0 {
		w.call(func() func() {
			after, ok := w.table.Draw(w.Now(), a.Draw)
			return func() { n.drew(after, ok) }
		})
	}
	if a.Wake != never && a.Wake != n.wakeAt {
		at := a.Wake
		w.At(at, func() {
			if n.wakeAt == at {
				n.wakeAt = never
				n.keep()
			}
		})
	}
	n.wakeAt = a.Wake
}

func (n *owner) held(q int64) {
	n.keeper.Held(n.w.Now(), q, nil)
	n.apply()
	n.ask()
	n.keep()
}

func (n *owner) apply() {
	units, until := n.keeper.Quota()
	if n.w.limit.Window == 0 {
		n.res.SetSlotQuota(n.w.Now(), units, until)
	} else {
		n.res.SetQuota(n.w.Now(), units, until)
	}
}

func (n *owner) drew(after time.Duration, ok bool) {
	units, from, until, ok := n.keeper.Drew(n.w.Now(), after, ok, nil)
	if ok {
		n.res.Permit(units, from, until)
	}
	n.ask()
	n.keep()
}
