package partition

import (
	"slices"
	"time"

	"github.com/weirhq/weir/internal/core/chain"
)

// halve schedules both halves of a task that failed as a whole. If another task of the resource
// has ended well since the failure before, the cause is the items and not the resource: the
// halves need not wait long. Otherwise they wait for the backoff, or until such a task ends.
func (m *Machine) halve(now int64, t *Task, next retryTask, after time.Duration) {
	s, n := t.at, len(t.Items)
	slow := max(after, m.delay(s, max(next.fails, t.Attempt)))
	next.soon = max(after, m.delay(s, 1)/chain.Hasten)
	healthy := s.lane.healthy > t.failed()
	first, second := next, next
	first.items, second.items = slices.Clone(t.Items[:n/2]), slices.Clone(t.Items[n/2:])
	halves := []*retryTask{&first, &second}
	for _, h := range halves {
		if healthy {
			m.schedule(now, h, next.soon)
			continue
		}
		m.schedule(now, h, slow)
		s.lane.await(h)
	}
}

// await registers a half to be tried as soon as the resource is known to work. When the list is
// long, it drops halves that have already been tried.
func (on *lane) await(h *retryTask) {
	if len(on.halves) == cap(on.halves) {
		on.halves = slices.DeleteFunc(on.halves, func(h *retryTask) bool { return !h.counted })
	}
	on.halves = append(on.halves, h)
}

// failed returns when the task failed before, or when it was first started.
func (t *Task) failed() int64 {
	if t.retry == nil {
		return t.started
	}
	return t.retry.failed
}

// isUnlike reports whether r has failed as a whole, and a later task of the resource has not:
// the resource is not the cause.
func (r *retryTask) isUnlike() bool { return r.unlike || r.failed != 0 && r.at.lane.well > r.failed }

// isBlamed reports the same for tasks of its own step: the tenant is not the cause.
func (r *retryTask) isBlamed() bool { return r.blamed || r.failed != 0 && r.at.well > r.failed }

// unlike reports whether the task is known to fail where others of its resource do not.
func (t *Task) unlike() bool { return t.retry != nil && t.retry.unlike }

// blamed reports whether the task is known to fail where others of its step do not.
func (t *Task) blamed() bool { return t.retry != nil && t.retry.blamed }

// proveHealthy records that a task of the lane has ended with answers for its items: halves
// that wait for the resource to recover wait no longer.
func (m *Machine) proveHealthy(now int64, on *lane) {
	on.healthy = now
	for _, h := range on.halves {
		h.at.bulk.lastDue = now // the rest of them is hastened, too
	}
	for _, h := range on.halves {
		if soon := now + int64(h.soon); h.counted && soon < h.due {
			h.due = soon
			m.waits.push(wait{due: soon, retry: h})
			h.at.bulk.lastDue = max(h.at.bulk.lastDue, h.due)
		}
	}
	clear(on.halves)
	on.halves = on.halves[:0]
}
