package sim

import (
	"math"
	"slices"

	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/lab/virtual"
	"github.com/weirhq/weir/store"
)

// scaled marks a command to a lane in the ledger.
const scaled partition.Verb = "scaled"

// planLeaders has leaders tell lanes how many workers to have. Every now and then
// another one leads; what the one before has decided may still be on its way.
func (w *World) planLeaders() {
	r := virtual.Named(w.seed, "leaders", 0)
	if !chance(r, 0.4) {
		return
	}
	names := w.resourceNames()
	for at, ruler := int64(0), uint64(1); at < faultTime; at += between(r, 0, 2*second) {
		if chance(r, 0.2) {
			ruler++
		}
		s := &partition.Scale{
			Type: partition.ScaleUp, Lane: names[r.IntN(len(names))], Workers: 1 + r.IntN(w.plan.slots),
			Reason: "because", Epoch: ruler, At: epoch + at,
		}
		p, late := r.IntN(w.plan.partitions), between(r, 0, 200*millis)
		if chance(r, 0.3) {
			late = between(r, 0, 4*second)
		}
		w.After(at+late, func() { w.scale(p, s) })
		if chance(r, 0.1) {
			w.After(at+late+between(r, 0, second), func() { w.scale(p, s) }) // the answer to the first was lost
		}
	}
}

func (w *World) scale(p int, s *partition.Scale) {
	body, err := partition.EncodeScale(*s)
	w.must(err == nil, "sim", nil, -1, "%v", err)
	err = w.mem.Append(w.ctx, p, body, store.Claim{})
	w.must(err == nil, "sim", nil, -1, "%v", err)
	a := &w.ledger.parts[p]
	a.inbox = append(a.inbox, inboxed{verb: scaled, scale: s})
	w.tellOwners(p)
}

// orders is what the lanes of a partition have been told.
type orders map[string]*partition.Scale

// obey takes a command in, as an owner should.
func (x orders) obey(w *World, s *partition.Scale) {
	if have := x[s.Lane]; have != nil && (s.Epoch < have.Epoch || s.Epoch == have.Epoch && s.At < have.At) {
		w.met[StaleLeader]++
		return
	}
	x[s.Lane] = s
}

// checkScaled takes note of a command that is acknowledged.
func (w *World) checkScaled(p int, s *partition.Scale) {
	a := &w.ledger.parts[p]
	if a.lanes == nil {
		a.lanes = orders{}
	}
	a.lanes.obey(w, s)
}

// checkLanes: the rows of the lanes are what the acknowledged commands say.
func (w *World) checkLanes(p int) {
	for _, name := range w.resourceNames() {
		want := w.ledger.parts[p].lanes[name]
		if want == nil {
			continue
		}
		got, err := partition.ReadWorkers(w.rows(p), name)
		w.must(err == nil, "sim", nil, -1, "%v", err)
		w.must(got != nil && *got == *want, "I19", nil, -1, "partition %d: lane %s was told %+v, and has %+v", p, name, *want, got)
	}
}

// load takes over what former owners have acknowledged.
func (x orders) load(from orders) {
	for lane, s := range from { // order does not reach a result
		x[lane] = s
	}
}

// picked is how long before its start a task may have been picked.
const picked = 20 * millis

// departed is what a partition that the node had until a moment ago was told.
type departed struct {
	at     int64
	orders orders
}

// checkWorkers: no task starts on a resource that has as many on the node as the
// partitions there were told to have together, those included that were there when the task
// was picked. One that was told nothing lifts the bound.
func (n *node) checkWorkers(resource string) {
	most := 0
	told := func(x orders) {
		switch {
		case x[resource] == nil:
			most = math.MaxInt
		case most < math.MaxInt:
			most += x[resource].Workers
		}
	}
	for _, o := range n.parts {
		if o != nil {
			told(o.orders)
		}
	}
	n.left = slices.DeleteFunc(n.left, func(d departed) bool { return n.w.Now()-d.at > picked })
	for _, d := range n.left {
		told(d.orders)
	}
	if most < math.MaxInt {
		most += most / 8 // the reserve
	}
	is := young(n.inLane[resource], n.w.Now())
	n.w.must(is < most, "I19", nil, -1, "node %d: a task starts on %s beside %d, with %d workers", n.no, resource, is, most)
	if is == most-1 {
		n.w.met[LaneFull]++
	}
	n.inLane[resource] = append(n.inLane[resource], n.w.Now())
}

// young counts the tasks that began too recently to have stalled; only these count towards slots and workers.
func young(began []int64, now int64) (n int) {
	for _, at := range began {
		if now-at < 500*millis-picked {
			n++
		}
	}
	return n
}
