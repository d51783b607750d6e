package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// spring is a bulk action with a parameter, a value that is the same for all items, and one of each item.
const spring = `{"name":"Spring reward","tenant":"growth","params":{"season":"spring"},"canary":{"percent":5},
	"steps":[{"action":"send","input":{"amount":"500","greeting":"'Hello'","to":"item.mail","season":"params.season"}}],"items":[{"id":"u1","data":{"mail":"a@example.com"}}]}`

func TestATemplateIsMadeOfABulkActionWithoutYAML(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	var made api.BulkAction
	n.Call("POST", "/v1/bulk-actions", spring, 201, &made)
	_, page := b.get("/ui/bulk-actions/" + made.ID)
	b.want(page, "Save as a template", "those of this bulk action came with a request")
	if strings.Contains(page, "/schedules/new?like=") {
		t.Error("a schedule is offered, although the items cannot be read anew")
	}
	_, page = b.get("/ui/settings/new/template?from=" + made.ID)
	b.want(page, "Ask for amount of send each time; now it is 500", "Ask for greeting of send each time; now it is Hello", "The whole definition")
	form := url.Values{"from": {made.ID}, "name": {"season"}, "title": {"Season reward"}, "description": {"For everyone"}, "tenant": {"growth"}, "ask.send.amount": {"1"}}
	form.Set("check", "1")
	_, page = b.post("/ui/settings/new/template", form)
	b.want(page, "Nothing is saved yet. It would run send, and ask for: season, normally spring amount, normally 500")
	form.Del("check")
	_, page = b.post("/ui/settings/new/template", form)
	b.want(page, "season is created.", "season Season reward For everyone growth season, amount")
	var got api.Template
	n.Call("GET", "/v1/templates/season", "", 200, &got)
	input := got.BulkAction.Steps[0].Input
	if input["amount"] != "params.amount" || input["greeting"] != "'Hello'" || input["to"] != "item.mail" || got.BulkAction.Canary == nil || len(got.BulkAction.Items) != 0 ||
		len(got.Params) != 2 || got.Params[1].Type != "integer" || string(got.Params[1].Default) != "500" {
		t.Errorf("the template is %+v", got)
	}
}

func TestATemplateReadsDataAsItsBulkActionDid(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	var made api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"send","input":{"n":"item.n"}}],"columns":{"n":"N"},"duplicates":"keep_all","on_bad_line":"refuse","start":true,"items":[{"id":"u1","data":{"N":"1"}}]}`, 201, &made)
	n.Until(made.ID, api.Completed)
	_, page := b.post("/ui/settings/new/template", url.Values{"from": {made.ID}, "name": {"again"}})
	b.want(page, "again is created.")
	var got api.Template
	n.Call("GET", "/v1/templates/again", "", 200, &got)
	if x := got.BulkAction; x.Duplicates != "keep_all" || x.OnBadLine != "refuse" || x.Columns["n"] != "N" {
		t.Errorf("the template is %+v", x)
	}
}

// What was changed while a bulk action ran was for that run, such as a lower rate: a template of it has the rules it began with.
func TestATemplateHasTheRulesOfTheBeginning(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	var made api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"send"}],"rates":{"send":"50/s"},"items":[{"id":"u1"}]}`, 201, &made)
	n.Call("PATCH", "/v1/bulk-actions/"+made.ID, `{"rates":{"send":"1/m"},"priority":7}`, 200, nil)
	_, page := b.get("/ui/bulk-actions/" + made.ID + "/rules")
	b.want(page, "Changed after it was created. A copy, a template and a schedule have the rules that it was created with.")
	_, page = b.post("/ui/bulk-actions/"+made.ID+"/clone", nil)
	b.want(page, "Its rules were changed after it was created. The copy has those that it was created with.")
	_, page = b.post("/ui/settings/new/template", url.Values{"from": {made.ID}, "name": {"again"}})
	b.want(page, "again is created.")
	var got api.Template
	n.Call("GET", "/v1/templates/again", "", 200, &got)
	if x := got.BulkAction; x.Rates["send"] != 50 || x.Priority != 0 {
		t.Errorf("the template has the rates %v and priority %d", x.Rates, x.Priority)
	}
}

func TestATemplateIsMadeOfActions(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	if status, page := b.post("/ui/settings/new/template", url.Values{"name": {"plain"}}); status != http.StatusUnprocessableEntity || !strings.Contains(page, "Choose a bulk action to begin with") {
		t.Errorf("a template of nothing has the status %d", status)
	}
	_, page := b.post("/ui/settings/new/template", url.Values{"name": {"plain"}, "action.0": {"send"}, "action.1": {"send"}})
	b.want(page, "plain is created.")
	var got api.Template
	if n.Call("GET", "/v1/templates/plain", "", 200, &got); len(got.BulkAction.Steps) != 2 || got.BulkAction.Canary == nil {
		t.Errorf("the template is %+v", got)
	}
}

