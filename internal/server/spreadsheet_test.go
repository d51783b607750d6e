package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// ranFrom runs a bulk action over an uploaded file.
func ranFrom(t *testing.T, n *nodetest.Node, name, content string) api.BulkAction {
	t.Helper()
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"name":"spring","steps":[{"action":"award"}],"start":true,"source":{"upload":"`+uploadFile(t, n, name, content)+`"}}`, 201, &b)
	return n.Until(b.ID, api.Completed)
}

func TestResultsAreWrittenAsTheUploadWas(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	for _, tt := range []struct{ name, content, head string }{
		{"german.csv", "\uFEFFKundennummer;Name\r\nk1;Änne\r\n", "\uFEFFitem;bulk_action;id;"},
		{"old.csv", "Kundennummer;Name\r\nk1;\xc4nne\r\n", "\uFEFFitem;bulk_action;id;"},
		{"plain.csv", "id,name\nk1,a\n", "item,bulk_action,id,"},
		{"tabs.tsv", "id\tname\nk1\ta\n", "item\tbulk_action\tid\t"},
		{"rows.ndjson", `{"id":"k1"}`, "item,bulk_action,id,"},
	} {
		path := "/v1/bulk-actions/" + ranFrom(t, n, tt.name, tt.content).ID + "/results?state=all"
		var as, usual string
		n.Call("GET", path+"&delimiter=input", "", 200, &as)
		n.Call("GET", path, "", 200, &usual)
		if !strings.HasPrefix(as, tt.head) || !strings.HasPrefix(usual, "item,bulk_action,id,") {
			t.Errorf("of %s the results begin %.30q, want %q; without the parameter %.30q", tt.name, as, tt.head, usual)
		}
	}
	path := "/v1/bulk-actions/" + n.Until(n.Make(`{"steps":[{"action":"award"}]}`, `{"id":"k1","text":"a;b"}`).ID, api.Completed).ID + "/results?state=all"
	var chosen, input string
	n.Call("GET", path+"&delimiter=semicolon&bom=true", "", 200, &chosen)
	n.Call("GET", path+"&delimiter=input", "", 200, &input)
	if !strings.HasPrefix(chosen, "\uFEFFitem;bulk_action;") || !strings.Contains(chosen, `;"a;b"`) || !strings.HasPrefix(input, "item,bulk_action,") {
		t.Errorf("with semicolons %q; items of no file %q", chosen, input)
	}
}

func TestRetriesAreWrittenAsTheUploadWas(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	for want, body := range map[string]string{"spring (retry 1)": `{"step":"award"}`, "the rest": `{"name":"the rest"}`} {
		gate.fail(func(string) (string, string) { return "busy", "try again later" })
		b := ranFrom(t, n, "german.csv", "\uFEFFKundennummer;Name\r\nk1;Änne\r\n")
		gate.fail(nil)
		var l api.Linked
		n.Call("POST", "/v1/bulk-actions/"+b.ID+"/retry", body, 201, &l)
		if got := l.BulkActions[0].Name; got != want {
			t.Errorf("a retry of %q is called %q, want %q", b.Name, got, want)
		}
		n.Until(l.BulkActions[0].ID, api.Completed)
		var text string
		n.Call("GET", "/v1/bulk-actions/"+l.BulkActions[0].ID+"/results?state=all&delimiter=input", "", 200, &text)
		if !strings.HasPrefix(text, "\uFEFFitem;") {
			t.Errorf("the results of a retry begin %.30q", text)
		}
	}
}

func TestACheckShowsInWhatRowsWithTheSameIDDiffer(t *testing.T) {
	n := draftNode(t, nodetest.Options{})
	long := strings.Repeat("ä", 100)
	d := draftOf(t, n, `"duplicates":"keep_first"`, "id;amount;note\nk1;5;"+long+"\nk2;6;x\nk1;7;"+long+"b\nk2;6;x\n")
	var c api.DataCheck
	n.Call("GET", "/v1/bulk-actions/"+d+"/check", "", 200, &c)
	if len(c.Repeated) != 2 {
		t.Fatalf("%d rows repeat an id, want 2", len(c.Repeated))
	}
	first, second := c.Repeated[0], c.Repeated[1]
	cut := strings.Repeat("ä", 60) + "…"
	want := []api.Difference{{Field: "amount", First: "5", Value: "7"}, {Field: "note", First: cut, Value: cut}}
	if first.Identical || len(first.Differs) != 2 || first.Differs[0] != want[0] || first.Differs[1] != want[1] {
		t.Errorf("row %d differs in %+v, want %+v", first.Line, first.Differs, want)
	}
	if !second.Identical || len(second.Differs) > 0 {
		t.Errorf("row %d is the same as before: %+v", second.Line, second)
	}
}

// draftOf makes a draft that reads a file.
func draftOf(t *testing.T, n *nodetest.Node, fields, content string) string {
	t.Helper()
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],`+fields+`,"source":{"upload":"`+uploadFile(t, n, "x.csv", content)+`"}}`, 201, &b)
	return b.ID
}

