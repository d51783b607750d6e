package callback

import (
	"slices"
	"time"
)

// State is where a delivery is.
type State string

// The states of a delivery. Sending again leads from all others back to the first.
const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Failed    State = "failed"    // the schedule is at its end, or the endpoint answered 410
	Cancelled State = "cancelled" // the endpoint was switched off or removed before it was sent
)

// Kinds of endpoints.
const (
	KindHTTP  = "http"
	KindKafka = "kafka"
)

// keptAttempts is how many attempts a delivery remembers.
const keptAttempts = 20

// Delivery is one event on its way to one endpoint.
type Delivery struct {
	ID         string    `json:"id"` // "dlv_…"
	Event      string    `json:"event"`
	Type       string    `json:"type"`
	Tenant     string    `json:"tenant,omitempty"`
	BulkAction string    `json:"bulk_action,omitempty"`
	At         time.Time `json:"at"` // of the event
	Kind       string    `json:"kind"`
	// Endpoint is the id of a registered endpoint or topic, or empty for a URL that came with the event.
	Endpoint string `json:"endpoint,omitempty"`
	URL      string `json:"url,omitempty"` // that came with the event
	State    State  `json:"state"`
	// Round is how often it was begun: more than 1 if it was sent again.
	Round    int       `json:"round"`
	Begun    time.Time `json:"begun"`        // when this round began
	Tries    int       `json:"tries"`        // in this round
	Due      time.Time `json:"due,omitzero"` // of the next attempt, while pending
	Ended    time.Time `json:"ended,omitzero"`
	Attempts []Attempt `json:"attempts,omitempty"` // the last 20, oldest first

	// Once ends it with its first attempt.
	Once   bool   `json:"once,omitempty"`
	Sealed string `json:"sealed,omitempty"` // secret of the URL
	Claim  *claim `json:"claim,omitempty"`
}

// Attempt is how one attempt ended.
type Attempt struct {
	At     time.Time     `json:"at"`
	Took   time.Duration `json:"took"`
	Status int           `json:"status,omitempty"` // of an HTTP answer
	Code   Code          `json:"code,omitempty"`   // why it failed; empty if it did not
	Error  string        `json:"error,omitempty"`
	Answer string        `json:"answer,omitempty"` // the first 512 bytes, control characters escaped

	asked time.Duration // rest that the endpoint asked for
}

// claim keeps a delivery for one node.
type claim struct {
	By    string    `json:"by"`
	Until time.Time `json:"until"`
}

func (c *claim) is(other *claim) bool {
	return c != nil && other != nil && c.By == other.By && c.Until.Equal(other.Until)
}

// take claims a delivery that is due at now, and free or c.By's own. Who is alone
// finds only claims of processes that are no more.
func (d *Delivery) take(c *claim, now time.Time, alone bool) bool {
	if d.State != Pending || d.Due.After(now) {
		return false
	}
	if d.Claim != nil && d.Claim.By != c.By && d.Claim.Until.After(now) && !alone {
		return false
	}
	d.Claim = c
	return true
}

// settle notes how the attempt under a claim ended, at now; u is a random number
// in [0,1). It reports whether that still mattered: a success does as long as the
// delivery is pending, anything else only to whoever holds the claim.
func (d *Delivery) settle(c *claim, a Attempt, now time.Time, u float64) bool {
	if d.State != Pending || a.Code != "" && !d.Claim.is(c) {
		return false
	}
	d.Claim = nil
	if a.Code == CodeInterrupted {
		return true // the next one begins where this one did
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

// remember keeps the last attempts.
func (d *Delivery) remember(a Attempt) {
	d.Attempts = append(d.Attempts, a)
	d.Attempts = slices.Clone(d.Attempts[max(0, len(d.Attempts)-keptAttempts):])
}

// cancel ends a delivery that is pending, whichever node has claimed it, and
// reports whether it was.
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

// again begins a new round, unless one is under way.
func (d *Delivery) again(now time.Time) {
	if d.State == Pending {
		return
	}
	d.State, d.Due, d.Ended, d.Claim = Pending, now, time.Time{}, nil
	d.Tries, d.Begun = 0, now
	d.Round++
}
