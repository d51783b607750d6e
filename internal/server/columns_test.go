package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// sentTo is an endpoint of an action, and what it was sent, sorted by id.
func sentTo(t *testing.T) (url string, got func() string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Items []struct{ Data, Input json.RawMessage }
		}
		raw, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Errorf("the call is %s: %v", raw, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, it := range body.Items {
			all = append(all, string(it.Data)+string(it.Input))
		}
		fmt.Fprint(w, `{"default":"done"}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(all)
		return strings.Join(all, " ")
	}
}

const mailTemplate = `{"bulk_action":{"steps":[{"action":"push","input":{"to":"item.email","n":"float(item.amount)"},"when":"item.email != ''"}]}}`

func TestARequestSaysWhichColumnsATemplateReads(t *testing.T) {
	url, got := sentTo(t)
	n := draftNode(t, nodetest.Options{Actions: []api.Action{{Name: "push", URL: url}}})
	n.Call("PUT", "/v1/templates/mail", mailTemplate, 200, nil)
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", fmt.Sprintf(`{"template":"mail","source":{"upload":%q}}`,
		uploadFile(t, n, "u.csv", "user_id,E-Mail,Sum\nu1,a@x,5\nu1,b@x,6\nu2,c@x,7\n")), 201, &b)
	path := "/v1/bulk-actions/" + b.ID
	var c api.DataCheck
	n.Call("GET", path+"/check", "", 200, &c)
	if fmt.Sprint(c.Reads) != "[{amount  } {email  E-Mail}]" || c.Items != 0 {
		t.Errorf("before, the steps read %+v of %+v", c.Reads, c)
	}
	var p api.Problem
	if n.Call("PUT", path+"/draft", `{"template":"mail","columns":{"email":""}}`, 422, &p); p.Errors[0].Field != "columns.email" {
		t.Errorf("an empty column: %+v", p)
	}
	var d api.NewBulkAction
	n.Call("GET", path+"/draft", "", 200, &d)
	d.Columns, d.Duplicates, d.OnBadLine = map[string]string{"email": "E-Mail", "amount": "Sum"}, "keep_first", "record"
	n.Call("PUT", path+"/draft", string(asJSON(t, d)), 200, nil)
	var after api.NewBulkAction
	if n.Call("GET", path+"/draft", "", 200, &after); string(asJSON(t, after)) != string(asJSON(t, d)) {
		t.Errorf("it is described as %+v, want %+v", after, d)
	}
	c = api.DataCheck{}
	n.Call("GET", path+"/check", "", 200, &c)
	if fmt.Sprint(c.Reads) != "[{amount Sum } {email E-Mail }]" || c.Items != 2 || c.Duplicates != 1 || strings.Join(c.Columns, " ") != "user_id E-Mail Sum" {
		t.Errorf("after, the steps read %+v of %+v", c.Reads, c)
	}
	n.Call("POST", path+"/start", "", 200, nil)
	n.Until(b.ID, api.Completed)
	if want := `{"n":5,"to":"a@x"} {"n":7,"to":"c@x"}`; got() != want {
		t.Errorf("it was sent %s, want %s", got(), want)
	}
	var again api.BulkAction
	n.Call("POST", path+"/clone", "{}", 201, &again)
	after = api.NewBulkAction{}
	if n.Call("GET", "/v1/bulk-actions/"+again.ID+"/draft", "", 200, &after); len(after.Columns) != 2 {
		t.Errorf("the clone is described as %+v", after)
	}
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestWhatATemplateSaysAboutItsDataHolds(t *testing.T) {
	n := draftNode(t, nodetest.Options{})
	n.Call("PUT", "/v1/templates/strict", `{"bulk_action":{"steps":[{"action":"award"}],"duplicates":"refuse","on_bad_line":"refuse"}}`, 200, nil)
	for _, field := range []string{`"duplicates":"keep_first"`, `"on_bad_line":"record"`} {
		var p api.Problem
		if n.Call("POST", "/v1/bulk-actions", `{"template":"strict",`+field+`}`, 422, &p); !strings.Contains(p.Detail, "set by the template") {
			t.Errorf("%s: %+v", field, p)
		}
	}
}

func TestColumnsAreRenamedWhereverItemsComeFrom(t *testing.T) {
	url, got := sentTo(t)
	n := draftNode(t, nodetest.Options{Actions: []api.Action{{Name: "push", URL: url}}})
	spec := `{"steps":[{"action":"push"}],"columns":{"to":"E-Mail"}`
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", spec+`,"start":true,"items":[{"id":"a","data":{"E-Mail":"1"}}]}`, 201, &b)
	n.Until(b.ID, api.Completed)
	n.Call("POST", "/v1/bulk-actions", spec+`}`, 201, &b)
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/items", `[{"id":"b","E-Mail":"2"}]`, 202, nil)
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/seal", `{"start":true}`, 200, nil)
	n.Until(b.ID, api.Completed)
	if want := `{"id":"b","to":"2"} {"to":"1"}`; got() != want {
		t.Errorf("it was sent %s, want %s", got(), want)
	}
}

// A row for which an expression fails is a bad row, at the check and at the start.
func TestRowsThatCannotBeConvertedAreBadRows(t *testing.T) {
	url, got := sentTo(t)
	n := draftNode(t, nodetest.Options{Actions: []api.Action{{Name: "push", URL: url}}})
	rows := "user_id,amount\nu1,5\nu2,abc\nu3,\nu4, 1.5 \n"
	for _, rule := range []string{"record", "refuse"} {
		var b api.BulkAction
		n.Call("POST", "/v1/bulk-actions", fmt.Sprintf(`{"steps":[{"action":"push","input":{"n":"float(item.amount)"}}],"on_bad_line":%q,"source":{"upload":%q}}`,
			rule, uploadFile(t, n, "u.csv", rows)), 201, &b)
		var c api.DataCheck
		n.Call("GET", "/v1/bulk-actions/"+b.ID+"/check", "", 200, &c)
		if c.Items != 2 || c.BadLines != 2 || c.Faults[0] != (api.Fault{Code: "expression_failed", Field: "amount", Line: 3, Value: "abc",
			Message: `column amount: "abc" is not a number`, Fix: "write a number as in 12.5"}) || c.Faults[1].Message != "column amount: the value is empty" {
			t.Errorf("the check is %+v", c)
		}
		n.Call("POST", "/v1/bulk-actions/"+b.ID+"/start", "", 200, nil)
		if rule == "refuse" {
			if b = n.Until(b.ID, api.Failed); !strings.Contains(b.Reason, `column amount: "abc" is not a number`) {
				t.Errorf("it failed with the reason %q", b.Reason)
			}
			continue
		}
		if b = n.Until(b.ID, api.Completed); b.Counts.Total != 2 || b.Counts.Done != 2 || b.BadLines != 2 {
			t.Errorf("it is %+v", b)
		}
	}
	if want := `{"n":1.5} {"n":5}`; got() != want {
		t.Errorf("it was sent %s, want %s", got(), want)
	}
	var p api.Problem
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"push","input":{"n":"int(item.amount)"}}],"items":[{"id":"a","data":{"amount":"x"}}]}`, 422, &p)
	if !strings.Contains(p.Detail, `column amount: "x" is not a whole number`) {
		t.Errorf("inline items: %+v", p)
	}
}

