package server_test

import (
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

func TestABadFieldIsNamedWithItsFix(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	const create = "/v1/bulk-actions"
	for _, tt := range []struct{ method, path, body, field, fix string }{
		{"PUT", "/v1/resources/award", `{"rate":"800"}`, "rate", "write 800/s or 800/m"},
		{"PUT", "/v1/resources/award", `{"rate":"fast"}`, "rate", "500/s"},
		{"PUT", "/v1/resources/award", `{"concurrency":-1}`, "concurrency", "0 or more"},
		{"POST", create, `{"steps":[{"action":"award"}],"rates":{"award":"300"}}`, "rates.award", "write 300/s or 300/m"},
		{"POST", create, `{"steps":[{"action":"award"}],"concurrency":-1}`, "concurrency", "0 or more"},
		{"POST", create, `{"steps":[{"action":"award"}],"keep_for":"3 days"}`, "keep_for", "1h30m"},
		{"POST", create, `{"steps":[{"action":"award"}],"start":true,"start_at":"2036-01-31T18:00:00Z"}`, "start_at", "keep one of start and start_at"},
	} {
		var p api.Problem
		n.Call(tt.method, tt.path, tt.body, 422, &p)
		if len(p.Errors) != 1 || p.Errors[0].Field != tt.field || !strings.Contains(p.Fix, tt.fix) || strings.Contains(p.Detail, "{") {
			t.Errorf("%s: %+v, want field %s and fix %s", tt.body, p, tt.field, tt.fix)
		}
	}
}

// TestAFieldInTheWrongPlaceOrOfTheWrongTypeSaysWhatToWrite: and names another field only if that is near.
func TestAFieldInTheWrongPlaceOrOfTheWrongTypeSaysWhatToWrite(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{operated("award")}})
	b := n.Make(`{"steps":[{"action":"award"}]}`, `{"id":"a"}`+"\n")
	at := "/v1/bulk-actions/" + b.ID
	for _, tt := range []struct {
		method, path, body string
		status             int
		fix                string
	}{
		{"PUT", "/v1/actions/push", `{"url":"https://example.com","rate":"500/s"}`, 400, "PUT /v1/resources/{name}"},
		{"PUT", "/v1/actions/push", `{"url":"https://example.com","concurrency":3}`, 400, "PUT /v1/resources/{name}"},
		{"PUT", "/v1/actions/push", `{"url":"https://example.com","bach":3}`, 400, "did you mean batch?"},
		{"PUT", "/v1/tenants/acme", `{"rate":3}`, 400, "there are "},
		{"POST", at + "/trial", `{"items":2}`, 422, `write the ids of the items, as in ["u1", "u2"]; first says how many`},
		{"POST", at + "/trial", `{"dry_run":"no"}`, 422, "write true or false"},
		{"POST", at + "/trial", `{"first":"2"}`, 400, "write a whole number"},
		{"POST", "/v1/schedules", `{"name":"late","at":"2001-01-01T00:00:00Z","bulk_action":{"steps":[{"action":"award"}],"items":[{"id":"a"}]}}`, 422, "write a future time"},
		{"POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"canary":{"percent":1,"success_rate":0.9}}`, 422, "set auto"},
		{"POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"canary":{"percent":1,"p95":"2s","approve":"manual"}}`, 422, "set auto"},
	} {
		var p api.Problem
		n.Call(tt.method, tt.path, tt.body, tt.status, &p)
		if !strings.Contains(p.Fix, tt.fix) || strings.Contains(p.Fix, "start now") {
			t.Errorf("%s %s: fix %q, want %q", tt.path, tt.body, p.Fix, tt.fix)
		}
	}
}

func TestLimitsOfAResourceThatNoActionUsesGetANote(t *testing.T) {
	gate := newGate()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("msg")}})
	for name, want := range map[string]string{
		"msg": "", "mgs": "no action uses a resource named mgs; did you mean msg?", "warehouse": "no action uses a resource named warehouse",
	} {
		var r api.ResourceStatus
		n.Call("PUT", "/v1/resources/"+name, `{"concurrency":3}`, 200, &r)
		if r.Note != want || r.Concurrency != 3 {
			t.Errorf("%s: %+v, want the note %q", name, r, want)
		}
	}
}

func TestARepeatedItemOfADraftNeedsANewDraft(t *testing.T) {
	gate := newGate()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}]}`, 201, &b)
	path := "/v1/bulk-actions/" + b.ID
	for range 2 {
		n.Call("POST", path+"/items", `[{"id":"a"}]`, 202, nil)
	}
	var p api.Problem
	n.Call("POST", path+"/seal", `{}`, 422, &p)
	if p.Code != "duplicate_item" || !strings.Contains(p.Fix, "new draft") {
		t.Errorf("%+v, want that it takes a new draft", p)
	}
}

// TestABulkActionShowsHowItWasAskedFor: as a draft and after it was submitted, and never the secret.
func TestABulkActionShowsHowItWasAskedFor(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{operated("award")}})
	var b api.BulkAction
	secret := "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	spec := `{"steps":[{"action":"award"}],"item_id":"user_id","callback":{"url":"http://127.0.0.1:1/told","secret":"` + secret + `","events":["completed"]}}`
	n.Call("POST", "/v1/bulk-actions", spec, 201, &b)
	path := "/v1/bulk-actions/" + b.ID
	check := func(when string) {
		t.Helper()
		var b api.BulkAction
		n.Call("GET", path, "", 200, &b)
		c := b.Callback
		if b.ItemID != "user_id" || c == nil || c.URL != "http://127.0.0.1:1/told" || len(c.Events) != 1 || c.Secret != "" {
			t.Errorf("%s: item_id %q, callback %+v", when, b.ItemID, c)
		}
	}
	check("draft")
	n.Call("POST", path+"/items", `[{"user_id":"a"}]`, 202, nil)
	n.Call("POST", path+"/seal", `{}`, 200, nil)
	check("sealed")
}
