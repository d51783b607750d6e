package spans

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
)

// Maker makes the spans of one node.
type Maker struct {
	to       weir.Tracer
	node     string
	attempts attempts

	mu     sync.Mutex
	second int64 // in which failures are counted
	failed int
}

// New returns a maker whose spans go to t; nil if t is nil.
func New(t weir.Tracer, node string) *Maker {
	if t == nil {
		return nil
	}
	return &Maker{to: t, node: node}
}

// Submit is a submit under way.
type Submit struct {
	of    *Maker
	span  weir.Span
	retry string // the trace of the bulk action that is retried
}

// Submit begins the span of a submit, and stores it with the bulk action.
func (m *Maker) Submit(ctx context.Context, c *partition.Created) *Submit {
	former := c.Trace
	c.Trace = ""
	if m == nil {
		return nil
	}
	parent := weir.TraceOf(ctx)
	s := &Submit{of: m, span: weir.Span{Name: "submit", Kind: weir.SpanProducer, Start: time.Now(), Parent: parent.Span}}
	if s.span.Trace = parent.Trace; parent.IsZero() {
		s.span.Trace, s.span.Parent = newTrace(), [8]byte{}
	}
	s.span.Span = newSpan()
	s.span.Sampled = m.to.Sample(s.span.Trace, parent)
	c.Trace = s.span.TraceContext.String()
	if c.RetryOf != "" {
		s.retry = former
	}
	return s
}

// End ends the span of a submit: c is the bulk action that it led to, with an error it may be nil.
func (s *Submit) End(c *partition.Created, err error) {
	if s == nil || !s.span.Sampled {
		return
	}
	p := &s.span
	p.End = time.Now()
	p.Attributes = []weir.SpanAttribute{text("weir.node", s.of.node)}
	s.link(s.retry, "retry_of")
	switch {
	case err != nil:
		p.Failed, p.Error = true, err.Error()
		if bad := (*weir.InputError)(nil); errors.As(err, &bad) {
			p.Error = "the input is not valid"
		}
	default:
		p.Attributes = append(p.Attributes, text("weir.bulk_action", string(c.ID)), text("weir.tenant", c.Tenant),
			text("weir.name", c.Name), number("weir.items", c.Items))
		if c.Trace != p.TraceContext.String() {
			s.link(c.Trace, "same_idempotency_key") // an earlier submit made it
		}
	}
	s.of.to.Ended(p)
}

// link names the span of another submit.
func (s *Submit) link(traceparent, why string) {
	if of := weir.ParseTraceparent(traceparent); !of.IsZero() {
		s.span.Links = append(s.span.Links, weir.SpanLink{Of: of, Attributes: []weir.SpanAttribute{text("weir.link", why)}})
	}
}

// failuresPerSecond bounds the tasks of a node that have spans for nothing but what failed in them: a downstream that
// is gone would otherwise trace every task.
const failuresPerSecond = 10

// mayTell reports whether another failed task may have spans.
func (m *Maker) mayTell(now int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := now / int64(time.Second); s != m.second {
		m.second, m.failed = s, 0
	}
	m.failed++
	return m.failed <= failuresPerSecond
}

// newTrace returns a new id; ids need to be unique, not secret.
func newTrace() (id [16]byte) {
	binary.BigEndian.PutUint64(id[:8], rand.Uint64())
	binary.BigEndian.PutUint64(id[8:], max(1, rand.Uint64()))
	return id
}

func newSpan() (id [8]byte) {
	binary.BigEndian.PutUint64(id[:], max(1, rand.Uint64()))
	return id
}

func text(key, value string) weir.SpanAttribute { return weir.SpanAttribute{Key: key, Text: value} }

func number(key string, value int64) weir.SpanAttribute {
	return weir.SpanAttribute{Key: key, Number: value}
}
