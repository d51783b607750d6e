package server_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

func draftNode(t *testing.T, o nodetest.Options) *nodetest.Node {
	t.Helper()
	o.Steps = []weir.Step{raw("award", award), raw("tell", award)}
	return nodetest.Start(t, o)
}

// uploadFile sends a file as an upload, and returns its id.
func uploadFile(t *testing.T, n *nodetest.Node, name, content string) string {
	t.Helper()
	h := http.Header{"Tus-Resumable": {"1.0.0"}, "Upload-Length": {strconv.Itoa(len(content))},
		"Upload-Metadata": {"filename " + base64.StdEncoding.EncodeToString([]byte(name))}}
	at := n.CallWith("POST", "/v1/uploads", "", h, 201, nil).Get("Location")
	id := at[strings.LastIndexByte(at, '/')+1:]
	h = http.Header{"Tus-Resumable": {"1.0.0"}, "Upload-Offset": {"0"}, "Content-Type": {"application/offset+octet-stream"}}
	n.CallWith("PATCH", "/v1/uploads/"+id, content, h, 204, nil)
	return id
}

func TestADraftIsDescribedAnewUntilItStarts(t *testing.T) {
	n := draftNode(t, nodetest.Options{})
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"name":"spring","tenant":"growth","steps":[{"action":"award"}],"on_bad_line":"record","keep_for":"48h0m0s",
		"callback":{"url":"http://127.0.0.1:9/x","secret":"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"}}`, 201, &b)
	path := "/v1/bulk-actions/" + b.ID + "/draft"
	var d api.NewBulkAction
	tag := n.Call("GET", path, "", 200, &d).Get("ETag")
	if d.Name != "spring" || d.Tenant != "growth" || d.OnBadLine != "record" || d.KeepFor == 0 || d.Callback == nil || d.Callback.Secret != "" {
		t.Errorf("it is described as %+v", d)
	}
	first := uploadFile(t, n, "a.csv", "user_id\nu1\n")
	d.Steps, d.Source, d.Canary = append(d.Steps, api.Step{Action: "tell"}), &api.Source{Upload: first}, &api.Canary{Items: 1}
	body, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	n.CallWith("PUT", path, string(body), http.Header{"If-Match": {tag}}, 200, nil)
	n.CallWith("PUT", path, string(body), http.Header{"If-Match": {tag}}, 412, nil)
	n.Call("GET", "/v1/bulk-actions/"+b.ID, "", 200, &b)
	if len(b.Steps) != 2 || b.Canary == nil || b.Source == nil || b.State != api.Draft {
		t.Errorf("after the change it is %+v", b)
	}
	second := uploadFile(t, n, "b.csv", "user_id\nu1\nu2\n")
	d.Source.Upload = second
	body, _ = json.Marshal(d) // it could be written before
	n.Call("PUT", path, string(body), 200, nil)
	n.CallWith("HEAD", "/v1/uploads/"+first, "", http.Header{"Tus-Resumable": {"1.0.0"}}, 404, nil)
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/start", `{}`, 200, nil)
	if b = n.Until(b.ID, api.Awaiting); b.Counts.Total != 2 || b.Counts.Done != 1 {
		t.Errorf("it runs with %+v", b.Counts)
	}
	var p api.Problem
	if n.Call("PUT", path, string(body), 409, &p); p.Code != "wrong_state" {
		t.Errorf("the description of what runs: %+v", p)
	}
}

func TestADescriptionIsRefusedWithItsFields(t *testing.T) {
	n := draftNode(t, nodetest.Options{})
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"tenant":"growth","steps":[{"action":"award"}]}`, 201, &b)
	path := "/v1/bulk-actions/" + b.ID
	for body, field := range map[string]string{
		`{"tenant":"crm","steps":[{"action":"award"}]}`:                                 "tenant",
		`{"steps":[{"action":"award"}],"items":[{"id":"u1"}]}`:                          "items",
		`{"steps":[{"action":"award"}],"start":true}`:                                   "start",
		`{"steps":[{"action":"awart"}]}`:                                                "steps[0].action",
		`{"steps":[{"action":"award","input":{"to":"itm.id"}}]}`:                        "steps[0].input.to",
		`{"steps":[{"action":"award"}],"source":{"upload":"upl_01k9x2v6w4s8m1c7q3d5"}}`: "source.upload",
		`{"template":"none"}`:                                                           "template",
	} {
		var p api.Problem
		if n.Call("PUT", path+"/draft", body, 422, &p); len(p.Errors) == 0 || p.Errors[0].Field != field {
			t.Errorf("%s: %+v, want a fault of %s", body, p, field)
		}
	}
	n.CallWith("POST", path+"/items", `{"id":"u1"}`+"\n", http.Header{"Content-Type": {"application/x-ndjson"}}, 202, nil)
	var p api.Problem
	if n.Call("PUT", path+"/draft", `{"steps":[{"action":"tell"}]}`, 409, &p); p.Code != "wrong_state" {
		t.Errorf("with items: %+v", p)
	}
}

