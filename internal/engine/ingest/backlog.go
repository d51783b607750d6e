package ingest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
)

// Backlog counts the items that are accepted and have not ended, in the partitions that this node owns and in its
// submits under way, and refuses what would be too many.
type Backlog struct {
	most    int64
	pending atomic.Int64
	speedometer
	submits
	tenantBacklogs
}

// NewBacklog makes a backlog of at most so many items. limits tells what a tenant may use.
func NewBacklog(most int64, limits func(tenant string) weir.TenantLimits) *Backlog {
	b := &Backlog{most: most}
	b.limits, b.speed = limits, b.timeFor
	return b
}

// Add changes the number of pending items.
func (b *Backlog) Add(items int64) { b.pending.Add(items) }

// Room reports whether so many more items of a tenant would be accepted now. If not,
// the error is a *[weir.BacklogError]. Nothing is reserved: a submit may find it full a moment later.
func (b *Backlog) Room(tenant string, items int64) error {
	if pending := b.pending.Load(); pending+items > b.most {
		return b.full(pending, items)
	}
	return b.room(tenant, items)
}

func (b *Backlog) full(pending, more int64) error {
	if more > b.most { // also when nothing is pending
		return tooMany(more, b.most, "this server")
	}
	return &weir.BacklogError{Pending: pending, Limit: b.most, RetryAfter: b.timeFor(max(more, b.most/100))}
}

// tooMany refuses a bulk action that is larger than the limit itself: waiting does not help.
func tooMany(items, limit int64, whose string) error {
	return &weir.FieldError{Code: "too_many_items", Field: "items",
		Problem: fmt.Sprintf("%d items are more than %s may have pending at once, which is %d", items, whose, limit),
		Fix:     "split them over several bulk actions, or raise max_pending"}
}

// reserve makes n items more pending, of a submit that has reserved some before, or refuses them. Adding comes
// first: of several submits at once none takes the place that another has seen.
func (b *Backlog) reserve(n, before int64) error {
	if pending := b.pending.Add(n); pending > b.most {
		b.pending.Add(-n)
		return b.full(pending-n-before, before+n)
	}
	return nil
}

// Forget ends a submit that was not accepted for all that is known, or that another node owns: its reserved items
// are not pending here. If it was accepted after all, its owner counts them again.
func (b *Backlog) Forget(id weir.BulkID, reserved int64) {
	if b.end(id) { // else its owner has read it
		b.pending.Add(-reserved)
	}
}

// Read notes that a partition of this node has read of a bulk action.
func (b *Backlog) Read(id weir.BulkID, items int64) {
	b.read(id)
	if !b.end(id) { // another process accepted it
		b.pending.Add(items)
	}
}

// Left forgets what waits for the owner of a partition that is this node no more.
func (b *Backlog) Left(partition int) { b.pending.Add(-b.submits.drop(partition)) }

// submits knows the submits under way, whose blocks look like garbage, and those
// accepted here that their partition's owner, if it is this node, has not read yet.
type submits struct {
	mu    sync.Mutex
	under map[weir.BulkID]*submitting
}

type submitting struct {
	partition int
	accepted  int64 // items counted as pending until the owner has read of them; 0 while it is under way
}

// Begin notes that a submit to a partition is under way: its blocks look like garbage.
func (s *submits) Begin(id weir.BulkID, partition int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.under == nil {
		s.under = map[weir.BulkID]*submitting{}
	}
	s.under[id] = &submitting{partition: partition}
}

// Accepted notes that a submit's items wait for their owner.
func (s *submits) Accepted(id weir.BulkID, items int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.under[id]; u != nil { // else its owner has read it
		u.accepted = items
	}
}

// end forgets a submit and reports whether it was known.
func (s *submits) end(id weir.BulkID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.under[id]
	delete(s.under, id)
	return known != nil
}

// drop forgets what waits for an owner that is this node no more, and returns how many items that is.
func (s *submits) drop(partition int) (items int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, u := range s.under {
		if u.partition == partition && u.accepted > 0 {
			items += u.accepted
			delete(s.under, id)
		}
	}
	return items
}

// UnderWay reports whether a submit is under way here, or accepted and not yet read by its owner.
func (s *submits) UnderWay(id weir.BulkID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.under[id] != nil
}

// speedometer is how many items a second have ended lately, over all partitions.
type speedometer struct {
	mu    sync.Mutex
	from  time.Time
	items int64
	rate  float64
}

// Ended counts items that have ended.
func (s *speedometer) Ended(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items += n
	now := time.Now()
	if s.from.IsZero() {
		s.from = now
	}
	if took := now.Sub(s.from); took >= time.Second {
		s.rate = float64(s.items) / took.Seconds()
		s.from, s.items = now, 0
	}
}

// timeFor is how long n items take at that speed, between a second and an hour.
func (s *speedometer) timeFor(n int64) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rate == 0 {
		return 10 * time.Second
	}
	d := time.Duration(float64(n) / s.rate * float64(time.Second)).Round(time.Second)
	return min(max(d, time.Second), time.Hour)
}
