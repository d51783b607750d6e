package term

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/cli/clitest"
)

func TestLongLinesAreBrokenBetweenParts(t *testing.T) {
	p := Paint(true)
	for _, tt := range []struct {
		name, line string
		wide       int
		want       string
	}{
		{"what fits stays", "  input     a.csv · 3 rows", 26, "  input     a.csv · 3 rows"},
		{"the rest goes under the first part", "  input     a.csv · 3 rows · 2 bad", 30, "  input     a.csv · 3 rows ·\n            2 bad"},
		{"spaces at the break are dropped", "    files   a.csv  b.csv  c.csv", 26, "    files   a.csv  b.csv\n            c.csv"},
		{"a command stays whole", "    next    weir retry ba_1 --data d   (tries again)", 20, "    next    weir retry ba_1 --data d\n          (tries again)"},
		{"a line without label keeps its margin", "  + done in 3s, 2 failed, 1 cancelled", 25, "  + done in 3s, 2 failed,\n  1 cancelled"},
		{"colour takes no room", "  " + p.Dim("input") + "     aa · bb · cc", 21, "  " + p.Dim("input") + "     aa · bb ·\n          cc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Wrap(tt.line, tt.wide); got != tt.want {
				t.Errorf("wrap at %d:\n%s\nwant:\n%s", tt.wide, got, tt.want)
			}
		})
	}
}

func TestAScreenBreaksOnlyWhatATerminalWouldCut(t *testing.T) {
	line := "  input     " + strings.Repeat("part · ", 20) + "end"
	scr, piped := &clitest.Shot{}, &clitest.Shot{}
	NewScreen(scr, &Terminal{Width: func() int { return 100 }}, false).Print(line)
	for _, l := range strings.Split(scr.String(), "\n") {
		if Width(l) > 100 {
			t.Errorf("%d characters on a screen of 100: %q", Width(l), l)
		}
	}
	NewScreen(piped, nil, false).Print(line)
	if got := piped.String(); got != line+"\n" {
		t.Errorf("in a pipe: %q, want the line as it is", got)
	}
}
