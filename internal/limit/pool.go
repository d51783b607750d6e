package limit

import (
	"math"
	"time"
)

// ResourceConfig describes a resource that the lanes of a [Pool] share.
type ResourceConfig struct {
	Name string
	// Rate is in items per second, 0 for unlimited.
	Rate float64
	// Concurrency bounds the tasks in flight, 0 for unbounded.
	Concurrency int
	// Window, CatchUp and Burst are as in [Config].
	Window, CatchUp, Burst time.Duration
}

// Pool shares worker slots, and the rate and concurrency of resources, between
// the lanes of several partitions.
//
// A lane that is refused waits. Either it was told a time to ask again, or a later
// call of somebody else puts it on the list that [Pool.Wakes] hands out. Whoever
// holds the Pool's lock must drain that list after each call and tell those lanes.
type Pool struct {
	slots     int // 0: unbounded
	used      int
	waiting   int // lanes that wait
	resources []*PoolResource
	byName    map[string]*PoolResource
	wakes     []*Lane
	stirred   []*PoolResource
	asks      uint64 // numbers the waits, for first come, first served
}

// PoolResource is a resource inside a [Pool].
type PoolResource struct {
	name     string
	lim      *Limiter
	bound    int // on the tasks in flight
	bearable int // another one, of flow control
	closed   int64
	lanes    []*Lane
	busy     int // lanes that are not idle
	waiting  int // lanes that wait
	inFlight int
	v        int64    // virtual time: start tag of the lane served last
	out      *outside // nil: its limits are its own
}

// unbounded stands for no bound on tasks in flight.
const unbounded = math.MaxInt32

// Lane is one resource in one partition.
type Lane struct {
	r         *PoolResource
	partition int
	tag       int64
	weight    int64
	inFlight  int
	workers   int // bound on the tasks in flight
	cost      int
	at        int64  // when it will ask again by itself, while it waits
	wokenAt   int64  // when it was put on the wake list
	since     uint64 // number of its wait
	state     laneState
	woken     bool // is or was on the wake list, and has not asked since
	listed    bool // is on the wake list
	express   bool
	cause     Cause
	lack      Cause // of rate or concurrency, since it was last refused for it or ran out of work
	lackSince int64
}

type laneState uint8

const (
	laneIdle    laneState = iota // wants nothing
	laneBusy                     // was served, or is about to ask
	laneWaiting                  // was refused
)

// NewPool returns a pool of worker slots; 0 slots means unbounded.
func NewPool(slots int) *Pool {
	return &Pool{slots: slots, byName: make(map[string]*PoolResource)}
}

// Resource finds the resource of that name, or makes it.
func (p *Pool) Resource(c ResourceConfig) *PoolResource {
	if r := p.byName[c.Name]; r != nil {
		return r
	}
	r := &PoolResource{
		name:     c.Name,
		bound:    boundOf(c.Concurrency),
		bearable: unbounded,
		closed:   math.MinInt64,
		lim:      New(Config{Rate: c.Rate, Window: c.Window, CatchUp: c.CatchUp, Burst: c.Burst}),
	}
	p.byName[c.Name] = r
	p.resources = append(p.resources, r)
	return r
}

func boundOf(concurrency int) int {
	if concurrency == 0 {
		return unbounded
	}
	return concurrency
}

// Lane finds the lane of a partition on r, or makes it.
func (p *Pool) Lane(r *PoolResource, partition int) *Lane {
	for _, l := range r.lanes {
		if l.partition == partition {
			return l
		}
	}
	l := &Lane{r: r, partition: partition, weight: 1, tag: r.v, at: Never, workers: unbounded}
	r.lanes = append(r.lanes, l)
	return l
}

// Drop forgets a lane whose partition has gone elsewhere. Its tasks in flight are
// released as usual when they end.
func (p *Pool) Drop(now int64, l *Lane) {
	p.Idle(now, l)
	for i, o := range l.r.lanes {
		if o == l {
			l.r.lanes = append(l.r.lanes[:i], l.r.lanes[i+1:]...)
			return
		}
	}
}

// Resources returns the number of resources.
func (p *Pool) Resources() int { return len(p.resources) }

// Name returns the resource's name.
func (r *PoolResource) Name() string { return r.name }

// Window returns the span, in nanoseconds, in which the rate of r is promised; 0 if it has none.
func (r *PoolResource) Window() int64 { return r.lim.window }

