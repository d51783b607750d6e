package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/weirhq/weir"
)

// Summary is the content of report.json.
type Summary struct {
	ID            string      `json:"id"`
	Name          string      `json:"name,omitempty"`
	Tenant        string      `json:"tenant,omitempty"`
	State         string      `json:"state"`
	Reason        string      `json:"reason,omitempty"`  // why it was stopped or cancelled
	Outcome       string      `json:"outcome,omitempty"` // empty unless it has completed
	RetryOf       string      `json:"retry_of,omitempty"`
	Retries       []string    `json:"retries,omitempty"` // bulk actions that tried failed items of this one again
	Undone        *Undone     `json:"undone,omitempty"`  // nil: it was not undone. The counts are those before it
	StartedAt     time.Time   `json:"started_at,omitzero"`
	FinishedAt    *time.Time  `json:"finished_at,omitempty"` // nil while it runs
	Duration      Duration    `json:"duration"`
	Durability    string      `json:"durability,omitempty"`
	Counts        weir.Counts `json:"counts"`
	Unclear       int64       `json:"unclear,omitempty"`        // items that were called, or may have been, without a clear answer, and did not end since; see CodeUnclear
	UnclearFailed int64       `json:"unclear_failed,omitempty"` // items that failed without a clear answer to their last call: the service may have done them
	Duplicates    int64       `json:"duplicates"`               // rows of the input, not items
	Invalid       int64       `json:"invalid"`                  // rows of the input, not items
	Steps         []Step      `json:"steps"`
	Errors        []Group     `json:"error_groups"`
	Waited        []Wait      `json:"waited"`
	Losses        []Loss      `json:"losses,omitempty"`
	// Combined are the counts that include the retries. The rows are then counted by it, since each has the state
	// of its item after all retries. Nil: no retries.
	Combined *weir.Counts `json:"combined,omitempty"`
	Files    []File       `json:"files"` // filled in by Writer.Close
}

// Undone tells how far the undo of a bulk action has come.
type Undone struct {
	By     string `json:"by"`              // the bulk action that undoes it
	State  string `json:"state,omitempty"` // its state; empty: it is no longer kept
	Items  int64  `json:"items"`
	Done   int64  `json:"done"`
	Failed int64  `json:"failed"`
}

// Step tells what happened at one step.
type Step struct {
	Name     string  `json:"name"`
	Action   string  `json:"action"`
	Done     int64   `json:"done"`
	Failed   int64   `json:"failed"`
	LeftOut  int64   `json:"left_out"` // items that never reached it
	Attempts int64   `json:"attempts"`
	Calls    int64   `json:"calls"`
	Retries  int64   `json:"retries"` // attempts that followed another one of the same item
	Refused  int64   `json:"refused"` // by the action's resource, without counting an attempt
	Latency  Latency `json:"latency"`
	Rate     float64 `json:"rate"` // items per second

	Pending   int64 `json:"pending,omitempty"`   // reached the step and have not ended there
	Cancelled int64 `json:"cancelled,omitempty"` // reached the step and were there when the bulk action was cancelled
	Skipped   int64 `json:"skipped,omitempty"`   // of those done: they passed the step without a call
	Unclear   int64 `json:"unclear,omitempty"`   // of those pending or cancelled: see CodeUnclear
	Called    int64 `json:"called,omitempty"`    // items with at least one attempt
}

// Latency tells how long tasks took, by quantile.
type Latency struct {
	P50 Duration `json:"p50"`
	P95 Duration `json:"p95"`
	P99 Duration `json:"p99"`
	Max Duration `json:"max"`
}

// Wait tells for how long items waited for one reason.
type Wait struct {
	Reason   string   `json:"reason"`
	Duration Duration `json:"duration"`
	Share    float64  `json:"share"` // of all waiting, 0 to 1
}

// Loss describes acknowledged work of a partition that the store lost while the bulk action had not ended.
// Items may have been run again, and results may be missing.
type Loss struct {
	Partition  int        `json:"partition"`
	Have       uint64     `json:"have"`  // the last commit that was left
	Acked      uint64     `json:"acked"` // the last commit that was acknowledged
	FoundAt    time.Time  `json:"found_at"`
	AcceptedAt *time.Time `json:"accepted_at,omitempty"` // nil while the partition is stopped
}

// File is one file of the report.
type File struct {
	Name string `json:"name"`
	Rows int    `json:"rows"`
}

// Check returns an error if the numbers of the summary contradict each other.
func (s *Summary) Check() error {
	if err := checkCounts(s.Counts); err != nil {
		return err
	}
	if err := checkCounts(s.ofRows()); err != nil {
		return fmt.Errorf("combined: %w", err)
	}
	for _, st := range s.Steps {
		if n := st.Done + st.Failed + st.LeftOut; n > s.Counts.Total {
			return fmt.Errorf("step %s: %d items done, failed and left out, total is %d", st.Name, n, s.Counts.Total)
		}
	}
	grouped := int64(0)
	for _, g := range s.Errors {
		grouped += g.Count
	}
	if grouped != s.Counts.Failed {
		return fmt.Errorf("error groups: %d items in all groups together, %d failed", grouped, s.Counts.Failed)
	}
	return nil
}

// ofRows returns the counts of the rows: those with retries, if any.
func (s *Summary) ofRows() weir.Counts {
	if s.Combined != nil {
		return *s.Combined
	}
	return s.Counts
}

func checkCounts(c weir.Counts) error {
	if sum := c.Ended() + c.Ready + c.Waiting + c.InFlight; sum != c.Total {
		return fmt.Errorf("counts: %d items in all states together, total is %d", sum, c.Total)
	}
	if least := min(c.Total, c.Done, c.Failed, c.Cancelled, c.Ready, c.Waiting, c.InFlight); least < 0 {
		return fmt.Errorf("counts: %d is negative", least)
	}
	return nil
}

// encode writes the summary for people to read: indented, with < and > as they are, and lists never null.
func (s *Summary) encode() ([]byte, error) {
	c := *s
	c.Steps, c.Errors, c.Waited, c.Files = list(c.Steps), list(c.Errors), list(c.Waited), list(c.Files)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(&c)
	return b.Bytes(), err
}

func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// Duration is a time span that is written like 1m30s.
type Duration time.Duration

// String returns the span, rounded to about four digits.
func (d Duration) String() string {
	t := time.Duration(d)
	for _, r := range []struct{ above, to time.Duration }{
		{time.Minute, time.Second},
		{time.Second, 10 * time.Millisecond},
		{time.Millisecond, 10 * time.Microsecond},
	} {
		if t.Abs() >= r.above {
			return t.Round(r.to).String()
		}
	}
	return t.String()
}

// MarshalText writes the span.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a span back.
func (d *Duration) UnmarshalText(text []byte) error {
	t, err := time.ParseDuration(string(text))
	*d = Duration(t)
	return err
}
