package experiment

import (
	"time"

	"github.com/weirhq/weir/internal/core/sched"
	"github.com/weirhq/weir/internal/lab/virtual"
)

const (
	ms  = int64(time.Millisecond)
	sec = int64(time.Second)
	// never is a time that does not come.
	never = virtual.Never
	// epoch is when virtual time begins.
	epoch = int64(1e18)
)

// drive runs a queue in virtual time: tasks start when Next says so and end after
// their service time.
type drive struct {
	*virtual.Clock
	q      *sched.Queue
	start  int64
	meters map[*sched.Resource]*meter
	spins  int                     // Next gave nothing although Wake said now
	onPick func(sched.Pick, *job)  // sees every task that starts
	onEnd  func(*job)              // sees every job that ends
	late   func() (lateness int64) // how much later than it wanted the loop wakes up
}

// job is the work of one entry.
type job struct {
	tenant  string
	tier    int
	r       *sched.Resource
	items   int64
	chunk   int64
	service int64
	arrive  int64 // after the start

	e        *sched.Entry
	left     int64
	inFlight int
	served   int64
	done     int64 // when the last task ended, 0 if not yet
	longest  int64 // longest wait between starts
	last     int64
}

func newDrive(o sched.Options) *drive {
	return &drive{Clock: virtual.NewClock(epoch), q: sched.New(o), start: epoch, meters: make(map[*sched.Resource]*meter)}
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
	if at := d.start + p.arrive; at > d.Now() {
		d.At(at, func() { d.submit(p) })
	} else {
		d.submit(p)
	}
	return p
}

func (d *drive) submit(j *job) {
	g := d.q.AddBulk(d.q.Tenant(j.tenant), sched.BulkConfig{Submit: d.Now(), Tier: j.tier})
	j.e = d.q.AddEntry(g, j.r, 0)
	j.e.Data = j
	j.left, j.last = j.items, d.Now()
	d.update(j)
}

func (d *drive) update(j *job) {
	head := min(j.chunk, j.left)
	d.q.Update(d.Now(), j.e, int(head), j.left-head)
}

// pick starts one task, if one may start now.
func (d *drive) pick() (sched.Pick, *job, bool) {
	p, ok := d.q.Next(d.Now())
	if !ok {
		return p, nil, false
	}
	j := p.Entry.Data.(*job)
	cost := int64(p.Cost)
	j.left -= cost
	j.served += cost
	j.longest = max(j.longest, d.Now()-j.last)
	j.last = d.Now()
	d.meters[j.r].count(d.Now(), cost)
	d.update(j)
	return p, j, true
}

// dispatch starts all that may start now.
func (d *drive) dispatch() {
	for {
		p, j, ok := d.pick()
		if !ok {
			if d.q.Wake() <= d.Now() {
				d.spins++
			}
			return
		}
		j.inFlight++
		d.After(j.service, func() { d.finish(p, j) })
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
	d.q.Done(d.Now(), p, ms)
	return j
}

// run goes on until the given time after the start, or until nothing is left.
func (d *drive) run(until int64) {
	for d.dispatch(); ; d.dispatch() {
		next := d.next()
		if d.Advance(min(next, d.start+until)); next == never || next > d.start+until {
			return
		}
		d.Due()
	}
}

// next is when something happens next.
func (d *drive) next() int64 {
	next := min(d.q.Wake(), d.Next())
	if d.late != nil && next != never {
		next = max(next, d.Now()) + d.late()
	}
	return next
}

func (d *drive) finish(p sched.Pick, j *job) {
	d.q.Done(d.Now(), p, j.service)
	j.inFlight--
	if j.left > 0 || j.inFlight > 0 {
		return
	}
	j.done = d.Now()
	d.q.RemoveBulk(d.Now(), j.e.Bulk())
	if d.onEnd != nil {
		d.onEnd(j)
	}
}

// use is the part of the rate of r that was used until now.
func (d *drive) use(r *sched.Resource) float64 { return d.meters[r].use(d.Now()) }

// peak is the line that every experiment with a rate has.
func (d *drive) peak(what string, rs ...*sched.Resource) Line {
	most := 0.0
	for _, r := range rs {
		most = max(most, d.meters[r].peak())
	}
	return Line{Target: 2, What: "peak of any second, " + what, Got: most, Want: 1, Unit: " C"}
}
