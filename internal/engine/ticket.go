package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/ingest"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/engine/stored"
)

// Ticket holds the options of a submit that only the server uses.
type Ticket struct {
	// ID is one that [ingest.Intake.NewID] made: submitting it again, from whichever node, changes nothing. The
	// idempotency key of the spec is not used then. Default: a new one is made.
	ID weir.BulkID
	// Expected is how many items there are before duplicates are left out, where that is known.
	Expected int64
	// Duplicates is how many rows were left out before, because their id came twice. They count with those left out now.
	Duplicates int64
	// AllowEmpty accepts a bulk action without items, which has completed at once.
	AllowEmpty bool
	// Notify tells Options.Events of it.
	Notify bool
	// KeepFor is how long it is kept after its end. Default: as long as all are.
	KeepFor time.Duration
	// Sole says that no other submit of the ID is under way in this process: one that is refused leaves no items.
	// Where other processes use the store they stay until the next start, since one of them may submit the same.
	Sole bool
	// Extra is stored with it, and found again in [Info.Extra]. JSON.
	Extra json.RawMessage
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

// canaryOf is the stored form of a canary of so many items.
func canaryOf(c *weir.Canary, expected int64) *partition.Canary {
	if c == nil {
		return nil
	}
	n := c.Items
	if n == 0 {
		n = max(1, int64(math.Ceil(c.Percent/100*float64(expected))))
	}
	out := &partition.Canary{Items: n, Auto: c.Auto, Success: c.SuccessRate, P95: int64(c.P95)}
	if out.Success == 0 {
		out.Success = 0.99
	}
	return out
}

func checkDeadline(c *partition.Created, at, now time.Time, bad *weir.InputError) {
	if at.IsZero() {
		return
	}
	c.Deadline = at.UnixNano()
	switch {
	case at.Before(now):
		bad.Add("bad_time", "deadline", fmt.Sprintf("%v is in the past", at), "choose a later time")
	case at.After(now.AddDate(10, 0, 0)): // also what does not fit into UnixNano
		bad.Add("bad_time", "deadline", fmt.Sprintf("%v is more than ten years ahead", at),
			"choose an earlier time, or leave it out to have no deadline")
	}
}

func checkStart(c *partition.Created, at time.Time, hold bool, now time.Time, bad *weir.InputError) {
	if at.IsZero() {
		return
	}
	if hold {
		bad.Add("bad_time", "start_at", "is set together with hold", "leave one of them out")
	}
	if at.Before(now.Add(-time.Minute)) {
		bad.Add("bad_time", "start_at", fmt.Sprintf("%v is in the past", at.UTC().Format(time.RFC3339)),
			"choose a later time, or leave it out to start at once")
	}
	if at.After(now.AddDate(10, 0, 0)) {
		bad.Add("bad_time", "start_at", fmt.Sprintf("%v is more than ten years ahead", at.UTC().Format(time.RFC3339)),
			"choose an earlier time")
	}
	if c.StartAt = at.UnixNano(); c.Deadline != 0 && c.Deadline <= c.StartAt {
		bad.Add("out_of_range", "deadline", "is not after start_at", "choose a later deadline")
	}
}

func checkCanary(canary *weir.Canary, bad *weir.InputError) {
	switch {
	case canary == nil:
	case !(canary.Percent >= 0 && canary.Percent <= 100) || canary.Items < 0 || canary.Percent > 0 && canary.Items > 0 ||
		canary.Percent == 0 && canary.Items == 0:
		bad.Add("out_of_range", "canary", fmt.Sprintf("%v percent and %d items", canary.Percent, canary.Items),
			"set percent, above 0 and at most 100, or items, at least 1")
	case !(canary.SuccessRate >= 0 && canary.SuccessRate <= 1) || canary.P95 < 0:
		bad.Add("out_of_range", "canary", fmt.Sprintf("success rate %v, p95 %v", canary.SuccessRate, canary.P95),
			"want a success rate between 0 and 1, and a p95 of at least 0")
	case !canary.Auto && (canary.SuccessRate > 0 || canary.P95 > 0):
		bad.Add("bad_value", "canary.approve", "success_rate and p95 have no effect without auto", "set auto, or leave them out")
	}
}

func checkRates(c *partition.Created, rates map[string]weir.Rate, bad *weir.InputError) {
	for step, rate := range rates {
		switch {
		case !slices.Contains(c.Steps, step):
			bad.Add("unknown_step", "rates."+step, "no such step", fmt.Sprintf("use one of %q", c.Steps))
		case !(rate > 0 && rate <= 1e9):
			bad.Add("out_of_range", "rates."+step, fmt.Sprintf("%v is not above 0 and at most 1e9 a second", float64(rate)),
				"leave it out for no rate of its own")
		default:
			if c.Rates == nil {
				c.Rates = map[string]float64{}
			}
			c.Rates[step] = float64(rate)
		}
	}
}
