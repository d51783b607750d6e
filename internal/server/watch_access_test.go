package server_test

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/server"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// refusedBy waits for the end of a stream, which says why it ended.
func refusedBy(t *testing.T, from <-chan event) (p api.Problem) {
	t.Helper()
	e, ok := next(t, from, "problem")
	if !ok {
		t.Fatal("the stream ended without a problem")
	}
	if err := json.Unmarshal([]byte(e.data), &p); err != nil {
		t.Fatalf("%v: %s", err, e.data)
	}
	if after, ok := next(t, from, "nothing"); ok {
		t.Errorf("event %+v after the problem", after)
	}
	return p
}

func TestAStreamOfEventsEndsWithItsKey(t *testing.T) {
	gate := newGate()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	t.Cleanup(gate.open)
	b := n.Make(`{"steps":[{"action":"award"}]}`, `{"id":"u1"}`)
	revoked := n.As([]access.Scope{access.Read})
	expires := n.With(access.NewKey{Name: "short", Scopes: []access.Scope{access.Read}, Expires: time.Now().Add(5 * time.Second)})
	var streams []<-chan event
	for _, reader := range []*nodetest.Node{revoked, revoked, expires} {
		from, _ := follow(t, reader, b.ID, "")
		must(next(t, from, "progress"))(t)
		streams = append(streams, from)
	}
	var who api.Whoami
	revoked.Call("GET", "/v1/whoami", "", 200, &who)
	n.Call("DELETE", "/v1/keys/"+who.Key, "", 200, nil)
	for _, from := range streams {
		if p := refusedBy(t, from); p.Status != http.StatusUnauthorized || p.Code != "bad_credentials" || p.RequestID == "" {
			t.Errorf("the last event is %+v, want bad_credentials with the id of the request", p)
		}
	}
}

// A server with a login of its own may change what a person may see at any time.
func TestAStreamOfEventsEndsWithTheRightToReadIt(t *testing.T) {
	for _, tt := range []struct {
		name, code string
		then       access.Principal
	}{
		{"another tenant", "not_found", access.Principal{KeyID: "ann", Scopes: []access.Scope{access.Read}, Tenants: []string{"beta"}}},
		{"another scope", "missing_scope", access.Principal{KeyID: "ann", Scopes: []access.Scope{access.Submit}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var who atomic.Pointer[access.Principal]
			who.Store(&access.Principal{KeyID: "ann", Scopes: []access.Scope{access.Admin}})
			n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{newGate().step("award")}, Server: server.Options{
				Authenticate: func(*http.Request) (access.Principal, error) { return *who.Load(), nil }}})
			var b api.BulkAction
			n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"tenant":"acme"}`, 201, &b)
			from, _ := follow(t, n, b.ID, "")
			must(next(t, from, "progress"))(t)
			who.Store(&tt.then)
			if p := refusedBy(t, from); p.Code != tt.code {
				t.Errorf("the last event is %+v, want %s", p, tt.code)
			}
		})
	}
}
