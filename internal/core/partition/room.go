package partition

import "time"

// growAfter is how long a step's tasks stay as they are after larger ones have been
// tried and refused. It doubles each time, up to growLatest.
const (
	growAfter  = 10 * time.Second
	growLatest = 10 * time.Minute
)

// room is how many items at once a downstream takes of a step, as far as refusals of
// whole tasks tell.
type room struct {
	most  int           // items in a task; 0: no bound
	last  int64         // when a task last ended with answers for its items
	moved int64         // when the bound last changed
	wait  time.Duration // how long it stays
	grown bool          // larger ones are being tried
}

// shrink halves the tasks, after one of n items was refused. It reports whether they are smaller now.
func (r *room) shrink(now int64, n int) bool {
	most := (n + 1) / 2
	if n < 2 || r.most != 0 && r.most <= most {
		return false
	}
	if r.grown { // else nothing may have been about the size
		r.wait = min(max(2*r.wait, growAfter), growLatest)
	}
	r.most, r.moved, r.grown = most, now, false
	return true
}

// passed notes a task of n items that the downstream answered. If none may be larger,
// the next ones are twice as large, up to chunk, unless that was refused not long ago.
func (r *room) passed(now int64, n, chunk int) {
	r.last = now
	if r.most == 0 || n < r.most || now-r.moved < int64(r.wait) {
		return
	}
	if r.most, r.moved, r.grown = 2*r.most, now, true; r.most >= chunk {
		r.most = 0
	}
}

// most is the most items in a task of the step.
func (s *step) most() int {
	most := s.chunk
	for _, n := range [...]int{s.room.most, s.pace.part} {
		if n > 0 {
			most = min(most, n)
		}
	}
	return most
}

// refusedAlone reports whether the task was refused before, too, and nothing of its
// resource, or of its bulk action if the limit is the tenant's, has passed since.
func (t *Task) refusedAlone(ofTenant bool) bool {
	passed := t.at.lane.healthy
	if ofTenant {
		passed = t.at.room.last
	}
	return t.retry != nil && t.retry.turned > passed
}
