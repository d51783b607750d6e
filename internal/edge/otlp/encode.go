package otlp

import (
	"strings"

	"github.com/weirhq/weir"
	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of fields in opentelemetry/proto: collector/trace/v1, trace/v1, resource/v1 and common/v1. They never
// change: OTLP promises it since version 1.0.
const (
	requestResourceSpans = 1

	resourceSpansResource = 1
	resourceSpansScopes   = 2

	resourceAttributes = 1

	scopeSpansScope = 1
	scopeSpansSpans = 2

	scopeName    = 1
	scopeVersion = 2

	spanTrace      = 1
	spanID         = 2
	spanParent     = 4
	spanName       = 5
	spanKind       = 6
	spanStart      = 7
	spanEnd        = 8
	spanAttributes = 9
	spanLinks      = 13
	spanStatus     = 15
	spanFlags      = 16

	linkTrace      = 1
	linkSpan       = 2
	linkAttributes = 4
	linkFlags      = 6

	statusMessage = 2
	statusCode    = 3

	keyValueKey   = 1
	keyValueValue = 2

	anyString = 1
	anyInt    = 3
)

// statusError is the code of a status.
const statusError = 2

// flagSampled is the flag of W3C Trace Context.
const flagSampled = 1

// encode returns an ExportTraceServiceRequest. resource and scope are encoded already.
func encode(resource, scope []byte, spans []*weir.Span) []byte {
	var all, one []byte
	all = appendBytes(all, scopeSpansScope, scope)
	for _, s := range spans {
		one = appendSpan(one[:0], s)
		all = appendBytes(all, scopeSpansSpans, one)
	}
	of := appendBytes(nil, resourceSpansResource, resource)
	of = appendBytes(of, resourceSpansScopes, all)
	return appendBytes(nil, requestResourceSpans, of)
}

func encodeResource(all []weir.SpanAttribute) []byte {
	return appendAttributes(nil, resourceAttributes, all)
}

func encodeScope(version string) []byte {
	return appendText(appendText(nil, scopeName, scopeOf), scopeVersion, version)
}

// scopeOf names what makes the spans.
const scopeOf = "github.com/weirhq/weir"

func appendSpan(b []byte, s *weir.Span) []byte {
	b = appendBytes(b, spanTrace, s.Trace[:])
	b = appendBytes(b, spanID, s.Span[:])
	if s.Parent != [8]byte{} {
		b = appendBytes(b, spanParent, s.Parent[:])
	}
	b = appendText(b, spanName, s.Name)
	b = appendNumber(b, spanKind, uint64(s.Kind))
	b = appendFixed(b, spanStart, uint64(s.Start.UnixNano()))
	b = appendFixed(b, spanEnd, uint64(s.End.UnixNano()))
	b = appendAttributes(b, spanAttributes, s.Attributes)
	for _, l := range s.Links {
		b = appendBytes(b, spanLinks, link(&l))
	}
	if s.Failed {
		b = appendBytes(b, spanStatus, appendNumber(appendText(nil, statusMessage, s.Error), statusCode, statusError))
	}
	return appendFlags(b, spanFlags, s.TraceContext)
}

func link(l *weir.SpanLink) (b []byte) {
	b = appendBytes(b, linkTrace, l.Of.Trace[:])
	b = appendBytes(b, linkSpan, l.Of.Span[:])
	b = appendAttributes(b, linkAttributes, l.Attributes)
	return appendFlags(b, linkFlags, l.Of)
}

func appendFlags(b []byte, field protowire.Number, c weir.TraceContext) []byte {
	if !c.Sampled {
		return b
	}
	return protowire.AppendFixed32(protowire.AppendTag(b, field, protowire.Fixed32Type), flagSampled)
}

func appendAttributes(b []byte, field protowire.Number, all []weir.SpanAttribute) []byte {
	for _, a := range all {
		var value []byte
		if a.Text != "" {
			value = appendText(nil, anyString, a.Text)
		} else {
			value = appendInt(nil, anyInt, a.Number)
		}
		b = appendBytes(b, field, appendBytes(appendText(nil, keyValueKey, a.Key), keyValueValue, value))
	}
	return b
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// appendText appends a string, which in protobuf must be UTF-8: a receiver refuses all spans of a request otherwise.
func appendText(b []byte, field protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), strings.ToValidUTF8(v, "\uFFFD"))
}

func appendNumber(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendInt(b []byte, field protowire.Number, v int64) []byte {
	return appendNumber(b, field, uint64(v)) // an int64 is its two's complement
}

func appendFixed(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), v)
}
