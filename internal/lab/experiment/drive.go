package experiment

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir/internal/core/heap"
	"github.com/weirhq/weir/internal/core/sched"
)

const (
	ms  = int64(time.Millisecond)
	sec = int64(time.Second)
	// never is a time that does not come.
	never = int64(math.MaxInt64)
	// epoch is when virtual time begins.
	epoch = int64(1e18)
)

// drive runs a queue in virtual time: tasks start when Next says so and end after
// their service time.
type drive struct {
	q      *sched.Queue
	start  int64
	now    int64
	ends   heap.Heap[ending]
	coming []*job // by arrival, once it runs
	seq    int64
	meters map[*sched.Resource]*meter
	spins  int                     // Next gave nothing although Wake said now
	onPick func(sched.Pick, *job)  // sees every task that starts
	onEnd  func(*job)              // sees every job that ends
	late   func() (lateness int64) // how much later than it wanted the loop wakes up
}

// ending is a task that runs.
type ending struct {
	at, seq int64
	p       sched.Pick
	j       *job
}

// Before implements heap.Ordered.
func (e ending) Before(o ending) bool {
	return e.at < o.at || e.at == o.at && e.seq < o.seq
}

// job is the work of one entry.
type job struct {
	tenant   string
	tier     int
	r        *sched.Resource
	items    int64
	chunk    int64
	service  int64
	arrive   int64 // after the start
	priority int

	e           *sched.Entry
	left        int64
	inFlight    int
	served      int64
	first, done int64 // when the first task started and the last one ended, 0 if not yet
	longest     int64 // longest wait between starts
	last        int64
}

func newDrive(o sched.Options) *drive {
	return &drive{q: sched.New(o), start: epoch, now: epoch, meters: make(map[*sched.Resource]*meter)}
}

// resource adds a resource, and a meter for its rate if it has one.
func (d *drive) resource(c sched.ResourceConfig) *sched.Resource {
	r := d.q.AddResource(c)
	d.meters[r] = newMeter(c.Rate, d.start)
	return r
}

// add makes a job arrive now, if its time has come, or later.
func (d *drive) add(j job) *job {
	p := &j
	p.chunk = max(p.chunk, 1)
	if d.start+p.arrive > d.now {
		d.coming = append(d.coming, p)
		return p
	}
	d.submit(p)
	return p
}

func (d *drive) submit(j *job) {
	g := d.q.AddGroup(d.q.Tenant(j.tenant), sched.GroupConfig{Submit: d.now, Tier: j.tier, Priority: j.priority})
	j.e = d.q.AddEntry(g, j.r, 0)
	j.e.Data = j
	j.left, j.last = j.items, d.now
	d.update(j)
}

func (d *drive) update(j *job) {
	head := min(j.chunk, j.left)
	d.q.Update(d.now, j.e, int(head), j.left-head)
}

// pick starts one task, if one may start now.
func (d *drive) pick() (sched.Pick, *job, bool) {
	p, ok := d.q.Next(d.now)
	if !ok {
		return p, nil, false
	}
	j := p.Entry.Data.(*job)
	if j.left == j.items {
		j.first = d.now
	}
	cost := int64(p.Cost)
	j.left -= cost
	j.served += cost
	j.longest = max(j.longest, d.now-j.last)
	j.last = d.now
	d.meters[j.r].count(d.now, cost)
	d.update(j)
	return p, j, true
}

// dispatch starts all that may start now.
func (d *drive) dispatch() {
	for {
		p, j, ok := d.pick()
		if !ok {
			if d.q.Wake() <= d.now {
				d.spins++
			}
			return
		}
		j.inFlight++
		d.seq++
		d.ends.Push(ending{d.now + j.service, d.seq, p, j})
		if d.onPick != nil {
			d.onPick(p, j)
		}
	}
}

// serve starts one task and ends it at once, where time is of no account.
func (d *drive) serve() *job {
	p, j, ok := d.pick()
	if !ok {
		panic("experiment: nothing to run")
	}
	d.q.Done(d.now, p, ms)
	return j
}

// run goes on until the given time after the start, or until nothing is left.
func (d *drive) run(until int64) {
	slices.SortStableFunc(d.coming, func(a, b *job) int { return cmp.Compare(a.arrive, b.arrive) })
	for d.dispatch(); ; d.dispatch() {
		next := d.next()
		if next == never || next > d.start+until {
			d.now = min(max(d.now, next), d.start+until)
			return
		}
		d.now = max(d.now, next)
		for len(d.ends) > 0 && d.ends[0].at <= d.now {
			d.finish(d.ends.Pop())
		}
		for len(d.coming) > 0 && d.start+d.coming[0].arrive <= d.now {
			d.submit(d.coming[0])
			d.coming = d.coming[1:]
		}
	}
}

// next is when something happens next.
func (d *drive) next() int64 {
	next := d.q.Wake()
	if len(d.ends) > 0 {
		next = min(next, d.ends[0].at)
	}
	if len(d.coming) > 0 {
		next = min(next, d.start+d.coming[0].arrive)
	}
	if d.late != nil && next != never {
		next = max(next, d.now) + d.late()
	}
	return next
}

func (d *drive) finish(x ending) {
	d.q.Done(d.now, x.p, x.j.service)
	x.j.inFlight--
	if x.j.left > 0 || x.j.inFlight > 0 {
		return
	}
	x.j.done = d.now
	d.q.RemoveGroup(d.now, x.j.e.Group())
	if d.onEnd != nil {
		d.onEnd(x.j)
	}
}

// use is the part of the rate of r that was used until now.
func (d *drive) use(r *sched.Resource) float64 { return d.meters[r].use(d.now) }

// peak is the line that every experiment with a rate has.
func (d *drive) peak(what string, rs ...*sched.Resource) Line {
	most := 0.0
	for _, r := range rs {
		most = max(most, d.meters[r].peak())
	}
	return Line{Target: 2, What: "peak of any second, " + what, Got: most, Want: 1, Unit: " C"}
}
