package report

// State is the state of an item.
type State string

// The first three states are final; the last one is of a step, not of a row.
const (
	StateDone      State = "done"
	StateFailed    State = "failed"
	StateCancelled State = "cancelled"
	StateReady     State = "ready"
	StateWaiting   State = "waiting"
	StateInFlight  State = "in_flight"
	StateSkipped   State = "skipped" // it passed the step without a call
)

// ReasonSkipped is the reason of a row that passed its last step without a call.
const ReasonSkipped = "skipped"

// CodeUnclear is the code of an item that was called, or may have been, gave no clear answer, and did not end since:
// the service may have done it.
const CodeUnclear = "no_clear_answer"

// Row tells how one item ended, or where it stands.
type Row struct {
	ID       string
	Data     []byte // the item's JSON document
	State    State
	Step     string // step at which it ended or waits
	Code     string // error code, when it failed; CodeUnclear or none when it was cancelled or has not ended
	Message  string // error message, when it has a code
	Attempts int
	Output   []byte   // JSON that the last action returned, if any
	Outputs  [][]byte // the same by step; nil: no step answered
	Reason   string   // why it waits, or was cancelled; skipped: its last step was passed without a call
	LeftOut  bool     // cancelled by its step, not with the bulk action
	No       int64    // position in the bulk action, from 0
	KeyNo    int64    // the number in its idempotency key
	RetryNo  int64    // its KeyNo in the bulk action that is retried; 0 if none is
}

// Invalid is a row of the input that did not become an item.
type Invalid struct {
	Line    int    `json:"line"`
	Column  int    `json:"column,omitempty"`
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"`
	Value   string `json:"value,omitempty"`
	Problem string `json:"problem"`
	Fix     string `json:"fix,omitempty"`
}

// Duplicate is a row of the input that was ignored because of a duplicate id.
type Duplicate struct {
	Line      int    `json:"line"`
	ID        string `json:"id"`
	FirstLine int    `json:"first_line,omitempty"` // 0 if unknown
}
