package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/assembly"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/term"
)

// nodeFor runs a server until the test ends.
func nodeFor(t *testing.T) (string, *client.Client) {
	t.Helper()
	at, stop, err := startNode(t.Context(), assembly.Options{Open: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Options{Server: at})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return at, c
}

// onFirst calls a function when something is written for the first time.
type onFirst struct {
	bytes.Buffer
	once sync.Once
	do   func()
}

func (w *onFirst) Write(p []byte) (int, error) {
	w.once.Do(w.do)
	return w.Buffer.Write(p)
}

// inProcess runs a command here. What it is told by stop is Ctrl-C.
func inProcess(t *testing.T, server string, out *onFirst, stop <-chan os.Signal, dir string, args ...string) (code int, stderr string) {
	t.Helper()
	var said bytes.Buffer
	env := command.Env{
		Args: args, Stdin: strings.NewReader(""), Stdout: out, Stderr: &said, Dir: dir, Signals: stop,
		Getenv: func(name string) string { return map[string]string{"WEIR_SERVER": server}[name] },
	}
	return Main(t.Context(), env), said.String()
}

func TestCtrlCEndsTheWatchingAlone(t *testing.T) {
	at, c := nodeFor(t)
	b := slowly(t, c)
	stop := make(chan os.Signal, 1)
	code, said := inProcess(t, at, &onFirst{do: func() { stop <- os.Interrupt }}, stop, t.TempDir(), "watch", b.ID, "-o", "ndjson")
	if code != command.ExitInterrupted || !strings.Contains(said, "detached; "+b.ID+" continues on "+at) || !strings.Contains(said, "weir watch "+b.ID) {
		t.Errorf("exit code %d, and said\n%s", code, said)
	}
	if b, err := c.Get(t.Context(), b.ID); err != nil || b.State != api.Running {
		t.Errorf("afterwards it is %s, %v; want running", b.State, err)
	}
}

// slowly starts a bulk action that takes for ever.
func slowly(t *testing.T, c *client.Client) api.BulkAction {
	t.Helper()
	b, err := c.Create(t.Context(), api.NewBulkAction{
		Steps: []api.Step{{Action: "picky"}}, Items: []api.Item{{ID: "a"}, {ID: "b"}, {ID: "c"}}, Start: true,
		Rules: api.Rules{Rates: map[string]api.Rate{"picky": 0.001}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestThePanelOfAServerPausesAndDetachesByKey(t *testing.T) {
	at, c := nodeFor(t)
	b, keys := slowly(t, c), make(chan byte)
	said := &onFirst{do: func() {
		go func() {
			keys <- 'p'
			for p, err := range c.Watch(t.Context(), b.ID) {
				if err != nil || p.State == api.Paused {
					break
				}
			}
			keys <- 'd'
		}()
	}}
	code := Main(t.Context(), command.Env{
		Args: []string{"watch", b.ID, "--server", at}, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: said, Dir: t.TempDir(),
		Terminal: &term.Terminal{Width: func() int { return 100 }, Keys: func() (<-chan byte, func()) { return keys, func() {} }},
	})
	text := said.String()
	if code != command.ExitOK || !strings.Contains(text, "p pause   d detach") || !strings.Contains(text, "picky") || !strings.Contains(text, "detached; "+b.ID) {
		t.Errorf("exit code %d, and drew\n%q", code, text)
	}
	if b, err := c.Get(t.Context(), b.ID); err != nil || b.State != api.Paused {
		t.Errorf("afterwards it is %s, %v; want paused", b.State, err)
	}
}

func TestWhatCannotBeTakenBackIsAskedFor(t *testing.T) {
	at, c := nodeFor(t)
	for _, tt := range []struct {
		answer string
		code   int
		state  api.State
	}{
		{"n\n", command.ExitOther, api.Running},
		{"", command.ExitOther, api.Running},
		{"y\n", command.ExitOK, api.Cancelled},
	} {
		b := slowly(t, c)
		var said bytes.Buffer
		code := Main(t.Context(), command.Env{
			Args: []string{"cancel", b.ID, "--wait", "--server", at}, Stdin: strings.NewReader(tt.answer), StdinTerminal: true,
			Stdout: io.Discard, Stderr: &said, Dir: t.TempDir(), Terminal: &term.Terminal{Width: func() int { return 100 }},
		})
		b, err := c.Get(t.Context(), b.ID)
		if code != tt.code || err != nil || b.State != tt.state || !strings.Contains(said.String(), "Continue? [y/N]") {
			t.Errorf("answer %q: exit code %d, %s, %v, said %q; want %d, %s", tt.answer, code, b.State, err, said.String(), tt.code, tt.state)
		}
	}
}

// proxied is a proxy that may spoil appends.
func proxied(t *testing.T, server string, spoil func(no int64, w http.ResponseWriter, r *http.Request, next http.Handler)) string {
	t.Helper()
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	next := httputil.NewSingleHostReverseProxy(to)
	next.Transport = &http.Transport{DisableKeepAlives: true}
	var no atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/items") {
			spoil(no.Add(1), w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// fewUsers is more than two parts.
const fewUsers = 2*20_000 + 5 // two parts, and a few items more

func usersFile(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var b strings.Builder
	b.WriteString("id\n")
	for i := range fewUsers {
		fmt.Fprintf(&b, "u%d\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "users.csv"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestASubmitOverABadLineSendsEveryItemOnce(t *testing.T) {
	at, c := nodeFor(t)
	lost := int64(0)
	bad := proxied(t, at, func(no int64, w http.ResponseWriter, r *http.Request, next http.Handler) {
		if no%2 == 1 { // the server does it, and nobody hears of that
			next.ServeHTTP(httptest.NewRecorder(), r)
			lost++
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
	out := &onFirst{do: func() {}}
	code, said := inProcess(t, bad, out, nil, usersFile(t), "submit", "users.csv", "--action", "picky", "-o", "id")
	if code != command.ExitOK {
		t.Fatalf("exit code %d, and said\n%s", code, said)
	}
	b, err := c.Get(t.Context(), strings.TrimSpace(out.String()))
	if err != nil || b.State != api.Sealed || b.Counts.Total != fewUsers || lost < 3 {
		t.Errorf("after %d lost answers: %+v, %v; want %d items, sealed", lost, b, err, fewUsers)
	}
}

func TestASubmitThatWasStoppedGoesOn(t *testing.T) {
	at, c := nodeFor(t)
	stop := make(chan os.Signal, 1)
	var appends []int64
	slow := proxied(t, at, func(no int64, w http.ResponseWriter, r *http.Request, next http.Handler) {
		if no == 2 {
			_, _ = io.Copy(io.Discard, r.Body) // else nobody would notice that the other side is gone
			stop <- os.Interrupt
			<-r.Context().Done()
			return
		}
		appends = append(appends, no)
		next.ServeHTTP(w, r)
	})
	dir := usersFile(t)
	code, said := inProcess(t, slow, &onFirst{do: func() {}}, stop, dir, "submit", "users.csv", "--action", "picky")
	m := regexp.MustCompile(`weir (submit users.csv --resume (ba_\w+)), or cancel it with weir cancel`).FindStringSubmatch(said)
	if code != command.ExitInterrupted || m == nil || !strings.Contains(said, "it is not sealed and does not run") {
		t.Fatalf("exit code %d, and said\n%s", code, said)
	}
	code, said = inProcess(t, slow, &onFirst{do: func() {}}, nil, dir, strings.Fields(m[1])...)
	if code != command.ExitOK {
		t.Fatalf("going on: exit code %d, and said\n%s", code, said)
	}
	b, err := c.Get(t.Context(), m[2])
	if err != nil || b.State != api.Sealed || b.Counts.Total != fewUsers {
		t.Errorf("%+v, %v; want %d items, sealed", b, err, fewUsers)
	}
	if diff := cmp.Diff([]int64{1, 3, 4}, appends); diff != "" {
		t.Errorf("parts that were sent (-want +got)\n%s", diff)
	}
}
