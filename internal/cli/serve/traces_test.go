package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/cli/clitest"
	"github.com/weirhq/weir/internal/testkit/otlptest"
)

const clientSpan = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// A server with a collector sends what it did, also what ended just before it; the webhook belongs to the trace.
func TestAServerSendsItsTraces(t *testing.T) {
	collector := otlptest.Start(t)
	called := make(chan string, 1)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { called <- r.Header.Get("traceparent") }))
	defer hook.Close()
	h := open(t, clitest.Settings(t, map[string]string{"traces.endpoint": collector.URL, "egress.allow": "loopback"}), nodeParts(false))
	body := fmt.Sprintf(`{"steps":[{"action":"demo.award"}],"start":true,"items":[{"id":"a","data":{}}],"callback":{"url":%q}}`, hook.URL)
	req, err := http.NewRequest(http.MethodPost, h.url(t)+"/v1/bulk-actions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Traceparent": {clientSpan}}
	a, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if raw, _ := io.ReadAll(a.Body); a.StatusCode != http.StatusCreated {
		t.Fatalf("submit: %d %s", a.StatusCode, raw)
	}
	a.Body.Close()
	at := weir.ParseTraceparent(<-called)
	if fmt.Sprintf("%x", at.Trace) != clientSpan[3:35] || !at.Sampled {
		t.Errorf("the webhook has traceparent %s, want one of the client's trace", at)
	}
	h.stop(t)
	http.DefaultClient.CloseIdleConnections()
	names := map[string]otlptest.Span{}
	for _, s := range collector.Spans() {
		names[s.Name] = s
		if s.Trace != clientSpan[3:35] || s.Resource["service.name"] != "weir" {
			t.Errorf("%s is of trace %s and service %v", s.Name, s.Trace, s.Resource["service.name"])
		}
	}
	for name, parent := range map[string]string{"task demo.award": "submit", "call demo.award": "task demo.award", "item": "call demo.award", "webhook": "submit"} {
		if s, ok := names[name]; !ok || s.Parent != names[parent].ID {
			t.Errorf("%s: there %v, below %q, want below %s", name, ok, s.Parent, parent)
		}
	}
	if got := names["webhook"].ID; got != fmt.Sprintf("%x", at.Span) {
		t.Errorf("the webhook was told of span %x, and its span is %s", at.Span, got)
	}
	if log := h.log.String(); !strings.Contains(log, "trace_id="+clientSpan[3:35]+" span_id="+clientSpan[36:52]) {
		t.Errorf("the log of the request has no trace:\n%s", log)
	}
}

func TestLogLinesHaveTheSpanOfTheirContext(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(traced{slog.NewTextHandler(&out, nil)}).With("a", 1)
	log.InfoContext(weir.WithTrace(context.Background(), weir.ParseTraceparent(clientSpan)), "in")
	log.InfoContext(context.Background(), "out")
	lines := strings.Split(out.String(), "\n")
	if !strings.HasSuffix(lines[0], "msg=in a=1 trace_id=4bf92f3577b34da6a3ce929d0e0e4736 span_id=00f067aa0ba902b7") || strings.Contains(lines[1], "trace") {
		t.Errorf("log:\n%s", out.String())
	}
}

func TestASamplerThatDoesNotExistIsRefused(t *testing.T) {
	c := clitest.Settings(t, map[string]string{"traces.endpoint": "http://127.0.0.1:1/v1/traces"})
	c.Traces.Sampler = "jaeger_remote"
	h := open(t, c, nodeParts(false))
	if err := <-h.over; err == nil || !strings.Contains(err.Error(), "jaeger_remote") {
		t.Errorf("serve = %v, want the sampler refused", err)
	}
}
