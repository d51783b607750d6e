package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// numbers reads the counts behind names on a page: "Stays done 2 items" is 2.
func numbers(t *testing.T, page string, names ...string) (list []int) {
	t.Helper()
	said := text(t, page)
	for _, name := range names {
		found := regexp.MustCompile(regexp.QuoteMeta(name) + ` (\d+)`).FindStringSubmatch(said)
		if found == nil {
			t.Fatalf("the page has no number of %q: %s", name, said)
		}
		n := 0
		_, _ = fmt.Sscan(found[1], &n)
		list = append(list, n)
	}
	return list
}

func TestThePartsOnThePageOfACancelAddUp(t *testing.T) {
	open := make(chan struct{})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(open)}})
	var rows strings.Builder
	for i := range 40 {
		fmt.Fprintf(&rows, `{"id":"u%d"%s}`+"\n", i, map[bool]string{true: `,"fail":"account 17 is closed"`}[i%4 == 0])
	}
	made := n.Make(`{"name":"spring","tenant":"growth","steps":[{"action":"send"}],"canary":{"items":8}}`, rows.String())
	close(open)
	n.Until(made.ID, api.Awaiting)
	b := newBrowser(t, n)
	_, page := b.get("/ui/bulk-actions/" + made.ID + "/cancel")
	all := numbers(t, page, "Will not run", "In flight", "Stays done", "Stays failed", "In all")
	if all[0]+all[1]+all[2]+all[3] != all[4] || all[3] != 2 || all[4] != 40 {
		t.Errorf("the parts are %v", all)
	}
	_, page = b.post("/ui/bulk-actions/"+made.ID+"/cancel", nil)
	b.want(page, "Cancelled. Calls that were running end.")
	n.Until(made.ID, api.Cancelled)
	_, page = b.get("/ui/bulk-actions/" + made.ID)
	b.want(page, "Done Failed Left out Cancelled Pending", "1 send 32 cancelled 40 6 2 0 32 0")
	_, page = b.get("/ui/bulk-actions/" + made.ID + "/report")
	b.want(page, "Came in Done Failed Left out Cancelled Attempts", "1 send 32 cancelled 40 6 2 0 32")
}

func TestLinksToItemsOfDifferentErrorsHaveDifferentNames(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(opened())}})
	made := n.Make(oneStep, `{"id":"u2","fail":"account 17 is closed"}`+"\n")
	n.Until(made.ID, api.Completed)
	b := newBrowser(t, n)
	for _, path := range []string{"", "/errors"} {
		_, page := b.get("/ui/bulk-actions/" + made.ID + path)
		b.want(page, "See items that failed at send with closed")
	}
}

func TestANoteTellsWhenItWasTrue(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(opened())}})
	var made api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"name":"spring","steps":[{"action":"send"}],"canary":{"items":1},"items":[{"id":"u1"},{"id":"u2"}]}`, 201, &made)
	n.Call("POST", "/v1/bulk-actions/"+made.ID+"/seal", `{}`, 200, nil)
	b := newBrowser(t, n)
	status, page := b.post("/ui/bulk-actions/"+made.ID+"/start", nil)
	if told := regexp.MustCompile(`Started\. \d\d:\d\d:\d\d`); status != http.StatusOK || !told.MatchString(text(t, page)) {
		t.Errorf("status %d: %s", status, text(t, page))
	}
	if _, page = b.get("/ui/bulk-actions/" + made.ID); strings.Contains(text(t, page), "The same by command weir start") {
		t.Error("the note is shown twice")
	}
}

func TestTheOverviewOfATenantHasNoSumsOfAllTenants(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(opened())}, Closed: true})
	sums := []string{"Speed now", "all bulk actions", "Failures, last 15"}
	for _, tt := range []struct {
		name    string
		tenants []string
	}{{"all tenants", nil}, {"one tenant", []string{"growth"}}} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBrowser(t, n)
			b.post("/ui/sign-in", url.Values{"key": {n.As([]access.Scope{access.Read, access.Control}, tt.tenants...).Key()}})
			_, page := b.get("/ui/")
			b.want(page, "Failed, not dealt with")
			for _, sum := range sums {
				if got, want := strings.Contains(strings.ReplaceAll(text(t, page), "\u00a0", " "), sum), tt.tenants == nil; got != want {
					t.Errorf("the overview has %q: %v, want %v", sum, got, want)
				}
			}
		})
	}
}
