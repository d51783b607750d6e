package callback

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir"
)

// Types of events of a bulk action.
const (
	TypeCanaryReady = "bulk_action.canary_ready" // waits for approval
	TypeCompleted   = "bulk_action.completed"
	TypeStopped     = "bulk_action.stopped" // by a rule
	TypeCancelled   = "bulk_action.cancelled"
	TypeFailed      = "bulk_action.failed"
	TypeLate        = "bulk_action.late" // will not be done by its deadline
)

// TypePing is the type of the event that [Notifier.Test] sends.
const TypePing = "webhook.ping"

// Types lists the event types that an endpoint can receive.
func Types() []string {
	return []string{TypeCanaryReady, TypeCompleted, TypeStopped, TypeCancelled, TypeFailed, TypeLate}
}

// maxData bounds the data of an event, so that its record fits in every store.
const maxData = 256 << 10

// Event is an event of a bulk action.
type Event struct {
	// ID is the same each time the same event is noted; see [EventID].
	ID         string
	Type       string
	Tenant     string
	BulkAction string
	At         time.Time
	// Trace is the traceparent that deliveries continue; empty: none.
	Trace string
	// Data is the payload for receivers, JSON of at most 256 KiB.
	Data json.RawMessage
}

// EventID returns the id of a bulk action's event of a type. The number distinguishes events that
// can happen more than once, and is 0 for those that cannot.
func EventID(bulkAction, eventType string, number int64) string {
	return "evt_" + digest(bulkAction, eventType, strconv.FormatInt(number, 10))
}

// digest returns a short name for parts that together are unique.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}

func (e Event) check() error {
	bad := &weir.InputError{}
	if e.ID == "" || len(e.ID) > 100 {
		bad.Add("out_of_range", "id", fmt.Sprintf("has %d bytes", len(e.ID)), "make it with EventID")
	}
	if e.Type == "" || len(e.Type) > 100 {
		bad.Add("out_of_range", "type", fmt.Sprintf("has %d bytes", len(e.Type)), "write 1 to 100, as in "+TypeCompleted)
	}
	if e.At.IsZero() {
		bad.Add("bad_time", "at", "is missing", "say when it happened")
	}
	if len(e.Data) > maxData {
		bad.Add("out_of_range", "data", fmt.Sprintf("has %d bytes", len(e.Data)), fmt.Sprintf("at most %d are kept", maxData))
	}
	return bad.OrNil()
}

// CloudEvent is the body of every delivery: a CloudEvent as JSON.
type CloudEvent struct {
	SpecVersion     string          `json:"specversion" example:"1.0"`
	ID              string          `json:"id" doc:"The same in each attempt to deliver the event"`
	Type            string          `json:"type"`
	Source          string          `json:"source" example:"/weir"`
	Subject         string          `json:"subject,omitempty" doc:"Id of the bulk action"`
	Time            time.Time       `json:"time" doc:"When it happened"`
	DataContentType string          `json:"datacontenttype,omitempty" example:"application/json"`
	Tenant          string          `json:"tenant,omitempty"`
	Data            json.RawMessage `json:"data,omitempty"`
}

// body builds the body of an event. It is built once; each attempt sends the stored bytes.
func (e Event) body(source string) ([]byte, error) {
	env := CloudEvent{
		SpecVersion: "1.0", ID: e.ID, Type: e.Type, Source: source, Subject: e.BulkAction,
		Time: e.At.UTC(), Tenant: e.Tenant, Data: e.Data,
	}
	if len(e.Data) > 0 {
		env.DataContentType = "application/json"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(env); err != nil {
		if _, ok := errors.AsType[*json.MarshalerError](err); ok {
			return nil, &weir.FieldError{Code: "bad_json", Field: "data", Problem: "is not valid JSON", Fix: "give one JSON value"}
		}
		return nil, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// eventRecord is the record of an event: the first writer decides its content.
type eventRecord struct {
	Type       string    `json:"type"`
	Tenant     string    `json:"tenant,omitempty"`
	BulkAction string    `json:"bulk_action,omitempty"`
	At         time.Time `json:"at"`
	Trace      string    `json:"trace,omitempty"`
	Body       []byte    `json:"body"` // not as JSON, which would not keep its bytes
}