func TestIDsAreTheSameRegardlessOfCapitalsIfARequestSaysSo(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	const rule = `"duplicates":"keep_first","fold_ids":true`
	const table = "id,name\nAnna@X.de,a\nanna@x.de,b\nbob,c\n"
	check := func(way, id string) {
		t.Helper()
		b := n.Until(id, api.Completed)
		if b.Counts.Total != 2 || b.Duplicates != 1 || !b.FoldIDs {
			t.Errorf("%s: %d items and %d duplicates, want 2 and 1", way, b.Counts.Total, b.Duplicates)
		}
		for _, spelled := range []string{"anna@x.de", "Anna@X.de"} {
			var found api.Found
			n.Call("POST", "/v1/items/lookup", `{"id":"`+spelled+`"}`, 200, &found)
			if len(found.History) == 0 || found.History[0].BulkAction != id {
				t.Errorf("%s: %s is found in %+v", way, spelled, found.History)
			}
		}
	}
	var apart api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"start":true,"items":[{"id":"carl"}]}`, 201, &apart)
	n.Until(apart.ID, api.Completed)
	var other api.Found
	if n.Call("POST", "/v1/items/lookup", `{"id":"Carl"}`, 200, &other); len(other.History) != 0 {
		t.Errorf("there, Carl is not carl: %+v", other.History)
	}
	id := draftOf(t, n, rule, table)
	var c api.DataCheck
	n.Call("GET", "/v1/bulk-actions/"+id+"/check", "", 200, &c)
	if c.Items != 2 || c.Duplicates != 1 || c.Alike != 0 || len(c.Repeated[0].Differs) == 0 {
		t.Errorf("the check says %+v", c)
	}
	var p api.Preview
	n.Call("GET", "/v1/bulk-actions/"+id+"/preview", "", 200, &p)
	if p.Items[0].ID != "anna@x.de" || !strings.Contains(string(p.Items[0].Data), "Anna@X.de") {
		t.Errorf("the preview shows %s with %s", p.Items[0].ID, p.Items[0].Data)
	}
	n.Call("POST", "/v1/bulk-actions/"+id+"/start", `{}`, 200, nil)
	check("upload", id)
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"start":true,`+rule+`,"items":[{"id":"Anna@X.de"},{"id":"anna@x.de "},{"id":"bob"}]}`, 201, &b)
	check("items", b.ID)
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],`+rule+`}`, 201, &b)
	for _, rows := range []string{"id,name\nAnna@X.de,a\nbob,c\n", "id,name\nanna@x.de,b\n"} {
		n.CallWith("POST", "/v1/bulk-actions/"+b.ID+"/items", rows, http.Header{"Content-Type": {"text/csv"}}, 202, nil)
	}
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/seal", `{"start":true}`, 200, nil)
	check("appends", b.ID)
}
