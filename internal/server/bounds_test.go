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

// labelsOf returns the JSON of n labels.
func labelsOf(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"k%d":"v"`, i))
	}
	return `"labels":{` + strings.Join(list, ",") + `}`
}

// What describes a bulk action is in every list and page of it, whatever way it came in.
func TestLabelsAndParametersAreBounded(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{newGate().step("award")}})
	text := func(length int) string { return strings.Repeat("x", length) }
	const steps = `"steps":[{"action":"award"}]`
	var draft api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{`+steps+`}`, 201, &draft)
	n.Call("PUT", "/v1/templates/plain", `{"bulk_action":{`+steps+`,`+labelsOf(64)+`}}`, 200, nil)
	ways := []struct{ method, path, body, prefix string }{
		{"POST", "/v1/bulk-actions", `{` + steps + `,%s}`, ""},
		{"PUT", "/v1/bulk-actions/" + draft.ID + "/draft", `{` + steps + `,%s}`, ""},
		{"PUT", "/v1/templates/x", `{"bulk_action":{` + steps + `,%s}}`, "bulk_action."},
		{"POST", "/v1/schedules", `{"name":"s","cron":"0 9 * * 1","bulk_action":{` + steps + `,"items":[{"id":"u1"}],%s}}`, "bulk_action."},
	}
	for _, tt := range []struct{ name, member, field, code string }{
		{"too many labels", labelsOf(65), "labels", "out_of_range"},
		{"a long name", `"labels":{"` + text(64) + `":"v"}`, `labels["` + text(64) + `"]`, "bad_text"},
		{"an empty name", `"labels":{"":"v"}`, `labels[""]`, "bad_text"},
		{"a long value", `"labels":{"a":"` + text(257) + `"}`, `labels["a"]`, "bad_text"},
		{"a value that turns the text around", `"labels":{"a":"x\u202ey"}`, `labels["a"]`, "bad_text"},
		{"a name that turns the text around", `"name":"x\u2066y"`, "name", "bad_text"},
		{"large parameters", `"params":{"a":"` + text(64<<10) + `"}`, "params", "out_of_range"},
		{"a long item_id", `"item_id":"` + text(1<<10) + `"`, "item_id", "bad_text"},
	} {
		for _, way := range ways {
			var p api.Problem
			n.Call(way.method, way.path, fmt.Sprintf(way.body, tt.member), http.StatusUnprocessableEntity, &p)
			if len(p.Errors) != 1 || p.Errors[0].Field != way.prefix+tt.field || p.Errors[0].Code != tt.code || p.Errors[0].Fix == "" {
				t.Errorf("%s %s with %s: %+v, want %s of %s and a fix", way.method, way.path, tt.name, p, tt.code, way.prefix+tt.field)
			}
		}
	}
	var p api.Problem
	n.Call("POST", "/v1/bulk-actions", `{"template":"plain","labels":{"own":"v"}}`, 422, &p)
	if len(p.Errors) != 1 || p.Errors[0].Field != "labels" {
		t.Errorf("labels of a template and of the request together: %+v", p)
	}
	label := text(63) + "=" + strings.Repeat("y", 256)
	n.Call("POST", "/v1/bulk-actions", `{`+steps+`,"labels":{"`+strings.Replace(label, "=", `":"`, 1)+`"},"params":{"a":"`+text(64<<10-8)+`"}}`, 201, nil)
	var page api.Page[api.BulkAction]
	if n.Call("GET", "/v1/bulk-actions?label="+label, "", 200, &page); len(page.Data) != 1 {
		t.Errorf("%d bulk actions have the longest label, want 1", len(page.Data))
	}
}
