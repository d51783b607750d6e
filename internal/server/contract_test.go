package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/server"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// contract is a client that holds every request and answer against the served document.
type contract struct {
	*nodetest.Node
	t      *testing.T
	router routers.Router
	seen   map[string]bool // operations that were answered with success
}

func newContract(t *testing.T) *contract {
	t.Helper()
	step := func(name string) weir.Step {
		return weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
			Name: name, BatchSize: 10,
			Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
				for i := range b.Len() {
					if strings.Contains(string(b.Item(i).Value), "bad") {
						b.Fail(i, "is_bad", fmt.Errorf("account %d is bad", i))
						continue
					}
					b.Done(i, json.RawMessage(`{"receipt":"r"}`))
				}
				return nil
			},
			Undo: func(_ context.Context, b *weir.Batch[weir.Undone[json.RawMessage, json.RawMessage], struct{}]) error {
				b.DoneRest()
				return nil
			},
		})
	}
	c := &contract{Node: nodetest.Start(t, nodetest.Options{Steps: []weir.Step{step("award"), step("notify")}}), t: t, seen: map[string]bool{}}
	var err error
	if c.router, err = gorillamux.NewRouter(c.document("/openapi-3.0.json")); err != nil {
		t.Fatal(err)
	}
	return c
}

// document loads a served document and checks that it is one.
func (c *contract) document(path string) *openapi3.T {
	c.t.Helper()
	var raw string
	c.Node.Call("GET", path, "", 200, &raw)
	doc, err := openapi3.NewLoader().LoadFromData([]byte(raw))
	if err != nil {
		c.t.Fatalf("%s: %v", path, err)
	}
	if err := doc.Validate(c.t.Context()); err != nil {
		c.t.Fatalf("%s: %v", path, err)
	}
	return doc
}

// call makes a request, wants a status, and compares both sides with the document.
func (c *contract) call(method, path, kind, body string, status int, out any) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.URL+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		c.t.Fatalf("%s %s: status %d, want %d: %s %v", method, path, resp.StatusCode, status, raw, err)
	}
	if err := c.fits(req, body, resp, raw); err != nil {
		c.t.Errorf("%s %s, answered with %d, is not what the document says: %v\n%s", method, path, status, err, raw)
	}
	if out != nil {
		if err := json.Unmarshal(raw, out); err != nil {
			c.t.Fatal(err)
		}
	}
}

// fits compares an exchange with the document. A request that was refused need not fit; its answer does.
func (c *contract) fits(req *http.Request, body string, resp *http.Response, raw []byte) error {
	route, params, err := c.router.FindRoute(req)
	if err != nil {
		return err
	}
	again := req.Clone(req.Context())
	again.Body = io.NopCloser(strings.NewReader(body))
	kind := resp.Header.Get("Content-Type")
	o := &openapi3filter.Options{
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true,
		ExcludeRequestBody: req.Header.Get("Content-Type") == "application/x-ndjson", ExcludeResponseBody: !strings.Contains(kind, "json") || strings.Contains(kind, "ndjson"),
	}
	in := &openapi3filter.RequestValidationInput{Request: again, PathParams: params, Route: route, Options: o}
	if resp.StatusCode < 300 {
		c.seen[route.Operation.OperationID] = true
		if err := openapi3filter.ValidateRequest(req.Context(), in); err != nil {
			return err
		}
	}
	return openapi3filter.ValidateResponse(req.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: resp.StatusCode, Header: resp.Header, Body: io.NopCloser(bytes.NewReader(raw)), Options: o,
	})
}

func (c *contract) post(path, body string, status int, out any) {
	c.t.Helper()
	c.call("POST", path, "application/json", body, status, out)
}

func (c *contract) get(path string, out any) {
	c.t.Helper()
	c.call("GET", path, "", "", 200, out)
}

// draft makes a bulk action with some items.
func (c *contract) draft(spec string) (at string, b api.BulkAction) {
	c.t.Helper()
	c.post("/v1/bulk-actions", spec, 201, &b)
	at = "/v1/bulk-actions/" + b.ID
	c.call("POST", at+"/items", "application/x-ndjson", "{\"id\":\"u1\",\"amount\":3}\n{\"id\":\"u2\",\"amount\":4}\n", 202, nil)
	c.call("POST", at+"/items", "text/csv", "id,amount\nu3,bad\n", 202, nil)
	c.post(at+"/items", `[{"id":"u4","amount":5}]`, 202, nil)
	return at, b
}

