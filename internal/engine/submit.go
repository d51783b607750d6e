package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/ingest"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
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

// SubmitStaged submits items that were set aside for the id of the ticket. Their blocks are adopted as they are: if it is
// accepted, those that [partition.Created.Adopts] names belong to the bulk action, which removes them at the end of its
// retention. Others, and those of a submit that is refused, stay with the caller.
func (e *Engine) SubmitStaged(ctx context.Context, t Ticket, d weir.Definition, stages []ingest.Stage, s weir.Spec) (*BulkAction, error) {
	return e.submitIn(ctx, t, d, incoming{stages: stages}, s)
}

func (e *Engine) submitAs(ctx context.Context, t Ticket, d weir.Definition, items iter.Seq2[ingest.Entry, error],
	s weir.Spec) (*BulkAction, error) {
	return e.submitIn(ctx, t, d, incoming{items: items}, s)
}

func (e *Engine) submitIn(ctx context.Context, t Ticket, d weir.Definition, items incoming, s weir.Spec) (*BulkAction, error) {
	c, err := e.checkSpec(d, s)
	if err != nil {
		return nil, fmt.Errorf("submit: %w", err)
	}
	c.Notify, c.KeepFor, c.Extra = t.Notify, int64(t.KeepFor), t.Extra
	c.Terms = t.hashes()
	sp := e.spans.Submit(ctx, c)
	b, err := e.submit(ctx, t, c, s, items)
	sp.End(specOf(b), err)
	if err != nil {
		return nil, fmt.Errorf("submit %q: %w", c.Name, err)
	}
	return b, nil
}

// specOf returns what a bulk action was created with; nil if there is none.
func specOf(b *BulkAction) *partition.Created {
	if b == nil {
		return nil
	}
	return b.Spec
}

func (e *Engine) submit(ctx context.Context, t Ticket, c *partition.Created, s weir.Spec, items incoming) (*BulkAction, error) {
	key, rule := s.IdempotencyKey, s.Duplicates
	at, err := e.placeOf(ctx, t, c, key)
	if err != nil {
		return nil, err
	}
	if t.ID != "" {
		key = ""
	}
	if len(items.stages) == 1 {
		rule = weir.KeepAll // they were compared when they were set aside
	}
	of := &submission{engine: e, at: at, spec: c, ticket: t, key: key, rule: rule}
	if s.Canary != nil && s.Canary.Items == 0 && (t.Expected == 0 || rule == weir.KeepFirst) {
		return of.acceptCounted(ctx, s.Canary, items)
	}
	c.Canary = canaryOf(s.Canary, t.Expected)
	return of.accept(ctx, items)
}

// acceptCounted is accept with a canary of a percentage: how many items it has shows when all are there, without
// duplicates. So they are set aside first, and their blocks adopted.
func (s *submission) acceptCounted(ctx context.Context, canary *weir.Canary, items incoming) (*BulkAction, error) {
	e, c := s.engine, s.spec
	if items.items == nil {
		n, err := e.intake.CountFresh(ctx, s.at.Partition, items.stages)
		if err != nil {
			return nil, err
		}
		c.Canary = canaryOf(canary, n)
		return s.accept(ctx, items)
	}
	e.intake.Begin(c.ID, s.at.Partition) // the sweep of a start must not take what is set aside for it
	aside, err := e.intake.Stage(ctx, c.ID, s.rule, ingest.RawItems(items.items))
	if err != nil {
		e.intake.Forget(c.ID, 0)
		return nil, err
	}
	s.rule, s.ticket.Duplicates = weir.KeepAll, s.ticket.Duplicates+aside.Duplicates
	c.Canary = canaryOf(canary, aside.Items)
	b, err := s.accept(ctx, incoming{stages: []ingest.Stage{aside}})
	if !errors.Is(err, store.ErrUnknown) && (err != nil || !b.Adopts(aside)) { // else it is needed, or the next start knows
		_ = e.intake.DropStage(context.WithoutCancel(ctx), aside) // else the next start does it
	}
	return b, err
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
