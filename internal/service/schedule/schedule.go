package schedule

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

const (
	// MaxHistory bounds the fires that a schedule records.
	MaxHistory = 50
	// MaxBackfill bounds the slots that wait to be backfilled.
	MaxBackfill = 1000

	idPrefix = "sch_"
)

// Spec is the user's definition of a schedule.
type Spec struct {
	Name   string `json:"name"`
	Tenant string `json:"tenant"`
	// Cron and Zone say when it fires repeatedly; see [ParseRule].
	Cron string `json:"cron,omitempty"`
	Zone string `json:"zone,omitempty"`
	// At is when it fires once, instead of Cron.
	At time.Time `json:"at,omitzero"`
	// End is the last moment at which it may fire; zero for none.
	End time.Time `json:"end,omitzero"`
	// Overlap is the policy while the previous bulk action is still running. Default Skip.
	Overlap Overlap `json:"overlap"`
	CatchUp CatchUp `json:"catch_up"`
	// Template is the bulk action to create, opaque to this package.
	Template json.RawMessage `json:"template"`
}

// Times returns when the schedule fires.
func (s *Spec) Times() (Times, error) {
	if s.Cron == "" {
		return Once(s.At), nil
	}
	return ParseRule(s.Cron, s.Zone)
}

// Schedule is the record of a schedule.
type Schedule struct {
	ID string `json:"id"`
	Spec
	Paused    bool      `json:"paused"`
	CreatedBy string    `json:"created_by"`
	CreatedAt time.Time `json:"created_at"`
	ChangedAt time.Time `json:"changed_at"`
	// Decided is the moment up to which every slot has been decided.
	Decided time.Time `json:"decided"`
	// LastSlot is the newest slot that was fired, and LastBulk the last bulk action created; Catching
	// says that a backfill created it.
	LastSlot time.Time `json:"last_slot,omitzero"`
	LastBulk string    `json:"last_bulk,omitempty"`
	Catching bool      `json:"catching,omitempty"`
	// Waiting and Backfill are slots that wait to be fired.
	Waiting  []time.Time `json:"waiting,omitempty"`
	Backfill []time.Time `json:"backfill,omitempty"`
	// Firing is the slot that is being fired; it is finished before anything else.
	Firing *Firing `json:"firing,omitempty"`
	// History is the last MaxHistory fires, newest first.
	History []Fire `json:"history,omitempty"`
	// Revision counts the changes by users. Firing does not count, or a schedule that fires each
	// minute could hardly be changed under If-Match.
	Revision int64 `json:"revision"`
}

// Firing records that a slot is being fired. It is written before the bulk action is created.
type Firing struct {
	Slot   time.Time `json:"slot"`
	Origin Origin    `json:"origin"`
	// Until is when retries end.
	Until time.Time `json:"until"`
	// RetryAt is when the next attempt may be made, by any keeper.
	RetryAt time.Time `json:"retry_at"`
	Tries   int       `json:"tries"`
}

// Result is the result of a slot.
type Result string

// The results of slots.
const (
	Fired    Result = "fired"
	Retrying Result = "retrying" // the creation failed and is retried
	Failed   Result = "failed"
	Skipped  Result = "skipped"
	Missed   Result = "missed"
)

// Results lists all results.
func Results() []Result { return []Result{Fired, Retrying, Failed, Skipped, Missed} }

