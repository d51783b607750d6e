package badinput

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/assembly"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/server"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/internal/testkit/testenv/nameserver"
	"github.com/weirhq/weir/store/memstore"
	"github.com/weirhq/weir/store/storetest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	slowBody   = 300 * time.Millisecond
	maxBody    = 1 << 20
	maxUpload  = 8 << 20
	maxItems   = 1000
	partitions = 2
)

// world is a node behind a real server, and bulk actions in all the states that requests can be wrong about.
type world struct {
	*assembly.Node
	t      *testing.T
	store  *memstore.Store
	addr   string
	client *http.Client
	keys   map[string]string // by what they are for
	ids    map[string]string // of bulk actions, by their state
	gate   chan struct{}     // the action slow ends when it is closed

	mu   sync.Mutex
	fail func(storetest.Call) storetest.Fault
}

// faults says what goes wrong with the store from now on; nil: nothing.
func (w *world) faults(f func(storetest.Call) storetest.Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail = f
}

func (w *world) fault(c storetest.Call) storetest.Fault {
	w.mu.Lock()
	f := w.fail
	w.mu.Unlock()
	if f == nil {
		return storetest.Fault{}
	}
	return f(c)
}

// act makes an action of the program.
func act(name string, before func()) weir.Step {
	return weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
		Name: name,
		Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			before()
			for i := range b.Len() {
				b.Done(i, b.Item(i).Value)
			}
			return nil
		},
	})
}

// newWorld starts a node. Limits bounds what a key may ask for; nil: nothing does.
func newWorld(t *testing.T, limits *access.Limits) *world {
	t.Helper()
	w := &world{t: t, store: memstore.New(memstore.Options{}), gate: make(chan struct{}), keys: map[string]string{}, ids: map[string]string{}}
	v, err := vault.New(vault.NewKey())
	must(t, err)
	log := slog.New(slog.DiscardHandler)
	s := &storetest.Flaky{Store: w.store, Fail: w.fault}
	n, e, err := assembly.Open(t.Context(), assembly.Options{
		Store: s, Guard: egress.New(egress.Policy{Resolver: nameserver.Always([4]byte{10, 0, 0, 5}).Resolver(t)}), Vault: v, MaxItems: maxItems, Logger: log,
		Steps: []weir.Step{act("send-message", func() {}), act("award", func() {}), act("slow", func() { <-w.gate })},
		Actions: []api.Action{
			{Name: "theirs", URL: "https://push.example.com/", Tenants: []string{"other"}},
			{Name: "off", URL: "https://push.example.com/", Disabled: true},
		},
		Server: server.Options{MaxBody: maxBody, MaxUpload: maxUpload, SlowBody: slowBody, Limits: limits},
	}, engine.Options{Logger: log, Partitions: partitions})
	must(t, err)
	w.Node = n
	w.serve(e)
	w.makeKeys()
	return w
}

