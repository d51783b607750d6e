package weir

import (
	"context"
	"encoding/hex"
	"time"
)

// TraceContext names a span of a trace, as W3C Trace Context and OpenTelemetry do. The zero value names none.
type TraceContext struct {
	Trace   [16]byte
	Span    [8]byte
	Sampled bool // the spans of the trace are recorded
}

// IsZero reports whether c names no span.
func (c TraceContext) IsZero() bool { return c.Trace == [16]byte{} || c.Span == [8]byte{} }

// String returns c as the header traceparent; empty if it names no span.
func (c TraceContext) String() string {
	if c.IsZero() {
		return ""
	}
	b := append(make([]byte, 0, traceparentLen), "00-"...)
	b = append(hex.AppendEncode(b, c.Trace[:]), '-')
	b = append(hex.AppendEncode(b, c.Span[:]), "-00"...)
	if c.Sampled {
		b[len(b)-1] = '1'
	}
	return string(b)
}

// traceparentLen is the length of the header in version 00.
const traceparentLen = 55

// ParseTraceparent reads a header traceparent. It returns the zero value if the header does not name a span: a trace
// that cannot be continued is no reason to refuse a request.
func ParseTraceparent(s string) (c TraceContext) {
	if len(s) < traceparentLen || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return c
	}
	var version, flags [1]byte
	longer := len(s) > traceparentLen
	ok := lowHex(version[:], s[:2]) && lowHex(c.Trace[:], s[3:35]) && lowHex(c.Span[:], s[36:52]) && lowHex(flags[:], s[53:55])
	switch {
	case !ok, version[0] == 0xff, version[0] == 0 && longer, longer && s[traceparentLen] != '-', c.IsZero():
		return TraceContext{}
	}
	c.Sampled = flags[0]&1 != 0
	return c
}

// lowHex decodes lower-case hexadecimal digits.
func lowHex(to []byte, s string) bool {
	for i := range to {
		high, low := nibble(s[2*i]), nibble(s[2*i+1])
		if high > 15 || low > 15 {
			return false
		}
		to[i] = high<<4 | low
	}
	return true
}

func nibble(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 0xff
}

type traceKey struct{}

// WithTrace returns a context in which the span of c is under way: what is submitted with it continues its trace.
func WithTrace(ctx context.Context, c TraceContext) context.Context {
	return context.WithValue(ctx, traceKey{}, c)
}

// TraceOf returns the span that is under way in a context. In a handler that is its call, so that spans of the handler
// join the trace of the bulk action.
func TraceOf(ctx context.Context) TraceContext {
	c, _ := ctx.Value(traceKey{}).(TraceContext)
	return c
}

// Tracer takes the spans of an engine. Its methods are called by several goroutines at once, and must not block.
type Tracer interface {
	// Sample decides whether a bulk action is traced, once, when it is submitted. parent is the span that submits it,
	// or zero.
	Sample(trace [16]byte, parent TraceContext) bool
	// Ended takes a span that has ended.
	Ended(s *Span)
}

// SpanKind says on which side of a call a span is.
type SpanKind uint8

// The kinds of spans, with the numbers that OpenTelemetry gives them.
const (
	SpanInternal SpanKind = iota + 1
	SpanServer
	SpanClient
	SpanProducer
	SpanConsumer
)

// Span is a part of a trace that has ended.
type Span struct {
	TraceContext
	Parent     [8]byte // zero: none
	Name       string
	Kind       SpanKind
	Start, End time.Time
	Attributes []SpanAttribute
	Links      []SpanLink
	Failed     bool
	Error      string // why it failed
}

// SpanAttribute is something known about a span: a text or a number.
type SpanAttribute struct {
	Key    string
	Text   string // empty: Number
	Number int64
}

// SpanLink names another span that has to do with a span, and how.
type SpanLink struct {
	Of         TraceContext
	Attributes []SpanAttribute
}