func TestADraftOfATemplateIsDescribedByIt(t *testing.T) {
	n := draftNode(t, nodetest.Options{})
	n.Call("PUT", "/v1/templates/season", `{"params":[{"name":"amount","type":"integer","required":true,"max":500}],
		"bulk_action":{"params":{"team":"crm"},"steps":[{"action":"award","input":{"n":"params.amount"}}],"stop_on":{"failure_rate":0.1}}}`, 200, nil)
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"template":"season","params":{"amount":5}}`, 201, &b)
	path := "/v1/bulk-actions/" + b.ID + "/draft"
	var d api.NewBulkAction
	n.Call("GET", path, "", 200, &d)
	if d.Template != "season" || string(d.Params) != `{"amount":5}` || len(d.Steps) != 0 || d.StopOn != nil {
		t.Errorf("it is described as %+v", d)
	}
	var p api.Problem
	if n.Call("PUT", path, `{"template":"season","params":{"amount":501}}`, 422, &p); p.Errors[0].Field != "params.amount" {
		t.Errorf("a wrong parameter: %+v", p)
	}
	n.Call("PUT", path, `{"template":"season","params":{"amount":7}}`, 200, nil)
	n.Call("GET", "/v1/bulk-actions/"+b.ID, "", 200, &b)
	if b.Template == nil || b.Template.Name != "season" || !strings.Contains(string(b.Params), "7") || b.StopOn == nil {
		t.Errorf("it is %+v", b)
	}
	n.Call("PUT", path, `{"steps":[{"action":"tell"}]}`, 200, nil)
	var own api.BulkAction
	if n.Call("GET", "/v1/bulk-actions/"+b.ID, "", 200, &own); own.Template != nil || own.StopOn != nil {
		t.Errorf("without the template it is %+v", own)
	}
}

func TestTheRowsOfADraftAreChecked(t *testing.T) {
	n := draftNode(t, nodetest.Options{Actions: []api.Action{{Name: "push", URL: "http://127.0.0.1:9/push",
		Schema: json.RawMessage(`{"type":"object","required":["to"],"properties":{"to":{"type":"string","minLength":1},"n":{"type":"integer","maximum":500}}}`)}}})
	check := func(spec, name, content string) (c api.DataCheck) {
		t.Helper()
		var b api.BulkAction
		n.Call("POST", "/v1/bulk-actions", fmt.Sprintf(`{%s,"source":{"upload":%q}}`, spec, uploadFile(t, n, name, content)), 201, &b)
		n.Call("GET", "/v1/bulk-actions/"+b.ID+"/check?limit=2", "", 200, &c)
		if c.Rows != c.Items+c.Duplicates+c.BadLines {
			t.Errorf("it does not add up: %+v", c)
		}
		return c
	}
	mapped := `"steps":[{"action":"push","input":{"to":"item.user_id","n":"int(item.amount)"}}]`
	c := check(mapped, "u.csv", "user_id,amount\nu1,5\nu1,6\n,7\nu3,many\nu4,5000\nu5,1\nu6,x\n")
	if c.Rows != 7 || c.Items != 2 || c.Duplicates != 1 || c.BadLines != 4 || !c.Complete || c.ItemID != "user_id" ||
		strings.Join(c.Columns, " ") != "user_id amount" || c.Name != "u.csv" || len(c.Faults) != 2 {
		t.Errorf("the rows are %+v", c)
	}
	if len(c.Kinds) != 3 || c.Kinds[0].Code != "expression_failed" || c.Kinds[0].Count != 2 || c.Kinds[0].Line != 5 ||
		c.Kinds[0].Field != "amount" || strings.Join(c.Kinds[0].Values, " ") != "many x" || c.Kinds[0].Message != `column amount: "many" is not a whole number` {
		t.Errorf("the kinds are %+v", c.Kinds)
	}
	c = check(`"steps":[{"action":"award"}]`, "u.csv", "person,amount\nc1,5\n")
	if c.ItemID != "" || c.Rows != 0 || strings.Join(c.Columns, " ") != "person amount" || len(c.Faults) != 1 {
		t.Errorf("without an id column: %+v", c)
	}
	c = check(`"steps":[{"action":"award"}],"item_id":"person"`, "u.csv", "person,amount\nc1,5\n")
	if c.ItemID != "person" || c.Items != 1 {
		t.Errorf("with another id column: %+v", c)
	}
	c = check(`"steps":[{"action":"award"}],"duplicates":"keep_all"`, "u.ndjson", `{"id":"a","x":1}`+"\n"+`{"id":"a"}`+"\nnonsense\n")
	if c.Items != 2 || c.Duplicates != 0 || c.BadLines != 1 || c.Format != "ndjson" || strings.Join(c.Columns, " ") != "id x" {
		t.Errorf("JSON lines: %+v", c)
	}
}

func TestAFileThatIsNoneIsRefusedByTheCheck(t *testing.T) {
	n := draftNode(t, nodetest.Options{})
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", fmt.Sprintf(`{"steps":[{"action":"award"}],"source":{"upload":%q}}`, uploadFile(t, n, "u.xlsx", "PK\x03\x04 zip")), 201, &b)
	var p api.Problem
	if n.Call("GET", "/v1/bulk-actions/"+b.ID+"/check", "", 422, &p); p.Errors[0].Field != "source.upload" || p.Fix == "" {
		t.Errorf("a spreadsheet: %+v", p)
	}
}

func TestAForecastAssumesTheItemsOfASource(t *testing.T) {
	n := draftNode(t, nodetest.Options{})
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", fmt.Sprintf(`{"steps":[{"action":"award"}],"source":{"upload":%q}}`, uploadFile(t, n, "u.csv", "id\nu1\n")), 201, &b)
	var f api.Forecast
	if n.Call("POST", "/v1/bulk-actions/"+b.ID+"/forecast", `{"items":5000}`, 200, &f); f.Items != 5000 || len(f.Steps) != 1 || f.Steps[0].Items != 5000 {
		t.Errorf("the forecast is %+v", f)
	}
}
