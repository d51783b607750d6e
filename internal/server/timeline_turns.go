package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/callback"
)

// turned returns what the engine did with a bulk action by itself.
func turned(b *engine.BulkAction) (list []api.Event) {
	if b.Status == nil {
		return nil
	}
	for _, t := range b.Status.Turns {
		e := api.Event{At: time.Unix(0, t.At).UTC(), Kind: string(t.Kind), Reason: t.Reason}
		switch t.Kind {
		case partition.TurnBegan:
			e.Text = "Started: its start time has come"
		case partition.TurnStopped:
			e.Text = "Stopped by its rule: nothing starts until it is resumed"
			if t.Done == 0 && t.Failed == 0 {
				e.Text = "Stopped: nothing starts until it is resumed"
			}
		case partition.TurnCancelled:
			e.Text = "Cancelled by its rule"
		case partition.TurnExpired:
			e.Text = "Its deadline has come: what has not started is cancelled"
		case partition.TurnLate:
			e.Text = "At its present speed it will not meet its deadline"
		case partition.TurnCanary:
			e.Text = fmt.Sprintf("The canary has ended with %d done and %d failed; the rest waits for an approval", t.Done, t.Failed)
			if e.Reason == "canary" {
				e.Reason = "" // it says no more
			}
		case partition.TurnRest:
			e.Text = fmt.Sprintf("The canary has ended with %d done and %d failed; the rest has started", t.Done, t.Failed)
		}
		list = append(list, e)
	}
	return list
}

// outages returns when the circuits of the resources of a bulk action opened and closed while it ran.
func (s *Server) outages(ctx context.Context, b *engine.BulkAction, of *api.BulkAction) (list []api.Event, err error) {
	var seen []string
	for _, lane := range b.Lanes() {
		if slices.Contains(seen, lane.Resource) {
			continue
		}
		seen = append(seen, lane.Resource)
		changes, err := s.svc.Engine().Operator().Changes(ctx, lane.Resource, changesRead)
		if err != nil {
			return nil, err
		}
		slices.Reverse(changes)
		list = append(list, circuits(changes, of)...)
	}
	return list, nil
}

// changesRead bounds how far back the changes of a resource are read.
const changesRead = 200

// circuits returns when the circuit of a resource opened at the first node, and when it was closed at all of them again.
func circuits(changes []weir.ResourceChange, of *api.BulkAction) (list []api.Event) {
	open := map[string]bool{}
	for i := range changes {
		c := &changes[i]
		was := len(open)
		if c.Circuit == "closed" {
			delete(open, c.Node)
		} else {
			open[c.Node] = true
		}
		if c.At.Before(of.StartedAt) || !of.FinishedAt.IsZero() && c.At.After(of.FinishedAt) {
			continue
		}
		switch is := len(open); {
		case was == 0 && is > 0:
			list = append(list, api.Event{At: c.At, Kind: "circuit_opened", Text: "The circuit of " + c.Name + " opened: no calls but probes until it answers again"})
		case was > 0 && is == 0:
			list = append(list, api.Event{At: c.At, Kind: "circuit_closed", Text: c.Name + " takes calls again: its circuit closed"})
		}
	}
	return list
}

// linked returns the retries and the undo of a bulk action that no entry of the audit log tells of.
func (s *Server) linked(ctx context.Context, b *api.BulkAction, known []api.Event) (list []api.Event, err error) {
	ids := map[string]string{}
	told := map[string]int{}
	for _, e := range known {
		told[e.Kind]++
	}
	if told["retry"] < len(b.Retries) {
		for _, id := range b.Retries {
			ids[id] = "retry"
		}
	}
	if b.UndoneBy != "" && told["undo"] == 0 {
		ids[b.UndoneBy] = "undo"
	}
	for id, kind := range ids {
		x, err := s.svc.Bulks.Get(ctx, id)
		switch {
		case errors.Is(err, weir.ErrNotFound) || errors.Is(err, weir.ErrExpired):
			continue
		case err != nil:
			return nil, err
		}
		near := func(e api.Event) bool { return e.Kind == kind && e.At.Sub(x.CreatedAt).Abs() < auditedWithin }
		if !slices.ContainsFunc(known, near) {
			list = append(list, api.Event{At: x.CreatedAt, Kind: kind, Text: audited[kind]})
		}
	}
	return list, nil
}

// auditedWithin is how far the entry of a change may be from the change.
const auditedWithin = 5 * time.Second

// undelivered returns the events of a bulk action that could not be delivered for good, where the caller sees that.
func (s *Server) undelivered(ctx context.Context, id string) (list []api.Event, err error) {
	if s.opts.Webhooks == nil {
		return nil, nil
	}
	h := webhooks{s, s.opts.Webhooks}
	sight := h.sight(ctx)
	found, err := h.of.List(ctx, callback.Query{BulkAction: id, Limit: 500})
	if err != nil {
		return nil, err
	}
	for i := range found.Deliveries {
		d := &found.Deliveries[i]
		if d.State != callback.Failed || len(d.Attempts) == 0 {
			continue
		}
		if _, seen, err := sight.url(d); err != nil {
			return nil, err
		} else if !seen {
			continue
		}
		last := &d.Attempts[len(d.Attempts)-1]
		list = append(list, api.Event{At: last.At, Kind: "delivery_failed",
			Text: fmt.Sprintf("The event %s could not be delivered, after %d attempts", d.Type, len(d.Attempts)), Reason: last.Error})
	}
	return list, nil
}
