package server_test

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/store/memstore"
)

func dlqGroups(n *nodetest.Node, query string) map[string]int64 {
	var g api.DLQGroups
	n.Call("GET", "/v1/dlq/groups"+query, "", 200, &g)
	out := map[string]int64{}
	for _, x := range g.Data {
		out[x.Tenant+" "+x.Code] += x.Count
	}
	return out
}

func same(t *testing.T, what string, got, want map[string]int64) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestTheDLQHasWhatNobodyRetriedOrDiscarded(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award"), gate.step("notify")}})
	failedBulk(t, n, gate, `{"tenant":"growth","steps":[{"action":"award"}]}`, 1500)
	two := failedBulk(t, n, gate, `{"tenant":"crm","steps":[{"action":"notify"}]}`, 100)
	gate.fail(nil)
	same(t, "groups", dlqGroups(n, ""), map[string]int64{"growth closed": 150, "growth busy": 150, "crm closed": 10, "crm busy": 10})
	same(t, "groups of an action", dlqGroups(n, "?action=notify&code=busy"), map[string]int64{"crm busy": 10})
	if got := pages(t, n, "/v1/dlq?limit=33&code=busy"); len(got) != 160 || got[0].BulkAction != two.ID || got[0].Tenant != "crm" {
		t.Errorf("%d items, the first %+v; want 160, the newest first", len(got), got[0])
	}
	var gone api.Discarded
	n.Call("POST", "/v1/dlq/discard", `{"filter":{"tenant":"growth","code":"closed","expression":"item.n < 100"},"reason":"known"}`, 200, &gone)
	if gone.Items != 10 {
		t.Errorf("discarded %d, want 10", gone.Items)
	}
	same(t, "groups after a discard", dlqGroups(n, ""), map[string]int64{"growth closed": 140, "growth busy": 150, "crm closed": 10, "crm busy": 10})
	n.Call("POST", "/v1/dlq/discard", `{"filter":{},"all":true}`, 422, nil)
	var l api.Linked
	key := http.Header{"Idempotency-Key": {"busy-1"}}
	n.CallWith("POST", "/v1/dlq/retry", `{"filter":{"code":"busy"},"rate":"9000/s"}`, key, 201, &l)
	if l.Items != 160 || len(l.BulkActions) != 2 {
		t.Fatalf("retried %+v, want 160 items of two", l)
	}
	for _, b := range l.BulkActions {
		if b = n.Until(b.ID, api.Completed); b.Counts.Done != b.Counts.Total {
			t.Errorf("retry %+v, want all done", b.Counts)
		}
	}
	same(t, "groups after a retry", dlqGroups(n, ""), map[string]int64{"growth closed": 140, "crm closed": 10})
	var text string
	n.Call("GET", "/v1/dlq/results?format=ndjson", "", 200, &text)
	if got := strings.Count(text, "\n"); got != 150 || strings.Contains(text, `"busy"`) {
		t.Errorf("%d lines, want 150 without busy ones", got)
	}
	lines := strings.SplitAfter(text, "\n")
	_, after, _ := strings.Cut(lines[40], `"item":"`)
	after, _, _ = strings.Cut(after, `"`)
	var rest string
	n.Call("GET", "/v1/dlq/results?format=ndjson&after="+after, "", 200, &rest)
	if strings.Join(lines[:41], "")+rest != text {
		t.Errorf("what was had and the rest are not the whole")
	}
	n.Call("POST", "/v1/dlq/discard", `{"filter":{},"all":true,"reason":"all of it"}`, 200, &gone)
	if gone.Items != 150 || len(dlqGroups(n, "")) != 0 || len(pages(t, n, "/v1/dlq")) != 0 {
		t.Errorf("discarded %d, left %v; want 150 and nothing", gone.Items, dlqGroups(n, ""))
	}
	var p api.Problem
	n.Call("POST", "/v1/dlq/retry", `{"filter":{},"all":true}`, 422, &p)
	if p.Code != "no_items" {
		t.Errorf("problem %+v, want no_items", p)
	}
}

