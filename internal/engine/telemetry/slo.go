package telemetry

import (
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
)

// targets holds, by tier, the time within which the first call of a bulk action should begin.
var targets = [...]time.Duration{
	weir.TierDefault:  15 * time.Minute,
	weir.TierCritical: 30 * time.Second,
	weir.TierHigh:     2 * time.Minute,
	weir.TierLow:      time.Hour,
}

// starts counts the bulk actions of a tier of which it is known whether they kept the target, and those that did.
type starts struct{ all, good int64 }

// awaited says how long a bulk action has waited for its first call, as far as that counts.
type awaited struct {
	tier   weir.Tier
	open   bool          // it is not known yet whether it keeps its target
	inbox  time.Duration // from its submit until the partition read it
	barred time.Duration // since then, time in which the call could not begin, however much capacity is free
}

// awaitFirst begins to wait for the first call of a bulk action. One whose target has passed was counted by its
// former owner.
func (k *counted) awaitFirst(now int64, h *partition.Held) {
	k.tier = h.Tier
	k.open = !h.Called && (notStarted(h.State) || time.Duration(now-h.Started) <= targets[h.Tier])
}

// notStarted reports whether a bulk action in the state waits for its start.
func notStarted(s weir.BulkState) bool { return s == weir.BulkSealed || s == weir.BulkScheduled }

// waited returns how long a bulk action has waited at a time since it started.
func (k *counted) waited(at int64) time.Duration {
	return max(time.Duration(at-k.started)-k.barred+k.inbox, 0)
}

// judge counts a bulk action once: whether its first call began, at such a time, within the target of its tier.
func (t *Counter) judge(k *counted, at int64) {
	s := &t.starts[k.tier]
	s.all++
	if k.waited(at) <= targets[k.tier] {
		s.good++
	}
	k.open = false
}

// await looks whether the first call of a bulk action has begun, or its target has passed. span is the time since the
// look before.
func (t *Counter) await(now int64, span time.Duration, k *counted, h *partition.Held) {
	if !k.open {
		return
	}
	if k.tier = h.Tier; notStarted(h.State) {
		return
	}
	k.started = h.Started
	if h.Barred {
		k.barred += min(span, max(time.Duration(now-h.Started), 0))
	}
	if h.Called || k.waited(now) > targets[k.tier] {
		t.judge(k, now)
	}
}

// endOfWait counts a bulk action that ended before a call was seen: its calls were made elsewhere, or it needed none.
// One that was cancelled is left out.
func (t *Counter) endOfWait(k *counted, v *weir.Progress) {
	if k.open && v.State == weir.BulkCompleted && !v.Finished.IsZero() {
		t.judge(k, v.Finished.UnixNano())
	}
	k.open = false
}
