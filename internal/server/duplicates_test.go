package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// wantDuplicates compares what bulk action, report and forecast say of duplicates.
func wantDuplicates(t *testing.T, n *nodetest.Node, id string, want int64) {
	t.Helper()
	var b api.BulkAction
	n.Call("GET", "/v1/bulk-actions/"+id, "", 200, &b)
	if r := report(n, id); b.Duplicates != want || r.Duplicates != want {
		t.Errorf("the bulk action says %d duplicates and its report %d, want %d", b.Duplicates, r.Duplicates, want)
	}
}

func TestEveryDuplicateIsCountedWhereverItComes(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	const first = `"steps":[{"action":"award"}],"duplicates":"keep_first"`
	ndjson := http.Header{"Content-Type": {"application/x-ndjson"}}
	t.Run("in one request", func(t *testing.T) {
		var b api.BulkAction
		n.Call("POST", "/v1/bulk-actions", `{`+first+`,"start":true,"items":[{"id":"a"},{"id":"b"},{"id":"a"},{"id":"a"}]}`, 201, &b)
		n.Until(b.ID, api.Completed)
		wantDuplicates(t, n, b.ID, 2)
	})
	t.Run("in one append and between two", func(t *testing.T) {
		var b api.BulkAction
		n.Call("POST", "/v1/bulk-actions", `{`+first+`,"on_bad_line":"record"}`, 201, &b)
		path := "/v1/bulk-actions/" + b.ID
		for range 2 { // 3 ids, of which one comes twice, and a line that is no item
			n.CallWith("POST", path+"/items", "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n{\"id\":\"a\"}\nnonsense\n", ndjson, 202, nil)
		}
		n.Call("GET", path, "", 200, &b)
		if b.Duplicates != 2 || b.BadLines != 2 {
			t.Errorf("the draft says %d duplicates and %d bad lines, want 2 and 2", b.Duplicates, b.BadLines)
		}
		for _, wrong := range []int{6, 8, 9} {
			n.Call("POST", path+"/seal", fmt.Sprintf(`{"expected_items":%d}`, wrong), 409, nil)
		}
		for range 2 { // the second finds it sealed
			n.Call("POST", path+"/seal", `{"expected_items":10,"start":true}`, 200, nil)
		}
		var p api.Problem
		n.Call("POST", path+"/seal", `{"expected_items":9}`, 409, &p)
		if want := "has 10 rows, expected 9 (3 items, 5 duplicates, 2 bad lines)"; !strings.Contains(p.Detail, want) {
			t.Errorf("detail %q, want %q", p.Detail, want)
		}
		n.Until(b.ID, api.Completed)
		wantDuplicates(t, n, b.ID, 5)
	})
	t.Run("with a canary", func(t *testing.T) {
		b := n.Make(`{`+first+`,"canary":{"percent":50}}`, "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"a\"}\n{\"id\":\"a\"}\n")
		n.Until(b.ID, api.Awaiting)
		wantDuplicates(t, n, b.ID, 2)
		n.Call("POST", "/v1/bulk-actions/"+b.ID+"/approve", `{}`, 200, nil)
		n.Until(b.ID, api.Completed)
	})
}

func TestAnIDIsKnownByItsNameAlone(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"duplicates":"keep_first"}`, 201, &b)
	path := "/v1/bulk-actions/" + b.ID
	const csv = "amount,user,mail\n5,u1,a\n5,u2,b\n10,u3,c\n"
	for kind, tt := range map[string]struct{ rows, code string }{
		"text/csv":             {csv, "bad_csv"},
		"application/x-ndjson": {"{\"amount\":5,\"user\":\"u1\",\"mail\":\"a\"}\n", "missing_id"},
		"application/json":     {`[{"amount":5,"user":"u1","mail":"a"}]`, "missing_id"},
	} {
		var p api.Problem
		n.CallWith("POST", path+"/items", tt.rows, http.Header{"Content-Type": {kind}}, 422, &p)
		if p.Code != tt.code || !strings.Contains(p.Detail, "found amount, user, mail") || !strings.Contains(p.Fix, "item_id") {
			t.Errorf("%s: %+v, want %s with the names and the fix", kind, p, tt.code)
		}
	}
	n.CallWith("POST", path+"/items?item_id=user", csv, http.Header{"Content-Type": {"text/csv"}}, 202, nil)
	n.Call("POST", path+"/seal", `{"expected_items":3,"start":true}`, 200, nil)
	if b = n.Until(b.ID, api.Completed); b.Counts.Done != 3 {
		t.Errorf("counts %+v, want 3 done", b.Counts)
	}
}

func TestACanaryIsAShareOfWhatWillRun(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	list := rows(1000, func(i int) string { return fmt.Sprintf(`{"id":"u%d"}`, i) })
	for _, tt := range []struct {
		name, rule string
		appends    int
		want       int64
	}{
		{"a list that repeats its ids", "keep_first", 10, 100},
		{"a list without duplicates", "keep_first", 1, 100},
		{"duplicates that are items", "keep_all", 3, 300},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b api.BulkAction
			n.Call("POST", "/v1/bulk-actions", fmt.Sprintf(`{"steps":[{"action":"award"}],"duplicates":%q,"canary":{"percent":10}}`, tt.rule), 201, &b)
			for range tt.appends {
				n.CallWith("POST", "/v1/bulk-actions/"+b.ID+"/items", list, http.Header{"Content-Type": {"application/x-ndjson"}}, 202, nil)
			}
			n.Call("POST", "/v1/bulk-actions/"+b.ID+"/seal", fmt.Sprintf(`{"start":true,"expected_items":%d}`, tt.appends*1000), 200, nil)
			b = n.Until(b.ID, api.Awaiting)
			if b.Counts.Done != tt.want {
				t.Errorf("%d items ran before the approval, want %d: %+v", b.Counts.Done, tt.want, b.Counts)
			}
			n.Call("POST", "/v1/bulk-actions/"+b.ID+"/cancel", `{}`, 200, nil)
		})
	}
}

func TestDuplicatesOfAnUploadAreToldInTheWordsOfTheAPI(t *testing.T) {
	n := draftNode(t, nodetest.Options{})
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", fmt.Sprintf(`{"steps":[{"action":"tell"}],"start":true,"source":{"upload":%q}}`,
		uploadFile(t, n, "u.csv", "id\nu1\nu1\n")), 201, &b)
	if failed := n.Until(b.ID, api.Failed); !strings.Contains(failed.Reason, `id "u1" came before; set duplicates to keep_first`) {
		t.Errorf("it failed because %s", failed.Reason)
	}
}
