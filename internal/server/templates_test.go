package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
)

// springTemplate awards an amount that whoever uses it has to say.
const springTemplate = `{"title":"Spring reward","description":"Gives points.\nOnce a season.",
	"params":[{"name":"amount","type":"integer","title":"Points","required":true,"min":10,"max":500},
	          {"name":"season","type":"string","default":"spring","allowed":["spring","autumn"]}],
	"bulk_action":{"steps":[{"id":"give","action":"award","input":{"n":"params.amount","s":"params.season","by":"params.team"}}],
	               "params":{"team":"growth"},"labels":{"kind":"reward","team":"growth"},"tier":"low","duplicates":"keep_first"}}`

func TestABulkActionIsMadeFromATemplate(t *testing.T) {
	w := start(t, opening{})
	acme := newPlace(w, "acme")
	var made api.Template
	a := acme.must("PUT", "/v1/templates/spring", springTemplate, &made)
	if tag := a.header.Get("ETag"); tag != `"`+made.Version+`"` || made.Tenant != "acme" || made.CreatedAt.IsZero() {
		t.Errorf("ETag %s of %+v", tag, made)
	}
	var b api.BulkAction
	acme.must("POST", "/v1/bulk-actions", `{"template":"spring","params":{"amount":25},"labels":{"team":"sales","week":"12"},"tier":"high",
		"items":[{"id":"u1"},{"id":"u1"},{"id":"u2"}],"start":true}`, &b)
	path := acme.in("completed", "/v1/bulk-actions/"+b.ID)
	check := func(when string) {
		t.Helper()
		var b api.BulkAction
		acme.must("GET", path, "", &b)
		if b.Template == nil || *b.Template != (api.MadeFrom{Name: "spring", Version: made.Version}) {
			t.Errorf("%s it was made from %+v, want version %s of spring", when, b.Template, made.Version)
		}
		if b.Name != "Spring reward" || b.Tenant != "acme" || b.Tier != "high" || b.Counts.Done != 2 || b.Counts.Total != 2 || len(b.Steps) != 1 {
			t.Errorf("%s it is %+v", when, b)
		}
		if want := map[string]string{"kind": "reward", "team": "sales", "week": "12"}; fmt.Sprint(b.Labels) != fmt.Sprint(want) {
			t.Errorf("%s its labels are %v, want %v", when, b.Labels, want)
		}
	}
	check("at first")
	var items api.Page[api.ItemResult]
	acme.must("GET", path+"/items", "", &items)
	if got, want := string(items.Data[0].Output), `{"by":"growth","n":25,"s":"spring"}`; got != want {
		t.Errorf("the action was given %s, want %s", got, want)
	}
	acme.must("PUT", "/v1/templates/spring", strings.Replace(springTemplate, "Spring reward", "Another", 1), nil)
	check("after the template was changed")
	acme.must("DELETE", "/v1/templates/spring", "", nil)
	check("after the template was deleted")
	var clone api.BulkAction
	acme.must("POST", path+"/clone", `{}`, &clone)
	if clone.Template == nil || clone.Template.Version != made.Version || len(clone.Steps) != 1 {
		t.Errorf("the clone is %+v", clone)
	}
	for name, want := range map[string]int{"spring": 2, "autumn": 0} {
		var page api.Page[api.BulkAction]
		if acme.must("GET", "/v1/bulk-actions?template="+name, "", &page); len(page.Data) != want {
			t.Errorf("%d bulk actions made from %s, want %d", len(page.Data), name, want)
		}
	}
}

