package result

import (
	"testing"

	"github.com/weirhq/weir/report"
)

func TestAStepThatADeadlineCutWasNotLeftOut(t *testing.T) {
	for _, c := range []struct {
		state   report.State
		leftOut bool
		want    string
	}{
		{"done", false, "done"}, {"failed", false, "failed"}, {"skipped", false, "skipped"},
		{"cancelled", true, "left_out"}, {"cancelled", false, "cancelled"},
		{"ready", false, "pending"}, {"waiting", false, "pending"},
	} {
		if got := resultWord(c.state, c.leftOut); got != c.want {
			t.Errorf("%s, left out %v: %q, want %q", c.state, c.leftOut, got, c.want)
		}
	}
}
