package webtest

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// command is a line that a page shows, and the page.
type command struct{ line, on string }

// reading are the commands of weir that change nothing, and end by themselves: these are run as they are shown.
var reading = []string{"list", "get", "errors", "timeline", "report", "item", "items", "lanes", "scaling", "nodes", "resources list", "resources get",
	"dlq groups", "dlq list", "schedules list", "schedules get", "schedules next", "actions list", "actions get", "connections list", "templates list",
	"templates get", "tenants list", "tenants get", "webhooks list", "webhooks get", "webhooks deliveries", "keys list", "keys get", "audit", "forecast", "check", "preview", "api GET"}

// asksNothing are pages that ask the API for nothing: forms that are empty, and what is typed into them.
var asksNothing = []string{"help", "items", "new action", "new connection", "new template", "new tenant", "new webhook", "new key", "lane stop", "sheet fault"}

// commands returns what the page shows as commands.
func (b *tab) commands() (lines []string) {
	b.t.Helper()
	b.do(chromedp.Evaluate(`[...document.querySelectorAll('details.cmd pre')].flatMap(p => p.textContent.split('\n')).filter(l => l.trim())`, &lines))
	return lines
}

// TestEveryCommandThatAPageShowsWorks runs what pages show as the same by command.
func TestEveryCommandThatAPageShowsWorks(t *testing.T) {
	s := makeScene(t)
	var mu sync.Mutex
	var all []command
	s.walk(t, func(b *tab, p place) {
		lines := b.commands()
		mu.Lock()
		defer mu.Unlock()
		has := func(beginning string) bool {
			return slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, beginning) })
		}
		if asks := has("curl "); asks && !has("weir ") {
			t.Errorf("%s (%s) shows curl and no weir: %q", p.name, b.where(), lines)
		} else if !asks && !slices.Contains(asksNothing, p.name) {
			t.Errorf("%s (%s) shows no curl: %q", p.name, b.where(), lines)
		}
		if p.name == "error" || p.name == "item not found" {
			return // the same by command finds nothing either
		}
		for _, l := range lines {
			all = append(all, command{l, p.name})
		}
	})
	done := map[string]bool{}
	for _, c := range all {
		if line := s.runnable(c.line); !done[line] {
			done[line] = true
			run := exec.Command("sh", "-c", line)
			run.Env = append(os.Environ(), "WEIR_SERVER="+s.url(""), "PATH="+binDir(t)+":"+os.Getenv("PATH"), "HOME="+t.TempDir())
			out, err := run.CombinedOutput()
			if strings.HasPrefix(line, "weir check ") && run.ProcessState.ExitCode() == 5 {
				continue // it has found bad rows
			}
			if err != nil {
				t.Errorf("%s shows %q, and %q fails: %v\n%.600s", c.on, c.line, line, err, out)
			}
		}
	}
	if len(done) < 80 {
		t.Errorf("only %d commands were found", len(done))
	}
}

// binDir is where the shell finds weir.
func binDir(t *testing.T) string {
	t.Helper()
	return strings.TrimSuffix(weir, "/weir")
}

// runnable returns a command as it can be run here: one that changes something only shows its help, which fails if it or
// one of its flags does not exist.
func (s *scene) runnable(line string) string {
	if rest, ok := strings.CutPrefix(line, "curl "); ok {
		if strings.Contains(rest, " -d ") || strings.HasPrefix(rest, "-X ") {
			return "true" // changes something, or asks with a body that may be shortened
		}
		return "curl -sS -f -o /dev/null " + rest
	}
	rest, ok := strings.CutPrefix(line, "weir ")
	if !ok {
		return line
	}
	for _, r := range reading {
		if (rest == r || strings.HasPrefix(rest, r+" ")) && !strings.HasPrefix(rest, "scaling -") && !strings.Contains(rest, "--help") {
			return line
		}
	}
	return line + " --help"
}
