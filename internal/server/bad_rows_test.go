package server_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// pushNode has an action that takes items with a short phone number.
func pushNode(t *testing.T) *nodetest.Node {
	return draftNode(t, nodetest.Options{Actions: []api.Action{{Name: "push", URL: "http://127.0.0.1:9/push",
		Schema: json.RawMessage(`{"type":"object","properties":{"phone":{"type":"string","maxLength":8}}}`)}}})
}

// listOf downloads the bad rows of a bulk action.
func listOf(t *testing.T, n *nodetest.Node, id string) (text string, table [][]string) {
	t.Helper()
	n.Call("GET", "/v1/bulk-actions/"+id+"/bad-rows", "", 200, &text)
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1
	table, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return text, table
}

func TestAllBadRowsCanBeDownloadedCorrectedAndUploadedAgain(t *testing.T) {
	n := pushNode(t)
	const items = 3000 // half of them are bad
	var file strings.Builder
	file.WriteString("user_id,phone,name\n")
	for i := range items / 2 {
		fmt.Fprintf(&file, "u%d,+49%d,a\n,+49%d,\"b, c\"\n", i, i, i)
	}
	file.WriteString("long,+49123456789,d\n")
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", fmt.Sprintf(`{"steps":[{"action":"push"}],"on_bad_line":"record","source":{"upload":%q}}`,
		uploadFile(t, n, "users.csv", file.String())), 201, &b)
	before, table := listOf(t, n, b.ID)
	if len(table) != 1+items/2+1 {
		t.Fatalf("%d lines, want a header and %d rows", len(table), items/2+1)
	}
	if got := strings.Join(table[0], ","); got != "weir_line,weir_problem,weir_fix,user_id,phone,name" {
		t.Errorf("the header is %s", got)
	}
	if got := table[2]; got[0] != "5" || got[1] != "user_id is empty" || got[2] == "" || got[4] != "'+491" || got[5] != "b, c" {
		t.Errorf("the second bad row is %q", got)
	}
	if got := table[len(table)-1]; got[0] != "3002" || !strings.HasPrefix(got[1], "phone: ") || got[3] != "long" {
		t.Errorf("the row that the action does not take is %q", got)
	}
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/start", `{}`, 200, nil)
	n.Eventually("the items are read", func() bool {
		n.Call("GET", "/v1/bulk-actions/"+b.ID, "", 200, &b)
		return b.Counts.Total == items/2 && b.State != api.Importing
	})
	var r api.Report
	n.Call("GET", "/v1/bulk-actions/"+b.ID+"/report", "", 200, &r)
	if r.BadLines != items/2+1 || !strings.HasSuffix(r.Files.BadRows, b.ID+"/bad-rows") {
		t.Errorf("the report has %d bad rows, %+v", r.BadLines, r.Files)
	}
	if after, _ := listOf(t, n, b.ID); after != before {
		t.Error("the list differs after the start")
	}

	corrected := strings.NewReplacer("+49123456789", "+4912", ",,'", ",x,'").Replace(before) // a fix, and ids for some
	var again api.BulkAction
	n.Call("POST", "/v1/bulk-actions", fmt.Sprintf(`{"steps":[{"action":"push"}],"duplicates":"keep_all","source":{"upload":%q}}`,
		uploadFile(t, n, "bad-rows.csv", corrected)), 201, &again)
	var p api.Preview
	n.Call("GET", "/v1/bulk-actions/"+again.ID+"/preview?limit=1", "", 200, &p)
	if len(p.Items) != 1 || strings.Contains(string(p.Items[0].Data), "weir_") || !strings.Contains(string(p.Items[0].Data), `"phone":"+49`) {
		t.Errorf("a corrected row is read as %+v", p)
	}
}

func TestBadRowsOfJSONAreListedAsTheyWere(t *testing.T) {
	n := pushNode(t)
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", fmt.Sprintf(`{"steps":[{"action":"push"}],"source":{"upload":%q}}`,
		uploadFile(t, n, "u.ndjson", `{"id":"a"}`+"\nnonsense\n"+`{"id":"c","phone":"123456789"}`+"\n")), 201, &b)
	_, table := listOf(t, n, b.ID)
	if len(table) != 3 || table[0][3] != "row" || table[1][0] != "2" || table[1][3] != "nonsense" || table[2][3] != `{"id":"c","phone":"123456789"}` {
		t.Errorf("the list is %q", table)
	}
}

func TestBadRowsThatAreNotKeptAreRefusedWithTheReason(t *testing.T) {
	n := pushNode(t)
	var b api.BulkAction
	var p api.Problem
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"push"}]}`, 201, &b)
	if n.Call("GET", "/v1/bulk-actions/"+b.ID+"/bad-rows", "", 409, &p); p.Code != "wrong_state" || !strings.Contains(p.Detail, "do not come from an upload") {
		t.Errorf("without an upload: %+v", p)
	}
}
