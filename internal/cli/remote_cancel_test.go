package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/term"
)

func TestWhatIsCancelledIsWatchedUntilItsCallsHaveEnded(t *testing.T) {
	called, opened := make(chan struct{}, 10), make(chan struct{})
	open := sync.OnceFunc(func() { close(opened) })
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		called <- struct{}{}
		<-opened
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"default":"done"}`) // a caller that is gone is no failure of the test
	}))
	t.Cleanup(web.Close)
	at, c := nodeFor(t)
	t.Cleanup(open)
	if _, err := c.Actions().Put(t.Context(), "hang", api.Action{URL: web.URL, Batch: 1}); err != nil {
		t.Fatal(err)
	}
	b, err := c.Create(t.Context(), api.NewBulkAction{
		Steps: []api.Step{{Action: "hang"}}, Items: []api.Item{{ID: "a"}, {ID: "b"}, {ID: "c"}}, Start: true, Rules: api.Rules{Concurrency: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	<-called
	for _, args := range [][]string{{"cancel", b.ID, "--yes"}, {"get", b.ID}, {"list", "--state", "cancelling"}} {
		said := &onFirst{do: func() {}}
		if code, text := inProcess(t, at, said, nil, t.TempDir(), args...); code != command.ExitOK || !strings.Contains(said.String(), "cancelling") || !strings.Contains(said.String(), b.ID) {
			t.Errorf("%q: exit code %d, said %q and printed\n%s", args, code, text, said)
		}
	}
	said := &onFirst{do: open} // when the first line is there
	code, text := inProcess(t, at, said, nil, t.TempDir(), "watch", b.ID, "-o", "ndjson")
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	if first, last := lines[0], lines[len(lines)-1]; code != command.ExitSomeFailed || !strings.Contains(first, `"state":"cancelling"`) || !strings.Contains(last, `"state":"cancelled"`) || !strings.Contains(last, `"done":1,"failed":0,"cancelled":2`) {
		t.Errorf("exit code %d, said %q and printed\n%s", code, text, said)
	}
}

func TestACancelSaysWhichItemsEndHalfDone(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"default":"done"}`) // a caller that is gone is no failure of the test
	}))
	t.Cleanup(web.Close)
	at, c := nodeFor(t)
	for _, name := range []string{"award", "message"} {
		if _, err := c.Actions().Put(t.Context(), name, api.Action{URL: web.URL, Batch: 1}); err != nil {
			t.Fatal(err)
		}
	}
	for _, asked := range []bool{true, false} {
		b, err := c.Create(t.Context(), api.NewBulkAction{
			Steps: []api.Step{{Action: "award"}, {Action: "message"}}, Items: []api.Item{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}}, Start: true,
			Rules: api.Rules{Rates: map[string]api.Rate{"message": 0.001}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var left int64
		for p, err := range c.Watch(t.Context(), b.ID) {
			if err != nil {
				t.Fatal(err)
			}
			if left = p.Steps[1].Pending; p.Steps[0].Done == 4 && p.Steps[1].Done == 1 { // the rate allows one message now, the next in a quarter of an hour
				break
			}
		}
		args := []string{"cancel", b.ID, "--wait", "--server", at}
		if !asked {
			args = append(args, "--yes")
		}
		var said bytes.Buffer
		code := Main(t.Context(), command.Env{
			Args: args, Stdin: strings.NewReader("y\n"), StdinTerminal: true, Stdout: io.Discard, Stderr: &said, Dir: t.TempDir(),
			Terminal: &term.Terminal{Width: func() int { return 100 }},
		})
		want := fmt.Sprintf("  %d items will be cancelled.\n  %d items have done award and will not get message.\n", left, left)
		if code != command.ExitOK || left < 2 || !strings.HasPrefix(said.String(), want) || strings.Contains(said.String(), "Continue?") != asked {
			t.Errorf("asked %v: exit code %d, said %q, want %q", asked, code, said.String(), want)
		}
	}
}
