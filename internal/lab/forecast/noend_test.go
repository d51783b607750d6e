package forecast

import (
	"strings"
	"testing"
	"time"
)

// TestWhatNeverSucceedsHasNoEnd: where every call fails, no time is told, however large.
func TestWhatNeverSucceedsHasNoEnd(t *testing.T) {
	w, l := awards(1000)
	w.Deadline = time.Hour
	for i := range l.Resources {
		l.Resources[i].Failures = 1
	}
	f := of(t, w, l)
	if !f.NoEnd || f.P50 != 0 || f.P90 != 0 || f.Deadline != Missed {
		t.Errorf("no end: %v, p50 %v, p90 %v, deadline %s", f.NoEnd, f.P50, f.P90, f.Deadline)
	}
	if said := strings.Join(f.Assumptions, " "); !strings.Contains(said, "No call of send-message has succeeded") {
		t.Errorf("it says %s", said)
	}
	if w, l = awards(1000); of(t, w, l).NoEnd {
		t.Error("what succeeds has no end")
	}
}
