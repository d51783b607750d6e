package cli

import (
	"strings"
	"testing"
)

func TestLongLinesAreBrokenBetweenParts(t *testing.T) {
	p := paint(true)
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
		{"colour takes no room", "  " + p.dim("input") + "     aa · bb · cc", 21, "  " + p.dim("input") + "     aa · bb ·\n          cc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := wrap(tt.line, tt.wide); got != tt.want {
				t.Errorf("wrap at %d:\n%s\nwant:\n%s", tt.wide, got, tt.want)
			}
		})
	}
}

func TestAScreenBreaksOnlyWhatATerminalWouldCut(t *testing.T) {
	line := "  input     " + strings.Repeat("part · ", 20) + "end"
	env, scr, _ := terminal(t)
	newScreen(&env).print(line)
	for _, l := range strings.Split(scr.String(), "\n") {
		if width(l) > 100 {
			t.Errorf("%d characters on a screen of 100: %q", width(l), l)
		}
	}
	env.Terminal, env.Stderr = nil, &shot{}
	newScreen(&env).print(line)
	if got := env.Stderr.(*shot).String(); got != line+"\n" {
		t.Errorf("in a pipe: %q, want the line as it is", got)
	}
}

func TestPanelOnANarrowTerminalKeepsTheETA(t *testing.T) {
	lines := panel(false, 60, []*track{halfway()}, 20*60e9, "")
	if got := lines[3]; !strings.Contains(got, "ETA 35m19s") || width(got) > 60 {
		t.Errorf("counts: %q, want the ETA within 60 characters", got)
	}
}

func TestHelpFitsAndHasEveryFlagOnce(t *testing.T) {
	env, scr, _ := terminal(t, "run", "--help")
	env.Program = "mine"
	env.Terminal.Width = func() int { return 90 }
	if code := Main(t.Context(), env); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	_, flags, _ := strings.Cut(scr.String(), "What to do")
	for _, l := range strings.Split(flags, "\n") {
		if width(l) > 90 {
			t.Errorf("%d characters on a screen of 90: %q", width(l), l)
		}
	}
	for _, want := range []string{"--action ", "--id ", "--rate ", "--report ", "--resume [ID] ", "--no-color ", "--help "} {
		if n := strings.Count(flags, " "+want); n != 1 {
			t.Errorf("%q is listed %d times", want, n)
		}
	}
	if s := scr.String(); !strings.Contains(s, "  mine run --resume") || strings.Contains(s, "weir run") {
		t.Errorf("the examples do not name the program:\n%s", s)
	}
}
