package assembly_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// exported downloads the items of a bulk action as NDJSON.
func exported(t *testing.T, n *nodetest.Node, id, query string) (list []api.ItemResult) {
	t.Helper()
	var text string
	n.Call("GET", "/v1/bulk-actions/"+id+"/results?format=ndjson&"+query, "", 200, &text)
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		var x api.ItemResult
		if err := json.Unmarshal(s.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	return list
}

// wantFinal compares the files of a report with the report's counts after all retries, and returns all rows.
func wantFinal(t *testing.T, n *nodetest.Node, id string) []api.ItemResult {
	t.Helper()
	var r api.Report
	n.Call("GET", "/v1/bulk-actions/"+id+"/report", "", 200, &r)
	all := exported(t, n, id, "state=all")
	got := api.Counts{Total: int64(len(all))}
	for i, x := range all {
		if x.ID != fmt.Sprint("u", i) || !strings.HasSuffix(x.Item, fmt.Sprint("-", i)) || x.BulkAction != id {
			t.Fatalf("row %d is %+v: want the items in the order of the input", i, x)
		}
		switch x.State {
		case "done":
			got.Done++
		case "failed":
			got.Failed++
		case "cancelled":
			got.Cancelled++
		default:
			t.Fatalf("%s is %s after the end", x.ID, x.State)
		}
	}
	if r.Combined == nil || got != *r.Combined {
		t.Fatalf("the rows have %+v, the report %+v", got, r.Combined)
	}
	for state, want := range map[string]int64{"done": got.Done, "failed": got.Failed, "cancelled": got.Cancelled} {
		if part := exported(t, n, id, "state="+state); int64(len(part)) != want {
			t.Errorf("%d items in the file of those %s, want %d", len(part), state, want)
		}
	}
	return all
}

func TestFilesOfAReportHaveEachItemOnceAsItEndedAfterAllRetries(t *testing.T) {
	const items = 2600 // more than two blocks
	var l ledger
	n, b := campaignOf(t, &l, items)
	// Some fail again, at the same step or a later one; one retry has keys of its own.
	l.set(func(step string, n int) bool { return step == "two" && n%15 == 0 || step == "three" && n%4 == 0 }, nil)
	var again []string
	for _, id := range slices.Concat(retry(n, b.ID, `{"step":"two","filter":"item.n < 1500"}`), retry(n, b.ID, `{"new_keys":true}`)) {
		n.Until(id, api.Completed)
		again = append(again, id)
	}
	wantFinal(t, n, b.ID)
	l.set(nil, nil)
	for _, id := range again[:2] { // a retry of a retry, of some
		for _, last := range retry(n, id, `{"filter":"item.n % 2 == 0"}`) {
			n.Until(last, api.Completed)
		}
	}
	all := wantFinal(t, n, b.ID)
	for i, x := range all {
		l.mu.Lock()
		passed := l.lines[x.ID]
		l.mu.Unlock()
		if (len(passed) == 3) != (x.State == "done") {
			t.Fatalf("u%d passed %v and is %s", i, passed, x.State)
		}
		if failedFirst := i%5 == 0 || i%7 == 0; failedFirst != (x.RetriedBy != "") {
			t.Fatalf("u%d: retried_by is %q", i, x.RetriedBy)
		}
	}
	for _, at := range []int{0, 700, 1499, items - 1} { // a download that was cut off goes on
		rest := exported(t, n, b.ID, "state=all&after="+all[at].Item)
		if len(rest) != items-at-1 || len(rest) > 0 && (rest[0].Item != all[at+1].Item || rest[0].State != all[at+1].State) {
			t.Errorf("%d rows after number %d, want %d", len(rest), at, items-at-1)
		}
	}
	var text string
	n.Call("GET", "/v1/bulk-actions/"+b.ID+"/results?state=all", "", 200, &text)
	if lines := strings.Count(text, "\n"); lines != items+1 {
		t.Errorf("CSV has %d lines, want a header and %d rows", lines, items)
	}
}
