package experiment

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir/internal/heap"
	"github.com/weirhq/weir/internal/limit"
	"github.com/weirhq/weir/internal/quota"
	"github.com/weirhq/weir/store"
)

// owners are nodes that share a limit through a store, on a clock of its own. The
// pools, keepers, books and plans are the real ones; messages take 1 to 5 ms each way.
type owners struct {
	rnd   *rand.Rand
	now   int64
	queue heap.Heap[event]
	seq   int64

	limit store.Limit
	chunk int64
	ttl   time.Duration
	table *quota.Table
	nodes []*owner
	lead  *leader

	log      []start
	served   []float64 // by tenant
	holds    int
	draws    int
	permits  int
	waits    []int64 // of tasks that were queued, in order of their start
	inFlight int
	most     int   // tasks in flight at once
	busy     int64 // time of tasks that have ended
}

// owner is one process.
type owner struct {
	w       *owners
	no      int
	name    string
	pool    *limit.Pool
	res     *limit.PoolResource
	lanes   []*lane
	keeper  *quota.Keeper
	wakeAt  int64
	dead    bool
	service func() int64 // how long a task takes
}

// lane is the work of one partition.
type lane struct {
	l       *limit.Lane
	n       *owner
	tenants []*tenant
	askAt   int64
	ready   heap.Heap[turn] // tenants with work, and some that no longer have any
	weight  int64           // of those with work
}

// tenant has work without end while it is on, or as much as queued says.
type tenant struct {
	no     int
	weight int64
	on     bool
	queued []int64 // when its tasks came, if it is not on
	tag    float64
	active bool // counted in its lane's weight
	listed bool // in its lane's heap
}

// turn is a tenant in its lane's heap; its tag changes only while it is out of it.
type turn struct{ *tenant }

// Before implements heap.Ordered.
func (t turn) Before(o turn) bool { return t.tag < o.tag || t.tag == o.tag && t.no < o.no }

// newOwners makes nodes with two lanes each, and tenants of mixed weights among them.
func newOwners(seed uint64, l store.Limit, chunk int64, nodes, tenants int) *owners {
	w := &owners{
		rnd: rand.New(rand.NewPCG(seed, 1)), now: 1e18, limit: l, chunk: chunk,
		ttl: 1200 * time.Millisecond, table: quota.New(l), served: make([]float64, tenants),
	}
	for i := range nodes {
		w.nodes = append(w.nodes, newOwner(w, i))
	}
	for i := range tenants {
		ls := w.nodes[w.rnd.IntN(nodes)].lanes
		if i < nodes {
			ls = w.nodes[i].lanes
		}
		ln := ls[w.rnd.IntN(len(ls))]
		ln.tenants = append(ln.tenants, &tenant{no: i, weight: 1024 * (1 + w.rnd.Int64N(4))})
	}
	return w
}

func newOwner(w *owners, no int) *owner {
	n := &owner{w: w, no: no, name: fmt.Sprintf("n%02d", no), pool: limit.NewPool(0), wakeAt: never}
	c := limit.ResourceConfig{Name: "r"}
	if w.limit.Window > 0 {
		c.Rate = float64(w.limit.Units) / w.limit.Window.Seconds()
	} else {
		c.Concurrency = int(w.limit.Units)
	}
	n.res = n.pool.Resource(c)
	n.pool.Share(n.res)
	n.keeper = quota.NewKeeper(w.limit, n.name, w.ttl, w.chunk)
	for i := range 2 {
		n.lanes = append(n.lanes, &lane{l: n.pool.Lane(n.res, i), n: n, askAt: never})
	}
	return n
}

func (w *owners) at(t int64, do func()) {
	w.seq++
	w.queue.Push(event{max(t, w.now), w.seq, do})
}

func (w *owners) run(until int64) {
	for len(w.queue) > 0 && w.queue[0].at <= until {
		e := w.queue.Pop()
		w.now = e.at
		e.do()
	}
	w.now = until
}

func (w *owners) delay() int64 { return ms + w.rnd.Int64N(4*ms) }

// call makes a call of the store, and takes its answer.
func (w *owners) call(do func() (answer func())) {
	w.at(w.now+w.delay(), func() {
		answer := do()
		w.at(w.now+w.delay(), answer)
	})
}

// set lets the tenants of a node have work or not.
func (n *owner) set(on bool) {
	for _, ln := range n.lanes {
		for _, t := range ln.tenants {
			t.on = on
			ln.list(t)
		}
		ln.ask()
	}
	n.settle()
}

// flap turns the node's work on and off, for so long on average.
func (n *owner) flap(mean int64, on bool) {
	n.w.at(n.w.now+int64(n.w.rnd.ExpFloat64()*float64(mean)), func() {
		n.set(on)
		n.flap(mean, !on)
	})
}