func TestColumnsThatTheDataLacksAreRefused(t *testing.T) {
	n := draftNode(t, nodetest.Options{Actions: []api.Action{{Name: "push", URL: "http://127.0.0.1:9/push"}}})
	const spec = `{"steps":[{"action":"push","input":{"to":"item.email"}}],"columns":{"email":"E-Mial"}%s}`
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", fmt.Sprintf(spec, ""), 201, &b)
	var p api.Problem
	n.CallWith("POST", "/v1/bulk-actions/"+b.ID+"/items", "id,E-Mail\nu1,a@x\n", http.Header{"Content-Type": {"text/csv"}}, 422, &p)
	if !strings.Contains(p.Detail, `no column "E-Mial", which is to be read as "email"`) || !strings.Contains(p.Fix, "E-Mail") {
		t.Errorf("items are refused with %+v", p)
	}
	n.Call("POST", "/v1/bulk-actions", fmt.Sprintf(spec, fmt.Sprintf(`,"source":{"upload":%q}`, uploadFile(t, n, "u.csv", "id,E-Mail\nu1,a@x\n"))), 201, &b)
	var c api.DataCheck
	n.Call("GET", "/v1/bulk-actions/"+b.ID+"/check", "", 200, &c)
	if len(c.Faults) != 1 || !strings.Contains(c.Faults[0].Message, `no column "E-Mial"`) || len(c.Reads) != 1 || c.Reads[0].Suggested != "E-Mail" {
		t.Errorf("the check says %+v", c)
	}
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/start", `{}`, 200, nil)
	if failed := n.Until(b.ID, api.Failed); !strings.Contains(failed.Reason, `no column "E-Mial"`) {
		t.Errorf("it failed because %s", failed.Reason)
	}
}

func TestIDsAreReadFromTheColumnThatIsNamedForThem(t *testing.T) {
	url, got := sentTo(t)
	n := draftNode(t, nodetest.Options{Actions: []api.Action{{Name: "push", URL: url}}})
	for _, spec := range []string{`"item_id":"user_id","columns":{"user_id":"User No"}`, `"columns":{"id":"User No"}`} {
		var b api.BulkAction
		n.Call("POST", "/v1/bulk-actions", fmt.Sprintf(`{"steps":[{"action":"push","input":{"who":"id"}}],"start":true,%s,"source":{"upload":%q}}`, spec,
			uploadFile(t, n, "u.csv", "id,User No\nx,u1\n")), 201, &b)
		n.Until(b.ID, api.Completed)
	}
	if want := `{"who":"u1"} {"who":"u1"}`; got() != want {
		t.Errorf("the action got %s, want %s", got(), want)
	}
}

func TestAllItemsForWhichAnExpressionFailsAreTold(t *testing.T) {
	n := draftNode(t, nodetest.Options{})
	var p api.Problem
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"tell","input":{"n":"int(item.n)"}}],"items":[{"id":"a","data":{"n":"x"}},{"id":"b","data":{"n":"1"}},{"id":"c","data":{}}]}`, 422, &p)
	if len(p.Errors) != 2 || p.Errors[0].Field != "items[0], input.n" || p.Errors[1].Field != "items[2], input.n" {
		t.Errorf("it is refused with %+v", p.Errors)
	}
}
