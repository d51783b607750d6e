package dashboard_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// The manager can map the columns of a file that the template was not written for.
func TestAManagerSaysWhichColumnATemplateMeans(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	n.Call("PUT", "/v1/templates/mail", `{"bulk_action":{"steps":[{"action":"send","input":{"to":"item.email","n":"float(item.amount)"}}]}}`, 200, nil)
	b := newBrowser(t, n)
	at := b.begin(url.Values{"template": {"mail"}})
	_, page, shown := b.sendForm(at+"/data", "file=u.csv", "user_id,E-Mail,Points\nu1,a@x,5\nu1,b@x,6\nu2,c@x,7\n")
	if shown != at+"/mapping" {
		t.Fatalf("the upload ends at %s", shown)
	}
	b.want(page, "The template reads the column amount, and the data has no column of this name. Choose below which column is meant",
		"Columns that the template reads", "3 of 3 rows cannot be used", "the value is missing", "Rows with the same id")
	var d api.NewBulkAction
	if n.Call("GET", "/v1/bulk-actions/"+idOf(at)+"/draft", "", 200, &d); d.Columns["email"] != "E-Mail" {
		t.Errorf("E-Mail is not taken for email: %+v", d.Columns)
	}
	form := url.Values{"item_id": {"user_id"}, "c0-name": {"amount"}, "c0": {"Points"}, "c1-name": {"email"}, "c1": {"E-Mail"}, "bad": {"record"}, "duplicates": {"refuse"}}
	_, page, _ = b.postAt(at+"/mapping", form)
	b.want(page, "1 row has the id of an earlier row", "Valid 2", "Duplicate ids 1", `{"n":5,"to":"a@x"}`)
	form.Set("do", "next")
	form.Set("shown", "2")
	_, page, _ = b.postAt(at+"/mapping", form)
	b.want(page, "Keep the first row of each id")
	form.Set("duplicates", "keep_first")
	if _, page, shown = b.postAt(at+"/mapping", form); shown != at+"/rules" {
		t.Fatalf("the mapping ends at %s: %s", shown, text(t, page))
	}
	b.post(at+"/rules", url.Values{"tier": {"default"}})
	b.post(at+"/start", url.Values{"once": {"a"}})
	if got := n.Until(idOf(at), api.Completed); got.Counts.Done != 2 || got.Template == nil || got.Duplicates != 1 {
		t.Errorf("it is %+v", got)
	}
}

func TestTheRulesOfATemplateAreNotAskedFor(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	n.Call("PUT", "/v1/templates/half", `{"bulk_action":{"steps":[{"action":"send"}],"duplicates":"refuse"}}`, 200, nil)
	b := newBrowser(t, n)
	at := b.begin(url.Values{"template": {"half"}})
	_, page, _ := b.sendForm(at+"/data", "file=u.csv", "user_id\nu1\nu1\n")
	b.want(page, "The template decides: of rows with the same id all are refused", "Rows that cannot be used")
	if strings.Contains(page, `name="duplicates"`) {
		t.Error("the page asks what the template decides")
	}
	_, page, _ = b.postAt(at+"/mapping", url.Values{"item_id": {"user_id"}, "bad": {"record"}, "duplicates": {"keep_first"}, "do": {"next"}, "shown": {"1"}})
	b.want(page, "Keep the first row of each id, or upload a corrected file.")
}

// The first check of a file whose columns are named a little differently is right.
func TestColumnsAreMatchedToTheSchema(t *testing.T) {
	n := openNode(t, nodetest.Options{Actions: []api.Action{{Name: "push", URL: "http://127.0.0.1:9/push",
		Schema: json.RawMessage(`{"type":"object","required":["email","amount"],"properties":{"email":{"type":"string"},"amount":{"type":"number"},"note":{"type":"string"}}}`)}}})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"push"}})
	_, page, _ := b.sendForm(at+"/data", "file=u.csv", "user_id,E-Mail,AMOUNT,other\nu1,a@x,5,z\nu2,b@x,7.5,z\n")
	b.want(page, "All 2 rows can be used", `{"amount":5,"email":"a@x"}`, "Not used: other")
	var d api.NewBulkAction
	n.Call("GET", "/v1/bulk-actions/"+idOf(at)+"/draft", "", 200, &d)
	if in := d.Steps[0].Input; in["email"] != `item["E-Mail"]` || in["amount"] != "float(item.AMOUNT)" || len(in) != 2 {
		t.Errorf("it is mapped by %v", in)
	}
	at = b.begin(url.Values{"action": {"push"}})
	_, page, _ = b.sendForm(at+"/data", "file=u.ndjson", `{"id":"u1","email":"a@x","amount":5,"more":true}`+"\n")
	b.want(page, "The row can be used", `"more":true`)
}

