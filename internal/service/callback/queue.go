package callback

import (
	"time"

	"github.com/weirhq/weir/internal/core/heap"
)

// maxPerLane bounds the jobs of one lane in memory. The others wait in the store, so a receiver
// that hangs does not crowd out the others.
const maxPerLane = 256

// lane is a unit with its own concurrency limit: the deliveries of a tenant to a host; each
// registered endpoint is its own lane.
type lane struct{ tenant, endpoint, host string }

// job is a pending delivery that this node knows.
type job struct {
	notice   string // name of its pending notice
	delivery string
	bulk     string
	lane     lane
	round    int
	due      time.Time
}

// Before orders jobs by due time.
func (j job) Before(o job) bool { return j.due.Before(o.due) }

// queue returns the next job: the one due for longest whose lane and host have free places. It has
// no clock and no lock.
type queue struct {
	perLane, perHost int
	due              heap.Heap[job]
	lanes            map[lane]*places
	hosts            map[string]*places
	known            map[string]bool // notices that are queued or under way
}

// places counts the jobs of a lane or of a host.
type places struct {
	jobs   int            // all of them
	busy   int            // under way
	parked heap.Heap[job] // were due while all places were taken
}

func newQueue(perLane, perHost int) *queue {
	return &queue{perLane: perLane, perHost: perHost, lanes: map[lane]*places{}, hosts: map[string]*places{}, known: map[string]bool{}}
}

// add adds a job, unless it is known or its lane is full.
func (q *queue) add(j job) bool {
	l := placesOf(q.lanes, j.lane)
	if q.known[j.notice] || l.jobs >= maxPerLane {
		return false
	}
	l.jobs++
	placesOf(q.hosts, j.lane.host).jobs++
	q.known[j.notice] = true
	q.due.Push(j)
	return true
}

func placesOf[K comparable](all map[K]*places, k K) *places {
	if all[k] == nil {
		all[k] = &places{}
	}
	return all[k]
}

// next removes a job that may start at now; done must follow.
func (q *queue) next(now time.Time) (job, bool) {
	for len(q.due) > 0 && !q.due[0].due.After(now) {
		j := q.due.Pop()
		l, h := q.lanes[j.lane], q.hosts[j.lane.host]
		switch {
		case l.busy >= q.perLane:
			l.parked.Push(j)
			if h.busy < q.perHost { // a place that j was unparked for is free for the next job
				q.unpark(h)
			}
		case h.busy >= q.perHost:
			h.parked.Push(j)
		default:
			l.busy++
			h.busy++
			return j, true
		}
	}
	return job{}, false
}

// done frees the places of a job.
func (q *queue) done(j job) {
	delete(q.known, j.notice)
	leave(q, q.lanes, j.lane)
	leave(q, q.hosts, j.lane.host)
}

// leave frees one place, and lets the first job that waits for it try again.
func leave[K comparable](q *queue, all map[K]*places, k K) {
	p := all[k]
	p.busy--
	p.jobs--
	q.unpark(p)
	if p.jobs == 0 {
		delete(all, k)
	}
}

// unpark lets the first job that waits for a place try again.
func (q *queue) unpark(p *places) {
	if len(p.parked) > 0 {
		q.due.Push(p.parked.Pop())
	}
}

// wakeAt returns when the next job is due, if any.
func (q *queue) wakeAt() (time.Time, bool) {
	if len(q.due) == 0 {
		return time.Time{}, false
	}
	return q.due[0].due, true
}
