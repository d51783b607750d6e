package server_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/engine"
	"github.com/weirhq/weir/server"
	"github.com/weirhq/weir/store/memstore"
	"go.uber.org/goleak"
)

// The handler of uploads outlives each request by a second: it is none of this package's.
const lingering = "github.com/tus/tusd/v2/pkg/handler.newDelayedContext.func1"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(lingering)) }

var greet = weir.Action[json.RawMessage, string]{Name: "greet", Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, string]) error {
	for i, it := range b.Items() {
		b.Done(i, "hello "+it.ID)
	}
	return nil
}}

// opened returns an engine that does not run yet.
func opened(t *testing.T, works ...weir.Definer) *engine.Engine {
	t.Helper()
	s := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = s.Close() })
	eng, err := engine.Open(t.Context(), s, engine.Options{Partitions: 1, Logger: quiet})
	if err == nil {
		err = eng.Handle(works...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return eng
}

var quiet = slog.New(slog.DiscardHandler)

func vaultKey(t *testing.T) []byte {
	t.Helper()
	key, err := server.VaultKeyFile(filepath.Join(t.TempDir(), "vault.key"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// mounted is a program with a server under /bulk/ that runs until the test ends.
type mounted struct {
	t      *testing.T
	engine *engine.Engine
	url    string // of the program
	stop   func()
	web    *http.Client
}

// mount makes a program. It takes requests at /bulk/, and at /stripped/ as a proxy that removes its prefix would.
func mount(t *testing.T, o server.Options) *mounted {
	t.Helper()
	m := &mounted{t: t, engine: opened(t, greet)}
	o.Logger, o.VaultKey = quiet, vaultKey(t)
	srv, err := server.New(t.Context(), m.engine, o)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/bulk/", srv)
	mux.Handle("/stripped/", http.StripPrefix("/stripped", srv))
	web := httptest.NewServer(mux)
	m.url, m.web = web.URL, web.Client()
	m.web.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- srv.Run(ctx) }()
	m.stop = func() {
		if cancel(); ended == nil {
			return
		}
		if err := <-ended; err != nil {
			t.Errorf("Run = %v", err)
		}
		ended = nil
	}
	t.Cleanup(func() { m.stop(); web.Close() })
	return m
}

// send makes a request. The header is a list of names and values.
func (m *mounted) send(method, path, body string, header ...string) (*http.Response, string) {
	m.t.Helper()
	r, err := http.NewRequestWithContext(m.t.Context(), method, m.url+path, strings.NewReader(body))
	if err != nil {
		m.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := m.web.Do(r)
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		m.t.Fatal(err)
	}
	return resp, string(raw)
}

// want makes a request and checks the status of its answer.
func (m *mounted) want(status int, method, path, body string, header ...string) (*http.Response, string) {
	m.t.Helper()
	resp, text := m.send(method, path, body, header...)
	if resp.StatusCode != status {
		m.t.Errorf("%s %s %v = %s, want %d: %s", method, path, header, resp.Status, status, text)
	}
	return resp, text
}

// client returns a client of the server under /bulk.
func (m *mounted) client(o client.Options) *client.Client {
	m.t.Helper()
	o.Server, o.Tries = m.url+"/bulk", 1
	c, err := client.New(o)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(c.Close)
	return c
}
