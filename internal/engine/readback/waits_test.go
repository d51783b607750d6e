package readback

import (
	"testing"
	"time"

	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/report"
)

// An item that was called shows it, whether it is ready or waits, and also if the call was in an outage and cost no attempt.
func TestAnItemThatWasCalledShowsIt(t *testing.T) {
	later, past := time.Now().Add(time.Hour).UnixNano(), int64(1)
	for _, tt := range []struct {
		name     string
		again    block.Retry
		unclear  bool
		state    report.State
		attempts int
		code     string
	}{
		{"it waits after a timeout", block.Retry{Attempt: 2, Fails: 1, Due: later}, true, report.StateWaiting, 1, report.CodeUnclear},
		{"it waits after a call in an outage", block.Retry{Attempt: 1, Fails: 1, Due: later}, true, report.StateWaiting, 1, report.CodeUnclear},
		{"its retry is due", block.Retry{Attempt: 3, Due: past}, true, report.StateReady, 2, report.CodeUnclear},
		{"it was refused", block.Retry{Attempt: 1, Due: later}, false, report.StateWaiting, 0, ""},
		{"it is only marked", block.Retry{Attempt: 1, Due: past}, false, report.StateReady, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &block.State{Size: 2}
			tt.again.Items.Add(1)
			s.Retries = append(s.Retries, tt.again)
			if tt.unclear {
				s.Unclear.Add(1)
			}
			row := report.Row{State: report.StateReady}
			called(&row, s, 1)
			waits(&row, s, 1)
			if row.State != tt.state || row.Attempts != tt.attempts || row.Code != tt.code {
				t.Errorf("%s after %d attempts with the code %q, want %s, %d, %q", row.State, row.Attempts, row.Code, tt.state, tt.attempts, tt.code)
			}
		})
	}
}