// TestATemplateThatSaysTheSameKeepsItsVersion: and one that does not has another, which If-Match is held against.
func TestATemplateThatSaysTheSameKeepsItsVersion(t *testing.T) {
	w := start(t, opening{})
	acme := newPlace(w, "acme")
	const path = "/v1/templates/spring"
	put := func(body string, headers ...string) answer { return acme.ask("PUT", path, body, headers...) }
	first := put(springTemplate, "If-None-Match", "*").header.Get("ETag")
	if same := put(springTemplate).header.Get("ETag"); first == "" || same != first {
		t.Errorf("the same again has %s, want %s", same, first)
	}
	other := put(strings.Replace(springTemplate, "Gives", "Gave", 1), "If-Match", first)
	if other.status != 200 || other.header.Get("ETag") == first {
		t.Errorf("changed: %d, %s", other.status, other.header.Get("ETag"))
	}
	for name, a := range map[string]answer{
		"a change of what was changed":  put(springTemplate, "If-Match", first),
		"a new one where there is one":  put(springTemplate, "If-None-Match", "*"),
		"a removal of what was changed": acme.ask("DELETE", path, "", "If-Match", first),
		"a change where there is none":  acme.ask("PUT", path+"-2", springTemplate, "If-Match", "*"),
	} {
		if a.status != 412 || a.problem().Code != "changed_meanwhile" {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	acme.must("DELETE", path, "", nil, "If-Match", other.header.Get("ETag"))
	if a := acme.ask("GET", path, ""); a.status != 404 {
		t.Errorf("after its removal: %d %s", a.status, a.body)
	}
}

// faultsOf are the fields and codes of a refusal.
func faultsOf(a answer) string {
	var all []string
	for _, f := range a.problem().Errors {
		all = append(all, f.Field+" "+f.Code)
	}
	return strings.Join(all, "; ")
}

func TestWhatIsWrongWithATemplateIsToldWhenItIsMade(t *testing.T) {
	w := start(t, opening{})
	acme := newPlace(w, "acme")
	const steps = `"bulk_action":{"steps":[{"action":"award"}]}`
	for _, tt := range []struct{ name, path, body, want string }{
		{"a bad name", "a%20b", `{` + steps + `}`, "name bad_name"},
		{"another name", "x", `{"name":"y",` + steps + `}`, "name bad_value"},
		{"no bulk action", "x", `{}`, "bulk_action missing_field"},
		{"no steps", "x", `{"bulk_action":{}}`, "bulk_action.steps missing_field"},
		{"an unknown action", "x", `{"bulk_action":{"steps":[{"action":"awrd"}]}}`, "bulk_action.steps[0].action unknown_action"},
		{"a bad expression", "x", `{"bulk_action":{"steps":[{"action":"award","when":"1 +"}]}}`, "bulk_action.steps[0].when bad_expression"},
		{
			"what is of one bulk action", "x", `{"bulk_action":{"steps":[{"action":"award"}],"tenant":"acme","template":"y","items":[{"id":"u1"}],"start":true,"zone":"UTC","deadline":"` + time.Now().AddDate(1, 0, 0).Format(time.RFC3339) + `"}}`,
			"bulk_action.template bad_value; bulk_action.tenant bad_value; bulk_action.items bad_value; bulk_action.start bad_value; bulk_action.zone bad_value; bulk_action.deadline bad_value",
		},
		{"another's tenant", "x", `{"tenant":"beta",` + steps + `}`, "tenant bad_value"},
		{"a control character", "x", `{"description":"a\u0007b",` + steps + `}`, "description bad_text"},
		{"a parameter without a name", "x", `{"params":[{"name":"","type":"string"}],` + steps + `}`, "params[0].name bad_name"},
		{"a parameter twice", "x", `{"params":[{"name":"a","type":"string"},{"name":"a","type":"date"}],` + steps + `}`, "params[1].name bad_value"},
		{"a parameter that is fixed", "x", `{"params":[{"name":"a","type":"string"}],"bulk_action":{"params":{"a":1},"steps":[{"action":"award"}]}}`, "params[0].name bad_value"},
		{"an unknown type", "x", `{"params":[{"name":"a","type":"money"}],` + steps + `}`, "params[0].type bad_value"},
		{"bounds the wrong way round", "x", `{"params":[{"name":"a","type":"integer","min":9,"max":3}],` + steps + `}`, "params[0].min out_of_range"},
		{"a bound of another type", "x", `{"params":[{"name":"a","type":"date","min":9}],` + steps + `}`, "params[0].min bad_value"},
		{"a default out of bounds", "x", `{"params":[{"name":"a","type":"integer","max":3,"default":4}],` + steps + `}`, "params[0].default out_of_range"},
		{"a default that is never used", "x", `{"params":[{"name":"a","type":"integer","required":true,"default":4}],` + steps + `}`, "params[0].default bad_value"},
		{"a value of another type", "x", `{"params":[{"name":"a","type":"integer","allowed":[1,"2"]}],` + steps + `}`, "params[0].allowed[1] bad_value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := w.in(t).ask(acme.keys["admin"], "PUT", "/v1/templates/"+tt.path, tt.body)
			if got := faultsOf(a); a.status != 422 || got != tt.want {
				t.Errorf("%d: %s, want %s\n%s", a.status, got, tt.want, a.body)
			}
		})
	}
	if a := acme.must("GET", "/v1/templates", "", nil); !strings.Contains(a.body, `"data":[]`) {
		t.Errorf("there is one: %s", a.body)
	}
}

func TestWhatIsWrongWithTheUseOfATemplateIsTold(t *testing.T) {
	w := start(t, opening{})
	acme := newPlace(w, "acme")
	acme.must("PUT", "/v1/templates/spring", springTemplate, nil)
	const with = `{"template":"spring","params":{"amount":25}`
	for _, tt := range []struct {
		name, body string
		status     int
		want, fix  string
	}{
		{"an unknown template", `{"template":"sprin"}`, 422, "template unknown_template", "did you mean spring? known: spring"},
		{"a missing parameter", `{"template":"spring"}`, 422, "params.amount missing_field", "give it a whole number"},
		{"an unknown parameter", `{"template":"spring","params":{"amount":25,"sesaon":"spring"}}`, 400, "params.sesaon unknown_field", "did you mean season? known: amount, season"},
		{"another type", `{"template":"spring","params":{"amount":"25"}}`, 422, "params.amount bad_value", "write a whole number"},
		{"half a point", `{"template":"spring","params":{"amount":25.5}}`, 422, "params.amount bad_value", "whole number"},
		{"too much", `{"template":"spring","params":{"amount":501}}`, 422, "params.amount out_of_range", "choose between 10 and 500"},
		{"none of the values", `{"template":"spring","params":{"amount":25,"season":"winter"}}`, 422, "params.season bad_value", `use "spring", "autumn"`},
		{"all at once", `{"template":"spring","params":{"season":1,"x":1}}`, 422, "params.amount missing_field; params.season bad_value; params.x unknown_field", ""},
		{"no object", `{"template":"spring","params":[1]}`, 400, "params bad_json", ""},
		{"steps", with + `,"steps":[{"action":"hold"}]}`, 422, "steps bad_value", "leave it out, or leave the template out"},
		{"rules", with + `,"canary":{"items":1},"stop_on":{"max_failures":5},"rates":{"give":"9/s"},"concurrency":4}`, 422, "concurrency bad_value; rates bad_value; stop_on bad_value; canary bad_value", ""},
		{"what becomes of it", with + `,"duplicates":"refuse","on_bad_line":"record","keep_for":"1h","callback":{"url":"https://example.com"}}`, 422, "duplicates bad_value; callback bad_value; keep_for bad_value", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := w.in(t).ask(acme.keys["admin"], "POST", "/v1/bulk-actions", tt.body)
			if got := faultsOf(a); a.status != tt.status || got != tt.want || !strings.Contains(a.problem().Errors[0].Fix, tt.fix) {
				t.Errorf("%d: %s, want %d: %s with %q\n%s", a.status, got, tt.status, tt.want, tt.fix, a.body)
			}
		})
	}
	if a := acme.must("GET", "/v1/bulk-actions", "", nil); !strings.Contains(a.body, `"data":[]`) {
		t.Errorf("something was made: %s", a.body)
	}
}

