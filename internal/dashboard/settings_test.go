package dashboard_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// endpoint answers calls of actions and events with a body.
func endpoint(t *testing.T, status int, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestAnActionIsMadeTestedChangedAndDeleted(t *testing.T) {
	n := ended(t, false)
	b := newBrowser(t, n)
	at := endpoint(t, 200, `{"results":[{"id":"user-42","status":"failed","code":"closed","message":"<b>no</b>"}]}`)
	_, page := b.get("/ui/settings")
	b.want(page, "Actions Connections Templates Webhooks Tenants API keys Audit log", "send On in the program", "Program", "New action")
	_, page = b.get("/ui/settings/actions/send/edit")
	b.want(page, "It comes from the program, and can be changed only there.")
	b.lacks(page, "Save the action")
	if status, _ := b.post("/ui/settings/actions/send/edit", url.Values{"url": {at}}); status != http.StatusConflict {
		t.Errorf("a change of the program's action: status %d", status)
	}
	form := url.Values{"name": {"award"}, "url": {at}, "header": {"X-Key: s3cret\r\nX-Team: growth"}, "batch": {"50"}, "timeout": {"5s"},
		"retry.max_attempts": {"3"}, "tenants": {"growth, crm"}, "schema": {`{"type":"object"}`}}
	_, page = b.post("/ui/settings/new/action", form)
	b.want(page, "award is created.", "weir api PUT /v1/actions/award -d", "award On "+at+" 50 award growth, crm Changed here")
	if strings.Contains(page, "s3cret") {
		t.Error("a page shows the value of a header")
	}
	status, page := b.post("/ui/settings/new/action", form)
	if status != http.StatusUnprocessableEntity {
		t.Errorf("the same again: status %d", status)
	}
	b.want(page, "Another action has this name.")
	edit := "/ui/settings/actions/award/edit"
	_, page = b.get(edit)
	b.want(page, "X-Key: [secret]", "Changed by")
	_, page = b.post(edit, url.Values{"url": {at}, "header": {"X-Key: [secret]"}, "disabled": {"1"}})
	b.want(page, "award is saved.", "award Disabled")
	var got api.Action
	n.Call("GET", "/v1/actions/award", "", 200, &got)
	if !got.Disabled || len(got.Header) != 1 || got.Batch != 0 || got.Retry != nil || got.Tenants != nil {
		t.Errorf("saved %+v", got)
	}
	_, page = b.post("/ui/settings/actions/award/test", url.Values{"items": {"- id: user-42\n  data: {amount: 5}"}})
	b.want(page, "What happened answered 200", "user-42 Failed closed <b>no</b>", `"amount": 5`)
	_, page = b.post("/ui/settings/actions/award/test", url.Values{"items": {"- 7"}})
	b.want(page, "Items, as JSON or YAML - 7", "number")
	_, page = b.get("/ui/settings/actions/award/delete")
	b.want(page, "Delete award?", "Cannot be made")
	_, page = b.post("/ui/settings/actions/award/delete", nil)
	b.want(page, "The action is deleted.", "weir actions delete award")
	n.Call("GET", "/v1/actions/award", "", 404, nil)
	if status, _ := b.get("/ui/settings/actions/send/delete"); status != http.StatusConflict {
		t.Errorf("deleting what the program defines: status %d", status)
	}
}

func TestWhatTheAPIRefusesIsSaidAtTheField(t *testing.T) {
	n := ended(t, false)
	b := newBrowser(t, n)
	for _, tt := range []struct{ kind, field, value, at string }{
		{"action", "url", "not a url", "f-url-e"},
		{"action", "batch", "5000", "f-batch-e"},
		{"action", "batch", "many", "f-batch-e"},
		{"action", "timeout", "soon", "f-timeout-e"},
		{"action", "retry.max_attempts", "999", "f-retry-max_attempts-e"},
		{"action", "header", "no colon", "f-header-e"},
		{"action", "schema", "{", "f-schema-e"},
		{"action", "name", "", "f-name-e"},
		{"connection", "url", "u:p@db", "f-url-e"},
		{"template", "params", "- nam: x", "f-params-e"},
		{"template", "bulk_action", "steps: [{action: nothing}]", "f-bulk_action-e"},
		{"tenant", "weight", "-3", "f-weight-e"},
		{"tenant", "weight", "heavy", "f-weight-e"},
		{"tenant", "max_tasks", "1.5", "f-max_tasks-e"},
		{"webhook", "url", "ftp://x", "f-url-e"},
		{"key", "name", "", "f-name-e"},
		{"key", "expires_at", "2001-01-01T00:00", "f-expires_at-e"},
		{"key", "scopes.read", "", "f-scopes-read-e"},
	} {
		form := url.Values{"name": {"x"}, "url": {"http://127.0.0.1:1/"}, "kind": {"postgres"}, "bulk_action": {"steps: [{action: send}]"}, "scopes.read": {"1"}}
		if tt.kind == "connection" {
			form.Set("url", "db:5432")
		}
		form.Set(tt.field, tt.value)
		status, page := b.post("/ui/settings/new/"+tt.kind, form)
		if status != http.StatusUnprocessableEntity || !strings.Contains(page, `id="`+tt.at+`"`) {
			t.Errorf("%s with %s %q: status %d, nothing at %s:\n%s", tt.kind, tt.field, tt.value, status, tt.at, text(t, page))
		}
		if tt.value != "" && !strings.Contains(text(t, page)+page, strings.Fields(tt.value)[0]) {
			t.Errorf("%s: what was typed as %s is lost", tt.kind, tt.field)
		}
	}
}

var shownKey = regexp.MustCompile(`wk_[0-9a-zA-Z_]+`)

func TestAKeyIsShownOnceUsedAndRevoked(t *testing.T) {
	n := ended(t, true)
	b := signIn(t, n, []access.Scope{access.Admin})
	form := url.Values{"name": {"campaign tool"}, "scopes.read": {"1"}, "scopes.submit": {"1"}, "tenants": {"growth"}, "once": {"k"}}
	_, page := b.post("/ui/settings/new/key", form)
	b.want(page, "The key of campaign tool", "shown this once", "Scopes read, submit", "Tenants growth", "Expires Never")
	key := shownKey.FindString(page)
	if key == "" {
		t.Fatal("the key is not shown")
	}
	if strings.Contains(strings.SplitN(page, "The same by command", 2)[len(strings.SplitN(page, "The same by command", 2))-1], key) && strings.Contains(page, "The same by command") {
		t.Error("a command has the key in it")
	}
	_, page = b.post("/ui/settings/new/key", form)
	b.want(page, "The form was sent twice.")
	if shownKey.MatchString(page) {
		t.Error("the key is shown again")
	}
	_, page = b.get("/ui/settings/keys")
	b.want(page, "campaign tool", "read, submit growth Never Never", "(yours)", "Revoke campaign tool")
	if strings.Count(text(t, page), "Revoke campaign tool") != 1 {
		t.Error("a form that was sent twice made two keys")
	}
	var keys api.Page[api.Key]
	n.As([]access.Scope{access.Admin}).Call("GET", "/v1/keys", "", 200, &keys)
	id := ""
	for _, k := range keys.Data {
		if k.Name == "campaign tool" {
			id = k.ID
		}
	}
	_, page = b.get("/ui/settings/keys/" + id + "/revoke")
	b.want(page, "Revoke campaign tool?", "Last used never", "cannot be restored")
	_, page = b.post("/ui/settings/keys/"+id+"/revoke", url.Values{"reason": {"leaked"}})
	b.want(page, "The key is revoked.", "Revoked")
	_, page = b.get("/ui/settings/audit?action=key.revoke")
	b.want(page, "key.revoke "+id, "leaked")
}

func TestTemplatesConnectionsAndTenantsAreKept(t *testing.T) {
	n := ended(t, false)
	b := newBrowser(t, n)
	for _, tab := range []string{"templates", "connections", "tenants", "webhooks"} {
		_, page := b.get("/ui/settings/" + tab)
		b.want(page, "New "+strings.TrimSuffix(tab, "s"))
	}
	_, page := b.post("/ui/settings/new/template", url.Values{"name": {"spring"}, "title": {"Spring reward"}, "description": {"For <all>"},
		"params": {"- name: amount\n  type: integer\n  required: true"}, "bulk_action": {"steps:\n- action: send\n  input:\n    amount: params.amount"}})
	b.want(page, "spring is created.", "spring Spring reward For <all> Shared amount", "Schedule spring")
	_, page = b.get("/ui/settings/templates/spring/edit")
	b.want(page, "Spring reward", `"amount": "params.amount"`, `"type": "integer"`)
	_, page = b.get("/ui/schedules/new?template=spring")
	if !strings.Contains(page, `<option value="spring" selected>`) {
		t.Error("the template is not chosen in the form of a schedule")
	}
	_, page = b.post("/ui/settings/new/connection", url.Values{"name": {"crm"}, "kind": {"postgres"}, "url": {"127.0.0.1:1"}, "secret": {"password: s3cret"}, "option": {"user: reader"}})
	b.want(page, "crm is created.", "crm PostgreSQL 127.0.0.1:1 All Changed here")
	_, page = b.post("/ui/settings/connections/crm/test", nil)
	b.want(page, "crm does not work.")
	_, page = b.get("/ui/settings/connections/crm/edit")
	if b.want(page, "password: [secret]"); strings.Contains(page, "s3cret") {
		t.Error("a secret is shown")
	}
	_, page = b.post("/ui/settings/new/tenant", url.Values{"name": {"growth"}, "weight": {"2.5"}, "max_pending": {"1,000,000"}, "paused": {"1"}})
	b.want(page, "growth Paused 2.5 No limit 1,000,000 Changed here")
	for path, said := range map[string]string{"templates/spring": "The template is deleted.", "connections/crm": "The connection is deleted.", "tenants/growth": "The tenant is deleted."} {
		_, page = b.get("/ui/settings/" + path + "/delete")
		b.want(page, "Keep it")
		_, page = b.post("/ui/settings/"+path+"/delete", nil)
		b.want(page, said)
	}
}

func TestAWebhookIsMadeTestedRotatedAndItsDeliveriesAreSentAgain(t *testing.T) {
	n := ended(t, false)
	b := newBrowser(t, n)
	_, page := b.post("/ui/settings/new/webhook", url.Values{"url": {endpoint(t, 500, "<i>down</i>")}, "note": {"for the CRM"}, "events.bulk_action.completed": {"1"}})
	b.want(page, "The webhook is created", "shown this once", "whsec_")
	var all api.Page[api.Webhook]
	n.Call("GET", "/v1/webhooks", "", 200, &all)
	w := all.Data[0]
	if len(w.Events) != 1 || w.Note != "for the CRM" {
		t.Errorf("made %+v", w)
	}
	one := "/ui/settings/webhooks/" + w.ID
	_, page = b.get(one)
	b.want(page, "Nothing has been sent yet.", "bulk_action.completed", "for the CRM")
	_, page = b.post(one+"/test", nil)
	b.want(page, "The test event was not delivered.", "500", "webhook.ping")
	var sent api.Page[api.Delivery]
	if n.Call("GET", "/v1/deliveries?webhook="+w.ID, "", 200, &sent); len(sent.Data) == 0 {
		t.Fatal("nothing was sent")
	}
	_, page = b.get("/ui/settings/deliveries/" + sent.Data[0].ID)
	b.want(page, "webhook.ping", "500", "<i>down</i>", "Send again")
	_, page = b.post("/ui/settings/deliveries/"+sent.Data[0].ID+"/resend", nil)
	b.want(page, "It is sent again, with the same id and bytes.")
	_, page = b.post(one+"/rotate", url.Values{"keep": {"1h"}, "reason": {"leaked"}})
	b.want(page, "The secret is rotated", "whsec_")
	_, page = b.post(one+"/rotate", url.Values{"keep": {"soon"}})
	b.want(page, "is not a duration")
	_, page = b.post(one+"/edit", url.Values{"url": {endpoint(t, 200, "{}")}, "disabled": {"1"}})
	b.want(page, "is saved.", "Disabled")
	_, page = b.post(one+"/delete", nil)
	b.want(page, "The webhook is deleted.")
}

func TestTheAuditLogSaysWhoChangedWhatAndHow(t *testing.T) {
	n := ended(t, true)
	admin := n.As([]access.Scope{access.Admin})
	admin.Call("PUT", "/v1/tenants/growth", `{"weight":2}`, 200, nil)
	admin.Call("PUT", "/v1/tenants/growth", `{"weight":3}`, 200, nil)
	made := admin.Make(oneStep, `{"id":"u1"}`+"\n")
	admin.Until(made.ID, api.Completed)
	b := signIn(t, n, []access.Scope{access.Admin})
	_, page := b.get("/ui/settings/audit?action=tenant.&target=growth")
	b.want(page, "tenant.put growth", "weight 2 → 3", "127.0.0.1")
	b.lacks(page, "bulk_action.start")
	_, page = b.get("/ui/settings/audit?target=nothing")
	b.want(page, "No change matches these filters.")
	_, page = b.get("/ui/settings/audit?from=yesterday")
	b.want(page, "Write dates and times such as")
	_, page = b.get("/ui/settings/audit?from=2026-01-02T00:00&to=2026-01-01T00:00")
	b.want(page, "From must be before To.")
	status, file := b.get("/ui/settings/audit/audit.csv?action=tenant.")
	if status != http.StatusOK || strings.Count(strings.TrimSpace(file), "\n") != 2 {
		t.Errorf("status %d: %s", status, file)
	}
}

func TestSettingsShowWhatAKeyMayUse(t *testing.T) {
	n := ended(t, true)
	admin := n.As([]access.Scope{access.Admin})
	admin.Call("PUT", "/v1/tenants/crm", `{"weight":2}`, 200, nil)
	admin.Call("PUT", "/v1/templates/theirs", `{"tenant":"crm","title":"theirs","bulk_action":{"steps":[{"action":"send"}]}}`, 200, nil)
	b := signIn(t, n, []access.Scope{access.Read}, "growth")
	_, page := b.get("/ui/settings")
	b.want(page, "Actions Connections Templates Webhooks Tenants")
	b.lacks(page, "API keys", "Audit log", "New action")
	for _, path := range []string{"/ui/settings/templates", "/ui/settings/tenants", "/ui/settings/connections", "/ui/settings/webhooks"} {
		status, page := b.get(path)
		if status != http.StatusOK {
			t.Errorf("%s: status %d", path, status)
		}
		b.lacks(page, "theirs", "crm")
	}
	for _, path := range []string{"/ui/settings/keys", "/ui/settings/audit", "/ui/settings/audit/audit.csv"} {
		if status, _ := b.get(path); status != http.StatusForbidden {
			t.Errorf("%s: status %d", path, status)
		}
	}
	if status, _ := b.get("/ui/settings/templates/theirs/edit"); status != http.StatusNotFound {
		t.Errorf("the template of another tenant: status %d", status)
	}
	if status, page := b.post("/ui/settings/new/tenant", url.Values{"name": {"growth"}, "weight": {"9"}}); status != http.StatusForbidden {
		t.Errorf("a reader changes a tenant: status %d: %s", status, text(t, page))
	}
}

func TestHostileSettingsStayTexts(t *testing.T) {
	n := ended(t, false)
	b := newBrowser(t, n)
	const hostile = `"><script>alert(1)</script>`
	b.post("/ui/settings/new/template", url.Values{"name": {"x"}, "title": {hostile}, "description": {hostile}, "bulk_action": {"steps: [{action: send}]"}})
	b.post("/ui/settings/new/webhook", url.Values{"url": {"http://127.0.0.1:1/"}, "note": {hostile}})
	b.post("/ui/settings/new/key", url.Values{"name": {hostile}, "scopes.read": {"1"}})
	for _, path := range []string{"templates", "templates/x/edit", "templates/x/delete", "webhooks", "keys", "audit"} {
		_, page := b.get("/ui/settings/" + path)
		b.want(page, "alert(1)")
		for _, name := range foreign(t, page) {
			t.Errorf("%s has the element or attribute %s", path, name)
		}
	}
}

func TestAWeightThatIsNoNumberIsAFault(t *testing.T) {
	b := newBrowser(t, openNode(t, nodetest.Options{}))
	for _, weight := range []string{"NaN", "Inf", "-inf"} {
		status, page := b.post("/ui/settings/new/tenant", url.Values{"name": {"ta"}, "weight": {weight}})
		if status != http.StatusUnprocessableEntity {
			t.Errorf("weight %s: status %d: %s", weight, status, text(t, page))
		}
		b.want(page, "Write a number, such as 1.5.")
	}
}
