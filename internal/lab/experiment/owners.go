package experiment

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/sched"
	"github.com/weirhq/weir/internal/lab/model"
	"github.com/weirhq/weir/internal/lab/virtual"
	"github.com/weirhq/weir/store"
)

// owners are nodes that share a limit through a store, on one clock. The queues are
// the real ones; messages take 1 to 5 ms each way.
type owners struct {
	*virtual.Clock
	rnd *rand.Rand

	limit *model.Shared
	nodes []*owner

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
	can     *capacity.Node
	party   *capacity.Party
	res     *capacity.Resource
	tenants []*tenant
	keeper  *model.Keeper
	askAt   int64
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
	w := &owners{Clock: virtual.NewClock(epoch), rnd: virtual.Chance(seed, 1), served: make([]float64, tenants)}
	w.limit = model.NewShared(w.Clock, 0, l, chunk, heldFor(l), w.delay)
	for i := range nodes {
		w.nodes = append(w.nodes, newOwner(w, fmt.Sprintf("n%02d", i)))
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

// delay returns how long a message is on its way.
func (w *owners) delay() int64 { return ms + w.rnd.Int64N(4*ms) }

// heldFor returns how long a node may use what it holds without renewing it.
func heldFor(l store.Limit) time.Duration {
	if l.Window == 0 {
		return 10 * time.Second
	}
	return 1200 * time.Millisecond
}

func newOwner(w *owners, name string) *owner {
	n := &owner{w: w, can: capacity.New(capacity.Config{Shared: true, NoFlow: true}), askAt: never}
	r, l := weir.Resource{Name: "r"}, w.limit.Limit
	if l.Window > 0 {
		r.Rate = weir.Rate(float64(l.Units) / l.Window.Seconds())
	} else {
		r.Concurrency = int(l.Units)
	}
	n.res, n.party = n.can.Resource(r), n.can.Join(nil)
	n.party.SetOpen(w.Now(), true)
	n.keeper = w.limit.Join(name, n.res, n.ask)
	return n
}

// die ends the node without a word.
func (n *owner) die() {
	n.dead = true
	n.keeper.Die()
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
	n.party.Update(n.w.Now(), t.entry, int(n.w.limit.Chunk), (tasks-1)*n.w.limit.Chunk)
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
		n.keeper.Look()
	}
}

func (n *owner) start(pick sched.Pick) {
	w, t := n.w, pick.Entry.Data.(*tenant)
	w.log = append(w.log, start{w.Now(), int64(pick.Cost)})
	w.served[t.no] += float64(pick.Cost)
	if !t.on && int64(pick.Cost) == w.limit.Chunk { // what is left of one that was cut is a task of its own
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

// peak returns the most that started in any window.
func (w *owners) peak() int64 {
	m := virtual.Meter{Window: int64(w.limit.Limit.Window)}
	for _, x := range w.log {
		m.Add(x.at, x.cost)
	}
	return m.Most
}

// use returns the share of the limit that was used between two times.
func (w *owners) use(from, to int64) float64 {
	var sum int64
	for _, x := range w.log {
		if x.at > from && x.at <= to {
			sum += x.cost
		}
	}
	return float64(sum) / (float64(w.limit.Limit.Units) * float64(to-from) / float64(w.limit.Limit.Window))
}

// back returns how long after a time the trailing window was below a share of the
// limit for good: until it had reached that again after its lowest.
func (w *owners) back(from, to int64, share float64) time.Duration {
	lowest, least := from, 2.0
	for t := from; t <= min(to, from+3*sec); t += 10 * ms {
		if u := w.use(t-sec, t); u < least {
			lowest, least = t, u
		}
	}
	for t := lowest; t <= to; t += 10 * ms {
		if w.use(t-sec, t) >= share {
			return time.Duration(t - from)
		}
	}
	return time.Duration(never)
}

// perWeight returns what tenants got since before, by weight.
func (w *owners) perWeight(before []float64) (xs []float64) {
	for _, n := range w.nodes {
		for _, t := range n.tenants {
			xs = append(xs, (w.served[t.no]-before[t.no])/float64(t.weight))
		}
	}
	return xs
}