const twoSteps = `{"name":"spring","steps":[{"action":"award","input":{"to":"id","amount":"item.amount"}},{"action":"notify"}],"labels":{"team":"growth"}}`

func TestTrafficOfBulkActionsIsWhatTheDocumentSays(t *testing.T) {
	c := newContract(t)
	at, b := c.draft(twoSteps)
	c.get(at+"/preview", nil)
	c.get(at+"/check", nil)
	var fresh api.BulkAction
	c.post("/v1/bulk-actions", twoSteps, 201, &fresh)
	c.get("/v1/bulk-actions/"+fresh.ID+"/draft", nil)
	file := uploadFile(t, c.Node, "u.csv", "user_id,amount\nu1,3\n,4\nu1,5\n")
	c.call("PUT", "/v1/bulk-actions/"+fresh.ID+"/draft", "application/json", `{"steps":[{"action":"award"}],"source":{"upload":"`+file+`"}}`, 200, nil)
	c.get("/v1/bulk-actions/"+fresh.ID+"/check?limit=5", nil)
	c.get("/v1/bulk-actions/"+fresh.ID+"/bad-rows", nil)
	c.get("/v1/bulk-actions/"+fresh.ID+"/duplicates", nil)
	c.post(at+"/forecast", `{}`, 200, nil)
	c.post(at+"/events-ticket", ``, 200, nil)
	c.post(at+"/trial", `{"first":1,"dry_run":false}`, 200, nil)
	c.post(at+"/seal", `{"expected_items":4}`, 200, nil)
	c.post(at+"/start", `{"start_at":"`+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`, 200, nil)
	c.post(at+"/unschedule", `{}`, 200, nil)
	c.call("PATCH", at, "application/json", `{"priority":5,"reason":"urgent"}`, 200, nil)
	c.post(at+"/start", `{}`, 200, nil)
	c.Until(b.ID, api.Completed)
	for _, path := range []string{"", "/progress", "/items?limit=2", "/items?state=failed", "/report", "/error-groups", "/results?state=all", "/results?format=ndjson", "/deliveries", "/decisions", "/series", "/timeline"} {
		c.get(at+path, nil)
	}
	c.get("/v1/series", nil)
	c.get("/v1/bulk-actions?limit=1&state=completed&label=team%3Dgrowth", nil)
	var retries api.Linked
	retried := b.ID
	c.post(at+"/retry", `{"code":"is_bad"}`, 201, &retries)
	c.post(at+"/clone", `{}`, 201, nil)
	segment := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"items":[{"id":"s1"},{"id":"s2"}]}`)
	}))
	t.Cleanup(segment.Close)
	c.post("/v1/bulk-actions", twoSteps, 201, &b)
	c.post("/v1/bulk-actions/"+b.ID+"/import", `{"segment":{"url":"`+segment.URL+`"}}`, 200, nil)
	if sealed := c.Until(b.ID, api.Sealed); sealed.Counts.Total != 2 {
		t.Errorf("imported %+v, want 2 items", sealed.Counts)
	}
	thrown, _ := c.draft(twoSteps)
	c.call("DELETE", thrown, "", "", 204, nil)
	for _, r := range retries.BulkActions {
		c.Until(r.ID, api.Completed) // a bulk action is not undone while a retry of it runs
	}
	var undo api.Linked
	c.post(at+"/undo", `{}`, 201, &undo)
	for query, want := range map[string]string{"retry_of=" + fresh.ID: "", "retry_of=" + retried: retries.BulkActions[0].ID,
		"undo_of=" + retried: undo.BulkActions[0].ID, "undo_of=" + undo.BulkActions[0].ID: ""} {
		var page api.Page[api.BulkAction]
		if c.get("/v1/bulk-actions?"+query, &page); (len(page.Data) == 0) != (want == "") || want != "" && (len(page.Data) != 1 || page.Data[0].ID != want) {
			t.Errorf("the list with %s has %d, want %q", query, len(page.Data), want)
		}
	}

	held, b := c.draft(`{"steps":[{"action":"award"}],"canary":{"items":1},"start":true}`)
	c.post(held+"/seal", `{}`, 200, nil)
	c.Until(b.ID, api.Awaiting)
	c.post(held+"/approve", `{"reason":"looks good"}`, 200, nil)
	c.Until(b.ID, api.Completed)

	slow, b := c.draft(`{"steps":[{"action":"award"}],"rates":{"award":"1/h"},"start":true}`)
	c.post(slow+"/seal", `{}`, 200, nil)
	c.Until(b.ID, api.Running)
	c.post(slow+"/pause", `{"reason":"lunch"}`, 200, nil)
	c.post(slow+"/resume", `{}`, 200, nil)
	c.post(slow+"/cancel", `{"reason":"never mind"}`, 200, nil)
	c.Until(b.ID, api.Cancelled)

	for _, op := range c.document("/openapi-3.0.json").Paths.Map() {
		for _, o := range op.Operations() {
			// Events never end: watch_test.go has them.
			if strings.HasPrefix(o.OperationID, "bulk_action.") && o.OperationID != "bulk_action.events" && !c.seen[o.OperationID] {
				t.Errorf("%s was never answered with success here", o.OperationID)
			}
		}
	}
}

