package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/server"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// watchBy opens a path without a key and returns the status.
func watchBy(t *testing.T, n *nodetest.Node, path, key string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	a, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer a.Body.Close()
	return a.StatusCode
}

func TestATicketOpensOneStreamWithTheRightsOfItsKey(t *testing.T) {
	gate := newGate()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	t.Cleanup(gate.open)
	one, other := n.Make(`{"steps":[{"action":"award"}]}`, `{"id":"u1"}`), n.Make(`{"steps":[{"action":"award"}]}`, `{"id":"u1"}`)
	reader := n.As([]access.Scope{access.Read})
	var ticket api.EventTicket
	reader.Call("POST", "/v1/bulk-actions/"+one.ID+"/events-ticket", "", 200, &ticket)
	if left := time.Until(ticket.ExpiresAt); left < 4*time.Minute || left > 6*time.Minute || !strings.HasPrefix(ticket.URL, "/v1/bulk-actions/"+one.ID+"/events?ticket=") {
		t.Errorf("ticket %+v", ticket)
	}
	query := ticket.URL[strings.Index(ticket.URL, "?"):]
	for _, tt := range []struct {
		name, path, key string
		want            int
	}{
		{"its stream", ticket.URL, "", 200},
		{"again", ticket.URL, "", 200},
		{"another bulk action", "/v1/bulk-actions/" + other.ID + "/events" + query, "", 401},
		{"another route", "/v1/bulk-actions/" + one.ID + query, "", 400},
		{"cut off", ticket.URL[:len(ticket.URL)-1], "", 401},
		{"a wrong key beside it", ticket.URL, "wk_wrong", 401},
	} {
		if got := watchBy(t, n, tt.path, tt.key); got != tt.want {
			t.Errorf("%s: status %d, want %d", tt.name, got, tt.want)
		}
	}
	// The key is revoked: the ticket opens nothing any more.
	var who api.Whoami
	reader.Call("GET", "/v1/whoami", "", 200, &who)
	n.Call("DELETE", "/v1/keys/"+who.Key, "", 200, nil)
	for late := time.Now().Add(10 * time.Second); watchBy(t, n, ticket.URL, "") != 401; {
		if time.Now().After(late) {
			t.Fatal("a revoked key opens streams by its ticket")
		}
	}
}

func TestAKeyGetsNoTicketForWhatItDoesNotSee(t *testing.T) {
	gate := newGate()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	t.Cleanup(gate.open)
	b := n.Make(`{"steps":[{"action":"award"}],"tenant":"acme"}`, `{"id":"u1"}`)
	n.With(access.NewKey{Name: "beta", Scopes: []access.Scope{access.Read}, Tenants: []string{"beta"}}).
		Call("POST", "/v1/bulk-actions/"+b.ID+"/events-ticket", "", 404, nil)
	n.As([]access.Scope{access.Submit}).Call("POST", "/v1/bulk-actions/"+b.ID+"/events-ticket", "", 403, nil)
}

func TestAServerWithALoginOfItsOwnMakesNoTickets(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{newGate().step("award")}, Server: server.Options{
		Authenticate: func(*http.Request) (access.Principal, error) {
			return access.Principal{KeyID: "ann", Scopes: []access.Scope{access.Admin}}, nil
		}}})
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}]}`, 201, &b)
	var p api.Problem
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/events-ticket", "", 409, &p)
	if p.Code != "keys_not_used" {
		t.Errorf("problem %+v", p)
	}
}
