// Package otlptest is a receiver of traces for tests. It reads OTLP over HTTP with the types that the OpenTelemetry
// project generates from its protocol, and knows nothing of package otlp.
package otlptest

import (
	"cmp"
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a span as it arrived.
type Span struct {
	Trace, ID, Parent, Name string
	Kind                    string
	Start, End              time.Time
	Attributes              map[string]any // string or int64
	Links                   []Link
	Failed                  bool
	Error                   string
	Sampled                 bool
	Resource                map[string]any
	Scope, Version          string
}

// Link is a link of a span.
type Link struct {
	Trace, ID  string
	Attributes map[string]any
}

// Receiver takes spans over HTTP.
type Receiver struct {
	URL    string
	Header http.Header // of the last request
	mu     sync.Mutex
	spans  []Span
	answer func(w http.ResponseWriter) bool
	came   chan struct{}
}

// Start starts a receiver that ends with the test.
func Start(t testing.TB) *Receiver {
	r := &Receiver{came: make(chan struct{}, 1)}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	r.URL = s.URL + "/v1/traces"
	return r
}

// Answer lets f answer requests instead; if it returns false, the spans are taken.
func (r *Receiver) Answer(f func(w http.ResponseWriter) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = f
}

// ServeHTTP takes one request.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Header = req.Header
	if r.answer != nil && r.answer(w) {
		return
	}
	all, err := read(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.spans = append(r.spans, all...)
	w.Header().Set("Content-Type", "application/x-protobuf")
	select {
	case r.came <- struct{}{}:
	default:
	}
}

// Spans returns what has arrived, by start.
func (r *Receiver) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Clone(r.spans)
	slices.SortStableFunc(all, func(a, b Span) int { return cmp.Or(a.Start.Compare(b.Start), b.End.Compare(a.End)) })
	return all
}

// Await returns what has arrived as soon as enough is true for it.
func (r *Receiver) Await(t testing.TB, enough func([]Span) bool) []Span {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		all := r.Spans()
		if enough(all) {
			return all
		}
		select {
		case <-r.came:
		case <-late:
			t.Fatalf("%d spans have arrived, which are not enough: %+v", len(all), all)
		}
	}
}

func read(req *http.Request) (all []Span, err error) {
	body := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		if body, err = gzip.NewReader(req.Body); err != nil {
			return nil, err
		}
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	var in collector.ExportTraceServiceRequest
	if err := (proto.UnmarshalOptions{DiscardUnknown: false}).Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	for _, of := range in.GetResourceSpans() {
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				one := Span{
					Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
					Name: s.GetName(), Kind: s.GetKind().String(), Start: at(s.GetStartTimeUnixNano()), End: at(s.GetEndTimeUnixNano()),
					Attributes: attributes(s.GetAttributes()), Failed: s.GetStatus().GetCode() == 2, Error: s.GetStatus().GetMessage(),
					Sampled: s.GetFlags()&1 == 1, Resource: attributes(of.GetResource().GetAttributes()),
					Scope: scope.GetScope().GetName(), Version: scope.GetScope().GetVersion(),
				}
				for _, l := range s.GetLinks() {
					one.Links = append(one.Links, Link{hex.EncodeToString(l.GetTraceId()), hex.EncodeToString(l.GetSpanId()), attributes(l.GetAttributes())})
				}
				all = append(all, one)
			}
		}
	}
	return all, nil
}

func at(nano uint64) time.Time { return time.Unix(0, int64(nano)) }

func attributes(all []*common.KeyValue) map[string]any {
	out := map[string]any{}
	for _, a := range all {
		switch v := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			out[a.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			out[a.GetKey()] = v.IntValue
		}
	}
	return out
}
