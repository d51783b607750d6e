package due

import (
	"time"

	"github.com/weirhq/weir/internal/core/heap"
)

// maxPerTarget bounds the jobs of a bounded target in memory. The others wait in the store, so that a
// target whose jobs hang does not crowd out the others.
const maxPerTarget = 256

// queue returns the next job: the one due for longest whose target and host have free places. It has
// no clock and no lock.
type queue[T any] struct {
	atOnce, perTarget, perHost int // 0: no bound
	busy                       int
	due                        heap.Heap[Job[T]] // an entry counts if its job still has this time
	targets, hosts             map[string]*places[T]
	known                      map[string]*known // queued or under way
}

// known is what the queue knows of a job.
type known struct {
	at     time.Time
	fixed  bool // it is held
	parked bool // it was due while all places were taken
	busy   bool
}

// places counts the jobs of a target or of a host.
type places[T any] struct {
	jobs   int               // all of them
	busy   int               // under way
	parked heap.Heap[Job[T]] // were due while all places were taken
}

func newQueue[T any](atOnce, perTarget, perHost int) *queue[T] {
	return &queue[T]{atOnce: atOnce, perTarget: perTarget, perHost: perHost,
		targets: map[string]*places[T]{}, hosts: map[string]*places[T]{}, known: map[string]*known{}}
}

// add adds a job, or moves a known one to another time. A job that is under way, parked or held stays
// as it is, and one whose target is full is left in the store.
func (q *queue[T]) add(j Job[T], hold bool) bool {
	if k := q.known[j.ID]; k != nil {
		if k.busy || k.parked || k.fixed || k.at.Equal(j.At) {
			return false
		}
		k.at = j.At // the entry with the former time is dropped when it comes up
		q.due.Push(j)
		return true
	}
	l := placesOf(q.targets, j.Target)
	if q.perTarget > 0 && l.jobs >= maxPerTarget {
		return false
	}
	l.jobs++
	placesOf(q.hosts, j.Host).jobs++
	q.known[j.ID] = &known{at: j.At, fixed: hold}
	q.due.Push(j)
	return true
}

func placesOf[T any](all map[string]*places[T], name string) *places[T] {
	if all[name] == nil {
		all[name] = &places[T]{}
	}
	return all[name]
}

// next removes a job that may start at now; done must follow.
func (q *queue[T]) next(now time.Time) (Job[T], bool) {
	for !q.full() && len(q.due) > 0 && !q.due[0].At.After(now) {
		j := q.due.Pop()
		k := q.known[j.ID]
		if k == nil || k.busy || k.parked || !k.at.Equal(j.At) {
			continue // it was moved
		}
		l, g := q.targets[j.Target], q.hosts[j.Host]
		switch {
		case taken(l, q.perTarget):
			q.park(l, j)
			if !taken(g, q.perHost) { // a place that j was unparked for is free for the next job
				q.unpark(g)
			}
		case taken(g, q.perHost):
			q.park(g, j)
		default:
			k.busy = true
			l.busy++
			g.busy++
			q.busy++
			return j, true
		}
	}
	return Job[T]{}, false
}

func (q *queue[T]) full() bool { return q.atOnce > 0 && q.busy >= q.atOnce }

func taken[T any](p *places[T], bound int) bool { return bound > 0 && p.busy >= bound }

func (q *queue[T]) park(p *places[T], j Job[T]) {
	q.known[j.ID].parked = true
	p.parked.Push(j)
}

// unpark lets the first job that waits for a place try again.
func (q *queue[T]) unpark(p *places[T]) {
	if len(p.parked) > 0 {
		j := p.parked.Pop()
		q.known[j.ID].parked = false
		q.due.Push(j)
	}
}

// done frees the places of a job.
func (q *queue[T]) done(j Job[T]) {
	delete(q.known, j.ID)
	q.busy--
	q.leave(q.targets, j.Target)
	q.leave(q.hosts, j.Host)
}

// leave frees one place, and lets the first job that waits for it try again.
func (q *queue[T]) leave(all map[string]*places[T], name string) {
	p := all[name]
	p.busy--
	p.jobs--
	q.unpark(p)
	if p.jobs == 0 {
		delete(all, name)
	}
}

// wakeAt returns when the next job is due, if one can start before another ends.
func (q *queue[T]) wakeAt() (time.Time, bool) {
	if q.full() || len(q.due) == 0 {
		return time.Time{}, false
	}
	return q.due[0].At, true
}