// TestATemplateOfAllIsNotForThoseWhoMayNotUseItsActions: its action was restricted after it was made. Neither it nor the
// action is named to others, over the API and in the wizard.
func TestATemplateOfAllIsNotForThoseWhoMayNotUseItsActions(t *testing.T) {
	w := start(t, opening{})
	acme, beta := newPlace(w, "acme"), newPlace(w, "beta")
	w.must(w.admin, "PUT", "/v1/actions/launch", `{"url":"`+w.sink.URL+`"}`, nil)
	w.must(w.admin, "PUT", "/v1/templates/open-day", `{"bulk_action":{"steps":[{"action":"award"}]}}`, nil)
	w.must(w.admin, "PUT", "/v1/templates/launch-day", `{"title":"Launch day","bulk_action":{"steps":[{"action":"award"},{"action":"launch"}]}}`, nil)
	w.must(w.admin, "PUT", "/v1/actions/launch", `{"url":"`+w.sink.URL+`","tenants":["acme"]}`, nil)
	for _, at := range []*place{acme, beta} {
		var page api.Page[api.Template]
		at.must("GET", "/v1/templates", "", &page)
		got, made := at.ask("GET", "/v1/templates/launch-day", ""), at.ask("POST", "/v1/bulk-actions", `{"template":"launch-day"}`)
		wizard := w.pages(at.keys["admin"])("/ui/new")
		if at == acme {
			if len(page.Data) != 2 || got.status != 200 || made.status != 201 || !strings.Contains(wizard, "Launch day") {
				t.Errorf("acme, which may use the action: %d templates, %d, %d %s", len(page.Data), got.status, made.status, made.body)
			}
			continue
		}
		if len(page.Data) != 1 || got.status != 404 || !strings.Contains(wizard, "open-day") || strings.Contains(wizard, "aunch") {
			t.Errorf("beta sees %+v, gets %d %s", page.Data, got.status, got.body)
		}
		if p := made.problem(); made.status != 422 || p.Code != "unknown_template" || strings.Contains(p.Fix, "launch") || !strings.Contains(p.Fix, "open-day") {
			t.Errorf("beta uses it: %d %s", made.status, made.body)
		}
	}
	if a := w.ask(w.admin, "POST", "/v1/bulk-actions", `{"template":"launch-day","tenant":"beta"}`); a.problem().Code != "unknown_template" {
		t.Errorf("an operator uses it for beta: %d %s", a.status, a.body)
	}
}