// Fire records the result of one slot, or with Missed of all from Slot up to Until.
type Fire struct {
	Slot   time.Time `json:"slot"`
	Until  time.Time `json:"until,omitzero"`
	At     time.Time `json:"at"`
	Result Result    `json:"result"`
	Origin Origin    `json:"origin"`
	BulkID string    `json:"bulk_id,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Tries  int       `json:"tries,omitempty"`
}

// Key returns the idempotency key of the bulk action that a schedule creates for a slot.
func Key(id string, slot time.Time) string {
	return id + ":" + slot.UTC().Format(time.RFC3339)
}

// NewID returns a new id of a schedule.
func NewID() string { return idPrefix + strings.ToLower(ulid.Make().String()) }

// Version returns the revision as text, for If-Match.
func (s *Schedule) Version() string { return strconv.FormatInt(s.Revision, 10) }

// touch records a change by a user.
func (s *Schedule) touch(now time.Time) {
	s.ChangedAt = now
	s.Revision++
}

// state returns the input of Due.
func (s *Schedule) state(t Times, running bool) State {
	return State{
		Times: t, Decided: s.Decided, End: s.End, Paused: s.Paused, Overlap: s.Overlap, CatchUp: s.CatchUp,
		Running: running, Catching: s.Catching, Waiting: s.Waiting, Backfill: s.Backfill,
	}
}

// apply records decisions. A decision to fire becomes the Firing note.
func (s *Schedule) apply(ds []Decision, now time.Time, hold time.Duration) {
	for _, d := range ds {
		d.Slot, d.Until = d.Slot.UTC(), d.Until.UTC()
		switch d.Origin {
		case Waited:
			s.Waiting = s.Waiting[1:]
		case Backfilled:
			s.Backfill = s.Backfill[1:]
		case Live:
			s.Decided = d.Slot
		}
		switch d.Do {
		case DoFire:
			s.Firing = &Firing{Slot: d.Slot, Origin: d.Origin, Until: s.giveUpAt(d, now), RetryAt: now.Add(hold)}
		case DoQueue:
			s.Waiting = append(s.Waiting, d.Slot)
		case DoSkip:
			s.remember(Fire{Slot: d.Slot, At: now, Result: Skipped, Origin: d.Origin, Reason: d.Reason})
		case DoMiss:
			s.Decided = d.Until.Add(-1)
			s.remember(Fire{Slot: d.Slot, Until: d.Until, At: now, Result: Missed, Origin: d.Origin, Reason: d.Reason})
		}
	}
}

// giveUpAt returns when retries of a slot end: at the end of its catch-up window, which begins now
// for a slot that had to wait.
func (s *Schedule) giveUpAt(d Decision, now time.Time) time.Time {
	begin := now
	if d.Origin == Live {
		begin = d.Slot
	}
	return begin.Add(s.CatchUp.withDefaults().Window)
}

// fired records that the slot being fired has its bulk action.
func (s *Schedule) fired(bulkID string, now time.Time) {
	f := s.Firing
	s.Firing, s.LastBulk, s.Catching = nil, bulkID, f.Origin == Backfilled
	if f.Slot.After(s.LastSlot) {
		s.LastSlot = f.Slot
	}
	s.remember(Fire{Slot: f.Slot, At: now, Result: Fired, Origin: f.Origin, BulkID: bulkID, Tries: f.Tries + 1})
}

// failed records that creating the bulk action failed, and whether it is retried.
func (s *Schedule) failed(reason string, refused bool, now time.Time) {
	f := s.Firing
	f.Tries++
	f.RetryAt = now.Add(backoff(f.Tries))
	result := Retrying
	if refused || f.RetryAt.After(f.Until) {
		result, s.Firing = Failed, nil
	}
	s.remember(Fire{Slot: f.Slot, At: now, Result: result, Origin: f.Origin, Reason: shortReason(reason), Tries: f.Tries})
}

// remember puts a fire first in the history, and replaces an unfinished entry of the same slot.
func (s *Schedule) remember(f Fire) {
	s.History = slices.DeleteFunc(s.History, func(old Fire) bool {
		return old.Result == Retrying && old.Slot.Equal(f.Slot) && old.Origin == f.Origin
	})
	s.History = slices.Insert(s.History, 0, f)
	s.History = s.History[:min(len(s.History), MaxHistory)]
}

// Bounds of the delay between two attempts for a slot.
const (
	firstBackoff = time.Second
	maxBackoff   = time.Minute
)

// backoff returns the delay after a number of failures.
func backoff(tries int) time.Duration {
	return min(maxBackoff, firstBackoff<<min(tries-1, 10))
}

// shortReason cuts an error, to keep the history small.
func shortReason(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// tryAgainAt returns when the slot being fired may be tried again. A time further away than any
// backoff comes from a clock that was set back, and means now.
func (f *Firing) tryAgainAt(now time.Time) time.Time {
	if f.RetryAt.Sub(now) > maxBackoff {
		return now
	}
	return f.RetryAt
}

// upcoming returns when there is something to do, zero for never.
func (s *Schedule) upcoming(t Times, now time.Time) time.Time {
	switch {
	case s.Firing != nil:
		return s.Firing.tryAgainAt(now)
	case s.Paused:
		return time.Time{}
	case len(s.Waiting)+len(s.Backfill) > 0:
		return now
	}
	return s.state(t, false).next(s.Decided)
}
