package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// pages reads all pages of a list.
func pages(t *testing.T, n *nodetest.Node, path string) (all []api.ItemResult) {
	t.Helper()
	at := "?"
	if strings.Contains(path, "?") {
		at = "&"
	}
	for cursor := ""; ; {
		var p api.Page[api.ItemResult]
		n.Call("GET", path+at+"cursor="+cursor, "", 200, &p)
		all = append(all, p.Data...)
		if !p.HasMore {
			return all
		}
		cursor = p.NextCursor
	}
}

func TestItemsAreListedByPagesAndFilters(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award"), gate.step("notify")}})
	b := n.Make(`{"steps":[{"action":"award"},{"action":"notify","when":"item.n % 10 != 1"}]}`,
		rows(3000, func(i int) string { return fmt.Sprintf(`{"id":"u%d","n":%d,"bad":%v}`, i, i, i%10 == 0) }))
	n.Until(b.ID, api.Completed)
	path := "/v1/bulk-actions/" + b.ID + "/items"
	for _, tt := range []struct {
		name, query string
		want        int
	}{
		{"all", "?limit=1000", 3000},
		{"failed", "?state=failed&limit=70", 300},
		{"failed with the code", "?code=is_bad&limit=300", 300},
		{"no other code", "?code=other", 0},
		{"done", "?state=done&limit=999", 2400},
		{"left out by the condition", "?state=cancelled&step=notify", 300},
		{"none is ready", "?state=ready", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := pages(t, n, path+tt.query)
			if len(got) != tt.want {
				t.Fatalf("%d items, want %d", len(got), tt.want)
			}
			seen := map[string]bool{}
			for _, x := range got {
				if seen[x.Item] {
					t.Fatalf("%s came twice", x.Item)
				}
				seen[x.Item] = true
			}
		})
	}
	var p api.Problem
	n.Call("GET", path+"?state=done&cursor=AAAA", "", 400, &p)
	if p.Code != "bad_cursor" {
		t.Errorf("problem %+v, want bad_cursor", p)
	}
}

func TestAnItemTellsWhatHappenedToItStepByStep(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award"), gate.step("notify")}})
	b := n.Make(`{"name":"spring","steps":[{"action":"award","input":{"n":"item.n"}},{"action":"notify"}]}`,
		rows(1500, func(i int) string { return fmt.Sprintf(`{"id":"u%d","n":%d,"bad":%v}`, i, i, i == 1400) }))
	n.Until(b.ID, api.Completed)
	var found api.Found
	n.Call("POST", "/v1/items/lookup", `{"id":"u1400"}`, 200, &found)
	if len(found.History) != 1 {
		t.Fatalf("found %+v, want one item", found)
	}
	var x api.ItemResult
	n.Call("GET", "/v1/items/"+found.History[0].Item, "", 200, &x)
	if x.ID != "u1400" || x.BulkAction != b.ID || x.Name != "spring" || x.State != "failed" || x.Code != "is_bad" || len(x.History) != 2 {
		t.Fatalf("item %+v", x)
	}
	award, notify := x.History[0], x.History[1]
	if award.Result != "done" || string(award.Output) != `{"by":"award","of":"u1400"}` || award.Key != gate.keysFor("award", "u1400")[0] {
		t.Errorf("award %+v, want it done, with the key %v", award, gate.keysFor("award", "u1400"))
	}
	if notify.Result != "failed" || notify.Code != "is_bad" || notify.Key != gate.keysFor("notify", "u1400")[0] || notify.At.IsZero() {
		t.Errorf("notify %+v, want it failed", notify)
	}
	for _, bad := range []string{"itm_x-1", "itm_" + b.ID[3:] + "-1500", "itm_" + b.ID[3:] + "-01", b.ID} {
		n.Call("GET", "/v1/items/"+bad, "", 404, nil)
	}
	n.Call("POST", "/v1/items/lookup", `{"id":"nobody"}`, 200, &found)
	if len(found.History) != 0 {
		t.Errorf("found %+v, want nothing", found)
	}
}
