package server_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
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
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

// world is a server with keys, behind HTTP on loopback, and two tenants that have
// one of everything.
type world struct {
	t     *testing.T
	node  *assembly.Node
	url   string
	admin string           // a key of the configuration
	sink  *httptest.Server // takes every webhook, and is a segment of three users
	log   *safeBuffer
	tape  *tape
	free  func() // lets go of held tasks
	acme  *place
	beta  *place

	mu      sync.Mutex
	answers bytes.Buffer // all that the server has answered
}

// place is a tenant with its keys, and ids of what it has.
type place struct {
	w      *world
	tenant string
	keys   map[string]string // by scope
	ids    map[string]string // by collection
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

type (
	plainBatch = weir.Batch[json.RawMessage, json.RawMessage]
	undoBatch  = weir.Batch[weir.Undone[json.RawMessage, json.RawMessage], struct{}]
)

// raw is an action without types, whose work can be taken back.
func raw(name string, handle func(context.Context, *plainBatch) error) weir.Step {
	return weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: name, Handle: handle, Undo: func(_ context.Context, b *undoBatch) error {
		for i := range b.Len() {
			b.Done(i, struct{}{})
		}
		return nil
	}})
}

// award does good items, and fails those with "bad" in them.
func award(_ context.Context, b *plainBatch) error {
	for i := range b.Len() {
		if strings.Contains(string(b.Item(i).Value), "bad") {
			b.Fail(i, "is_bad", errors.New("it is bad"))
			continue
		}
		b.Done(i, b.Item(i).Value)
	}
	return nil
}

// opening says how a world differs from the usual one.
type opening struct {
	store   store.Store
	options func(*assembly.Options)
}

// start makes a server without anything in it.
func start(t *testing.T, o opening) *world {
	t.Helper()
	w := &world{t: t, log: &safeBuffer{}, admin: rand.Text() + rand.Text()}
	if o.store == nil {
		o.store = memstore.New(memstore.Options{})
	}
	w.tape = &tape{Store: o.store}
	w.sink = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(rw, `{"items":[{"id":"u0"},{"id":"u1"},{"id":"u2"}]}`)
	}))
	held := make(chan struct{})
	w.free = sync.OnceFunc(func() { close(held) })
	hold := func(ctx context.Context, b *plainBatch) error {
		select {
		case <-held:
		case <-ctx.Done():
		}
		return award(ctx, b)
	}
	v, err := vault.New(vault.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	options := assembly.Options{
		Store: w.tape, Guard: egress.New(egress.Policy{Allow: egress.Loopback()}), Vault: v, AdminKeys: []vault.Secret{vault.NewSecret(w.admin)},
		Steps: []weir.Step{raw("award", award), raw("hold", hold)}, Logger: log, Server: server.Options{LogRequests: true},
	}
	if o.options != nil {
		o.options(&options)
	}
	n, e, err := assembly.Open(context.Background(), options, engine.Options{Logger: log, Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	w.node = n
	w.run(e)
	return w
}

// run starts the engine and the node until the test ends.
func (w *world) run(e *engine.Engine) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- e.Run(ctx) }()
	go func() { ended <- w.node.Run(ctx) }()
	web := httptest.NewServer(w.node.Handler())
	w.url = web.URL
	w.t.Cleanup(func() {
		w.free()
		w.node.Server().Drain()
		web.Close()
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				w.t.Error(err)
			}
		}
		w.sink.Close()
		_ = w.tape.Close()
		http.DefaultClient.CloseIdleConnections()
	})
}

// answer is what the server said.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) problem() (p api.Problem) {
	_ = json.Unmarshal([]byte(a.body), &p) // anything else has no code
	return p
}

// ask makes a request. The body is JSON unless a header says otherwise; headers are names and values.
func (w *world) ask(key, method, path, body string, headers ...string) answer {
	w.t.Helper()
	a, err := w.try(key, method, path, body, headers...)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func (w *world) try(key, method, path, body string, headers ...string) (answer, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, w.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header[http.CanonicalHeaderKey(headers[i])] = []string{headers[i+1]}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	var out []byte
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		out = make([]byte, 4096) // it has no end; its beginning will do
		n, _ := resp.Body.Read(out)
		out = out[:n]
	} else {
		out, err = io.ReadAll(resp.Body)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers.Write(out)
	_ = resp.Header.Write(&w.answers) // a buffer takes all
	return answer{resp.StatusCode, resp.Header, string(out)}, err
}

// must is ask for what has to work; the answer is decoded into out.
func (w *world) must(key, method, path, body string, out any, headers ...string) answer {
	w.t.Helper()
	a := w.ask(key, method, path, body, headers...)
	if a.status >= 300 {
		w.t.Fatalf("%s %s %s: %d %s", method, path, body, a.status, a.body)
	}
	if out != nil {
		if err := json.Unmarshal([]byte(a.body), out); err != nil {
			w.t.Fatalf("%s %s: %v: %s", method, path, err, a.body)
		}
	}
	return a
}

// until asks again until it is so.
func (w *world) until(what string, so func() bool) {
	w.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); !so(); <-tick.C {
		if time.Now().After(end) {
			w.t.Fatalf("%s does not come about", what)
		}
	}
}

// tape keeps all that was ever written to a store.
type tape struct {
	store.Store
	mu      sync.Mutex
	written bytes.Buffer
}

func (p *tape) keep(parts ...[]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range parts {
		p.written.Write(b)
		p.written.WriteByte('\n')
	}
}

func (p *tape) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written.String()
}

// PutBlocks keeps the blocks.
func (p *tape) PutBlocks(ctx context.Context, partition int, id weir.BulkID, first uint32, blocks [][]byte) error {
	p.keep(blocks...)
	return p.Store.PutBlocks(ctx, partition, id, first, blocks)
}

// Append keeps the message.
func (p *tape) Append(ctx context.Context, partition int, body []byte, c store.Claim) error {
	p.keep(body)
	return p.Store.Append(ctx, partition, body, c)
}

// Commit keeps the rows.
func (p *tape) Commit(ctx context.Context, partition int, tok store.Token, b *store.Batch) error {
	for _, row := range b.Set {
		p.keep(row.Key, row.Value)
	}
	return p.Store.Commit(ctx, partition, tok, b)
}

// Swap keeps the record.
func (p *tape) Swap(ctx context.Context, name string, old, value []byte) ([]byte, error) {
	p.keep([]byte(name), value)
	return p.Store.Swap(ctx, name, old, value)
}

// Announce keeps the record.
func (p *tape) Announce(ctx context.Context, topic string, r store.Record, ttl time.Duration) error {
	p.keep([]byte(topic), r.Value)
	return p.Store.Announce(ctx, topic, r, ttl)
}