func TestAScheduleIsMadeOfATemplateWithFields(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	n.Call("PUT", "/v1/templates/season", `{"title":"Season","params":[{"name":"amount","type":"integer","title":"Amount","required":true,"max":1000},{"name":"kind","type":"string","default":"mail"}],
		"bulk_action":{"steps":[{"action":"send","input":{"amount":"params.amount","kind":"params.kind"}}]}}`, 200, nil)
	_, page := b.get("/ui/schedules/new")
	b.want(page, "Template: Season", "An uploaded file cannot be used", "The whole definition")
	b.lacks(page, "What the whole definition says")
	form := url.Values{"name": {"daily"}, "every": {"day"}, "time": {"09:00"}, "zone": {"Europe/Berlin"}, "overlap": {"skip"}, "bulk_action.template": {"season"}}
	for _, button := range []string{"", "check"} {
		form.Set("check", button)
		_, page = b.post("/ui/schedules/new", form)
		b.want(page, "Choose…", "The template does not say where its items come from.", "Amount")
	}
	form = url.Values{"name": {"daily"}, "every": {"day"}, "time": {"09:00"}, "zone": {"Europe/Berlin"}, "overlap": {"skip"},
		"bulk_action.template": {"season"}, "bulk_action.source.segment.url": {"https://crm.example.com/segments/7"}}
	_, page = b.post("/ui/schedules/new", form) // the template was chosen just now
	b.want(page, "Look at what the template asks for", "Amount", "Whole number of at most 1000")
	form.Set("bulk_action.params.kind", "push")
	form.Set("bulk_action.params.amount", "5000")
	_, page = b.post("/ui/schedules/new", form)
	if !strings.Contains(page, `id="f-bulk_action-params-amount-e"`) {
		t.Errorf("an amount above its bound is not refused at its field: %s", text(t, page))
	}
	form.Set("bulk_action.params.amount", "50")
	_, page = b.post("/ui/schedules/new", form)
	b.want(page, "daily is saved, and fires next")
	var all api.Page[api.Schedule]
	n.Call("GET", "/v1/schedules", "", 200, &all)
	got := all.Data[0]
	if x := got.BulkAction; x.Template != "season" || string(x.Params) != `{"amount":50,"kind":"push"}` || x.Source == nil || x.Source.Segment == nil {
		t.Errorf("it makes %+v with %s", x, x.Params)
	}
	_, page = b.get("/ui/schedules/" + got.ID)
	b.want(page, "Does The template season Items The segment https://crm.example.com/segments/7 Amount 50 kind push")
	_, page = b.get("/ui/schedules/" + got.ID + "/edit")
	if !strings.Contains(page, `value="50"`) || !strings.Contains(page, `value="https://crm.example.com/segments/7"`) {
		t.Error("the form does not show what is set")
	}
}

func TestAScheduleIsMadeOfABulkAction(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	var made api.BulkAction
	n.Call("POST", "/v1/bulk-actions", spring, 201, &made)
	_, page := b.get("/ui/schedules/new?like=" + made.ID)
	if !strings.Contains(page, `<option value="like:`+made.ID+`" selected>`) {
		t.Error("the bulk action is not chosen")
	}
	form := url.Values{"name": {"weekly"}, "tenant": {"growth"}, "every": {"week"}, "weekday": {"1"}, "time": {"09:00"}, "zone": {"UTC"}, "overlap": {"skip"}, "bulk_action.template": {"like:" + made.ID}}
	status, page := b.post("/ui/schedules/new", form)
	if status != http.StatusUnprocessableEntity || !strings.Contains(page, `id="f-bulk_action-source-e"`) {
		t.Errorf("without a source the status is %d: %s", status, text(t, page))
	}
	form.Set("bulk_action.source.segment.url", "https://crm.example.com/segments/7")
	_, page = b.post("/ui/schedules/new", form)
	b.want(page, "weekly is saved")
	var all api.Page[api.Schedule]
	n.Call("GET", "/v1/schedules", "", 200, &all)
	if x := all.Data[0].BulkAction; len(x.Steps) != 1 || x.Canary == nil || string(x.Params) != `{"season":"spring"}` || len(x.Items) != 0 {
		t.Errorf("it makes %+v with %s", x, x.Params)
	}
}
