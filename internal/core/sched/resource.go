package sched

import (
	"math"

	"github.com/weirhq/weir/internal/core/limit"
)

// ResourceConfig describes a resource of the queue.
type ResourceConfig struct {
	Name string
	// Rate is in items per second, 0 for unlimited. It decides what counts as
	// small and the budgets of the paths; without a Gate it is enforced as well.
	Rate float64
	// Concurrency bounds the tasks in flight if Gate is nil; 0 means unbounded.
	Concurrency int
	// Gate is asked before each task. Default: the resource's own limiter.
	Gate Gate
}

type resourceState uint8

const (
	resourceEmpty    resourceState = iota // nothing to run
	resourceReady                         // in Queue.ready
	resourceSleeping                      // in Queue.sleeping
	resourceWaiting                       // its gate said never: WakeResource or Done wakes it
)

const (
	// firstService is the assumed run time of a task before one has ended.
	firstService = int64(1e6)
	// smallUnlimited bounds what counts as small on a resource without a rate.
	smallUnlimited = 1000
	// smallMost bounds the size that counts as small on a fast resource.
	smallMost = 10_000
	// expressSaved and agedSaved are how much the paths' budgets can save up, in shares of the
	// largest work that counts as small; see DESIGN.md.
	expressSaved, agedSaved = 15, 1
)

// Resource is a downstream, and the tree of the work that waits for it.
type Resource struct {
	name  string
	gate  Gate
	own   *limit.Gate // the gate, if it is not the caller's
	tiers [Tiers]tier
	vRoot int64 // start tag of the tier served last

	occupied   uint8 // bit k: tiers[k] has flows in the tree
	rate       float64
	chunk      int64 // items of one task
	small      int64 // items up to which work is small
	speed      speed
	budgets    [2]float64 // items that PathExpress and PathAged may take now
	depths     [2]float64 // the most that they can save up
	earns      [2]float64
	shares     [2]float64
	refilled   int64
	active     int                  // flows in the tree
	weight     int64                // of the flows in the tree
	part       float64              // of the weight of all nodes' tenants, the part of those here
	beside     [Tiers]int64         // the weight of the tenants of other nodes
	copies     map[string]Elsewhere // tenants with work on other nodes as well
	pledged    map[*flow]bool       // flows with deadlines
	backlog    int64                // items of the flows in the tree
	inFlight   int
	stalled    int   // of those in flight
	ended      int64 // when a call last ended
	slotTag    int64 // slot time that it has used, by slotWeight, in about microseconds
	slotWeight int64
	workers    int   // bound on inFlight; below 0: none
	service    int64 // mean run time of a task
	median     int64 // approximate median run time; 0: none has ended
	index      int   // in ready or sleeping
	state      resourceState
	recheck    bool // was blocked: peek before a flow is chosen
	blockedAs  int32
	blocker    *Entry              // its task of size blockedAs was refused; nil if any would have been
	closures   map[string]shutting // tenants that may not run for now, by name
	cause      Cause

	sides      []*Side
	queued     int64 // items of the queued entries
	slotSince  int64 // since when work waits for a free worker; 0: it does not
	slotWaited int64 // for how long it waited before
}

// AddResource adds a resource. It exists for the life of the queue.
func (q *Queue) AddResource(c ResourceConfig) *Resource {
	r := &Resource{
		name:    c.Name,
		gate:    c.Gate,
		service: firstService,
		workers: -1,
		shares:  [2]float64{q.opt.ExpressShare, q.opt.AgedShare},
		pledged: map[*flow]bool{},
	}
	if r.gate == nil {
		r.own = limit.NewGate(limit.GateConfig{Rate: c.Rate, Concurrency: c.Concurrency})
		r.gate = r.own
	}
	for k := range r.tiers {
		r.tiers[k].init(r, &q.opt, k)
	}
	r.setRate(c.Rate, q.opt.Batch)
	r.budgets = r.depths
	q.resources = append(q.resources, r)
	return r
}

// Name returns the resource's name.
func (r *Resource) Name() string { return r.name }

// Gate returns the gate of r.
func (r *Resource) Gate() Gate { return r.gate }

// Service returns the mean run time of a task on r, in nanoseconds; 0: none has ended.
func (r *Resource) Service() int64 {
	if r.median == 0 {
		return 0
	}
	return r.service
}

// Room returns how many tasks may be in flight on r by slots and workers. Its part of the slots
// follows the weight of the tenants that want it. 0 means unbounded.
func (q *Queue) Room(r *Resource) int {
	room := q.slots
	if room > 0 && r.weight > 0 && r.weight < q.presentW {
		room = max(int(int64(room)*r.weight/q.presentW), 1)
	}
	if r.workers > 0 && (room == 0 || r.workers < room) {
		room = r.workers
	}
	return room
}

// Backlog returns how many items could start on r, apart from its gate and workers.
func (r *Resource) Backlog() int64 { return r.backlog }

