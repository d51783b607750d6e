package main

import (
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir/internal/testkit/testenv"
)

// TestMain lets the test binary be the nodes that the show starts.
func TestMain(m *testing.M) {
	for _, arg := range os.Args {
		if arg == "-node" {
			main()
			return
		}
	}
	os.Exit(m.Run())
}

// transcript collects the output of all processes.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func TestThreeNodesFinishAlthoughOneIsKilled(t *testing.T) {
	var out transcript
	if err := show(t.Context(), testenv.Redis(t).Addr, 60_000, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.text.String())
	}
	for _, want := range []string{
		`300 items of a small tenant were done`, `node 2 was killed`, `large: 60000 done, 0 failed`,
		`node 1 sends +\d+/s and owns`, `node 3 sends +\d+/s and owns`,
	} {
		if !regexp.MustCompile(want).MatchString(out.text.String()) {
			t.Errorf("the output has no %q:\n%s", want, out.text.String())
		}
	}
}
