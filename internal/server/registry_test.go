package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// downstream is an endpoint that answers by what a test says at the time.
func downstream(t *testing.T, answer func(r *http.Request, body []byte) (int, string)) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		status, text := answer(r, raw)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	return web.URL
}

// held answers once a gate is open, or whoever asked is gone.
func held(gate <-chan struct{}) func(*http.Request, []byte) (int, string) {
	return func(r *http.Request, _ []byte) (int, string) {
		select {
		case <-gate:
		case <-r.Context().Done():
		}
		return 200, `{"default":"done"}`
	}
}

// operated is an action of the program.
func operated(name string) weir.Step {
	return weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: name, Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
		for i := range b.Len() {
			b.Done(i, nil)
		}
		return nil
	}})
}

func ifMatch(tag string) http.Header { return http.Header{"If-Match": {tag}} }

func TestAnActionIsMadeChangedTriedAndDeleted(t *testing.T) {
	secret := "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	var seen atomic.Value
	url := downstream(t, func(r *http.Request, _ []byte) (int, string) {
		seen.Store(r.Header.Clone())
		return 200, `{"default":"done"}`
	})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{operated("award")}})
	var a api.Action
	made := n.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q,"secret":%q,"header":{"X-Token":"t0ken"},"batch":10}`, url, secret), 200, &a)
	if a.Origin != "api" || a.Kind != "http" || a.Secret != "[secret]" || a.Header["X-Token"] != "[secret]" || made.Get("ETag") == "" {
		t.Fatalf("made %+v with ETag %q", a, made.Get("ETag"))
	}
	var text string
	n.Call("GET", "/v1/actions/push", "", 200, &text)
	n.Call("GET", "/v1/actions", "", 200, &a)
	if strings.Contains(text, "t0ken") || strings.Contains(text, "MfKQ") {
		t.Errorf("a secret is shown: %s", text)
	}

	var p api.Problem
	n.CallWith("PUT", "/v1/actions/push", text, ifMatch(`"other"`), 412, &p)
	if p.Code != "changed_meanwhile" {
		t.Errorf("problem %+v", p)
	}
	n.CallWith("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q}`, url), http.Header{"If-None-Match": {"*"}}, 412, &p)
	again := n.CallWith("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q,"secret":"[secret]","header":{"X-Token":"[secret]"},"batch":7}`, url), ifMatch(made.Get("ETag")), 200, &a)
	if a.Batch != 7 || again.Get("ETag") == made.Get("ETag") {
		t.Errorf("changed %+v, ETag %q after %q", a, again.Get("ETag"), made.Get("ETag"))
	}
	n.CallWith("PUT", "/v1/actions/push", `{"url":"http://127.0.0.1:9/"}`, ifMatch(made.Get("ETag")), 412, nil)
	n.Call("PUT", "/v1/actions/other", fmt.Sprintf(`{"url":%q,"header":{"X-Token":"[secret]"}}`, url), 422, nil)

	var step api.TrialStep
	n.Call("POST", "/v1/actions/push/test", `{"items":[{"id":"u1","data":{"n":1}}]}`, 200, &step)
	h, _ := seen.Load().(http.Header)
	if h.Get("X-Token") != "t0ken" || h.Get("Webhook-Signature") == "" {
		t.Errorf("a secret that was sent back hidden is not the old one: %v", h)
	}
	if step.Status != 200 || !strings.Contains(step.Request, `"dry_run":true`) || step.Items[0].State != "done" || step.Error != "" {
		t.Errorf("trial %+v", step)
	}
	n.Call("POST", "/v1/actions/award/test", `{"items":[{"id":"u1"}]}`, 409, &p)
	n.Call("POST", "/v1/actions/award/test", `{"items":[{"id":"u1"}],"dry_run":false}`, 200, &step)
	if step.Items[0].State != "done" {
		t.Errorf("trial of an action of the program: %+v", step)
	}
	n.Call("PUT", "/v1/actions/award", fmt.Sprintf(`{"url":%q}`, url), 409, &p)
	if p.Code != "in_use" || p.Fix == "" {
		t.Errorf("an action of the program was changed, or without a way out: %+v", p)
	}
	n.Call("DELETE", "/v1/actions/award", "", 409, nil)
	n.Call("DELETE", "/v1/actions/push", "", 204, nil)
	n.Call("GET", "/v1/actions/push", "", 404, nil)
	n.Call("DELETE", "/v1/actions/push", "", 404, nil)
	n.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q,"header":{"X-Token":"[secret]"}}`, url), 422, nil)
	n.CallWith("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q}`, url), http.Header{"If-None-Match": {"*"}}, 200, nil)
}