// InFlight returns the number of tasks in flight on r.
func (r *Resource) InFlight() int { return r.inFlight }

func (r *Resource) setRate(rate float64, batch int) {
	r.rate = rate
	r.chunk = int64(limit.Chunk(rate, batch))
	r.speed.perSec = 0
	r.small = r.smallNow()
	r.setBudgets()
}

// SetRate changes the rate of r. A Gate passed by the caller is not changed; the caller has to.
func (q *Queue) SetRate(now int64, r *Resource, rate float64) {
	now = q.at(now)
	r.refill(now)
	r.setRate(rate, q.opt.Batch)
	if r.own != nil {
		q.Recall(now)
		r.own.SetRate(now, rate)
	}
	q.WakeResource(now, r)
}

// SetConcurrency changes the bound of a resource whose Gate was not passed by the caller.
func (q *Queue) SetConcurrency(now int64, r *Resource, n int) {
	if r.own != nil {
		q.Recall(now)
		r.own.SetConcurrency(n)
		q.WakeResource(now, r)
	}
}

// CloseUntil lets nothing start before until on a resource whose Gate was not passed by the
// caller. A past time opens it.
func (q *Queue) CloseUntil(now int64, r *Resource, until int64) {
	if r.own != nil {
		q.Recall(now)
		r.own.CloseUntil(until)
		q.WakeResource(now, r)
	}
}

// WakeResource makes the next Next ask r's gate again.
func (q *Queue) WakeResource(_ int64, r *Resource) {
	if r.runnable() && r.state != resourceReady {
		r.recheck = true
		q.setReady(r)
	}
}

func (r *Resource) runnable() bool { return r.active > 0 }

// leave takes r out of the heap that it is in.
func (q *Queue) leave(r *Resource) {
	switch r.state {
	case resourceReady:
		q.ready.remove(r)
	case resourceSleeping:
		q.sleeping.remove(r)
	case resourceEmpty, resourceWaiting: // in no heap
	}
}

func (q *Queue) setReady(r *Resource) {
	if r.state == resourceReady {
		return
	}
	q.leave(r)
	r.state = resourceReady
	r.blocker = nil
	r.slotTag = max(r.slotTag, q.vSlots)
	q.ready.push(r, r.slotTag)
}

// advance moves r out of the last places: a tenant waits there that is below its share of the
// slots.
func (q *Queue) advance(r *Resource) {
	if r.state == resourceReady && q.ready.s[r.index].key >= aboveShare {
		q.ready.rekey(r, r.slotTag)
	}
}

func (q *Queue) setEmpty(r *Resource) {
	q.leave(r)
	r.state = resourceEmpty
	r.blocker, r.recheck = nil, false
}

// block sets r aside until the given time. If the gate is as full as the workers are, the cause
// is the gate's limit: more workers would not help.
func (q *Queue) block(now int64, r *Resource, at int64, cause Cause) {
	if cause == CauseSlots && r.gate.Peek(now) == math.MaxInt64 {
		cause = r.gateCause()
	}
	r.waitForWorker(now, cause == CauseSlots)
	q.leave(r)
	r.recheck, r.cause = true, cause
	q.short = q.short || cause == CauseSlots
	r.state = resourceWaiting
	if at != math.MaxInt64 {
		r.state = resourceSleeping
		q.sleeping.push(r, at)
	}
}

// observe learns the run time of tasks, which is the cost of a slot.
func (r *Resource) observe(service int64) {
	if r.median == 0 { // the first one
		r.service, r.median = max(service, 1), max(service, 1)
		return
	}
	r.service = max(r.service+(max(service, 1)-r.service)/16, 1)
	switch step := r.median>>5 + 1; {
	case service > r.median:
		r.median += step
	default:
		r.median = max(r.median-step, 1)
	}
}

// setBudgets sets how much each path's budget can save up: its share of a second, or of a
// number of the largest small bulk actions if that is more. It also sets what a path earns per
// item that goes by the tiers where no rate applies, so that the path's part of the whole is
// its share.
func (r *Resource) setBudgets() {
	saved := [2]float64{PathExpress: expressSaved, PathAged: agedSaved}
	for i, share := range r.shares {
		r.depths[i] = share * max(r.rate, saved[i]*float64(r.small))
		r.earns[i] = share / (1 - share)
	}
}

// refill adds what the rate has yielded since the last refill to the budgets.
func (r *Resource) refill(now int64) {
	if r.rate == 0 || now <= r.refilled {
		return
	}
	yield := float64(now-r.refilled) * 1e-9 * r.rate
	r.refilled = now
	for i := range r.budgets {
		r.budgets[i] = min(r.depths[i], r.budgets[i]+r.shares[i]*yield)
	}
}

// earn adds to the budgets of a resource without a rate, where time yields nothing.
func (r *Resource) earn(cost float64) {
	if r.rate != 0 {
		return
	}
	for i := range r.budgets {
		r.budgets[i] = min(r.depths[i], r.budgets[i]+cost*r.earns[i])
	}
}
