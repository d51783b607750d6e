//go:build unix

package docstest

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const tutorial = "docs/tutorial.md"

// The program of the tutorial, and the ports that it speaks of.
const (
	weirProgram  = "weir"
	weirPort     = "8080"
	endpointPort = "9000"
)

// typed are the pages whose commands are typed in the shell of the system, with the ports that they speak of.
var typed = map[string][]string{
	tutorial:                {weirPort, endpointPort},
	"docs/canary.md":        {weirPort},
	"docs/redis-cluster.md": {weirPort, "7001", "7002", "7003"},
}

// TestTheTutorialWorks types every command of the tutorial, and of the pages that are as short stories, in a shell and
// compares what is printed.
func TestTheTutorialWorks(t *testing.T) {
	for page, ports := range typed {
		t.Run(filepath.Base(page), func(t *testing.T) {
			s := openTerminal(t, ports...)
			for _, c := range commands(Read(t, page)) {
				out, err := s.run(t.Context(), c, 5, 6, 128+9, 128+15) // some items failed, a canary waits; kill -9 and kill
				if err != nil {
					log, _ := s.run(t.Context(), &command{text: "tail -n 20 weir.log"}) // missing: the page has no server
					t.Fatalf("%s:%d: %s: %v\n%s\nlog of the server:\n%s", page, c.line, c.text, err, out, log)
				}
				if !shows(c.output, strings.Split(out, "\n")) {
					t.Fatalf("%s:%d: %s prints\n%s\nand the page says\n%s", page, c.line, c.text, out, strings.Join(c.output, "\n"))
				}
			}
		})
	}
}

// anything stands for text that a page leaves out: in a line, or as a line of its own for any lines.
const anything = "…"

// shows reports whether a page shows these lines. The width of columns does not count.
func shows(page, printed []string) bool {
	page, printed = slices.DeleteFunc(slices.Clone(page), blank), slices.DeleteFunc(slices.Clone(printed), blank)
	return matches(page, printed)
}

func matches(page, printed []string) bool {
	switch {
	case len(page) == 0:
		return len(printed) == 0
	case page[0] == anything:
		return matches(page[1:], printed) || len(printed) > 0 && matches(page, printed[1:])
	case len(printed) == 0:
		return false
	}
	return sameLine(page[0], printed[0]) && matches(page[1:], printed[1:])
}

var wide = regexp.MustCompile(` {2,}`)

func sameLine(page, printed string) bool {
	page, printed = wide.ReplaceAllString(page, "  "), wide.ReplaceAllString(printed, "  ")
	pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(page)), anything, ".*")
	return regexp.MustCompile("^" + pattern + "$").MatchString(strings.TrimSpace(printed))
}

// blank reports whether a line says nothing. What a shell says of a program that was killed differs from shell to shell.
func blank(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line == "Terminated" || line == "Killed"
}

func TestWhatAPageLeavesOut(t *testing.T) {
	for _, tt := range []struct {
		name, page, printed string
		want                bool
	}{
		{"the same", "a\nb", "a\nb\n", true},
		{"another line", "a", "b", false},
		{"a line more", "a", "a\nb", false},
		{"a line less", "a\nb", "a", false},
		{"lines left out", "a\n…\nd", "a\nb\nc\nd", true},
		{"no lines left out", "a\n…\nd", "a\nd", true},
		{"lines left out, and another end", "a\n…\nd", "a\nb", false},
		{"text left out", "took … (50%)", "took 3s (50%)", true},
		{"text left out, and another end", "took … (50%)", "took 3s (51%)", false},
		{"wider columns", "a  b", "a      b", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := shows(strings.Split(tt.page, "\n"), strings.Split(tt.printed, "\n")); got != tt.want {
				t.Errorf("shows(%q, %q) = %v, want %v", tt.page, tt.printed, got, tt.want)
			}
		})
	}
}

// The lines that install weir are not typed: they would build what this test has in itself.
func TestTheTutorialInstallsThisRepository(t *testing.T) {
	_, block, _ := strings.Cut(Read(t, tutorial), "\n```sh\n")
	block, _, _ = strings.Cut(block, "\n```")
	module := regexp.MustCompile(`(?m)^module (\S+)$`).FindStringSubmatch(Read(t, "go.mod"))[1]
	for _, want := range []string{"git clone https://" + module + "\n", "\ngo install ./cmd/weir "} {
		if !strings.Contains(block, want) {
			t.Errorf("the commands that install weir have no %q", want)
		}
	}
}
