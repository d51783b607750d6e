package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
)

// timelineReads is how many times a timeline reads on in the audit log: what is older than some ten thousand changes is left out.
const timelineReads = 10

type timelineInput struct {
	BulkID
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of events"`
}

// timeline tells what happened to a bulk action as a whole, the newest first.
func (s *Server) timeline(ctx context.Context, in *timelineInput) (*body[api.Events], error) {
	b, err := s.svc.Bulks.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	list, err := s.audited(ctx, &b)
	if err != nil {
		return nil, err
	}
	x, err := s.svc.Bulks.Bulk(ctx, in.ID)
	accepted := err == nil // a draft has no failures
	if accepted {
		if err := s.svc.Results.AddLinks(ctx, &b); err != nil {
			return nil, err
		}
		links, err := s.linked(ctx, &b, list)
		if err != nil {
			return nil, err
		}
		outages, err := s.outages(ctx, x, &b)
		if err != nil {
			return nil, err
		}
		failed, err := s.undelivered(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		list = slices.Concat(list, links, outages, failed, turned(x))
	}
	list = append(list, lived(&b, list)...)
	if accepted {
		groups, err := s.svc.Bulks.ErrorGroups(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			if !b.FinishedAt.IsZero() && g.First.After(b.FinishedAt) {
				g.First = b.FinishedAt // it is counted in the commit that ends the bulk action
			}
			if !g.First.IsZero() {
				list = append(list, api.Event{At: g.First, Kind: "failed", Text: fmt.Sprintf("First item failed at step %s with %s: %s", g.Step, g.Code, g.Message)})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b api.Event) int { return b.At.Compare(a.At) })
	return answer(api.Events{Data: orEmpty(list[:min(len(list), in.Limit)])}, nil)
}

// audited returns the changes of a bulk action that people and programs have made.
func (s *Server) audited(ctx context.Context, b *api.BulkAction) (list []api.Event, err error) {
	f, cursor := access.AuditFilter{Target: b.ID, From: b.CreatedAt.Add(-time.Minute)}, ""
	for range timelineReads {
		found, next, err := s.opts.Audit.List(ctx, access.Local(), f, cursor, 256)
		if err != nil {
			return nil, err
		}
		for i := range found {
			e := &found[i]
			kind := strings.TrimPrefix(e.Action, "bulk_action.")
			if text := audited[kind]; text != "" {
				switch {
				case kind == "start" && e.At.Before(b.StartAt):
					kind, text = "schedule", "Its start was set to a later time"
				case kind == "cancel" && !b.FinishedAt.IsZero() && e.At.After(b.FinishedAt):
					e.At = b.FinishedAt.Add(-1) // it is recorded once it has been carried out
				}
				list = append(list, api.Event{At: e.At, Kind: kind, Text: text, Actor: e.KeyName, Reason: e.Reason})
			}
		}
		if cursor = next; next == "" {
			break
		}
	}
	return list, nil
}

// audited has a sentence for each change of a bulk action.
var audited = map[string]string{
	"create": "Created", "seal": "Sealed: no more items can be added", "start": "Started", "pause": "Paused", "resume": "Resumed",
	"cancel": "Cancelled", "approve": "The rest was approved", "change": "Rules changed", "unschedule": "Taken from its start time",
	"retry": "Items were retried, as a bulk action of their own", "undo": "Undo started, as a bulk action of its own", "clone": "Copied into a new draft",
	"import": "Its items are read from a source",
}

// lived returns what happened without a command.
func lived(b *api.BulkAction, known []api.Event) (list []api.Event) {
	has := func(kind string) bool {
		return slices.ContainsFunc(known, func(e api.Event) bool { return e.Kind == kind })
	}
	if !has("create") {
		text := "Created"
		switch {
		case b.Schedule != "":
			text = "Created by a schedule"
		case b.RetryOf != "":
			text = "Created to retry items of another bulk action"
		case b.UndoOf != "":
			text = "Created to undo another bulk action"
		}
		list = append(list, api.Event{At: b.CreatedAt, Kind: "create", Text: text})
	}
	if !b.StartedAt.IsZero() && !has("start") && !has("began") {
		list = append(list, api.Event{At: b.StartedAt, Kind: "start", Text: "Started"})
	}
	if !b.FinishedAt.IsZero() {
		text := map[api.State]string{api.Completed: "Completed", api.Cancelled: "All its items have ended after the cancel", api.Failed: "Failed"}[b.State]
		if b.Counts.Failed > 0 {
			text += "; some items failed"
		}
		list = append(list, api.Event{At: b.FinishedAt, Kind: string(b.State), Text: text, Reason: b.Reason})
	}
	return list
}