// A mistake in one field takes no choice away from the others.
func TestAMappingErrorKeepsTheChoices(t *testing.T) {
	n := openNode(t, nodetest.Options{Actions: []api.Action{{Name: "push", URL: "http://127.0.0.1:9/push",
		Schema: json.RawMessage(`{"type":"object","required":["email"],"properties":{"email":{"type":"string"}}}`)}}})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"push"}})
	b.sendForm(at+"/data", "file=u.csv", "user_id,E-Mail,other\nu1,a@x,z\n")
	status, page, _ := b.postAt(at+"/mapping", url.Values{"item_id": {"user_id"}, "bad": {"record"}, "duplicates": {"keep_first"}, "do": {"check"}, "s0": {"fields"},
		"s0-0": {"email"}, "s0-0-column": {"E-Mail"}, "s0-0-as": {""}, "s0-1": {"note"}, "s0-1-expression": {"Spring bonus"}})
	if status != http.StatusUnprocessableEntity {
		t.Errorf("the status is %d", status)
	}
	b.want(page, "A fixed text needs quotes, as in 'Spring bonus'.", "email (needed)", "string")
	for _, option := range []string{`<option value="other">`, `<option value="E-Mail" selected>`, `<option value="float">`} {
		if !strings.Contains(page[strings.Index(page, `name="s0-0-column"`):], option) {
			t.Errorf("the page shown again lacks %s", option)
		}
	}
}

// Bad rows are told by the columns of the file, in plain words, and empty cells apart from wrong ones.
func TestBadRowsAreToldByTheColumnsOfTheFile(t *testing.T) {
	n := openNode(t, nodetest.Options{Actions: []api.Action{{Name: "push", URL: "http://127.0.0.1:9/push",
		Schema: json.RawMessage(`{"type":"object","properties":{"email":{"type":"string","minLength":3},"amount":{"type":"number"}}}`)}}})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"push"}})
	_, page, _ := b.sendForm(at+"/data", "file=u.csv", "user_id,E-Mail,Amount\nu1,a@x,5\nu2,,5\nu3,a@x,abc\nu4,a@x,\nu5,a@x,def\n")
	b.want(page, "4 of 5 rows cannot be used", "must have at least 3 characters, and is empty", `2 Amount "abc" is not a number: def`, "1 Amount the value is empty", "1 E-Mail must have")
	_, file := b.get(at + "/bad-rows.csv")
	b.lacks(file, "Amount: column Amount", "email:")
	if !strings.Contains(file, "E-Mail: must have at least 3 characters") || !strings.Contains(file, "column Amount: ") {
		t.Errorf("the bad rows are %s", file)
	}
	_, page, _ = b.sendForm(at+"/data", "file=bad-rows.csv", strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(file, "abc", "1"), ",def", ",2"), ",a@x,\n", ",a@x,3\n"))
	b.want(page, "1 of 5 rows cannot be used", "Item id user_id E-Mail Amount Sent to push")
	b.lacks(page, "weir_line")
}

func TestAFileWithoutRowsIsSaidToHaveNone(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"send"}})
	_, page, _ := b.sendForm(at+"/data", "file=u.csv", "user_id,n\n")
	b.want(page, "u.csv has no rows. It has names of columns, and nothing below them. Choose data with at least one row.", "Choose other data")
	if strings.Contains(page, "can be used.") || strings.Contains(page, `value="next"`) {
		t.Error("it is offered to go on without rows")
	}
	_, page = b.get(at + "/data")
	b.want(page, "it has no rows")
	_, page = b.get(at + "/forecast")
	b.want(page, "It cannot start like this. The data has no rows.")
	if status, _, _ := b.postAt(at+"/start", nil); status != http.StatusUnprocessableEntity {
		t.Errorf("it starts all the same: status %d", status)
	}
}

func TestATemplateThatDoesNotExistIsSaidNotTo(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	const want = "The template spring does not exist, or is not for you."
	_, page := b.get("/ui/new?template=spring")
	b.want(page, want)
	n.Call("PUT", "/v1/templates/season", season, 200, nil)
	_, page = b.get("/ui/new?template=spring")
	b.want(page, want, "Use Season reward")
	at := b.begin(url.Values{"action": {"send"}})
	_, page = b.get(at + "?template=spring")
	b.want(page, want)
}
