package schedule

import "time"

// Overlap says what happens to a slot while the previous bulk action is still running.
type Overlap string

// The overlap policies.
const (
	Skip  Overlap = "skip"  // the slot is dropped; the default
	Queue Overlap = "queue" // it waits for its turn, with at most MaxWaiting slots in all
	Allow Overlap = "allow" // it is fired anyway
)

const (
	// MaxWaiting bounds the slots that wait under the policy [Queue]; further slots are skipped.
	MaxWaiting = 10
	// OnTime is how late a slot may be without counting as late: a new owner needs time.
	OnTime = time.Minute
	// maxDecisions bounds how many decisions are made at once.
	maxDecisions = 100
)

// CatchUp says what happens to slots that passed while no keeper ran. The zero value fires the
// newest of them if it is not older than an hour.
type CatchUp struct {
	// Window is how late a slot may be fired. Default 1h, from 1m to 30 days.
	Window time.Duration `json:"window"`
	// All fires every late slot in the window, in order, instead of the newest alone.
	All bool `json:"all"`
}

// Bounds of [CatchUp].Window.
const (
	DefaultWindow = time.Hour
	MinWindow     = OnTime
	MaxWindow     = 30 * 24 * time.Hour
)

// Do is the action for a slot.
type Do string

// The kinds of decisions.
const (
	DoFire  Do = "fire"
	DoQueue Do = "queue" // add it to the waiting slots
	DoSkip  Do = "skip"
	DoMiss  Do = "miss" // like skip, but for all slots from Slot up to Until, exclusive
)

// Origin says where a slot comes from.
type Origin string

// The origins of slots.
const (
	Live       Origin = "live"     // it has come due
	Waited     Origin = "waited"   // it was due, and waited for the previous one
	Backfilled Origin = "backfill" // a user requested it
)

// Decision is the action for one slot, or with DoMiss for several, and the reason.
type Decision struct {
	Do     Do
	Slot   time.Time
	Until  time.Time // of DoMiss only
	Origin Origin
	Reason string
}

// State is the input of [Due].
type State struct {
	Times Times
	// Decided is the moment up to which, and with which, every slot has been decided.
	Decided time.Time
	// End is the last moment at which there may be a slot; zero for none.
	End     time.Time
	Paused  bool
	Overlap Overlap
	CatchUp CatchUp
	// Running tells whether the last bulk action is still running, and Catching whether a backfill
	// created it.
	Running, Catching bool
	// Waiting and Backfill are the slots that wait to be fired, in that order.
	Waiting, Backfill []time.Time
}

// Due returns what to do now, in order. At most one of the decisions is to fire, and it is the
// last: the caller carries them out and asks again. Each slot is decided once if Decided, Waiting
// and Backfill follow the decisions.
func Due(s State, now time.Time) []Decision {
	if s.Paused {
		return nil
	}
	blocked := s.Running && s.Overlap != Allow
	if len(s.Waiting) > 0 && !blocked {
		return []Decision{{Do: DoFire, Slot: s.Waiting[0], Origin: Waited, Reason: "the previous bulk action has ended"}}
	}
	out := live(s, now, blocked)
	if len(out) > 0 {
		return out
	}
	if len(s.Backfill) > 0 && !blocked {
		return []Decision{{Do: DoFire, Slot: s.Backfill[0], Origin: Backfilled, Reason: "requested"}}
	}
	return nil
}

// live decides the slots that have come due since Decided.
func live(s State, now time.Time, blocked bool) []Decision {
	var out []Decision
	first := s.next(s.Decided)
	if first.IsZero() || first.After(now) {
		return nil
	}
	slot, until, why := s.firstToFire(first, now)
	if until.After(first) {
		out = append(out, Decision{Do: DoMiss, Slot: first, Until: until, Origin: Live, Reason: why})
	}
	waiting := len(s.Waiting)
	for !slot.IsZero() && !slot.After(now) && len(out) < maxDecisions {
		d := s.decide(slot, now, blocked, waiting)
		out = append(out, d)
		switch d.Do {
		case DoFire:
			return out
		case DoQueue:
			waiting++
		case DoSkip, DoMiss:
		}
		slot = s.next(slot)
	}
	return out
}

// next returns the first slot after a moment that is not beyond the end.
func (s State) next(after time.Time) time.Time {
	slot := s.Times.Next(after)
	if !s.End.IsZero() && slot.After(s.End) {
		return time.Time{}
	}
	return slot
}

// firstToFire returns the first slot that is not too late, zero if all are; until is the moment
// before which all slots from first on are missed, and why is the reason.
func (s State) firstToFire(first, now time.Time) (slot, until time.Time, why string) {
	window := s.CatchUp.withDefaults().Window
	slot, until = first, first
	if oldest := now.Add(-window); first.Before(oldest) {
		slot, until, why = s.next(oldest.Add(-1)), oldest, "too late: older than the catch-up window of "+window.String()
	}
	if s.CatchUp.All {
		return slot, until, why
	}
	// Only the newest late slot, and not even that if one is on time.
	for !slot.IsZero() && now.Sub(slot) > OnTime {
		after := s.next(slot)
		if after.IsZero() || after.After(now) {
			break
		}
		slot, until, why = after, after, "late: a newer slot is due, and only the newest is caught up"
	}
	return slot, until, why
}

// decide applies the overlap policy to one slot that is due and not missed.
func (s State) decide(slot, now time.Time, blocked bool, waiting int) Decision {
	d := Decision{Do: DoFire, Slot: slot, Origin: Live, Reason: "due"}
	if now.Sub(slot) > OnTime {
		d.Reason = "late, within the catch-up window"
	}
	switch {
	case !blocked && waiting == 0:
	case s.Overlap != Queue && !s.Catching: // a backfill must not cost a slot
		d.Do, d.Reason = DoSkip, "the previous bulk action is still running"
	case waiting >= MaxWaiting:
		d.Do, d.Reason = DoSkip, "too many slots wait for the previous bulk action to end"
	default:
		d.Do, d.Reason = DoQueue, "the previous bulk action is still running"
	}
	return d
}

func (c CatchUp) withDefaults() CatchUp {
	if c.Window == 0 {
		c.Window = DefaultWindow
	}
	return c
}