// howMany is how many items fail in the test of many failures: twenty thousand
// show in the time that a test has what is promised for half a million, and
// WEIR_MANY_FAILURES makes it more.
func howMany(t *testing.T) int64 {
	t.Helper()
	text := os.Getenv("WEIR_MANY_FAILURES")
	if text == "" {
		return 20_000
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestManyFailuresAreFewGroupsAndOneRetry(t *testing.T) {
	many := howMany(t)
	gate := newGate()
	gate.open()
	mem := memstore.New(memstore.Options{})
	defer mem.Close()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}, Store: mem})
	defer n.Stop()
	gate.fail(func(doc string) (string, string) {
		kind := len(doc) % 3
		return fmt.Sprint("code", kind), fmt.Sprintf("account %d of %d", len(doc), kind)
	})
	b := n.Make(`{"steps":[{"action":"award"}]}`, rows(int(many), func(i int) string { return fmt.Sprintf(`{"id":"u%d","x":%q}`, i, strings.Repeat("y", i%3)) }))
	n.Until(b.ID, api.Completed)
	var g api.ErrorGroups
	n.Call("GET", "/v1/bulk-actions/"+b.ID+"/error-groups", "", 200, &g)
	sum := int64(0)
	for _, x := range g.Data {
		sum += x.Count
	}
	if len(g.Data) != 3 || sum != many {
		t.Fatalf("%d groups of %d failures, want 3 of %d", len(g.Data), sum, many)
	}
	gate.fail(nil)
	var l api.Linked
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/retry", fmt.Sprintf(`{"code":%q}`, g.Data[0].Code), 201, &l)
	if l.Items != g.Data[0].Count {
		t.Errorf("retried %d, want the group's %d", l.Items, g.Data[0].Count)
	}
	for path, body := range map[string]string{"/v1/dlq/retry": `{"filter":{}}`, "/v1/dlq/discard": `{"filter":{},"reason":"x"}`} {
		var p api.Problem
		n.Call("POST", path, body, 422, &p)
		if p.Code != "missing_field" || !strings.Contains(p.Detail, "every failed item") {
			t.Errorf("%s without a filter: %+v, want a refusal", path, p)
		}
	}
	n.Call("POST", "/v1/dlq/retry", `{"filter":{},"all":true}`, 201, &l)
	if l.Items != many-g.Data[0].Count {
		t.Errorf("retried %d, want the rest", l.Items)
	}
	raw, err := mem.Lookup(t.Context(), "handled/"+b.ID)
	if err != nil || len(raw) > 4<<10 {
		t.Errorf("what was retried takes %d bytes, %v; want a few kilobytes at most", len(raw), err)
	}
}

func TestItemsOfWhatStillRunsAreDiscardedOneByOneAndNotRetried(t *testing.T) {
	gate := newGate()
	gate.open()
	few := gate.step("award")
	few.BatchSize = 10
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{few}})
	gate.fail(failing)
	b := n.Make(`{"concurrency":1,"stop_on":{"max_failures":1},"steps":[{"action":"award"}]}`, rows(100, func(i int) string { return fmt.Sprintf(`{"id":"u%d","n":%d,%s}`, i, i, byNumber(i)) }))
	n.Until(b.ID, api.Stopped)
	left := func() (sum int64) {
		for _, c := range dlqGroups(n, "") {
			sum += c
		}
		return sum
	}
	before := left()
	var gone api.Discarded
	n.Call("POST", "/v1/dlq/discard", `{"filter":{},"all":true,"reason":"so far"}`, 200, &gone)
	if gone.Items != before || left() != 0 {
		t.Errorf("discarded %d of %d, left %d", gone.Items, before, left())
	}
	n.Call("PATCH", "/v1/bulk-actions/"+b.ID, `{"stop_on":{}}`, 200, nil)
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/resume", `{}`, 200, nil)
	n.Until(b.ID, api.Completed)
	if got := left(); got != 20-before {
		t.Errorf("%d items are left, want the %d that failed after the discard", got, 20-before)
	}
	if got := pages(t, n, "/v1/dlq"); int64(len(got)) != 20-before {
		t.Errorf("%d items are listed, want %d", len(got), 20-before)
	}
}

