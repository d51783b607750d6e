package spans

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/core/trace"
)

// Task is a task of a traced bulk action under way.
type Task struct {
	of     *Maker
	submit weir.TraceContext
	span   weir.TraceContext // Sampled: it has a traced item
	call   weir.TraceContext
	every  int64
	part   int
	began  int64
	called atomic.Int64 // 0: not; the loop may give up on it at any time
}

// Task begins a task of a partition; nil if its bulk action is not traced. The context that it returns is for the call.
func (m *Maker) Task(ctx context.Context, t *partition.Task, part int, began int64) (context.Context, *Task) {
	if t.Trace == "" || t.Filter {
		return ctx, nil
	}
	submit := weir.ParseTraceparent(t.Trace)
	if m == nil || !submit.Sampled {
		return weir.WithTrace(ctx, submit), nil
	}
	k := &Task{of: m, submit: submit, span: submit, call: submit, every: trace.Every(t.Total), part: part, began: began}
	k.span.Sampled = trace.Any(k.every, t.Base, t.Items)
	k.span.Span, k.call.Span, k.call.Sampled = newSpan(), newSpan(), k.span.Sampled
	return weir.WithTrace(ctx, k.call), k
}

// Call says that the call of the task begins.
func (k *Task) Call(now time.Time) {
	if k != nil {
		k.called.Store(now.UnixNano())
	}
}

// End ends a task: its outcomes are what the call said of its items, its failure is why there are none.
// Nil outcomes are unknown ones.
func (k *Task) End(t *partition.Task, done *weir.Task, f *partition.Failure, now time.Time) {
	if k == nil {
		return
	}
	var e ending
	e.read(done, f)
	if !k.span.Sampled && !(e.failed && k.of.mayTell(now.UnixNano())) {
		return
	}
	k.span.Sampled, k.call.Sampled = true, true
	k.of.to.Ended(k.task(t, &e, now))
	if k.called.Load() == 0 {
		return
	}
	k.of.to.Ended(k.callSpan(t, &e, now))
	k.items(t, done, f, &e, now)
}

func (k *Task) task(t *partition.Task, e *ending, now time.Time) *weir.Span {
	s := &weir.Span{
		TraceContext: k.span, Parent: k.submit.Span, Name: "task " + t.Step.Name, Kind: weir.SpanConsumer,
		Start: time.Unix(0, k.began), End: now, Failed: e.failed, Error: e.text(),
		Attributes: []weir.SpanAttribute{
			text("weir.bulk_action", string(t.Bulk)), text("weir.tenant", t.Tenant), text("weir.step", t.Step.Name),
			text("weir.action", t.Step.Action), number("weir.attempt", int64(t.Attempt)), number("weir.items", int64(len(t.Items))),
			number("weir.first_item", t.Base+int64(t.Items[0])), text("weir.node", k.of.node), number("weir.partition", int64(k.part)),
		},
	}
	for kind, n := range e.counts {
		if n > 0 {
			s.Attributes = append(s.Attributes, number("weir.items."+weir.OutcomeKind(kind).String(), int64(n)))
		}
	}
	return s
}

func (k *Task) callSpan(t *partition.Task, e *ending, now time.Time) *weir.Span {
	s := &weir.Span{
		TraceContext: k.call, Parent: k.span.Span, Name: "call " + t.Step.Action, Kind: weir.SpanInternal,
		Start: time.Unix(0, k.called.Load()), End: now, Failed: e.whole, Attributes: []weir.SpanAttribute{text("weir.resource", t.Step.Resource.Name)},
	}
	if t.Step.Remote {
		s.Kind = weir.SpanClient
	}
	if at := t.Step.Endpoint; at != nil {
		if u, err := url.Parse(at.URL); err == nil {
			s.Attributes = append(s.Attributes, text("server.address", u.Host))
		}
	}
	if e.whole {
		s.Error = e.text()
		s.Attributes = append(s.Attributes, text("error.type", e.code))
	}
	return s
}

// items ends the attempts at the items that are traced; of a task that has none, at the first one that failed.
func (k *Task) items(t *partition.Task, done *weir.Task, f *partition.Failure, e *ending, now time.Time) {
	if done == nil || f != nil && (f.Refused || f.Uncalled) {
		return
	}
	at := slices.Collect(trace.Items(k.every, t.Base, t.Items))
	if len(at) == 0 {
		at = []int{e.first}
	}
	for _, i := range at {
		o := weir.Outcome{Kind: weir.OutcomeRetry}
		if f == nil {
			o = done.Outcomes[i]
		} else {
			o.Code, o.Message = f.Code, f.Message
		}
		k.of.to.Ended(k.item(t, &done.Items[i], o, now))
	}
}

// item is the span of an attempt at an item. It names the attempt before, at this step or an earlier one.
func (k *Task) item(t *partition.Task, it *weir.TaskItem, o weir.Outcome, now time.Time) *weir.Span {
	s := &weir.Span{
		TraceContext: weir.TraceContext{Trace: k.span.Trace, Span: newSpan(), Sampled: true},
		Parent:       k.call.Span, Name: "item", Kind: weir.SpanInternal, Start: time.Unix(0, k.called.Load()), End: now,
		Attributes: []weir.SpanAttribute{
			text("weir.item", it.ID), number("weir.item.number", it.No), text("weir.item.outcome", o.Kind.String()),
			number("weir.attempt", int64(t.Attempt)),
		},
	}
	switch o.Kind {
	case weir.OutcomeNone, weir.OutcomeRetry, weir.OutcomeFailed:
		s.Failed, s.Error = true, o.Message
		s.Attributes = append(s.Attributes, text("error.type", cmp.Or(o.Code, "no_result")))
	case weir.OutcomeDone, weir.OutcomeLeftOut, weir.OutcomeRefused:
	}
	if before, ok := k.of.attempts.swap(attempted{s.Trace, it.No}, s.Span); ok {
		s.Links = []weir.SpanLink{{
			Of:         weir.TraceContext{Trace: s.Trace, Span: before, Sampled: true},
			Attributes: []weir.SpanAttribute{text("weir.link", "previous_attempt")},
		}}
	}
	return s
}