func TestBadActionsAreRefused(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	long := strings.Repeat("x", 2100)
	for _, tt := range []struct{ name, path, body, code, field string }{
		{"timeout of nothing", "a", `{"url":"https://example.com/","timeout":"-1s"}`, "out_of_range", "timeout"},
		{"timeout of ten days", "a", `{"url":"https://example.com/","timeout":"240h"}`, "out_of_range", "timeout"},
		{"a million retries", "a", `{"url":"https://example.com/","retry":{"max_attempts":1000000}}`, "out_of_range", "retry.max_attempts"},
		{"a cap below the base", "a", `{"url":"https://example.com/","retry":{"base":"10s","cap":"1s"}}`, "out_of_range", "retry"},
		{"another scheme", "a", `{"url":"ftp://example.com/"}`, "bad_url", "url"},
		{"no host", "a", `{"url":"https:///x"}`, "bad_url", "url"},
		{"a password in the URL", "a", `{"url":"https://u:p@example.com/"}`, "bad_url", "url"},
		{"a private address", "a", `{"url":"https://10.0.0.5/"}`, "address_not_allowed", "url"},
		{"a private address in disguise", "a", `{"url":"https://[::ffff:10.0.0.5]/"}`, "address_not_allowed", "url"},
		{"the metadata address for the way back", "a", `{"url":"https://example.com/","undo_url":"http://169.254.169.254/"}`, "address_not_allowed", "undo_url"},
		{"an endless URL", "a", `{"url":"https://example.com/` + long + `"}`, "bad_url", "url"},
		{"a broken secret", "a", `{"url":"https://example.com/","secret":"hunter2"}`, "", "secret"},
		{"a schema that is none", "a", `{"url":"https://example.com/","schema":{"type":"colour"}}`, "bad_schema", "schema"},
		{"a bad name", "a%20b", `{"url":"https://example.com/"}`, "bad_name", "name"},
		{"another name in the body", "a", `{"name":"b","url":"https://example.com/"}`, "bad_value", "name"},
		{"a batch of thousands", "a", `{"url":"https://example.com/","batch":5000}`, "out_of_range", "batch"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p api.Problem
			n.Call("PUT", "/v1/actions/"+tt.path, tt.body, 422, &p)
			if tt.code != "" && p.Code != tt.code || len(p.Errors) == 0 || !strings.HasPrefix(p.Errors[0].Field, tt.field) {
				t.Errorf("problem %+v, want %s at %s", p, tt.code, tt.field)
			}
			if strings.Contains(p.Detail, "hunter2") {
				t.Errorf("the secret is told: %s", p.Detail)
			}
		})
	}
	n.Call("GET", "/v1/actions/a", "", 404, nil)
}

