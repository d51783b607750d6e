package watch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/clitest"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/term"
)

func TestNoNameGivesOrdersToTheTerminal(t *testing.T) {
	for _, h := range clitest.Hostile() {
		h = h[:min(len(h), 60)]
		steps := []weir.Step{{Name: h, Resource: weir.Resource{Name: h, Rate: 1}}}
		now := api.Progress{Counts: api.Counts{Total: 2}, WaitingOn: []api.Cause{{Reason: "rate"}}, Steps: make([]api.StepProgress, 1)}
		one, two := &Track{Label: h, Steps: steps, Now: now}, &Track{Label: h, Steps: steps, Now: now}
		two.Now.WaitingOn = []api.Cause{{Text: h, Detail: h}}
		for _, tracks := range [][]*Track{{one}, {two}, {one, two}} {
			out := &clitest.Shot{}
			env := &command.Env{Stderr: out, Terminal: &term.Terminal{Width: func() int { return 200 }}, NoColour: true}
			scr := env.Screen()
			lines := panel(scr.Paint, 200, tracks, time.Second, "keys")
			scr.Draw(lines)
			scr.Print("told " + h)
			(&command.Failure{What: h, Fix: h}).Print(env)
			drawn := out.String()
			for _, own := range []string{"\x1b[?2026h", "\x1b[?2026l", "\x1b[K", "\x1b[J", "\r", fmt.Sprintf("\x1b[%dA", len(lines))} {
				drawn = strings.ReplaceAll(drawn, own, "")
			}
			if i := strings.IndexFunc(drawn, func(r rune) bool { return r != '\n' && term.Tame(string(r)) != string(r) }); i >= 0 {
				t.Errorf("%q reaches the terminal: %q", h, drawn)
			}
			if n, want := strings.Count(drawn, "\n"), len(lines)+1+strings.Count("error: "+h+"\nfix: "+h+"\n", "\n"); h != "" && n != want {
				t.Errorf("%q: %d lines are shown, want %d:\n%q", h, n, want, drawn)
			}
		}
	}
}