// InFlight returns the number of tasks in flight on r.
func (r *PoolResource) InFlight() int { return r.inFlight }

// full reports whether all workers of the lane have a task.
func (l *Lane) full() bool { return l.inFlight >= l.workers }

// Partition returns the partition that the lane belongs to.
func (l *Lane) Partition() int { return l.partition }

// Resource returns the resource that the lane belongs to.
func (l *Lane) Resource() *PoolResource { return l.r }

// Used returns the slots in use.
func (p *Pool) Used() int { return p.used }

// Cause returns why the lane was refused when it asked last.
func (p *Pool) Cause(l *Lane) Cause { return l.cause }

// Take asks for a slot, a unit of concurrency and cost items of rate, all or
// nothing. weight is the active tenant weight behind the lane. If it refuses,
// nothing is reserved, the lane waits, and at says when asking again makes sense by
// itself, or Never. A waiting lane may be woken before at.
func (p *Pool) Take(now int64, l *Lane, cost int, weight int64, express bool) (at int64, ok bool) {
	r := l.r
	p.ask(now, l)
	l.weight = max(weight, 1)
	if at, cause := p.refusal(now, l, cost); cause != CauseNone {
		return p.refuse(now, l, cost, express, at, cause), false
	}
	if p.waiting > 0 {
		if at := p.turn(now, l, cost, express); at > now {
			return p.refuse(now, l, cost, express, at, CauseTurn), false
		}
	}
	p.unwait(l)
	l.cause = CauseNone
	if r.out != nil && r.out.rated {
		r.takeOutside(now, cost)
	} else {
		r.lim.Take(now, cost)
	}
	p.used++
	r.inFlight++
	l.inFlight++
	r.v = max(r.v, r.least(l))
	l.tag += perWeight(int64(cost), l.weight)
	if r.v > rebaseAt {
		r.rebase()
	}
	if p.waiting > 0 {
		p.settle(now, true)
	}
	return now, true
}

// Peek returns when at least one item could run, without asking whose turn it
// is; a time not after now means now. A lane that could not run waits from then
// on, as after a refused Take.
func (p *Pool) Peek(now int64, l *Lane) int64 {
	at, cause := p.refusal(now, l, 1)
	if cause == CauseNone {
		return now
	}
	p.ask(now, l)
	return p.refuse(now, l, max(l.cost, 1), l.express, at, cause)
}

// Release gives back the slot and the concurrency of one task.
func (p *Pool) Release(now int64, l *Lane) {
	p.used--
	l.r.inFlight--
	l.inFlight--
	if p.waiting > 0 {
		p.settle(now, true)
	}
}

// Idle says that the lane wants nothing now.
func (p *Pool) Idle(now int64, l *Lane) {
	if l.state == laneIdle {
		return
	}
	p.unwait(l)
	l.state, l.woken, l.express, l.cost, l.lack = laneIdle, false, false, 0, CauseNone
	if l.r.busy--; l.r.busy == 0 && l.r.out != nil {
		p.stir(l.r)
	}
	p.settle(now, true)
}

// Wakes appends to dst the lanes that should ask again, and forgets them.
func (p *Pool) Wakes(dst []*Lane) []*Lane {
	for i, l := range p.wakes {
		l.listed = false
		if l.woken {
			dst = append(dst, l)
		}
		p.wakes[i] = nil
	}
	p.wakes = p.wakes[:0]
	return dst
}

// SetWorkers changes how many tasks of the lane may be in flight; below 0 means
// unbounded. Tasks above a lowered number run to their end.
func (p *Pool) SetWorkers(now int64, l *Lane, n int) {
	if n < 0 {
		n = unbounded
	}
	l.workers = n
	p.settle(now, true)
}

// SetConcurrency changes the bound on the tasks in flight on r.
func (p *Pool) SetConcurrency(now int64, r *PoolResource, n int) {
	r.bound = boundOf(n)
	r.shareConcurrency()
	p.settle(now, true)
}

// SetRate changes the rate of r, see [Limiter.SetRate].
func (p *Pool) SetRate(now int64, r *PoolResource, rate float64) {
	r.lim.SetRate(now, rate)
	r.shareRate()
	p.wakeAll(now, r)
}

// CloseUntil lets nothing start on r before t; a time in the past opens it.
func (p *Pool) CloseUntil(now int64, r *PoolResource, t int64) {
	r.closed = t
	p.wakeAll(now, r)
}
