package experiment

import (
	"cmp"
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
	r      *sched.Resource // of jobs that name none
	start  int64
	meters map[*sched.Resource]*meter
	spins  int                     // Next gave nothing although Wake said now
	onPick func(sched.Pick, *job)  // sees every task that starts
	onEnd  func(*job)              // sees every job that ends
	late   func() (lateness int64) // how much later than it wanted the loop wakes up

	chunk, service int64 // of jobs that name none
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

// newDrive makes a queue with one resource. Rate 0: it has no limit.
func newDrive(o sched.Options, rate float64) *drive {
	d := &drive{Clock: virtual.NewClock(epoch), q: sched.New(o), start: epoch, meters: make(map[*sched.Resource]*meter)}
	d.r = d.resource(sched.ResourceConfig{Name: "r", Rate: rate}, rate)
	return d
}

// resource adds a resource, and a meter for a rate.
func (d *drive) resource(c sched.ResourceConfig, rate float64) *sched.Resource {
	r := d.q.AddResource(c)
	d.meters[r] = newMeter(rate, d.start)
	return r
}

// many adds n jobs.
func (d *drive) many(n int, of func(i int) job) []*job {
	jobs := make([]*job, n)
	for i := range jobs {
		jobs[i] = d.add(of(i))
	}
	return jobs
}

// add makes a job arrive now, if its time has come, or later.
func (d *drive) add(j job) *job {
	p := &j
	p.r, p.chunk, p.service = cmp.Or(p.r, d.r), cmp.Or(p.chunk, d.chunk, 1), cmp.Or(p.service, d.service)
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

// remove takes the group of a job out of the queue.
func (d *drive) remove(j *job) { d.q.RemoveBulk(d.Now(), j.e.Bulk()) }

func (d *drive) update(j *job) {
	head := min(j.chunk, j.left)
	d.q.Update(d.Now(), j.e, int(head), j.left-head)
}

// weigh gives a tenant a weight, and a cap if that is not 0.
func (d *drive) weigh(tenant string, weight int64, most int) {
	d.q.SetTenant(d.Now(), d.q.Tenant(tenant), weight, most)
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
func (d *drive) dispatch() (last bool) {
	for {
		p, j, ok := d.pick()
		if !ok {
			if d.q.Wake() <= d.Now() {
				d.spins++
			}
			return false
		}
		j.inFlight++
		d.After(j.service, func() { d.finish(p, j) })
		if d.onPick != nil {
			d.onPick(p, j)
		}
	}
}

// serve starts one task and ends it at once, where time is of no account.
func (d *drive) serve() {
	p, _, ok := d.pick()
	if !ok {
		panic("experiment: nothing to run")
	}
	d.q.Done(d.Now(), p, ms)
}

// run goes on until the given time after the start.
func (d *drive) run(until int64) {
	d.Play(d.start+until, d.next, d.dispatch)
	d.Advance(d.start + until)
}

// next returns when something happens next.
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
	d.remove(j)
	if d.onEnd != nil {
		d.onEnd(j)
	}
}

// took returns how long j took, or has taken until now if it did not end.
func (d *drive) took(j *job) float64 { return float64(cmp.Or(j.done, d.Now()) - d.start - j.arrive) }

// use returns the part of the rate that was used until now.
func (d *drive) use() float64 { return d.meters[d.r].use(d.Now()) }

// peak returns the fullest second of any resource.
func (d *drive) peak(what string) Line { return peakLine(what, peakOf(d.meters)) }

// meter watches what starts on one resource: how much in all, and how much in the
// fullest second.
type meter struct {
	virtual.Meter
	rate float64
	from int64
}

func newMeter(rate float64, from int64) *meter {
	return &meter{Meter: virtual.Meter{Window: sec}, rate: rate, from: from}
}

// count notes a start. Times come in order.
func (m *meter) count(at, cost int64) {
	if m.rate == 0 {
		m.Total += cost
		return
	}
	m.Add(at, cost)
}

// peakOf returns the fullest second of all meters in terms of their rates, or 0.
func peakOf(meters map[*sched.Resource]*meter) (most float64) {
	for _, m := range meters { // the most: order does not reach it
		if m.rate > 0 {
			most = max(most, float64(m.Most)/m.rate)
		}
	}
	return most
}

// use returns the part of the rate that was used from the beginning until now.
func (m *meter) use(now int64) float64 {
	return float64(m.Total) / (m.rate * float64(now-m.from) / 1e9)
}