// A node that crashed after it had noted a retry has made nothing of it; whoever looks next ends it.
func TestARetryThatACrashCutOffIsEnded(t *testing.T) {
	gate := newGate()
	gate.open()
	mem := memstore.New(memstore.Options{})
	defer mem.Close()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}, Store: mem})
	defer n.Stop()
	b := failedBulk(t, n, gate, `{"steps":[{"action":"award"}]}`, 50)
	gate.fail(nil)
	noted := map[string]any{"entries": []any{map[string]any{
		"key": "lost", "kind": "retry", "which": map[string]any{"code": "busy"}, "at": time.Now().Add(-time.Hour), "items": 5, "pending": true,
		"groups": []any{map[string]any{"step": "award", "code": "busy", "message": "try again later", "items": 5}},
	}}}
	if _, err := records.New[map[string]any](mem, "handled").Insert(t.Context(), b.ID, noted); err != nil {
		t.Fatal(err)
	}
	same(t, "groups", dlqGroups(n, ""), map[string]int64{"default closed": 5}) // looking is what ends it
	r := report(n, b.ID)
	if len(r.Retries) != 1 || r.Combined.Failed != 5 {
		t.Fatalf("retries %v, combined %+v; want the one that was noted", r.Retries, r.Combined)
	}
	if again := n.Until(r.Retries[0], api.Completed); again.Counts.Done != 5 {
		t.Errorf("retry %+v, want 5 done", again.Counts)
	}
	if r := report(n, b.ID); len(r.Retries) != 1 || r.Combined.Done != 45 {
		t.Errorf("retries %v, combined %+v; want no other", r.Retries, r.Combined)
	}
}

func TestTenantsDoNotSeeEachOther(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award")}})
	b := failedBulk(t, n, gate, `{"tenant":"growth","steps":[{"action":"award"}]}`, 20)
	gate.fail(nil)
	all := []access.Scope{access.Read, access.Submit, access.Control, access.Approve}
	other, own := n.As(all, "crm"), n.As(all, "growth")
	path, item := "/v1/bulk-actions/"+b.ID, "itm_"+b.ID[3:]+"-0"
	for _, r := range []struct{ method, path, body string }{
		{"GET", path + "/progress", ""},
		{"GET", path + "/events", ""},
		{"GET", path + "/error-groups", ""},
		{"GET", path + "/items", ""},
		{"GET", path + "/report", ""},
		{"GET", path + "/results", ""},
		{"GET", "/v1/items/" + item, ""},
		{"POST", path + "/retry", `{}`},
		{"POST", path + "/undo", `{}`},
		{"POST", path + "/clone", `{}`},
	} {
		t.Run(r.method+" "+strings.Replace(r.path, b.ID, "ID", 1), func(t *testing.T) {
			var p api.Problem
			other.Call(r.method, r.path, r.body, 404, &p)
			if p.Code != "not_found" {
				t.Errorf("problem %+v, want not_found", p)
			}
			if r.method == "GET" {
				own.Request(t.Context(), r.method, r.path, r.body, nil).Body.Close()
				own.Call(r.method, r.path, r.body, 200, new(string))
			}
		})
	}
	var found api.Found
	other.Call("POST", "/v1/items/lookup", `{"id":"u1"}`, 200, &found)
	if len(found.History) != 0 {
		t.Errorf("found %+v of another tenant", found)
	}
	other.Call("POST", "/v1/items/lookup", `{"id":"u1","tenant":"growth"}`, 422, nil)
	own.Call("POST", "/v1/items/lookup", `{"id":"u1"}`, 200, &found)
	if len(found.History) != 1 {
		t.Errorf("found %+v, want one's own", found)
	}
	for _, filter := range []string{`{}`, `{"tenant":"growth"}`, fmt.Sprintf(`{"bulk_action":%q}`, b.ID)} {
		other.Call("POST", "/v1/dlq/retry", `{"filter":`+filter+`}`, 422, nil)
		other.Call("POST", "/v1/dlq/discard", `{"reason":"x","filter":`+filter+`}`, 422, nil)
	}
	var text string
	other.Call("GET", "/v1/dlq/results?format=ndjson", "", 200, &text)
	if len(dlqGroups(other, "")) != 0 || len(pages(t, other, "/v1/dlq")) != 0 || text != "" {
		t.Errorf("the DLQ of another tenant shows")
	}
	same(t, "groups", dlqGroups(own, ""), map[string]int64{"growth closed": 2, "growth busy": 2})
	if reads := n.As([]access.Scope{access.Read}); true {
		for _, verb := range []string{"retry", "undo", "clone"} {
			reads.Call("POST", path+"/"+verb, `{}`, 403, nil)
		}
		reads.Call("POST", "/v1/dlq/retry", `{"filter":{}}`, 403, nil)
		reads.Call("POST", "/v1/dlq/discard", `{"filter":{},"reason":"x"}`, 403, nil)
	}
}
