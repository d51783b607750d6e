package engine

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
)

// Event reports that a bulk action has ended, was stopped by its failure rule, that its
// canary has ended, or that it will miss its deadline. Each is delivered at least once, always with the same number.
type Event struct {
	Bulk   weir.BulkID
	Number uint64 // tells events of one bulk action apart
	State  weir.BulkState
	At     time.Time
	Late   bool // it runs, and will not be done by its deadline
	Tenant string
	Extra  json.RawMessage // of the ticket
	Trace  string          // traceparent of its submit; empty: none
}

// Hooks are options that a service can set only when the engine is there, because it needs the engine itself. Each
// has the meaning of its namesake in [Options].
type Hooks struct {
	Describe func(text []byte) ([]weir.Step, error)
	Events   func(context.Context, Event) error
	Drafts   func(context.Context, weir.BulkID) (bool, error)
}

// Attach makes an engine that does not run yet part of a service. An engine has one service.
func (e *Engine) Attach(h Hooks) error {
	if e.state.Load() != opened {
		return errors.New("the engine was already started; attach the service before Run")
	}
	if e.opts.Events != nil {
		return errors.New("the engine already belongs to a service; open another one")
	}
	e.opts.Describe, e.opts.Events, e.opts.Drafts = h.Describe, h.Events, h.Drafts
	e.catalog.DescribeBy(h.Describe)
	return nil
}

// tellEvents hands events to Options.Events, and has them forgotten when that is done.
func (p *part) tellEvents(ctx context.Context, events []partition.Event) {
	if len(events) == 0 || p.engine.opts.Events == nil {
		return
	}
	list := append([]partition.Event(nil), events...) // the loop uses its slice again
	p.commits.Go(func() {
		for _, ev := range list {
			p.tellEvent(ctx, ev)
		}
	})
}

// tellOf hands an event to Options.Events, with what its bulk action was created with. That of one that was removed is
// dropped: it was told long ago.
func (e *Engine) tellOf(ctx context.Context, ev *partition.Event) error {
	if ev.Of == nil { // from before the takeover
		b, err := e.Get(ctx, ev.ID)
		if errors.Is(err, weir.ErrNotFound) || errors.Is(err, weir.ErrExpired) {
			return nil
		}
		if err != nil {
			return err
		}
		ev.Of = b.Spec
	}
	return e.opts.Events(ctx, Event{Bulk: ev.ID, Number: ev.Number, State: ev.State, At: time.Unix(0, ev.At).UTC(), Late: ev.Late,
		Tenant: ev.Of.Tenant, Extra: ev.Of.Extra, Trace: ev.Of.Trace})
}

func (p *part) tellEvent(ctx context.Context, ev partition.Event) {
	e := p.engine
	for wait := retryEvery; ctx.Err() == nil; wait = min(2*wait, 10*time.Second) {
		err := e.tellOf(ctx, &ev)
		if err == nil {
			p.mail.put(input{noted: &ev})
			return
		}
		if ctx.Err() == nil {
			e.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "event not taken, will be told again",
				slog.String("bulk_action", string(ev.ID)), slog.Any("error", err))
		}
		sleep(ctx, wait)
	}
}