func TestTrafficOfTemplatesAndSimulationsIsWhatTheDocumentSays(t *testing.T) {
	c := newContract(t)
	c.call("PUT", "/v1/templates/spring", "application/json", springTemplate, 200, nil)
	c.get("/v1/templates/spring", nil)
	c.get("/v1/templates?limit=1", nil)
	var b api.BulkAction
	c.post("/v1/bulk-actions", `{"template":"spring","params":{"amount":25},"items":[{"id":"u1"}]}`, 201, &b)
	c.get("/v1/bulk-actions?template=spring", nil)
	c.call("DELETE", "/v1/templates/spring", "", "", 204, nil)
	c.post("/v1/simulations", `{"bulk_action":"`+b.ID+`","rates":{"award":"10/s"},"concurrency":{"award":2},"workers":4,"weights":{"default":2}}`, 200, nil)
	c.post("/v1/effects", `{"resources":{"award":{"rate":"10/s"}},"weights":{"default":2}}`, 200, nil)
	c.post("/v1/simulations", `{"world":`+twoTenantsWorld+`,"runs":2}`, 200, nil)
}

func TestRefusalsAreWhatTheDocumentSays(t *testing.T) {
	c := newContract(t)
	at, _ := c.draft(twoSteps)
	for _, tt := range []struct {
		name, method, path, kind, body string
		status                         int
	}{
		{"an unknown field", "POST", "/v1/bulk-actions", "application/json", `{"steps":[{"action":"award"}],"color":"red"}`, 400},
		{"an unknown action", "POST", "/v1/bulk-actions", "application/json", `{"steps":[{"action":"dance"}]}`, 422},
		{"half a JSON object", "POST", "/v1/bulk-actions", "application/json", `{"steps":`, 400},
		{"a type that is not understood", "POST", "/v1/bulk-actions", "text/plain", `steps`, 415},
		{"no such bulk action", "GET", "/v1/bulk-actions/ba_01k9x2v6w4s8m1c7q3d5f9h0jz", "", "", 404},
		{"a cursor of another list", "GET", "/v1/bulk-actions?cursor=abc", "", "", 400},
		{"a bad row", "POST", at + "/items", "application/x-ndjson", "{\"id\":\"u9\"}\n{nope}\n", 422},
		{"another number of items", "POST", at + "/seal", "application/json", `{"expected_items":7}`, 409},
		{"a start before the seal", "POST", at + "/start", "application/json", `{}`, 409},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := c.t
			c.t = t
			defer func() { c.t = before }()
			var p api.Problem
			c.call(tt.method, tt.path, tt.kind, tt.body, tt.status, &p)
			if p.Code == "" || p.Status != tt.status || p.RequestID == "" {
				t.Errorf("the problem is %+v, want a code, status %d and the request's id", p, tt.status)
			}
		})
	}
}

func TestTheDocumentsAreCompleteAndValid(t *testing.T) {
	c := newContract(t)
	for _, path := range []string{"/openapi.json", "/openapi-3.0.json"} {
		doc := c.document(path)
		for _, r := range server.Routes(c.Server()) {
			item := doc.Paths.Find(r.Path)
			if item == nil || item.GetOperation(r.Method) == nil {
				t.Errorf("%s does not have %s %s", path, r.Method, r.Path)
			}
		}
	}
}
