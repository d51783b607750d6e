//go:build unix

package fleettest

import (
	"encoding/json"
	"strings"
	"syscall"
	"time"

	"github.com/weirhq/weir/internal/testkit/testenv/life"
)

// envOrder names the variable with the order of a child.
const envOrder = "WEIR_FLEET_ORDER"

// spawn starts this program again, with an order, and waits until it says a word. It returns what follows the word.
func (f *Fleet) spawn(o order, name, word string) (*life.Process, string) {
	f.t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		f.t.Fatal(err)
	}
	p := life.Start(f.t, "Child", envOrder+"="+string(raw))
	f.processes[name] = p
	defer killIn(upIn, p)()
	rest, err := p.Await(word)
	if err != nil {
		f.t.Fatalf("%s did not say %q within %v: %v", name, word, upIn, err)
	}
	return p, rest
}

// killIn kills a process after a time, unless stop is called before.
func killIn(d time.Duration, p *life.Process) (stop func() bool) {
	return time.AfterFunc(d, func() { _ = p.Signal(syscall.SIGKILL) }).Stop // it may have ended
}

// gist returns the essence of a log: its end, without repeated lines, and where a panic or a
// data race begins.
func gist(text string) string {
	const most = 4000
	broken := ""
	for _, sign := range []string{"WARNING: DATA RACE", "panic: "} {
		if at := strings.Index(text, sign); at >= 0 {
			broken += "\n" + text[at:min(at+most, len(text))]
		}
	}
	said := map[string]int{}
	var kept []string
	for line := range strings.Lines(text) {
		_, after, _ := strings.Cut(line, `msg="`)
		about, _, _ := strings.Cut(after, `"`)
		if said[about]++; about == "" || said[about] <= 3 {
			kept = append(kept, line)
		}
	}
	text = strings.Join(kept, "")
	return text[max(0, len(text)-most):] + broken
}
