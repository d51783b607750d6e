// Package nodetest starts a whole node for tests: engine, service and HTTP API,
// on a store in memory and behind a port of its own on loopback.
package nodetest

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/assembly"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/server"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

// Options configures [Start]. The zero value works.
type Options struct {
	// Steps are the actions of the program, and Actions those of the configuration.
	Steps   []weir.Step
	Actions []api.Action
	// Store is the store of the node. Default: a new one in memory, closed at the end.
	Store store.Store
	// Server holds the limits of requests.
	Server server.Options
	// Partitions is the number of partitions. Default 2.
	Partitions int
	// File holds the settings of the configuration file, and Connections its connections.
	// Default: no file.
	File        *assembly.File
	Connections []api.Connection
	// Vault seals secrets. Default: one with a new key.
	Vault *vault.Vault
	// Closed refuses requests without a key.
	Closed bool
	// Tour has the pages explain the demo.
	Tour bool
	// KeepFor is how long ended bulk actions are kept. Default: as by the engine.
	KeepFor time.Duration
	// SeriesEvery is how often the node measures for time series. Default 10s.
	SeriesEvery time.Duration
	// Logger receives the log. Default: discarded.
	Logger *slog.Logger
	// Tracer takes the node's spans. Default: none are made.
	Tracer weir.Tracer
	// Metrics receives the node's metrics. Default: discarded.
	Metrics *prometheus.Registry
}

// Node is a node that runs until the test ends or it is stopped.
type Node struct {
	*assembly.Node
	URL  string
	t    testing.TB
	key  string
	stop func()
}

// Start starts a node that accepts requests without a key, and those with a key as the key's
// tenant.
func Start(t testing.TB, o Options) *Node {
	t.Helper()
	s := o.Store
	if s == nil {
		m := memstore.New(memstore.Options{})
		t.Cleanup(func() { _ = m.Close() })
		s = m
	}
	if o.Partitions == 0 {
		o.Partitions = 2
	}
	v := o.Vault
	if v == nil {
		var err error
		v, err = vault.New(vault.NewKey())
		must(t, err)
	}
	log := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	guard := egress.New(egress.Policy{Allow: egress.Loopback()})
	n, e, err := assembly.Open(context.WithoutCancel(t.Context()),
		assembly.Options{Store: s, Guard: guard, Vault: v, Open: !o.Closed, Steps: o.Steps, Actions: o.Actions,
			Connections: o.Connections, File: o.File, SeriesEvery: o.SeriesEvery, Tour: o.Tour, Server: o.Server, Metrics: o.Metrics, Tracer: o.Tracer, Logger: log},
		engine.Options{Logger: log, Partitions: o.Partitions, KeepFor: o.KeepFor})
	must(t, err)
	must(t, n.Configure(t.Context()))
	r := &Node{Node: n, t: t}
	r.run(e)
	return r
}

// run does the node's work until the test ends.
func (n *Node) run(e *engine.Engine) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(n.t.Context()))
	ended := make(chan error, 2)
	go func() { ended <- e.Run(ctx) }()
	go func() { ended <- n.Node.Run(ctx) }()
	web := httptest.NewServer(n.Handler())
	n.URL = web.URL
	n.stop = sync.OnceFunc(func() {
		n.Server().Drain()
		web.CloseClientConnections()
		web.Close()
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				n.t.Error(err)
			}
		}
	})
	n.t.Cleanup(n.stop)
}

// Stop ends the node before the test ends.
func (n *Node) Stop() { n.stop() }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// As returns a client with a new key for some tenants; none: for all.
func (n *Node) As(scopes []access.Scope, tenants ...string) *Node {
	n.t.Helper()
	return n.With(access.NewKey{Name: "test", Scopes: scopes, Tenants: tenants})
}

// With returns a client with a new key.
func (n *Node) With(key access.NewKey) *Node {
	n.t.Helper()
	_, text, err := n.Keys().Create(n.t.Context(), access.Local(), key)
	must(n.t, err)
	other := *n
	other.key = text.Reveal()
	return &other
}

// Key returns the API key of the client.
func (n *Node) Key() string { return n.key }

// Request makes a request. The caller closes the answer's body.
func (n *Node) Request(ctx context.Context, method, path, body string, header http.Header) *http.Response {
	n.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, n.URL+path, strings.NewReader(body))
	must(n.t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if n.key != "" {
		req.Header.Set("Authorization", "Bearer "+n.key)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := http.DefaultClient.Do(req)
	must(n.t, err)
	return resp
}

// Call makes a request with a JSON body and checks the status. The answer is decoded into out,
// unless that is nil.
func (n *Node) Call(method, path, body string, status int, out any) http.Header {
	n.t.Helper()
	return n.CallWith(method, path, body, nil, status, out)
}

// CallWith does the same as [Node.Call] with additional headers.
func (n *Node) CallWith(method, path, body string, header http.Header, status int, out any) http.Header {
	n.t.Helper()
	resp := n.Request(n.t.Context(), method, path, body, header)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	must(n.t, err)
	if resp.StatusCode != status {
		n.t.Fatalf("%s %s: status %d, want %d: %s", method, path, resp.StatusCode, status, raw)
	}
	if text, ok := out.(*string); ok {
		*text = string(raw)
	} else if out != nil {
		must(n.t, json.Unmarshal(raw, out))
	}
	return resp.Header
}

// Make creates a bulk action, adds rows of NDJSON, seals it, and starts it.
func (n *Node) Make(spec, rows string) api.BulkAction {
	n.t.Helper()
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", spec, 201, &b)
	n.CallWith("POST", "/v1/bulk-actions/"+b.ID+"/items", rows, http.Header{"Content-Type": {"application/x-ndjson"}}, 202, nil)
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/seal", `{"start":true}`, 200, &b)
	return b
}

// patience bounds how long a test waits.
const patience = 30 * time.Second

// Until waits for a bulk action to be in a state.
func (n *Node) Until(id string, state api.State) (b api.BulkAction) {
	n.t.Helper()
	n.Eventually(id+" is "+string(state), func() bool {
		n.Call("GET", "/v1/bulk-actions/"+id, "", 200, &b)
		return b.State == state
	})
	return b
}

// Eventually waits until something holds.
func (n *Node) Eventually(what string, holds func() bool) {
	n.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			n.t.Fatalf("after %v it does not hold that %s", patience, what)
		}
	}
}
