package callback

import (
	"time"

	"github.com/weirhq/weir/internal/heap"
)

// maxPerHost bounds how many jobs for one host are held in memory. The others wait
// in the store, and a host that hangs crowds nobody out.
const maxPerHost = 256

// job is a pending delivery that this node knows of.
type job struct {
	notice   string // name of its pending notice
	delivery string
	bulk     string
	host     string
	round    int
	due      time.Time
}

// Before orders jobs by when they are due.
func (j job) Before(o job) bool { return j.due.Before(o.due) }

// queue tells which job is next: the one that has been due for longest, of those
// whose host has less than limit under way. It has no clock and no lock.
type queue struct {
	limit int
	due   heap.Heap[job]
	hosts map[string]*host
	known map[string]bool // notices that are here or under way
}

type host struct {
	jobs   int            // all of them
	busy   int            // under way
	parked heap.Heap[job] // were due when all places were taken
}

func newQueue(limit int) *queue {
	return &queue{limit: limit, hosts: map[string]*host{}, known: map[string]bool{}}
}

// add takes a job, unless it is known or its host has too many.
func (q *queue) add(j job) bool {
	h := q.hosts[j.host]
	if h == nil {
		h = &host{}
	}
	if q.known[j.notice] || h.jobs >= maxPerHost {
		return false
	}
	h.jobs++
	q.hosts[j.host], q.known[j.notice] = h, true
	q.due.Push(j)
	return true
}

// next takes a job out that may be begun at now; done has to follow.
func (q *queue) next(now time.Time) (job, bool) {
	for len(q.due) > 0 && !q.due[0].due.After(now) {
		j := q.due.Pop()
		h := q.hosts[j.host]
		if h.busy < q.limit {
			h.busy++
			return j, true
		}
		h.parked.Push(j)
	}
	return job{}, false
}

// done gives the place of a job back.
func (q *queue) done(j job) {
	h := q.hosts[j.host]
	h.busy--
	h.jobs--
	delete(q.known, j.notice)
	if len(h.parked) > 0 {
		q.due.Push(h.parked.Pop())
	}
	if h.jobs == 0 {
		delete(q.hosts, j.host)
	}
}

// wakeAt is when the next job is due, if there is one.
func (q *queue) wakeAt() (time.Time, bool) {
	if len(q.due) == 0 {
		return time.Time{}, false
	}
	return q.due[0].due, true
}
