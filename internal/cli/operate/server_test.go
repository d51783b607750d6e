package operate

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
)

func TestLanesOfAServerAreRoundedAndTellTheirLastDecisionWhole(t *testing.T) {
	var out bytes.Buffer
	why := "3 → 5 workers: " + strings.Repeat("tasks wait for longer than they may, ", 4) + "and the rate has room"
	l := &link.Link{Printer: &command.Printer{Env: &command.Env{Stdout: &out}, Out: command.Table}}
	lane := api.Lane{Partition: "p00", Lane: "award", Workers: 3, Need: 4.123456, Useful: 1234.5678, PWQD: 0.7666, Decision: &api.Decision{Sentence: why}}
	if err := command.List(l.Printer, laneView, command.Seq([]api.Lane{lane}), 0); err != nil {
		t.Fatal(err)
	}
	row := strings.Split(out.String(), "\n")[1]
	if got := strings.Join(strings.Fields(row)[:5], " "); got != "p00/award 3 4.1 1,235 0.8" || !strings.HasSuffix(row, why) {
		t.Errorf("the lane is shown as %q, want rounded numbers and the whole decision", row)
	}
}
