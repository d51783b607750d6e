package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/watch"
)

func (s *Server) watchRoutes() {
	tag := "watching"
	add(s, get(access.Read, "bulk_action.progress", bulkPath+"/{id}/progress", tag,
		"Get the progress of a bulk action, and why it does not run faster").
		about("The rate covers about the last five seconds. Time in which the bulk action or its tenant is paused does not "+
			"count; during a pause there is neither rate nor `eta`. `eta` comes from the forecast model, which knows the "+
			"progress of the items, how many are retried or skip a step, the other work on the same resources, and the stored "+
			"limits. It is computed at most once a second and counted down in between; a server with very many bulk actions "+
			"derives some from the recent rate. `eta` is never less than the configured rates allow."), byID(s, s.svc.Watch.Progress))
	add(s, get(access.Read, "bulk_action.events", bulkPath+"/{id}/events", tag, "Stream the progress of a bulk action").
		about("Server-sent events: `progress` (a Progress, at most four a second and only when something changed), `state` "+
			"(a StateChange), "+
			"`error_group` (an ErrorGroup, at the first failure of a new group), `ping` (every 15 seconds, to keep the "+
			"connection open), `end` (a StateChange, the last event) and `problem` (a Problem, the last event instead of `end`: "+
			"the key was revoked, has expired or may not read the bulk action any more, which is checked every second). "+
			"The stream begins with the current state and ends after the final state. A progress event has an id. Sent back as "+
			"Last-Event-ID, as browsers do, it "+
			"resumes the stream there: unchanged data is not sent again, and the newest state comes at once. A client that "+
			"reconnects after `end` gets "+
			"204, which stops an EventSource.").
		responds(s.eventResponses()), ofBulk(s, s.events))
	add(s, get(access.Read, "bulk_action.error_groups", bulkPath+"/{id}/error-groups", tag,
		"Group the failed items of a bulk action, the largest group first").
		about("Failures with the same step, code and message form one group; numbers and ids in the message are ignored. "+
			"Counts are exact. There are at most 100 groups, and "+
			"one with the code `other` for each step with more."), ofBulk(s, s.errorGroups))
}

// eventResponses describes a stream of events: huma knows no union of their data by itself.
func (s *Server) eventResponses() map[string]*huma.Response {
	var kinds []*huma.Schema
	for _, k := range []struct {
		name string
		data *huma.Schema
	}{
		{"progress", s.schemaOf(reflect.TypeFor[api.Progress]())},
		{"state", s.schemaOf(reflect.TypeFor[api.StateChange]())},
		{"error_group", s.schemaOf(reflect.TypeFor[api.ErrorGroup]())},
		{"ping", &huma.Schema{Type: huma.TypeObject}},
		{"end", s.schemaOf(reflect.TypeFor[api.StateChange]())},
		{"problem", s.schemaOf(reflect.TypeFor[problem]())},
	} {
		kinds = append(kinds,
			&huma.Schema{Type: huma.TypeObject, Title: "Event " + k.name, Required: []string{"event", "data"},
				Properties: map[string]*huma.Schema{
					"event": {Type: huma.TypeString, Enum: []any{k.name}},
					"id":    {Type: huma.TypeString, Description: "Position to resume from; only progress and end have one"},
					"data":  k.data,
				}})
	}
	return map[string]*huma.Response{"200": {
		Description: "The events",
		Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{
			Type: huma.TypeArray, Description: "Each event has the lines event, id and data", Items: &huma.Schema{OneOf: kinds},
		}}},
	}, "204": {Description: "The client already received the last event"}}
}

func (s *Server) errorGroups(ctx context.Context, in *BulkID) (*body[api.ErrorGroups], error) {
	list, err := s.svc.Bulks.ErrorGroups(ctx, in.ID)
	return answer(api.ErrorGroups{Data: orEmpty(list)}, err)
}

type eventsInput struct {
	BulkID
	Last   string `header:"Last-Event-ID" maxLength:"128" doc:"Id of the last event received"`
	Ticket string `query:"ticket" maxLength:"2048" doc:"Instead of a key, for an EventSource; see bulk_action.ticket"`
}

func (s *Server) events(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	ended, err := s.svc.Watch.StreamEnded(ctx, in.ID, in.Last)
	if err != nil {
		return nil, err
	}
	if ended {
		return &huma.StreamResponse{Body: func(c huma.Context) { c.SetStatus(http.StatusNoContent) }}, nil
	}
	tenant := visitOf(ctx).tenant
	return &huma.StreamResponse{Body: func(c huma.Context) {
		r, w := humago.Unwrap(c)
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.Header().Set("X-Accel-Buffering", "no") // proxies pass events on at once
		w.Header().Set("Cache-Control", "no-store")
		out := newPatient(w, s.opts.SlowBody)
		defer out.end()
		s.stream(r, &events{out}, in, tenant)
	}}, nil
}

// stream sends events until the bulk action has ended, its caller may not read it any more, the reader is gone, or the
// server stops.
func (s *Server) stream(r *http.Request, out *events, in *eventsInput, tenant string) {
	ctx := r.Context()
	s.heads.streams.Inc()
	defer s.heads.streams.Dec()
	live, cancel := context.WithCancel(ctx)
	notices, ended, refused := make(chan watch.Notice), make(chan error, 1), make(chan *problem, 1)
	go func() { refused <- s.stillAllowed(live, r, tenant) }()
	go func() {
		ended <- s.svc.Watch.Stream(live, in.ID, in.Last, func(n watch.Notice) error {
			select {
			case notices <- n:
				return nil
			case <-live.Done():
				return live.Err()
			}
		})
	}()
	err, over := s.pass(out, notices, ended, refused)
	cancel()
	if !over {
		<-ended // it ends with live
	}
	if err != nil && ctx.Err() == nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "stream of events ended early",
			slog.String("bulk_action", in.ID), slog.String("request_id", requestID(ctx)), slog.Any("error", err))
	}
}

// pingEvery keeps a stream alive that has nothing to tell: middle boxes cut silent ones.
const pingEvery = 15 * time.Second

// pass writes what comes; over says that nothing more can.
func (s *Server) pass(out *events, notices <-chan watch.Notice, ended <-chan error, refused <-chan *problem) (err error,
	over bool) { //nolint:revive // whether it is over is not about the error
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	err = out.send(watch.Notice{Kind: "ping", Data: struct{}{}}) // headers go out with it
	for err == nil {
		select {
		case n := <-notices:
			err = out.send(n)
			ping.Reset(pingEvery)
		case <-ping.C:
			err = out.send(watch.Notice{Kind: "ping", Data: struct{}{}})
		case p := <-refused:
			if p != nil { // else the reader is gone
				_ = out.send(watch.Notice{Kind: "problem", Data: &p.Problem}) // it ends anyway
			}
			return nil, false
		case err := <-ended:
			return err, true
		case <-s.stop:
			return nil, false
		}
	}
	return nil, false // the reader is gone: not an error
}

// events writes server-sent events.
type events struct{ out *patient }

func (e *events) send(n watch.Notice) error {
	data, err := json.Marshal(n.Data)
	if err != nil {
		return err
	}
	var b strings.Builder
	if n.ID != "" {
		fmt.Fprintf(&b, "id: %s\n", n.ID)
	}
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", n.Kind, data)
	if _, err := io.WriteString(e.out, b.String()); err != nil {
		return err
	}
	return e.out.flush()
}
