package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/store"
)

// Event reports that a bulk action has ended, was stopped by its failure rule, that its
// canary has ended, or that it will miss its deadline. Each is delivered at least once, always with the same number.
type Event struct {
	Bulk   weir.BulkID
	Number uint64 // tells events of one bulk action apart
	State  weir.BulkState
	At     time.Time
	Late   bool // it runs, and will not be done by its deadline
}

// Listen sets Options.Events, for a listener that needs the engine itself. Call it before Run.
func (e *Engine) Listen(tell func(context.Context, Event) error) { e.opts.Events = tell }

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

func (p *part) tellEvent(ctx context.Context, ev partition.Event) {
	e := p.engine
	for wait := retryEvery; ctx.Err() == nil; wait = min(2*wait, 10*time.Second) {
		err := e.opts.Events(ctx, Event{ev.ID, ev.Number, ev.State, time.Unix(0, ev.At).UTC(), ev.Late})
		if err == nil {
			var body []byte
			if body, err = partition.EncodeNoted(ev); err == nil {
				err = e.store.Append(ctx, p.no, body, store.Claim{})
			}
		}
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			e.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "event not taken, will be told again",
				slog.String("bulk_action", string(ev.ID)), slog.Any("error", err))
		}
		sleep(ctx, wait)
	}
}
