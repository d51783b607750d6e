package callback

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir"
)

// trace begins the span of an attempt, below the submit of its bulk action; nil: it is not traced. The context is for
// the call.
func (s *sender) trace(ctx context.Context, traceparent string) (context.Context, *weir.Span) {
	submit := weir.ParseTraceparent(traceparent)
	switch {
	case submit.IsZero():
		return ctx, nil
	case s.tracer == nil, !submit.Sampled:
		return weir.WithTrace(ctx, submit), nil
	}
	span := &weir.Span{TraceContext: submit, Parent: submit.Span, Name: "webhook", Kind: weir.SpanClient, Start: time.Now()}
	binary.BigEndian.PutUint64(span.Span[:], max(1, rand.Uint64()))
	return weir.WithTrace(ctx, span.TraceContext), span
}

// ended ends the span of an attempt.
func (s *sender) ended(span *weir.Span, d Delivery, a *Attempt) {
	if span == nil {
		return
	}
	span.End = time.Now()
	span.Attributes = []weir.SpanAttribute{
		{Key: "weir.bulk_action", Text: d.BulkAction}, {Key: "weir.tenant", Text: d.Tenant}, {Key: "weir.event", Text: d.Type},
		{Key: "weir.delivery", Text: d.ID}, {Key: "weir.attempt", Number: int64(d.Tries + 1)},
	}
	if a.Status != 0 {
		span.Attributes = append(span.Attributes, weir.SpanAttribute{Key: "http.response.status_code", Number: int64(a.Status)})
	}
	if a.Code != "" {
		span.Failed, span.Error = true, a.Error
		span.Attributes = append(span.Attributes, weir.SpanAttribute{Key: "error.type", Text: string(a.Code)})
	}
	s.tracer.Ended(span)
}
