package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"mime"
	"net/http"
	"time"

	"github.com/weirhq/weir/api"
)

// How a stream of events is kept up.
const (
	silence   = 45 * time.Second // a server sends a ping every 15 seconds
	endWait   = 5 * time.Second  // the counts of the end come right after its state
	lostAfter = 20               // rounds of trying in vain after which a server is given up
	roundWait = 3 * time.Second
	pollEvery = time.Second
)

// Progress returns the progress of a bulk action.
func (c *Client) Progress(ctx context.Context, id string) (api.Progress, error) {
	return get[api.Progress](ctx, c, "GET", route(bulkActions, id, "progress"), nil)
}

// EventTicket makes a path with which the EventSource of a browser can watch a bulk action for some minutes, without a key.
func (c *Client) EventTicket(ctx context.Context, id string) (api.EventTicket, error) {
	return get[api.EventTicket](ctx, c, "POST", route(bulkActions, id, "events-ticket"), nil)
}

// Watch yields how far a bulk action is, whenever that changes, until it has ended,
// ctx ends, or the caller stops. A stream that is cut is taken up again where it
// was, also over a restart of the server; where something between does not let
// streams through, Watch asks once a second. Without an error the last that it
// yields is the end: its final state, with the counts that belong to it. An error
// is the last it yields.
func (c *Client) Watch(ctx context.Context, id string) iter.Seq2[api.Progress, error] {
	return func(yield func(api.Progress, error) bool) {
		w := &watch{c: c, id: id, yield: yield}
		for lost := 0; ; {
			err := w.round(ctx)
			switch {
			case w.over:
				return
			case ctx.Err() != nil:
				yield(api.Progress{}, ctx.Err())
				return
			case errors.Is(err, errNoStream):
				w.poll(ctx)
				return
			case w.heard: // it was up: a cut is not a failure yet
				w.heard, lost = false, 0
				err = sleep(ctx, backoff(1))
			case err != nil && (!passing(err) || w.at.IsZero() || lost >= lostAfter):
				yield(api.Progress{}, err)
				return
			default:
				lost++
				err = sleep(ctx, roundWait)
			}
			if err != nil {
				yield(api.Progress{}, err)
				return
			}
		}
	}
}

var errNoStream = errors.New("no stream of events")

// watch is a Watch under way.
type watch struct {
	c     *Client
	id    string
	yield func(api.Progress, error) bool
	last  string // id of the last event
	now   api.Progress
	at    time.Time // when something was heard for the first time
	heard bool      // in this round
	final bool      // its state was told to be final
	over  bool      // it has ended, or the consumer stopped
}

// round follows one stream to its end. If that told the final state and not its
// counts, they are asked for: nothing later can tell them.
func (w *watch) round(ctx context.Context) error {
	if err := w.stream(ctx); err != nil || w.over || !w.final {
		return err
	}
	p, err := w.c.Progress(ctx, w.id)
	if err == nil {
		w.tell(p)
	}
	return err
}

// stream reads one stream; a cut is not an error.
func (w *watch) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := http.Header{"Accept": {"text/event-stream"}}
	if w.last != "" {
		h.Set("Last-Event-Id", w.last)
	}
	resp, err := w.c.send(ctx, request{method: "GET", path: route(bulkActions, w.id, "events"), header: h})
	if err != nil {
		if IsCode(err, "no_such_route") {
			return errNoStream
		}
		return err
	}
	defer resp.Body.Close()
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
		return errNoStream
	}
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	for e, err := range events(resp.Body) {
		if err != nil {
			return nil
		}
		quiet.Reset(silence)
		if w.take(e); w.over {
			return nil
		}
		if w.final {
			quiet.Reset(endWait)
		}
	}
	return nil
}

// take acts on an event. What cannot be read is passed over: a later server may say more.
func (w *watch) take(e event) {
	w.heard = true
	if w.at.IsZero() {
		w.at = time.Now()
	}
	if e.id != "" {
		w.last = e.id
	}
	switch e.kind {
	case "progress":
		var p api.Progress
		if json.Unmarshal([]byte(e.data), &p) == nil {
			w.tell(p)
		}
	case "state":
		var s api.StateChange
		if json.Unmarshal([]byte(e.data), &s) != nil {
			return
		}
		w.final = s.State.Final()
		if !w.final && s.State != w.now.State && w.now.State != "" { // the counts of the end come with its progress
			p := w.now
			p.State, p.Phase, p.Reason = s.State, s.Phase, s.Reason
			w.tell(p)
		}
	}
}

func (w *watch) tell(p api.Progress) {
	w.now = p
	w.over = !w.yield(p, nil) || p.State.Final()
}

// poll asks again and again.
func (w *watch) poll(ctx context.Context) {
	for !w.over {
		p, err := w.c.Progress(ctx, w.id)
		if err == nil {
			w.tell(p)
			if w.over {
				return
			}
			err = sleep(ctx, pollEvery)
		}
		if err != nil {
			w.yield(api.Progress{}, err)
			return
		}
	}
}
