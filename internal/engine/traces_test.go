package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

// tracer keeps spans. It traces everything unless told otherwise.
type tracer struct {
	off bool
	mu  sync.Mutex
	all []weir.Span
}

func (x *tracer) Sample([16]byte, weir.TraceContext) bool { return !x.off }

func (x *tracer) Ended(s *weir.Span) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all = append(x.all, *s)
}

// named returns the spans of a name.
func (x *tracer) named(name string) (out []weir.Span) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range x.all {
		if s.Name == name {
			out = append(out, s)
		}
	}
	return out
}

// show returns the attributes of a span.
func show(s weir.Span, keys ...string) string {
	var b strings.Builder
	for _, a := range s.Attributes {
		if slices.Contains(keys, a.Key) {
			fmt.Fprintf(&b, "%s=%s ", strings.TrimPrefix(a.Key, "weir."), cmpText(a))
		}
	}
	return strings.TrimSpace(b.String())
}

func cmpText(a weir.SpanAttribute) string {
	if a.Text != "" {
		return a.Text
	}
	return fmt.Sprint(a.Number)
}

var submitter = weir.ParseTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")

func TestAttemptsOfAnItemNameTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, tries := &tracer{}, 0
		a := each("award", func(b *weir.Batch[int, string], i int, _ weir.Item[int]) {
			if tries++; tries < 3 {
				b.Retry(i, errors.New("later"), 0)
				return
			}
			b.Done(i, "ok")
		})
		c := weir.Then(weir.Start(a), secondStep("tell"), func(_ weir.Item[int], out string) string { return out })
		r := start(t, memory(), engine.Options{Tracer: x}, chain(c))
		b, err := engine.Submit(weir.WithTrace(t.Context(), submitter), r.Engine, c, engine.Items(numbers(1)), weir.Spec{})
		if err != nil {
			t.Fatal(err)
		}
		wait(t, b)
		submit, items := x.named("submit")[0], x.named("item")
		if submit.Trace != submitter.Trace || submit.Parent != submitter.Span {
			t.Errorf("submit = %+v, want it below %v", submit, submitter)
		}
		var got []string
		for i, s := range items {
			got = append(got, show(s, "weir.item", "weir.item.outcome", "weir.attempt"))
			if s.Trace != submit.Trace {
				t.Errorf("item %d is in trace %x", i, s.Trace)
			}
			if i == 0 && len(s.Links) != 0 || i > 0 && (len(s.Links) != 1 || s.Links[0].Of != items[i-1].TraceContext) {
				t.Errorf("attempt %d has links %v, want the attempt before", i, s.Links)
			}
		}
		want := []string{
			"item=i00000 item.outcome=retry attempt=1", "item=i00000 item.outcome=retry attempt=2",
			"item=i00000 item.outcome=done attempt=3", "item=i00000 item.outcome=done attempt=1",
		}
		if !slices.Equal(got, want) {
			t.Errorf("attempts:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if first := x.named("task award")[0]; !first.Failed || first.Error != "items failed: 1; the first: later" {
			t.Errorf("the first task failed: %v, %q; want it with the reason", first.Failed, first.Error)
		}
	})
}

// secondStep is the second step of a chain.
func secondStep(name string) weir.Action[string, string] {
	return weir.Action[string, string]{Name: name, Handle: func(_ context.Context, b *weir.Batch[string, string]) error {
		b.DoneRest()
		return nil
	}}
}

// Of 5,000 items, 100 are traced, and of the tasks without one, those in which something failed.
func TestALargeBulkActionHasAHundredTracedItemsAndItsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &tracer{}
		sampled := map[bool]int{}
		var mu sync.Mutex
		a := weir.Action[int, string]{Name: "award", BatchSize: 10, Handle: func(ctx context.Context, b *weir.Batch[int, string]) error {
			mu.Lock()
			defer mu.Unlock()
			sampled[weir.TraceOf(ctx).Sampled]++
			for i, it := range b.Items() {
				if it.Value == 1234 { // no multiple of 50
					b.Fail(i, "closed", errors.New("account closed"))
				}
			}
			b.DoneRest()
			return nil
		}}
		r := start(t, memory(), engine.Options{Tracer: x}, action(a))
		wait(t, submit(t, r, spec(a), numbers(5000)))
		tasks, failed := x.named("task award"), 0
		for _, s := range tasks {
			if s.Failed {
				failed++
			}
		}
		if len(tasks) != 101 || failed != 1 || len(x.named("call award")) != 101 || len(x.named("item")) != 101 {
			t.Errorf("%d tasks, %d of them failed, %d calls, %d items; want 101, 1, 101, 101", len(tasks), failed,
				len(x.named("call award")), len(x.named("item")))
		}
		last := x.named("item")[slices.IndexFunc(x.named("item"), func(s weir.Span) bool { return s.Failed })]
		if got := show(last, "weir.item", "error.type"); got != "item=i01234 error.type=closed" || last.Error != "account closed" {
			t.Errorf("the item that failed: %s: %s", got, last.Error)
		}
		if sampled[true] != 100 || sampled[false] < 400 {
			t.Errorf("handlers were told of %d sampled calls and %d others, want 100 and the rest", sampled[true], sampled[false])
		}
	})
}

func TestManyFailuresDoNotTraceEveryTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &tracer{}
		a := weir.Action[int, string]{Name: "award", BatchSize: 10, Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
			return failAll(b)
		}}
		r := start(t, memory(), engine.Options{Tracer: x}, action(a))
		began := time.Now()
		wait(t, submit(t, r, spec(a), numbers(50_000)))
		seconds := int(time.Since(began)/time.Second) + 2
		if got := len(x.named("task award")); got < 100 || got > 100+10*seconds {
			t.Errorf("%d tasks have spans after %d s, want those of 100 traced items and at most 10 others a second", got, seconds)
		}
	})
}

func TestABulkActionThatIsNotSampledHasNoSpans(t *testing.T) {
	x := &tracer{off: true}
	var mu sync.Mutex
	var told []weir.TraceContext
	a := weir.Action[int, string]{Name: "award", BatchSize: 10, Handle: func(ctx context.Context, b *weir.Batch[int, string]) error {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, weir.TraceOf(ctx))
		return failAll(b)
	}}
	r := start(t, memory(), engine.Options{Tracer: x}, action(a))
	b, err := engine.Submit(weir.WithTrace(t.Context(), submitter), r.Engine, a, engine.Items(numbers(10)), weir.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	wait(t, b)
	if len(x.all) != 0 {
		t.Errorf("spans = %+v, want none", x.all)
	}
	if len(told) == 0 || told[0].Trace != submitter.Trace || told[0].Sampled {
		t.Errorf("the handler was told of %v, want the trace, not sampled", told)
	}
}

func failAll(b *weir.Batch[int, string]) error {
	for i := range b.Items() {
		b.Fail(i, "closed", errors.New("account closed"))
	}
	return nil
}

func TestWithoutATracerNothingIsStored(t *testing.T) {
	a := noop("award")
	r := start(t, memory(), engine.Options{}, action(a))
	b, err := engine.Submit(weir.WithTrace(t.Context(), submitter), r.Engine, a, engine.Items(numbers(1)), weir.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if b.Spec.Trace != "" {
		t.Errorf("the bulk action has trace %q, want none", b.Spec.Trace)
	}
	wait(t, b)
}

func TestARepeatedSubmitAndARetryNameTheFirst(t *testing.T) {
	x := &tracer{}
	a := weir.Action[int, string]{Name: "award", Handle: func(_ context.Context, b *weir.Batch[int, string]) error { return failAll(b) }}
	r := start(t, memory(), engine.Options{Tracer: x}, action(a))
	j := spec(a)
	j.IdempotencyKey = "once"
	first := submit(t, r, j, numbers(3))
	if again := submit(t, r, j, numbers(3)); again.ID() != first.ID() {
		t.Fatalf("the repeat made %s, want %s: a trace is not part of what is asked for", again.ID(), first.ID())
	}
	wait(t, first)
	retries, err := first.RetryFailed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wait(t, retries[0])
	submits := x.named("submit")
	if len(submits) != 3 {
		t.Fatalf("%d submits have spans, want 3", len(submits))
	}
	for i, why := range []string{"", "same_idempotency_key", "retry_of"} {
		if i == 0 {
			continue
		}
		s := submits[i]
		if len(s.Links) != 1 || s.Links[0].Of != submits[0].TraceContext || s.Links[0].Attributes[0].Text != why || s.Trace == submits[0].Trace {
			t.Errorf("submit %d = %+v, want a trace of its own with a link %s to the first", i, s, why)
		}
	}
}

func TestARefusedSubmitIsASpanThatFailed(t *testing.T) {
	x, a := &tracer{}, noop("award")
	r := start(t, memory(), engine.Options{Tracer: x}, action(a))
	if _, err := attempt(t.Context(), r.Engine, spec(a), engine.Items(numbers(0))); err == nil {
		t.Fatal("a bulk action without items was accepted")
	}
	if s := x.named("submit"); len(s) != 1 || !s[0].Failed || s[0].Error == "" {
		t.Errorf("submit = %+v, want one that failed", s)
	}
}

// A handler that does not return is given up by the loop, while it may still write.
func TestATaskThatIsGivenUpHasASpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, release := &tracer{}, make(chan struct{})
		a := weir.Action[int, string]{Name: "stuck", Timeout: time.Second, Retry: weir.Backoff{MaxAttempts: 1},
			Handle: func(context.Context, *weir.Batch[int, string]) error { <-release; return nil }}
		r := start(t, memory(), engine.Options{Tracer: x, Grace: time.Second}, action(a))
		wait(t, submit(t, r, spec(a), numbers(1)))
		close(release)
		if s := x.named("task stuck"); len(s) != 1 || !s[0].Failed || !strings.HasPrefix(s[0].Error, "timeout: ") {
			t.Errorf("task = %+v, want one that failed by its timeout", s)
		}
	})
}

// What traces cost: nothing when they are off; when a bulk action is not sampled, what tells its calls so, once per
// task; when it is, the spans of a hundred items, once per bulk action, and a little per task.
func BenchmarkTraces(b *testing.B) {
	const items = 100_000
	for _, mode := range []struct {
		name string
		to   weir.Tracer
	}{{"off", nil}, {"not sampled", &tracer{off: true}}, {"sampled", &tracer{}}} {
		b.Run(mode.name, func(b *testing.B) {
			a := weir.Action[int, string]{Name: "award", BatchSize: 100, Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
				b.DoneRest()
				return nil
			}}
			r := start(b, memory(), engine.Options{Tracer: mode.to}, action(a))
			all := numbers(items)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for b.Loop() {
				bulk := submit(b, r, spec(a), all)
				if _, err := bulk.Wait(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			runtime.ReadMemStats(&after)
			n := float64(b.N) * items
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/n, "allocs/item")
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/n, "B/item")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/n, "ns/item")
		})
	}
}