// TestTemplatesAreOfATenantOrOfAll: one of another tenant is as if there were none; one of all is changed by operators alone.
func TestTemplatesAreOfATenantOrOfAll(t *testing.T) {
	w := start(t, opening{})
	acme, beta := newPlace(w, "acme"), newPlace(w, "beta")
	const plain = `{"bulk_action":{"steps":[{"action":"award"}]}}`
	acme.must("PUT", "/v1/templates/ours", plain, nil)
	var shared api.Template
	w.must(w.admin, "PUT", "/v1/templates/shared", plain, &shared)
	if shared.Tenant != "" {
		t.Errorf("made by an operator without a tenant: %+v", shared)
	}
	var b api.BulkAction
	beta.must("POST", "/v1/bulk-actions", `{"template":"shared"}`, &b)
	if b.Tenant != "beta" || b.Name != "shared" {
		t.Errorf("made from a template for all: %+v", b)
	}
	w.must(w.admin, "POST", "/v1/bulk-actions", `{"template":"ours"}`, &b)
	if b.Tenant != "acme" {
		t.Errorf("a template of acme makes a bulk action of %s", b.Tenant)
	}
	if a := beta.ask("POST", "/v1/bulk-actions", `{"template":"ours"}`); a.problem().Code != "unknown_template" || strings.Contains(a.problem().Fix, "ours") || !strings.Contains(a.problem().Fix, "shared") {
		t.Errorf("beta uses a template of acme: %d %s", a.status, a.body)
	}
	if a := w.ask(w.admin, "POST", "/v1/bulk-actions", `{"template":"ours","tenant":"beta"}`); a.problem().Code != "unknown_template" {
		t.Errorf("an operator uses it for beta: %d %s", a.status, a.body)
	}
	for _, tt := range []struct {
		method, path string
		status       int
	}{
		{"GET", "ours", 404}, {"PUT", "ours", 404}, {"DELETE", "ours", 404}, {"GET", "shared", 200}, {"PUT", "shared", 403}, {"DELETE", "shared", 403},
	} {
		body := ""
		if tt.method == "PUT" {
			body = plain
		}
		if a := beta.ask(tt.method, "/v1/templates/"+tt.path, body); a.status != tt.status {
			t.Errorf("%s of %s by beta: %d %s, want %d", tt.method, tt.path, a.status, a.body, tt.status)
		}
	}
	for tenant, want := range map[*place]string{acme: "ours shared", beta: "shared"} {
		var page api.Page[api.Template]
		tenant.must("GET", "/v1/templates", "", &page)
		var names []string
		for _, x := range page.Data {
			names = append(names, x.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s sees %s, want %s", tenant.tenant, got, want)
		}
	}
	var first, second api.Page[api.Template]
	acme.must("GET", "/v1/templates?limit=1", "", &first)
	acme.must("GET", "/v1/templates?limit=1&cursor="+first.NextCursor, "", &second)
	if !first.HasMore || second.HasMore || len(second.Data) != 1 || second.Data[0].Name != "shared" {
		t.Errorf("pages %+v, %+v", first, second)
	}
}

// TestASchedulesTemplateIsLookedUpWhenItFires: as it is then; one that is gone fails that time, and says so.
func TestASchedulesTemplateIsLookedUpWhenItFires(t *testing.T) {
	w := start(t, opening{})
	acme := newPlace(w, "acme")
	acme.must("PUT", "/v1/templates/spring", springTemplate, nil)
	schedule := `{"name":"x","cron":"0 3 1 1 *","bulk_action":{"template":"spring","params":{"amount":AMOUNT},"items":[{"id":"u1"}]}}`
	if a := acme.ask("POST", "/v1/schedules", strings.Replace(schedule, "AMOUNT", "1", 1)); faultsOf(a) != "bulk_action.params.amount out_of_range" {
		t.Errorf("out of bounds: %d %s", a.status, a.body)
	}
	path := acme.one("/v1/schedules", strings.Replace(schedule, "AMOUNT", "25", 1))
	var changed api.Template
	acme.must("PUT", "/v1/templates/spring", strings.Replace(springTemplate, `"default":"spring"`, `"default":"autumn"`, 1), &changed)
	fire := func(from, to string) api.ScheduledFire {
		t.Helper()
		acme.must("POST", path+"/backfill", `{"from":"`+from+`","to":"`+to+`"}`, nil)
		var s api.Schedule
		w.until("the time of "+to, func() bool {
			acme.must("GET", path, "", &s)
			return len(s.History) > 0 && s.History[0].Result != "retrying" && s.History[0].Slot.Format(time.DateOnly) == to[:4]+"-01-01"
		})
		if s.BulkAction.Template != "spring" || len(s.BulkAction.Steps) > 0 {
			t.Errorf("the schedule is shown as %+v", s.BulkAction)
		}
		return s.History[0]
	}
	f := fire("2023-12-01T00:00:00Z", "2024-02-01T00:00:00Z")
	var b api.BulkAction
	acme.must("GET", acme.in("completed", "/v1/bulk-actions/"+f.BulkAction), "", &b)
	var params map[string]any
	if err := json.Unmarshal(b.Params, &params); err != nil || params["season"] != "autumn" || params["amount"] != 25.0 || b.Template.Version != changed.Version {
		t.Errorf("made %+v with %s, want it of version %s", b.Template, b.Params, changed.Version)
	}
	acme.must("DELETE", "/v1/templates/spring", "", nil)
	if f := fire("2024-12-01T00:00:00Z", "2025-02-01T00:00:00Z"); f.Result != "failed" || !strings.Contains(f.Reason, `unknown template "spring"`) {
		t.Errorf("without the template: %+v", f)
	}
}

// TestTheSecretOfATemplateIsKeptAndNotShown: whoever sends back what was shown keeps it, and what is made signs with it.
func TestTheSecretOfATemplateIsKeptAndNotShown(t *testing.T) {
	w := start(t, opening{})
	acme, in := newPlace(w, "acme"), newInbox(t)
	secret := "whsec_" + strings.Repeat("MTIz", 8)
	acme.must("PUT", "/v1/templates/told", `{"bulk_action":{"steps":[{"action":"award"}],"callback":{"url":"`+in.URL+`","secret":"`+secret+`"}}}`, nil)
	shown := acme.must("GET", "/v1/templates/told", "", nil)
	before := shown.header.Get("ETag")
	if again := acme.must("PUT", "/v1/templates/told", shown.body, nil); again.header.Get("ETag") != before {
		t.Errorf("what was shown makes another version of it: %s", again.body)
	}
	acme.must("POST", "/v1/bulk-actions", `{"template":"told","items":[{"id":"u1"}],"start":true}`, nil)
	w.until("its callback", func() bool { return len(in.all()) == 1 })
	if in.all()[0].header.Get("Webhook-Signature") == "" {
		t.Error("the callback is not signed: the template has lost its secret")
	}
	if strings.Contains(w.tape.String()+w.answers.String()+w.log.String(), secret) {
		t.Error("the secret is in the store, in an answer or in the log")
	}
}