// serve answers requests as the command serve does, until the test ends.
func (w *world) serve(e *engine.Engine) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(w.t, err)
	w.addr = listener.Addr().String()
	web := server.HTTP(context.Background(), w.Handler(), slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 3)
	go func() { ended <- e.Run(ctx) }()
	go func() { ended <- w.Run(ctx) }()
	go func() { _ = web.Serve(listener); ended <- nil }()
	w.client = &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	w.t.Cleanup(func() {
		close(w.gate)
		w.client.CloseIdleConnections()
		_ = web.Close()
		cancel()
		for range 3 {
			if err := <-ended; err != nil {
				w.t.Error(err)
			}
		}
		_ = w.store.Close()
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// makeKeys makes a key of each kind.
func (w *world) makeKeys() {
	all := []access.Scope{access.Submit, access.Read, access.Control, access.Approve}
	for name, k := range map[string]access.NewKey{
		"acme":    {Scopes: all, Tenants: []string{"acme"}},
		"two":     {Scopes: all, Tenants: []string{"acme", "other"}},
		"other":   {Scopes: all, Tenants: []string{"other"}},
		"reader":  {Scopes: []access.Scope{access.Read}, Tenants: []string{"acme"}},
		"admin":   {Scopes: []access.Scope{access.Admin, access.Submit, access.Read, access.Control}},
		"revoked": {Scopes: all, Tenants: []string{"acme"}},
		"expired": {Scopes: all, Tenants: []string{"acme"}, Expires: time.Now().Add(500 * time.Millisecond)},
	} {
		k.Name = name
		made, text, err := w.Keys().Create(w.t.Context(), access.Local(), k)
		must(w.t, err)
		w.keys[name] = text.Reveal()
		if name == "revoked" {
			_, err = w.Keys().Revoke(w.t.Context(), access.Local(), made.ID)
			must(w.t, err)
		}
	}
}

// makeBulkActions makes one in each state.
func (w *world) makeBulkActions() {
	made := func(name, key, body string, header ...string) {
		r := w.call(key, "POST", "/v1/bulk-actions", body, header...)
		if r.status != 201 {
			w.t.Fatalf("make %s: %d %s", name, r.status, r.raw)
		}
		var b api.BulkAction
		must(w.t, json.Unmarshal(r.raw, &b))
		w.ids[name] = b.ID
	}
	made("draft", "acme", `{"steps":[{"action":"award"}]}`)
	made("loose", "acme", `{"steps":[{"action":"award"}],"on_bad_line":"record","duplicates":"keep_first"}`)
	made("empty", "acme", `{"steps":[{"action":"award"}]}`)
	made("foreign", "other", `{"steps":[{"action":"award"}]}`)
	made("sealed", "acme", `{"steps":[{"action":"award"}],"items":[{"id":"a"},{"id":"b"}]}`)
	made("running", "acme", `{"steps":[{"action":"slow"}],"items":[{"id":"a"}],"start":true}`)
	made("ended", "acme", `{"steps":[{"action":"award"}],"items":[{"id":"a"}],"start":true}`)
	made("cancelled", "acme", `{"steps":[{"action":"award"}]}`)
	made("used", "acme", `{"steps":[{"action":"award"}],"name":"one"}`, "Idempotency-Key", "used")
	if r := w.call("acme", "POST", "/v1/bulk-actions/"+w.ids["cancelled"]+"/cancel", `{}`); r.status != 200 {
		w.t.Fatalf("cancel: %s", r.raw)
	}
	w.until("ended", api.Completed)
	w.until("running", api.Running)
}

// until waits for a bulk action to be in a state.
func (w *world) until(name string, state api.State) {
	w.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(20 * time.Second)
	for {
		b, err := w.Service().Bulks.Get(w.t.Context(), w.ids[name])
		must(w.t, err)
		if b.State == state {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			w.t.Fatalf("%s is %s, want %s", name, b.State, state)
		}
	}
}

// dump lists all that is kept: records by name, and whose blocks there are.
func (w *world) dump() string {
	w.t.Helper()
	var all []string
	stored := map[weir.BulkID]bool{}
	ctx := context.Background()
	for after := ""; ; {
		page, err := w.store.List(ctx, "", after, 100)
		must(w.t, err)
		for _, r := range page {
			if kind, _, _ := strings.Cut(r.Name, "/"); kind != "series" && kind != "bulk_series" { // a node writes these now and then
				all = append(all, "record "+r.Name)
			}
			after = r.Name
		}
		if len(page) < 100 {
			break
		}
	}
	for p := range partitions {
		owners, err := w.store.BlockOwners(ctx, p)
		must(w.t, err)
		for _, id := range owners {
			all = append(all, fmt.Sprintf("blocks in %d of %s", p, id))
			stored[id] = true
		}
	}
	for b, err := range w.Service().Engine().List(ctx) {
		must(w.t, err)
		if !stored[b.ID()] { // else it is told by its blocks; its owner may read of it at any time
			all = append(all, "bulk action "+string(b.ID()))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}
