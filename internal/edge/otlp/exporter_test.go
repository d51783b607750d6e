package otlp_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/otlp"
	"github.com/weirhq/weir/internal/testkit/otlptest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs an exporter to a receiver until the test ends or calls stop.
func start(t *testing.T, o otlp.Options) (x *otlp.Exporter, stop func()) {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	x, err := otlp.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { defer close(over); x.Run(ctx) }()
	stop = func() { cancel(); <-over }
	t.Cleanup(stop)
	return x, stop
}

func span(name string) *weir.Span {
	return &weir.Span{
		TraceContext: weir.TraceContext{Trace: [16]byte{1, 2}, Span: [8]byte{3}, Sampled: true}, Name: name, Kind: weir.SpanClient,
		Start: time.Unix(100, 7), End: time.Unix(101, 8),
	}
}

func TestASpanArrivesWhole(t *testing.T) {
	r := otlptest.Start(t)
	x, stop := start(t, otlp.Options{
		Endpoint: r.URL, Header: map[string]string{"api-key": "k"}, Version: "v1.2.3",
		Resource: []weir.SpanAttribute{{Key: "service.name", Text: "weir"}},
	})
	s := span("call crm.award")
	s.Parent = [8]byte{4}
	s.Attributes = []weir.SpanAttribute{{Key: "text", Text: "a\xffb"}, {Key: "number", Number: -5}, {Key: "zero"}}
	s.Links = []weir.SpanLink{{Of: weir.TraceContext{Trace: [16]byte{9}, Span: [8]byte{8}}, Attributes: []weir.SpanAttribute{{Key: "why", Text: "retry_of"}}}}
	s.Failed, s.Error = true, "server_error: 500"
	x.Ended(s)
	stop() // sends what is left
	want := otlptest.Span{
		Trace: "0102" + strings.Repeat("0", 28), ID: "0300000000000000", Parent: "0400000000000000", Name: "call crm.award",
		Kind: "SPAN_KIND_CLIENT", Start: time.Unix(100, 7), End: time.Unix(101, 8),
		Attributes: map[string]any{"text": "a\uFFFDb", "number": int64(-5), "zero": int64(0)},
		Links:      []otlptest.Link{{Trace: "09" + strings.Repeat("0", 30), ID: "0800000000000000", Attributes: map[string]any{"why": "retry_of"}}},
		Failed:     true, Error: "server_error: 500", Sampled: true, Resource: map[string]any{"service.name": "weir"},
		Scope: "github.com/weirhq/weir", Version: "v1.2.3",
	}
	if got := r.Spans(); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("arrived:\n%+v\nwant:\n%+v", got, want)
	}
	if got := r.Header.Get("Api-Key"); got != "k" {
		t.Errorf("header api-key = %q, want k", got)
	}
	if x.Sent() != 1 || x.Dropped() != 0 {
		t.Errorf("sent %d, dropped %d; want 1 and 0", x.Sent(), x.Dropped())
	}
}

func TestAFullBatchIsSentAtOnce(t *testing.T) {
	r := otlptest.Start(t)
	x, _ := start(t, otlp.Options{Endpoint: r.URL, Every: time.Hour})
	for i := range 600 {
		x.Ended(span(fmt.Sprint(i)))
	}
	r.Await(t, func(all []otlptest.Span) bool { return len(all) >= 512 })
}

func TestACollectorThatIsBusyIsAskedAgain(t *testing.T) {
	r := otlptest.Start(t)
	tries := 0
	r.Answer(func(w http.ResponseWriter) bool {
		if tries++; tries > 1 {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	x, _ := start(t, otlp.Options{Endpoint: r.URL, Every: time.Millisecond})
	x.Ended(span("late"))
	r.Await(t, func(all []otlptest.Span) bool { return len(all) == 1 })
}

func TestWhatTheCollectorRefusesIsDropped(t *testing.T) {
	r := otlptest.Start(t)
	refused := make(chan struct{})
	r.Answer(func(w http.ResponseWriter) bool {
		w.WriteHeader(http.StatusUnauthorized)
		close(refused) // a second request would panic
		return true
	})
	x, stop := start(t, otlp.Options{Endpoint: r.URL, Every: time.Millisecond})
	x.Ended(span("refused"))
	<-refused
	stop()
	if x.Sent() != 0 || x.Dropped() != 1 {
		t.Errorf("sent %d, dropped %d; want 0 and 1", x.Sent(), x.Dropped())
	}
}

func TestWorkDoesNotWaitForACollector(t *testing.T) {
	x, err := otlp.New(otlp.Options{Endpoint: "http://127.0.0.1:1/v1/traces"})
	if err != nil {
		t.Fatal(err)
	}
	for range 10_000 { // nothing takes them
		x.Ended(span("dropped"))
	}
	if got := x.Dropped(); got != 10_000-4096 {
		t.Errorf("dropped = %d, want all but the 4096 that may wait", got)
	}
}

func TestAnEndpointMustBeAURL(t *testing.T) {
	for _, bad := range []string{"", "collector:4318", "grpc://collector:4317", "http://"} {
		if _, err := otlp.New(otlp.Options{Endpoint: bad}); err == nil {
			t.Errorf("New with endpoint %q = no error", bad)
		}
	}
}
