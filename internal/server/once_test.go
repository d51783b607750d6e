package server_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

// deaf is a store whose partitions commit nothing for a while: as if their owner were dead.
type deaf struct {
	*memstore.Store
	awaited  atomic.Int64 // commands until the owner commits again; 0: it commits
	commands atomic.Int64 // that were appended since then
	heard    chan struct{}
}

// deafen has the owner commit nothing until so many commands are in its inbox, or hear is called.
func (s *deaf) deafen(commands int64) {
	s.heard = make(chan struct{})
	s.commands.Store(0)
	s.awaited.Store(commands)
}

func (s *deaf) hear() {
	if s.awaited.Swap(0) > 0 {
		close(s.heard)
	}
}

// Append implements store.Inbox.
func (s *deaf) Append(ctx context.Context, partition int, body []byte, c store.Claim) error {
	err := s.Store.Append(ctx, partition, body, c)
	if err == nil && bytes.Contains(body, []byte(`"command"`)) && s.commands.Add(1) == s.awaited.Load() {
		s.hear()
	}
	return err
}

// Commit implements store.State.
func (s *deaf) Commit(ctx context.Context, partition int, tok store.Token, b *store.Batch) error {
	if s.awaited.Load() > 0 {
		select {
		case <-s.heard:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.Store.Commit(ctx, partition, tok, b)
}

const (
	never = 1 << 30 // commands
	both  = 4       // requests at once
)

func onDeaf(t *testing.T, steps ...weir.Step) (*nodetest.Node, *deaf) {
	t.Helper()
	st := &deaf{Store: memstore.New(memstore.Options{})}
	t.Cleanup(func() { _ = st.Close() })
	n := nodetest.Start(t, nodetest.Options{Steps: steps, Store: st})
	t.Cleanup(st.hear) // before the node stops
	return n, st
}

// together sends a command many times, so that none is carried out before all are sent, and returns the statuses of the
// answers in order, and the codes of the refusals.
func together(t *testing.T, n *nodetest.Node, st *deaf, path string) (statuses []int, refused string) {
	t.Helper()
	st.deafen(both)
	var mu sync.Mutex
	var all sync.WaitGroup
	for range both {
		all.Go(func() {
			resp := n.Request(t.Context(), "POST", path, `{}`, http.Header{})
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			if statuses = append(statuses, resp.StatusCode); resp.StatusCode != 200 {
				refused += string(text)
			}
		})
	}
	all.Wait()
	slices.Sort(statuses)
	return statuses, refused
}

// toldOnce wants one entry of a change in the audit log, and one line of it in the timeline.
func toldOnce(t *testing.T, n *nodetest.Node, id, verb string) {
	t.Helper()
	var audit api.Page[api.AuditEntry]
	n.Call("GET", "/v1/audit?target="+id+"&action=bulk_action."+verb, "", 200, &audit)
	if len(audit.Data) != 1 {
		t.Errorf("the audit log has %d entries of %s: %+v", len(audit.Data), verb, audit.Data)
	}
	var events api.Events
	n.Call("GET", "/v1/bulk-actions/"+id+"/timeline", "", 200, &events)
	lines := 0
	for _, e := range events.Data {
		if e.Kind == verb {
			lines++
		}
	}
	if lines != 1 {
		t.Errorf("the timeline tells %s %d times: %+v", verb, lines, events.Data)
	}
}

func TestOfManyCommandsAtOnceOneIsCarriedOutAndTold(t *testing.T) {
	held := func(n *nodetest.Node) string {
		var b api.BulkAction
		n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"items":[{"id":"u1"}]}`, 201, &b)
		n.Until(b.ID, api.Sealed)
		return b.ID
	}
	running := func(n *nodetest.Node) string {
		var b api.BulkAction
		n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"start":true,"items":[{"id":"u1"},{"id":"u2"}],"rates":{"award":"1/h"}}`, 201, &b)
		return n.Until(b.ID, api.Running).ID
	}
	for _, tt := range []struct {
		verb    string
		of      func(*nodetest.Node) string
		want    []int
		refused string // code of the refusals
	}{
		{"start", held, []int{200, 409, 409, 409}, ""}, // wrong_state, or already_ended
		{"approve", func(n *nodetest.Node) string {
			var b api.BulkAction
			n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"canary":{"items":1},"rates":{"award":"2/h"},"start":true,
				"items":[{"id":"u1"},{"id":"u2"},{"id":"u3"},{"id":"u4"}]}`, 201, &b)
			return n.Until(b.ID, api.Awaiting).ID
		}, []int{200, 200, 200, 200}, ""},
		{"cancel", running, []int{200, 200, 200, 200}, ""},
		{"pause", running, []int{200, 200, 200, 200}, ""},
		{"resume", func(n *nodetest.Node) string {
			id := running(n)
			n.Call("POST", "/v1/bulk-actions/"+id+"/pause", `{}`, 200, nil)
			return id
		}, []int{200, 409, 409, 409}, "wrong_state"},
	} {
		t.Run(tt.verb, func(t *testing.T) {
			n, st := onDeaf(t, raw("award", award))
			id := tt.of(n)
			got, refused := together(t, n, st, "/v1/bulk-actions/"+id+"/"+tt.verb)
			if !slices.Equal(got, tt.want) || strings.Count(refused, tt.refused) < strings.Count(refused, `"code"`) {
				t.Errorf("the answers are %v %s, want %v", got, refused, tt.want)
			}
			toldOnce(t, n, id, tt.verb)
		})
	}
}

func TestARepeatedCommandIsNotTold(t *testing.T) {
	n, _ := onDeaf(t, raw("award", award))
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"start":true,"items":[{"id":"u1"},{"id":"u2"}],"rates":{"award":"1/h"}}`, 201, &b)
	for _, verb := range []string{"pause", "cancel"} {
		for range 2 {
			n.Call("POST", "/v1/bulk-actions/"+b.ID+"/"+verb, `{}`, 200, nil)
		}
		toldOnce(t, n, b.ID, verb)
	}
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}]}`, 201, &b)
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/cancel", `{"reason":"first"}`, 200, nil)
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/cancel", `{"reason":"second"}`, 200, &b)
	if b.Reason != "first" {
		t.Errorf("a draft that is cancelled twice has the reason %q, want that of the first", b.Reason)
	}
	toldOnce(t, n, b.ID, "cancel")
}

func TestACommandFollowsOneThatNoOwnerHasRead(t *testing.T) {
	for _, tt := range []struct {
		name, spec    string
		first, second string
		from, to      api.State
	}{
		{"a resume after a pause", `"start":true`, "pause", "resume", api.Running, api.Running},
		{"a pause after a start", `"start":false`, "start", "pause", api.Sealed, api.Paused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, st := onDeaf(t, raw("award", award))
			var b api.BulkAction
			n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"items":[{"id":"u1"},{"id":"u2"}],"rates":{"award":"1/h"},`+tt.spec+`}`, 201, &b)
			if b.State == api.Draft {
				n.Call("POST", "/v1/bulk-actions/"+b.ID+"/seal", `{}`, 200, nil)
			}
			n.Until(b.ID, tt.from)
			st.deafen(never)
			n.Call("POST", "/v1/bulk-actions/"+b.ID+"/"+tt.first, `{}`, 200, nil)
			n.Call("POST", "/v1/bulk-actions/"+b.ID+"/"+tt.second, `{}`, 200, &b)
			if b.State != tt.from || b.Pending != tt.second {
				t.Errorf("the %s is answered with %s, pending %q", tt.second, b.State, b.Pending)
			}
			st.hear()
			n.Eventually("both commands carried out", func() bool {
				var l api.Events
				n.Call("GET", "/v1/bulk-actions/"+b.ID+"/timeline", "", 200, &l)
				n.Call("GET", "/v1/bulk-actions/"+b.ID, "", 200, &b)
				has := func(verb string) bool {
					return slices.ContainsFunc(l.Data, func(e api.Event) bool { return e.Kind == verb })
				}
				return b.State == tt.to && has(tt.first) && has(tt.second)
			})
			var p api.Problem
			if n.Call("POST", "/v1/bulk-actions/"+b.ID+"/start", `{}`, 409, &p); p.Code != "wrong_state" {
				t.Errorf("a start of what has started is refused with %+v", p)
			}
		})
	}
}

func TestACommandThatNoOwnerHasReadIsPending(t *testing.T) {
	n, st := onDeaf(t, raw("award", award))
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"start":true,"items":[{"id":"u1"},{"id":"u2"}],"rates":{"award":"1/h"}}`, 201, &b)
	n.Until(b.ID, api.Running)
	for _, tt := range []struct {
		verb   string
		shown  api.State
		result api.State
	}{
		{"pause", api.Running, api.Paused},
		{"resume", api.Paused, api.Running},
		{"cancel", api.Cancelling, api.Cancelled},
	} {
		st.deafen(never)
		var now api.BulkAction
		n.Call("POST", "/v1/bulk-actions/"+b.ID+"/"+tt.verb, `{}`, 200, &now)
		if now.State != tt.shown || now.Pending != tt.verb {
			t.Errorf("while nobody reads it, the %s is answered with %s, pending %q; want %s, pending %q", tt.verb, now.State,
				now.Pending, tt.shown, tt.verb)
		}
		st.hear()
		if now = n.Until(b.ID, tt.result); now.Pending != "" {
			t.Errorf("when it is carried out, %s is pending", now.Pending)
		}
	}
}
