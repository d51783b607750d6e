// Package otlp sends spans to a collector of OpenTelemetry: OTLP over HTTP, as protobuf.
//
// Spans are gathered and sent in batches. What cannot be sent in time is dropped and counted: traces never hold up
// work, and are no record of it.
package otlp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
)

// Options configures [New]. Endpoint must be set.
type Options struct {
	// Endpoint takes the spans, as in "http://collector:4318/v1/traces".
	Endpoint string
	// Header is sent with every request.
	Header map[string]string
	// Resource describes the process: service.name and the like.
	Resource []weir.SpanAttribute
	// Version is the version of the program.
	Version string
	// Sampler decides which bulk actions are traced. Default: those of traces that are sampled, and all others.
	Sampler Sampler
	// Every is how often spans are sent. Default 5s.
	Every time.Duration
	// Timeout limits one request. Default 10s.
	Timeout time.Duration
	// Transport makes the requests. Default: a clone of [http.DefaultTransport].
	Transport http.RoundTripper
	// Logger is told when spans cannot be sent. Default [slog.Default].
	Logger *slog.Logger
}

// Bounds of what waits.
const (
	queueSpans = 4096
	batchSpans = 512
	sendTries  = 4
	maxText    = 1024 // bytes of a response in a message
)

// Exporter sends spans. It implements [weir.Tracer].
type Exporter struct {
	o        Options
	resource []byte
	scope    []byte
	spans    chan *weir.Span
	full     chan struct{} // a batch is full
	client   *http.Client
	sent     atomic.Int64
	dropped  atomic.Int64
	told     atomic.Bool // the log knows that sending fails
}

// New makes an exporter; nothing is sent before Run.
func New(o Options) (*Exporter, error) {
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("endpoint %q: not a URL of a collector; write it as in http://localhost:4318/v1/traces", o.Endpoint)
	}
	o.Every, o.Timeout = cmp.Or(o.Every, 5*time.Second), cmp.Or(o.Timeout, 10*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Transport == nil {
		o.Transport = http.DefaultTransport.(*http.Transport).Clone() //nolint:errcheck,forcetypeassert // documented to be one
	}
	return &Exporter{
		o: o, resource: encodeResource(o.Resource), scope: encodeScope(o.Version),
		spans: make(chan *weir.Span, queueSpans), full: make(chan struct{}, 1),
		client: &http.Client{
			Transport: o.Transport, Timeout: o.Timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Sample implements [weir.Tracer].
func (x *Exporter) Sample(trace [16]byte, parent weir.TraceContext) bool {
	return x.o.Sampler.Sample(trace, parent)
}

// Ended implements [weir.Tracer].
func (x *Exporter) Ended(s *weir.Span) {
	select {
	case x.spans <- s:
		if len(x.spans) >= batchSpans {
			select {
			case x.full <- struct{}{}:
			default:
			}
		}
	default:
		x.dropped.Add(1)
	}
}

// Sent and Dropped count spans.
func (x *Exporter) Sent() int64 { return x.sent.Load() }

// Dropped counts the spans that could not be sent.
func (x *Exporter) Dropped() int64 { return x.dropped.Load() }

// lastFor bounds how long the end of a process waits for a collector.
const lastFor = 3 * time.Second

// Run sends spans until ctx ends, and then what is left, for at most three seconds.
func (x *Exporter) Run(ctx context.Context) {
	tick := time.NewTicker(x.o.Every)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-x.full:
		}
		if ctx.Err() == nil {
			x.flush(ctx)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFor)
	defer cancel()
	x.flush(last)
	x.client.CloseIdleConnections()
}

// flush sends what waits now.
func (x *Exporter) flush(ctx context.Context) {
	for range queueSpans/batchSpans + 1 {
		batch := x.take()
		if len(batch) == 0 {
			return
		}
		if err := x.send(ctx, encode(x.resource, x.scope, batch)); err != nil {
			x.dropped.Add(int64(len(batch)))
			if !x.told.Swap(true) { // once per outage
				x.o.Logger.LogAttrs(ctx, slog.LevelWarn, "traces not sent", slog.Any("error", err), slog.Int("spans", len(batch)))
			}
			continue
		}
		x.sent.Add(int64(len(batch)))
		if x.told.Swap(false) {
			x.o.Logger.LogAttrs(ctx, slog.LevelInfo, "traces are sent again", slog.Int64("dropped", x.dropped.Load()))
		}
	}
}

func (x *Exporter) take() (batch []*weir.Span) {
	for len(batch) < batchSpans {
		select {
		case s := <-x.spans:
			batch = append(batch, s)
		default:
			return batch
		}
	}
	return batch
}

// send sends one request, again if the collector asks for that or cannot be reached.
func (x *Exporter) send(ctx context.Context, body []byte) error {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(body) // a buffer takes all
	_ = z.Close()
	wait := time.Second
	for try := 1; ; try++ {
		after, err := x.post(ctx, packed.Bytes())
		if err == nil || after < 0 || try == sendTries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(max(wait, min(after, x.o.Timeout))):
		}
		wait *= 2
	}
}

// errStatus is the answer of a collector that did not take spans.
var errStatus = errors.New("the collector did not take them")

// post makes one request. A wait below zero means that another try is of no use.
func (x *Exporter) post(ctx context.Context, body []byte) (wait time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.o.Endpoint, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	for k, v := range x.o.Header {
		req.Header.Set(k, v)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("Content-Encoding", "gzip")
	req.Header.Set("User-Agent", "weir/"+x.o.Version)
	resp, err := x.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxText)) // the status decides
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // none: our own pace
		return time.Duration(max(seconds, 0)) * time.Second, fmt.Errorf("%w: %s: %q", errStatus, resp.Status, text)
	}
	if resp.StatusCode/100 != 2 {
		return -1, fmt.Errorf("%w: %s: %q", errStatus, resp.Status, text)
	}
	return 0, nil
}
