package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/ingest"
)

// Submit accepts a bulk action. When it returns without an error, spec and items
// are durable and will be run; until then nothing has been accepted. Items are
// read one by one and never held all in memory; an error among them refuses all.
// After Run has returned it fails with [weir.ErrClosed].
func Submit[In any](ctx context.Context, e *Engine, w weir.Work[In], items iter.Seq2[weir.Item[In], error],
	s weir.Spec) (*BulkAction, error) {
	if items == nil {
		return nil, fmt.Errorf("submit: %w", ingest.NoIterator())
	}
	return e.submitAs(ctx, Ticket{}, w.Definition(), func(yield func(ingest.Entry, error) bool) {
		for it, err := range items {
			data, bad := encodeItem(it.Value)
			if !yield(ingest.Entry{ID: it.ID, Data: data}, cmp.Or(err, bad)) {
				return
			}
		}
	}, s)
}

// Items turns a slice into what [Submit] takes.
func Items[T any](items []weir.Item[T]) iter.Seq2[weir.Item[T], error] {
	return func(yield func(weir.Item[T], error) bool) {
		for _, it := range items {
			if !yield(it, nil) {
				return
			}
		}
	}
}

// encodeItem returns an item's JSON; a document that is JSON already stays as it is.
func encodeItem[T any](v T) ([]byte, error) {
	if raw, ok := any(v).(json.RawMessage); ok {
		return raw, nil
	}
	return json.Marshal(v)
}

// checkSpec turns a spec into its stored form, or lists all that is wrong with it.
func (e *Engine) checkSpec(d weir.Definition, s weir.Spec) (*partition.Created, error) {
	now := time.Now()
	c := &partition.Created{
		Name: s.Name, Tenant: s.Tenant, Tier: s.Tier, Priority: s.Priority, Chain: d.Name,
		StopOn: s.StopOn, Concurrency: s.Concurrency, RetryOf: s.RetryOf, Submitted: now.UnixNano(),
		Text: d.Text, Hold: s.Hold,
	}
	if c.Name == "" {
		c.Name = c.Chain
	}
	if c.Tenant == "" {
		c.Tenant = "default"
	}
	var bad weir.InputError
	steps, err := e.catalog.Find(c)
	if faults := (*weir.InputError)(nil); errors.As(err, &faults) {
		bad.Fields = append(bad.Fields, faults.Fields...)
	} else if err != nil {
		return nil, err
	}
	for _, st := range steps {
		c.Steps = append(c.Steps, st.Name)
	}
	checkDeadline(c, s.Deadline, now, &bad)
	checkStart(c, s.StartAt, s.Hold, now, &bad)
	checkCanary(s.Canary, &bad)
	checkRates(c, s.Rates, &bad)
	checkLimits(c, s.IdempotencyKey, &bad)
	checkStopOn(&c.StopOn, &bad)
	return c, bad.OrNil()
}

func checkLimits(c *partition.Created, key string, bad *weir.InputError) {
	for _, f := range []struct{ field, value string }{{"name", c.Name}, {"tenant", c.Tenant}, {"idempotency_key", key}} {
		if problem := badText(f.value, 128); problem != "" {
			bad.Add("bad_text", f.field, problem, "use at most 128 printable characters")
		}
	}
	if c.Tier > weir.TierLow {
		bad.Add("out_of_range", "tier", fmt.Sprintf("%d is not a tier", c.Tier),
			"use one of weir.TierCritical, TierHigh, TierDefault, TierLow")
	}
	if c.Priority < -100 || c.Priority > 100 {
		bad.Add("out_of_range", "priority", fmt.Sprintf("%d is not between -100 and 100", c.Priority), "leave it 0")
	}
	if c.Concurrency < 0 {
		bad.Add("out_of_range", "concurrency", fmt.Sprintf("%d is negative", c.Concurrency), "leave it 0 for unlimited")
	}
}

func checkStopOn(r *weir.StopRule, bad *weir.InputError) {
	if math.IsNaN(r.FailureRate) || r.FailureRate < 0 || r.FailureRate > 1 || r.MinItems < 0 || r.MaxFailures < -1 {
		bad.Add("out_of_range", "stop_on", fmt.Sprintf("%+v", *r),
			"want a failure rate between 0 and 1, min items of at least 0, max failures of at least -1")
	}
	if r.MinItems > 0 && r.FailureRate == 0 {
		bad.Add("bad_value", "stop_on.min_items", "min_items without failure_rate never stops anything", "add failure_rate")
	}
}

func badText(s string, most int) string {
	if len(s) > most {
		return fmt.Sprintf("has %d bytes, more than %d", len(s), most)
	}
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return fmt.Sprintf("%q has a control character or is not UTF-8", s)
		}
	}
	return ""
}
