package callback

import (
	"slices"
	"time"

	"github.com/weirhq/weir/internal/service/due"
)

// State is the state of a delivery.
type State string

// The states of a delivery. A resend leads from all others back to the first.
const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Failed    State = "failed"    // the schedule is exhausted, or the endpoint answered 410
	Cancelled State = "cancelled" // the endpoint was disabled or removed before it was sent
)

// Kinds of endpoints.
const (
	KindHTTP  = "http"
	KindKafka = "kafka"
)

// keptAttempts bounds the attempts that a delivery records.
const keptAttempts = 20

// Delivery is one event for one endpoint.
type Delivery struct {
	ID         string    `json:"id"` // "dlv_…"
	Event      string    `json:"event"`
	Type       string    `json:"type"`
	Tenant     string    `json:"tenant,omitempty"`
	BulkAction string    `json:"bulk_action,omitempty"`
	At         time.Time `json:"at"` // of the event
	Kind       string    `json:"kind"`
	// Endpoint is the id of a registered endpoint or topic, or empty for a URL that came with the
	// event.
	Endpoint string `json:"endpoint,omitempty"`
	URL      string `json:"url,omitempty"` // that came with the event
	State    State  `json:"state"`
	// Round counts the starts: more than 1 if it was resent.
	Round    int       `json:"round"`
	Begun    time.Time `json:"begun"`        // when this round began
	Tries    int       `json:"tries"`        // in this round
	Due      time.Time `json:"due,omitzero"` // of the next attempt, while pending
	Ended    time.Time `json:"ended,omitzero"`
	Attempts []Attempt `json:"attempts,omitempty"` // the last 20, oldest first

	// Once ends the delivery with its first attempt.
	Once   bool       `json:"once,omitempty"`
	Sealed string     `json:"sealed,omitempty"` // secret of the URL
	Claim  *due.Claim `json:"claim,omitempty"`
}

// Attempt records how one attempt ended.
type Attempt struct {
	At     time.Time     `json:"at"`
	Took   time.Duration `json:"took"`
	Status int           `json:"status,omitempty"` // of an HTTP response
	Code   Code          `json:"code,omitempty"`   // why it failed; empty if it succeeded
	Error  string        `json:"error,omitempty"`
	Answer string        `json:"answer,omitempty"` // the first 512 bytes, control characters escaped

	asked time.Duration // the delay that the endpoint asked for
}

// take claims a delivery that is due at now, and free or already claimed by c.By. A process that
// is alone finds only claims of processes that have ended.
func (d *Delivery) take(c *due.Claim, now time.Time, alone bool) bool {
	if d.State != Pending || d.Due.After(now) {
		return false
	}
	if !alone && !d.Claim.Free(c.By, now) {
		return false
	}
	d.Claim = c
	return true
}

// settle records how the attempt under a claim ended, at now; u is a random number in [0,1). It
// reports whether the result took effect: a success does while the delivery is pending, any other
// result only for the holder of the claim.
func (d *Delivery) settle(c *due.Claim, a Attempt, now time.Time, u float64) bool {
	if d.State != Pending || a.Code != "" && !d.Claim.Is(c) {
		return false
	}
	d.Claim = nil
	if a.Code == CodeInterrupted {
		return true // the next attempt repeats this one
	}
	d.remember(a)
	d.Tries++
	after, again := rest(d.Tries, a.asked, u)
	switch {
	case a.Code == "":
		d.end(Delivered, now)
	case a.Code == CodeDisabled:
		d.end(Cancelled, now)
	case a.Code.final() || d.Once || !again:
		d.end(Failed, now)
	default:
		d.Due = now.Add(after)
	}
	return true
}

// remember records the last attempts.
func (d *Delivery) remember(a Attempt) {
	d.Attempts = append(d.Attempts, a)
	d.Attempts = slices.Clone(d.Attempts[max(0, len(d.Attempts)-keptAttempts):])
}

// cancel ends a pending delivery, whichever node has claimed it, and reports whether it was
// pending.
func (d *Delivery) cancel(now time.Time) bool {
	if d.State != Pending {
		return false
	}
	d.Claim = nil
	d.remember(Attempt{At: now, Code: CodeDisabled, Error: errDisabled.Error()})
	d.end(Cancelled, now)
	return true
}

func (d *Delivery) end(s State, now time.Time) {
	d.State, d.Due, d.Ended = s, time.Time{}, now
}

// again starts a new round, unless one is under way.
func (d *Delivery) again(now time.Time) {
	if d.State == Pending {
		return
	}
	d.State, d.Due, d.Ended, d.Claim = Pending, now, time.Time{}, nil
	d.Tries, d.Begun = 0, now
	d.Round++
}

// free returns when a delivery that could not be claimed may be.
func (d *Delivery) free() time.Time {
	if d.Claim != nil && d.Claim.Until.After(d.Due) {
		return d.Claim.Until
	}
	return d.Due
}

func (d *Delivery) result() Result {
	switch d.State {
	case Delivered:
		return ResultDelivered
	case Failed:
		return ResultFailed
	case Cancelled:
		return ResultCancelled
	case Pending:
	}
	return ResultRetried
}
