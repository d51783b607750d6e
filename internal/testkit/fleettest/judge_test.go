//go:build unix

package fleettest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/testkit/recorder"
)

// notes takes down what a test would have failed with.
type notes struct {
	testing.TB
	errors []string
}

func (n *notes) Helper() {}

func (n *notes) Errorf(format string, args ...any) {
	n.errors = append(n.errors, fmt.Sprintf(format, args...))
}

func TestTheJudgeFindsUnreportedCalls(t *testing.T) {
	n := &notes{TB: t}
	f := &Fleet{t: n, client: &client{}}
	f.verify(&Verdict{Calls: Calls{at(0, 1, one)}})
	if len(n.errors) != 1 || !strings.Contains(n.errors[0], "no client was told of") {
		t.Errorf("errors = %q, want one about a bulk action that was never acknowledged", n.errors)
	}
}

func TestTheJudgeFindsMoreRepeatsThanAccountedFor(t *testing.T) {
	n := &notes{TB: t}
	f := &Fleet{t: n, client: &client{}, atRisk: 3}
	f.verify(&Verdict{Stats: recorder.Stats{Repeats: 4}})
	if len(n.errors) != 1 || !strings.Contains(n.errors[0], "4 repeats") {
		t.Errorf("errors = %q, want one about 4 repeats", n.errors)
	}
}

func TestTheJudgeKeepsTheLimit(t *testing.T) {
	for _, tt := range []struct {
		name          string
		planned, sent int // in one second; the rest comes later
		broken        bool
	}{
		{"at the limit", 100, 100, false},
		{"taken up above it", 101, 100, true},
		{"made a little above it", 100, 102, false},
		{"made above it", 100, 103, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := &notes{TB: t}
			f := &Fleet{t: n, config: Config{Rate: 100}}
			var c Calls
			for i := range max(tt.planned, tt.sent) {
				e := at(0, 1, one)
				if i >= tt.planned {
					e.Planned = moment(5000).UnixNano()
				}
				if i >= tt.sent {
					e.Sent = moment(5000).UnixNano()
				}
				c = append(c, e)
			}
			f.checkRate(&Verdict{Calls: c})
			if broken := len(n.errors) > 0; broken != tt.broken {
				t.Errorf("errors = %q, want some: %v", n.errors, tt.broken)
			}
		})
	}
}
