package partition

import "time"

// growAfter is how long the size of a step's tasks is kept after larger ones were tried and
// refused. It doubles each time, up to growLatest.
const (
	growAfter  = 10 * time.Second
	growLatest = 10 * time.Minute
)

// room is the number of items that a downstream takes at once of a step, learned from refusals
// of whole tasks.
type room struct {
	most  int           // items in a task; 0: no bound
	last  int64         // when a task last ended with answers for its items
	moved int64         // when the bound last changed
	wait  time.Duration // how long the bound is kept
	grown bool          // larger tasks are being tried
}

// shrink halves the tasks, after one of n items was refused. It reports whether they are
// smaller now.
func (r *room) shrink(now int64, n int) bool {
	most := (n + 1) / 2
	if n < 2 || r.most != 0 && r.most <= most {
		return false
	}
	if r.grown { // else the refusals may have another cause than the size
		r.wait = min(max(2*r.wait, growAfter), growLatest)
	}
	r.most, r.moved, r.grown = most, now, false
	return true
}

// passed records a task of n items that the downstream answered. If it was as large as allowed,
// the next ones are twice as large, up to chunk, unless that was refused recently.
func (r *room) passed(now int64, n, chunk int) {
	r.last = now
	if r.most == 0 || n < r.most || now-r.moved < int64(r.wait) {
		return
	}
	if r.most, r.moved, r.grown = 2*r.most, now, true; r.most >= chunk {
		r.most = 0
	}
}

// most returns the largest number of items in a task of the step.
func (s *step) most() int {
	most := s.chunk
	for _, n := range [...]int{s.room.most, s.pace.Part} {
		if n > 0 {
			most = min(most, n)
		}
	}
	return most
}

// refusedAlone reports whether the task was refused before as well, and nothing of its
// resource, or of its bulk action if the limit is the tenant's, has passed since.
func (t *Task) refusedAlone(ofTenant bool) bool {
	passed := t.at.lane.healthy
	if ofTenant {
		passed = t.at.room.last
	}
	return t.retry != nil && t.retry.turned > passed
}