func TestATrialTellsWhatIsWrongWithAnAnswer(t *testing.T) {
	var answer atomic.Value
	url := downstream(t, func(*http.Request, []byte) (int, string) {
		a, _ := answer.Load().([2]string)
		status := 200
		_, _ = fmt.Sscan(a[0], &status)
		return status, a[1]
	})
	n := nodetest.Start(t, nodetest.Options{})
	n.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q}`, url), 200, nil)
	for _, tt := range []struct{ name, status, body, says, state, code string }{
		{"an item without a result", "200", `{"results":[{"id":"u1","status":"done"}]}`, "no result", "waiting", "no_result"},
		{"ids that were not sent", "200", `{"results":[{"id":"x","status":"done"}],"default":"done"}`, "not sent", "done", ""},
		{"a login page", "200", `<html><title>Login</title>`, "HTML", "waiting", "bad_answer"},
		{"an unknown status", "200", `{"results":[{"id":"u1","status":"fine"}]}`, "fine", "waiting", "bad_answer"},
		{"too busy", "429", `slow down`, "429", "waiting", "refused"},
		{"a wrong key", "401", `who?`, "check the action's secret", "waiting", "http_401"},
		{"failed items", "200", `{"results":[{"id":"u1","status":"done"},{"id":"u2","status":"failed","code":"closed"}]}`, "", "failed", "closed"},
		{"a long answer", "200", `{"default":"done","x":"` + strings.Repeat("y", 100<<10) + `"}`, "", "done", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer.Store([2]string{tt.status, tt.body})
			var step api.TrialStep
			n.Call("POST", "/v1/actions/push/test", `{"items":[{"id":"u1"},{"id":"u2"}]}`, 200, &step)
			last := step.Items[1]
			if !strings.Contains(step.Error, tt.says) || tt.says == "" && step.Error != "" || last.State != tt.state || last.Code != tt.code {
				t.Errorf("says %q; u2 is %s, %q", step.Error, last.State, last.Code)
			}
			if fmt.Sprint(step.Status) != tt.status || !strings.HasPrefix(tt.body, strings.TrimSuffix(step.Response, "…")) || len(step.Response) > 64<<10+3 {
				t.Errorf("status %d, answer of %d bytes", step.Status, len(step.Response))
			}
		})
	}
}

func TestADisabledActionTakesNothingNewAndADeletedOneGoesOn(t *testing.T) {
	var calls atomic.Int64
	gate := make(chan struct{})
	wait := held(gate)
	url := downstream(t, func(r *http.Request, body []byte) (int, string) {
		if calls.Add(1) == 1 {
			return wait(r, body)
		}
		return 200, `{"default":"done"}`
	})
	other := downstream(t, func(*http.Request, []byte) (int, string) { return 200, `{"default":"failed"}` })
	n := nodetest.Start(t, nodetest.Options{Partitions: 1})
	n.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q,"batch":1}`, url), 200, nil)
	n.Call("PUT", "/v1/resources/push", `{"concurrency":1}`, 200, nil)
	b := n.Make(`{"steps":[{"action":"push"}],"item_id":"id"}`, "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n")
	n.Eventually("a call is under way", func() bool { return calls.Load() == 1 })

	var early api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"push"}],"item_id":"id"}`, 201, &early)
	n.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q,"batch":1,"disabled":true}`, other), 200, nil)
	var p api.Problem
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"push"}]}`, 422, &p)
	if p.Code != "action_disabled" {
		t.Errorf("problem %+v", p)
	}
	n.Call("DELETE", "/v1/actions/push", "", 204, nil)
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"push"}]}`, 422, &p)
	if p.Code != "unknown_action" {
		t.Errorf("problem %+v", p)
	}
	close(gate)
	b = n.Until(b.ID, api.Completed)
	if b.Counts.Done != 1 || b.Counts.Failed != 2 {
		t.Errorf("counts %+v: want one done by the first endpoint, and the others failed by the one it was changed to", b.Counts)
	}
	to := "/v1/bulk-actions/" + early.ID
	n.CallWith("POST", to+"/items", "{\"id\":\"a\"}\n", http.Header{"Content-Type": {"application/x-ndjson"}}, 202, nil)
	n.Call("POST", to+"/seal", `{"start":true}`, 200, nil)
	if early = n.Until(early.ID, api.Completed); early.Counts.Failed != 1 {
		t.Errorf("counts %+v: want the draft to go on with the action as it was deleted", early.Counts)
	}
}

func TestActionsOfTenants(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{operated("award")}})
	acme, bolt := n.As([]access.Scope{access.Admin}, "acme"), n.As([]access.Scope{access.Admin}, "bolt")
	n.Call("PUT", "/v1/actions/all", `{"url":"https://example.com/"}`, 200, nil)
	var a api.Action
	acme.Call("PUT", "/v1/actions/mine", `{"url":"https://example.com/"}`, 200, &a)
	if len(a.Tenants) != 1 || a.Tenants[0] != "acme" {
		t.Errorf("an action of a key for acme is for %v", a.Tenants)
	}
	acme.Call("PUT", "/v1/actions/theirs", `{"url":"https://example.com/","tenants":["bolt"]}`, 422, nil)
	acme.Call("PUT", "/v1/actions/all", `{"url":"https://example.org/"}`, 403, nil)
	bolt.Call("GET", "/v1/actions/mine", "", 404, nil)
	bolt.Call("PUT", "/v1/actions/mine", `{"url":"https://example.org/"}`, 404, nil)
	bolt.Call("DELETE", "/v1/actions/mine", "", 404, nil)
	bolt.Call("POST", "/v1/actions/mine/test", `{"items":[{"id":"a"}]}`, 404, nil)
	n.As([]access.Scope{access.Control}).Call("PUT", "/v1/actions/x", `{"url":"https://example.com/"}`, 403, nil)
	var page api.Page[api.Action]
	bolt.Call("GET", "/v1/actions?limit=1", "", 200, &page)
	if len(page.Data) != 1 || page.Data[0].Name != "all" || !page.HasMore {
		t.Fatalf("first page %+v", page)
	}
	bolt.Call("GET", "/v1/actions?limit=1&cursor="+page.NextCursor, "", 200, &page)
	if len(page.Data) != 1 || page.Data[0].Name != "award" || page.HasMore {
		t.Errorf("second page %+v", page)
	}
	n.Call("GET", "/v1/resources?cursor="+page.NextCursor+"zz", "", 400, nil)
}