// sparse lets single tasks come to a node at random times, every so often on average.
func (n *owner) sparse(every int64) {
	n.w.at(n.w.now+int64(n.w.rnd.ExpFloat64()*float64(every)), func() {
		ln := n.lanes[n.w.rnd.IntN(len(n.lanes))]
		if len(ln.tenants) > 0 {
			t := ln.tenants[n.w.rnd.IntN(len(ln.tenants))]
			t.queued = append(t.queued, n.w.now)
			ln.list(t)
			ln.ask()
			n.settle()
		}
		n.sparse(every)
	})
}

// list keeps the heap and the weight of a lane in step with what a tenant has to do.
func (ln *lane) list(t *tenant) {
	busy := t.on || len(t.queued) > 0
	if busy && !t.active {
		ln.weight += t.weight
	}
	if !busy && t.active {
		ln.weight -= t.weight
	}
	t.active = busy
	if busy && !t.listed {
		t.listed = true
		ln.ready.Push(turn{t})
	}
}

// next is the tenant whose turn it is, nil if none has work.
func (ln *lane) next() *tenant {
	for len(ln.ready) > 0 {
		if t := ln.ready[0].tenant; t.active {
			return t
		}
		ln.ready.Pop().listed = false
	}
	return nil
}

// ask starts what may start.
func (ln *lane) ask() {
	n, w := ln.n, ln.n.w
	ln.askAt = never
	if n.dead {
		return
	}
	for {
		t := ln.next()
		if t == nil {
			n.pool.Idle(w.now, ln.l)
			return
		}
		at, ok := n.pool.Take(w.now, ln.l, int(w.chunk), ln.weight, false)
		if !ok {
			if ln.askAt = at; at != never {
				w.at(at, func() {
					if ln.askAt == at {
						ln.ask()
						n.settle()
					}
				})
			}
			return
		}
		n.start(ln, t)
	}
}

func (n *owner) start(ln *lane, t *tenant) {
	w := n.w
	w.log = append(w.log, start{w.now, w.chunk})
	w.served[t.no] += float64(w.chunk)
	ln.ready.Pop().listed = false
	t.tag += float64(w.chunk) / float64(t.weight)
	if !t.on {
		w.waits = append(w.waits, w.now-t.queued[0])
		t.queued = t.queued[1:]
	}
	ln.list(t)
	if n.service == nil {
		n.pool.Release(w.now, ln.l)
		return
	}
	w.inFlight++
	w.most = max(w.most, w.inFlight)
	takes := n.service()
	w.at(w.now+takes, func() {
		w.inFlight--
		w.busy += takes
		if !n.dead {
			n.pool.Release(w.now, ln.l)
			ln.ask()
			n.settle()
		}
	})
}

// settle passes on what the pool says after calls of it.
func (n *owner) settle() {
	for {
		wakes := n.pool.Wakes(nil)
		if len(wakes) == 0 {
			break
		}
		for _, l := range wakes {
			n.lanes[l.Partition()].ask()
		}
	}
	if len(n.pool.Stirred(nil)) > 0 {
		n.keep()
	}
}

// keep does what the keeper says.
func (n *owner) keep() {
	w := n.w
	if n.dead {
		return
	}
	u := n.pool.Observe(w.now, n.res)
	v := quota.View{Used: u.Used, Busy: u.Busy, Short: u.Short, Cost: u.Cost, Weight: u.Weight, Permit: u.Permit}
	if w.limit.Window == 0 {
		v.Used, v.Short = int64(u.InFlight), u.Cramped
	}
	a := n.keeper.Next(w.now, v)
	n.apply()
	if a.Hold {
		w.holds++
		w.call(func() func() {
			q := w.table.Hold(w.now, a.Holding, a.TTL)
			return func() { n.held(q) }
		})
	}
	if a.Draw > 0 {
		w.draws++
		w.call(func() func() {
			after, ok := w.table.Draw(w.now, a.Draw)
			return func() { n.drew(after, ok) }
		})
	}
	if a.Wake != never && a.Wake != n.wakeAt {
		at := a.Wake
		w.at(at, func() {
			if n.wakeAt == at {
				n.wakeAt = never
				n.keep()
			}
		})
	}
	n.wakeAt = a.Wake
}

func (n *owner) held(q int64) {
	n.keeper.Held(n.w.now, q, nil)
	n.apply()
	n.settle()
	n.keep()
}

func (n *owner) apply() {
	units, until := n.keeper.Quota()
	if n.w.limit.Window == 0 {
		n.pool.SetSlotQuota(n.w.now, n.res, units, until)
	} else {
		n.pool.SetQuota(n.w.now, n.res, units, until)
	}
}

func (n *owner) drew(after time.Duration, ok bool) {
	units, from, until, ok := n.keeper.Drew(n.w.now, after, ok, nil)
	if ok {
		n.w.permits++
		n.pool.Permit(n.w.now, n.res, units, from, until)
	}
	n.settle()
	n.keep()
}
