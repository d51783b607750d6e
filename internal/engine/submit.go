package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/ingest"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/engine/stored"
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
	return e.submitAs(ctx, Ticket{Notify: e.opts.Events != nil}, w.Definition(), func(yield func(ingest.Entry, error) bool) {
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

// SubmitAs submits items as they are, with a ticket.
func (e *Engine) SubmitAs(ctx context.Context, t Ticket, d weir.Definition, items iter.Seq2[weir.RawItem, error],
	s weir.Spec) (*BulkAction, error) {
	if items == nil {
		return nil, fmt.Errorf("submit: %w", ingest.NoIterator())
	}
	return e.submitAs(ctx, t, d, ingest.Entries(items), s)
}

func (e *Engine) submitAs(ctx context.Context, t Ticket, d weir.Definition, items iter.Seq2[ingest.Entry, error],
	s weir.Spec) (*BulkAction, error) {
	c, err := e.checkSpec(d, s)
	if err != nil {
		return nil, fmt.Errorf("submit: %w", err)
	}
	c.Notify, c.KeepFor, c.Extra = t.Notify, int64(t.KeepFor), t.Extra
	b, err := e.submit(ctx, t, c, s.Canary, s.IdempotencyKey, s.Duplicates, items)
	if err != nil {
		return nil, fmt.Errorf("submit %q: %w", c.Name, err)
	}
	return b, nil
}

func (e *Engine) submit(ctx context.Context, t Ticket, c *partition.Created, canary *weir.Canary, key string,
	rule weir.DuplicateRule, items iter.Seq2[ingest.Entry, error]) (*BulkAction, error) {
	at, err := e.placeOf(ctx, t, c, key)
	if err != nil {
		return nil, err
	}
	if canary != nil && canary.Items == 0 &&
		(t.Expected == 0 || rule == weir.KeepFirst) { // how many a percentage is shows when all are there, without duplicates
		e.intake.Begin(c.ID, at.Partition) // the sweep of a start must not take what is set aside for it
		aside, err := e.intake.Stage(ctx, c.ID, rule, ingest.RawItems(items))
		if err != nil {
			e.intake.Forget(c.ID, 0)
			return nil, err
		}
		defer func() { _ = e.intake.DropStage(context.WithoutCancel(ctx), aside) }() // else the next start does it
		t.Expected, items, rule = aside.Items, ingest.Entries(e.intake.Staged(ctx, aside)), weir.KeepAll
		t.Duplicates += aside.Duplicates
	}
	if c.Canary = canaryOf(canary, t.Expected); t.ID != "" {
		key = ""
	}
	return (&submission{engine: e, at: at, spec: c, ticket: t, key: key, rule: rule}).accept(ctx, items)
}

// placeOf says where a bulk action goes, and gives it its id.
func (e *Engine) placeOf(ctx context.Context, t Ticket, c *partition.Created, key string) (own.Place, error) {
	if t.ID != "" {
		p, err := stored.Home(t.ID, e.layout.Now().Most)
		c.ID = t.ID
		return own.Place{Partition: p}, err
	}
	at, err := e.member.Router().Place(ctx, c.Tenant, key)
	if err == nil {
		c.ID = stored.NewID(at.Partition)
	}
	return at, err
}
