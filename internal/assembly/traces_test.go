package assembly_test

import (
	"context"
	"fmt"
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
	"github.com/weirhq/weir/internal/edge/otlp"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/internal/testkit/otlptest"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store/redisstore"
)

// exporter sends spans to a receiver until the test ends.
func exporter(t *testing.T, to, service string) *otlp.Exporter {
	t.Helper()
	x, err := otlp.New(otlp.Options{
		Endpoint: to, Every: 20 * time.Millisecond, Resource: []weir.SpanAttribute{{Key: "service.name", Text: service}},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { defer close(over); x.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-over })
	return x
}

// endpoint is what a user runs: it traces its own work, below the call that it was asked by.
type endpoint struct {
	to    *otlp.Exporter
	gate  chan struct{} // closed when calls may be answered
	mu    sync.Mutex
	calls []string // headers traceparent
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	_, _ = io.Copy(io.Discard, r.Body)
	header := r.Header.Get("traceparent")
	e.mu.Lock()
	e.calls = append(e.calls, header)
	n := len(e.calls)
	e.mu.Unlock()
	select {
	case <-e.gate:
	case <-r.Context().Done():
	}
	if at := weir.ParseTraceparent(header); at.Sampled {
		s := &weir.Span{TraceContext: at, Parent: at.Span, Name: "work", Kind: weir.SpanServer, Start: began, End: time.Now()}
		s.Span = [8]byte{0xee, byte(n >> 8), byte(n)}
		e.to.Ended(s)
	}
	_, _ = io.WriteString(w, `{"default":"done"}`)
}

const client = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// A bulk action that is submitted at one node, and worked on by two, is one trace: from the client's span to the work
// of the endpoint.
func TestABulkActionOverTwoNodesIsOneTrace(t *testing.T) {
	const items = 260_000 // more than one partition takes alone
	redis, collector := testenv.Redis(t), otlptest.Start(t)
	v, err := vault.New(vault.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	start := func(name string) *nodetest.Node {
		s, err := redisstore.Open(context.WithoutCancel(t.Context()),
			redisstore.Options{Addresses: []string{redis.Addr}, Mode: redisstore.Memory})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return nodetest.Start(t, nodetest.Options{Store: s, Vault: v, Partitions: 2, Tracer: exporter(t, collector.URL, name)})
	}
	work := &endpoint{to: exporter(t, collector.URL, "crm"), gate: make(chan struct{})}
	web := httptest.NewServer(work)
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	a, b := start("weir-a"), start("weir-b")
	var nodes api.Page[api.Node]
	each := func(what string, holds func(n *api.Node) bool) {
		t.Helper()
		a.Eventually(what, func() bool {
			a.Call("GET", "/v1/nodes", "", 200, &nodes)
			return len(nodes.Data) == 2 && holds(&nodes.Data[0]) && holds(&nodes.Data[1])
		})
	}
	each("both nodes own a partition", func(n *api.Node) bool { return n.Partitions == 1 })
	a.Call("PUT", "/v1/actions/crm.award", fmt.Sprintf(`{"url":%q,"batch":1000}`, web.URL), 200, nil)

	var rows strings.Builder
	for i := range items {
		fmt.Fprintf(&rows, "{\"id\":\"u%d\"}\n", i)
	}
	var made api.BulkAction
	a.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"crm.award"}],"item_id":"id"}`, 201, &made)
	a.CallWith("POST", "/v1/bulk-actions/"+made.ID+"/items", rows.String(), http.Header{"Content-Type": {"application/x-ndjson"}}, 202, nil)
	a.CallWith("POST", "/v1/bulk-actions/"+made.ID+"/seal", `{"start":true}`, http.Header{"Traceparent": {client}}, 200, &made)
	each("both nodes call", func(n *api.Node) bool { return n.InFlight > 0 })
	close(work.gate)
	b.Until(made.ID, api.Completed)

	calls := items / 1000
	all := collector.Await(t, func(all []otlptest.Span) bool { return count(all, "item") == 100 && count(all, "work") == 100 })
	byID := map[string]otlptest.Span{}
	for _, s := range all {
		if _, twice := byID[s.ID]; twice {
			t.Errorf("two spans have the id %s", s.ID)
		}
		byID[s.ID] = s
	}
	parents := map[string]string{"task crm.award": "submit", "call crm.award": "task crm.award", "item": "call crm.award", "work": "call crm.award"}
	at := map[string]int{}
	for _, s := range all {
		if s.Trace != client[3:35] {
			t.Errorf("%s is in trace %s, want that of the client", s.Name, s.Trace)
		}
		if s.Name == "submit" {
			if s.Parent != client[36:52] || s.Attributes["weir.bulk_action"] != made.ID || s.Attributes["weir.items"] != int64(items) {
				t.Errorf("submit = %+v, want it below the client's span, of %s", s, made.ID)
			}
			continue
		}
		if p := byID[s.Parent]; p.Name != parents[s.Name] {
			t.Errorf("%s is below %q, want %q", s.Name, p.Name, parents[s.Name])
		}
		if strings.HasPrefix(s.Name, "task") {
			at[s.Resource["service.name"].(string)]++
		}
	}
	if count(all, "submit") != 1 || count(all, "task crm.award") != 100 || count(all, "call crm.award") != 100 {
		t.Errorf("%d submits, %d tasks, %d calls; want 1, 100 and 100", count(all, "submit"), count(all, "task crm.award"), count(all, "call crm.award"))
	}
	if at["weir-a"] == 0 || at["weir-b"] == 0 {
		t.Errorf("tasks with spans by node: %v, want some of both", at)
	}
	sampled := 0
	for _, h := range work.calls {
		c := weir.ParseTraceparent(h)
		if fmt.Sprintf("%x", c.Trace) != client[3:35] {
			t.Errorf("a call has traceparent %q, want the trace of the client", h)
		}
		if c.Sampled {
			sampled++
		}
	}
	if len(work.calls) < calls || sampled != 100 {
		t.Errorf("%d calls, of which %d are sampled; want at least %d, 100 of them sampled", len(work.calls), sampled, calls)
	}
}

func count(all []otlptest.Span, name string) (n int) {
	for _, s := range all {
		if s.Name == name {
			n++
		}
	}
	return n
}
