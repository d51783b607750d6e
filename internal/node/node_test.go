package node_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/engine"
	"github.com/weirhq/weir/internal/egress"
	"github.com/weirhq/weir/internal/node"
	"github.com/weirhq/weir/internal/vault"
	"github.com/weirhq/weir/store/memstore"
)

// echo is an action that answers with what it got.
func echo(name string) weir.Step {
	return weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
		Name: name,
		Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			for i := range b.Len() {
				if strings.Contains(string(b.Item(i).Value), "bad") {
					b.Fail(i, "is_bad", fmt.Errorf("account %d is bad", i))
					continue
				}
				b.Done(i, b.Item(i).Value)
			}
			return nil
		},
	})
}

// running is a node that runs, behind an HTTP server on loopback.
type running struct {
	*node.Node
	t   *testing.T
	url string
}

func start(t *testing.T) *running {
	t.Helper()
	v, err := vault.New(vault.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	s := memstore.New(memstore.Options{})
	n, err := node.New(context.WithoutCancel(t.Context()), node.Options{
		Store: s, Guard: egress.New(egress.Policy{Allow: egress.Loopback()}), Vault: v, Open: true,
		Steps: []weir.Step{echo("award"), echo("notify")}, Logger: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	o := engine.Options{Logger: log, Partitions: 2}
	n.Prepare(&o)
	e, err := engine.Open(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	n.Attach(e)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- e.Run(ctx) }()
	go func() { ended <- n.Run(ctx) }()
	web := httptest.NewServer(n.Handler())
	t.Cleanup(func() {
		web.Close()
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		_ = s.Close()
	})
	return &running{n, t, web.URL}
}

// call makes a request and wants a status.
func (r *running) call(method, path, kind, body string, status int, out any) http.Header {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != status {
		r.t.Fatalf("%s %s: status %d, want %d: %s", method, path, resp.StatusCode, status, raw)
	}
	if out != nil {
		if err := json.Unmarshal(raw, out); err != nil {
			r.t.Fatalf("%s %s: %v: %s", method, path, err, raw)
		}
	}
	return resp.Header
}

func (r *running) until(id string, state api.State) (b api.BulkAction) {
	r.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		r.call("GET", "/v1/bulk-actions/"+id, "", "", 200, &b)
		if b.State == state {
			return b
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.t.Fatalf("%s is %s (%s), want %s", id, b.State, b.Reason, state)
	return b
}

func TestADraftIsFilledSealedStartedAndCompleted(t *testing.T) {
	r := start(t)
	var b api.BulkAction
	h := r.call("POST", "/v1/bulk-actions", "application/json", `{"name":"spring","steps":[
		{"id":"award","action":"award","input":{"user":"item.user_id","amount":"item.amount"}},
		{"id":"notify","action":"notify","when":"item.amount > 1","input":{"to":"id","text":"'got ' + string(steps.award.output.amount)"}}],"item_id":"user_id"}`, 201, &b)
	if b.State != api.Draft || h.Get("Location") != "/v1/bulk-actions/"+b.ID {
		t.Fatalf("made %+v at %q", b, h.Get("Location"))
	}
	var body bytes.Buffer
	for i := range 2500 {
		fmt.Fprintf(&body, "{\"user_id\":\"u%d\",\"amount\":%d}\n", i, i)
	}
	var a api.Appended
	r.call("POST", "/v1/bulk-actions/"+b.ID+"/items", "application/x-ndjson", body.String(), 202, &a)
	r.call("POST", "/v1/bulk-actions/"+b.ID+"/items", "text/csv", "user_id,amount\nx1,7\nx2,bad\n", 202, &a)
	if a.Total != 2502 {
		t.Fatalf("total = %d, want 2502", a.Total)
	}
	var p api.Problem
	r.call("POST", "/v1/bulk-actions/"+b.ID+"/seal", "application/json", `{"expected_items":7}`, 409, &p)
	if p.Code != "count_mismatch" {
		t.Fatalf("problem %+v", p)
	}
	r.call("POST", "/v1/bulk-actions/"+b.ID+"/seal", "application/json", `{"expected_items":2502}`, 200, &b)
	if b.State != api.Sealed || b.Counts.Total != 2502 {
		t.Fatalf("sealed %+v", b)
	}
	r.call("POST", "/v1/bulk-actions/"+b.ID+"/items", "text/csv", "user_id,amount\ny1,7\n", 409, &p)
	r.call("POST", "/v1/bulk-actions/"+b.ID+"/start", "application/json", `{}`, 200, &b)
	b = r.until(b.ID, api.Completed)
	t.Logf("%+v", b)
	if c := b.Counts; c.Done != 2498 || c.Total != 2502 {
		t.Errorf("counts %+v", c)
	}
}
