package sim

import (
	"bytes"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
)

// checkStarted: nothing starts of what is held, not before its time, and nothing but the
// canary before the commit that approves of the rest.
func (w *World) checkStarted(c *call) {
	b, o := c.bulk, c.owner
	w.checkInline(b)
	w.checkStored(c)
	s, at := b.state(), b.status.StartAt
	if !b.created {
		switch {
		case b.spec.Hold:
			s = weir.BulkSealed
		case b.spec.StartAt != 0:
			s, at = weir.BulkScheduled, b.spec.StartAt
		}
	}
	switch s {
	case weir.BulkSealed:
		w.must(o.heard(b, partition.Start), "P6", b, -1, "a task of %s was started, which is held", b.spec.ID)
	case weir.BulkScheduled:
		w.must(w.Now() >= at || o.heard(b, partition.Start), "P6", b, -1, "a task of %s was started %d ms before its time",
			b.spec.ID, (at-w.Now())/millis)
	case weir.BulkAwaiting:
		w.must(false, "P6", b, -1, "a task of %s was started, which waits for approval", b.spec.ID)
	default: // checkHolds looks at the others
	}
}

// checkInline: items that came with a message can be read as long as the bulk action is kept.
func (w *World) checkInline(b *truth) {
	if !b.spec.Inline {
		return
	}
	sealed, err := stored.Sealed(w.ctx, w.mem, b.partition, b.spec.ID, 0)
	w.must(err == nil && bytes.Equal(sealed, b.spec.Block), "I1", b, -1, "%s: its items are %q, %v", b.spec.ID, sealed, err)
}

// checkStored: a task's items are read from where its block was written.
func (w *World) checkStored(c *call) {
	b, want := c.bulk, place{c.bulk.spec.ID, c.task.Block}
	if b.written != nil {
		want = b.written[c.task.Block]
	}
	got := place{c.task.StoredAs, c.task.StoredNo}
	w.must(got == want, "I1", b, -1, "block %d of %s is read as %v, and was written as %v", c.task.Block, b.spec.ID, got, want)
}

// heard reports whether the owner has taken a command for b that no commit has shown yet.
func (o *owner) heard(b *truth, verb partition.Verb) bool {
	for _, x := range o.told {
		if x.bulk == b && x.verb == verb {
			return true
		}
	}
	return false
}

// checkCanary: no item but those of the canary starts before the rest may, durably. That
// holds for former owners, too.
func (w *World) checkCanary(c *call) {
	b := c.bulk
	if b.spec.Canary == nil || b.phase == wholeRuns {
		return
	}
	for _, item := range c.task.Items {
		at := b.index(c.task.Block, item)
		w.must(int64(at) < b.spec.Canary.Items, "P6", b, at,
			"%s item %d was started, and the canary of %d items is all that may run", b.spec.ID, at, b.spec.Canary.Items)
	}
}

// The phases of a bulk action with a canary, as its status has them.
const (
	canaryRuns = 1
	wholeRuns  = 2
)

// appliedPhase reads the phase, which is never the one before again.
func (w *World) appliedPhase(b *truth, raw []byte) {
	if b.spec.Canary == nil {
		return
	}
	phase := canaryRuns
	if bytes.Contains(raw, []byte(`"phase":2`)) {
		phase = wholeRuns
	}
	w.must(phase >= b.phase, "I16", b, -1, "%s is in phase %d after phase %d", b.spec.ID, phase, b.phase)
	if phase == wholeRuns && b.phase == canaryRuns {
		w.must(b.ended() >= b.spec.Canary.Items, "P6", b, -1,
			"%s: the rest may run, and %d of %d items of the canary have ended", b.spec.ID, b.ended(), b.spec.Canary.Items)
		if b.state() != weir.BulkAwaiting && b.spec.Canary.Auto {
			w.met[CanaryHeld]++
		}
	}
	b.phase = phase
}

// checkCommanded reports whether a command that is acknowledged, and after which
// none came for the bulk action, is in effect.
func checkCommanded(m *inboxed, was weir.BulkState) bool {
	b := m.bulk
	s := b.state()
	switch m.verb {
	case partition.Pause: // what had not started yet does not heed it
		waited := was == weir.BulkScheduled || was == weir.BulkSealed || b.fromStart && (b.spec.StartAt != 0 || b.spec.Hold)
		return s != weir.BulkRunning || waited
	case partition.Resume:
		return s != weir.BulkPaused
	case partition.Start:
		return s != weir.BulkSealed && (s != weir.BulkScheduled || m.sent < m.command.At && b.status.StartAt == m.command.At)
	case partition.Unset:
		return s != weir.BulkScheduled
	default:
		return true
	}
}
