package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// groupKey finds the link that selects a group.
var groupKey = regexp.MustCompile(`failed\?group=([0-9a-z]+)[^"]*#group`)

func keyOf(t *testing.T, page string) string {
	t.Helper()
	m := groupKey.FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no group can be selected: %s", text(t, page))
	}
	return m[1]
}

func failures(n *nodetest.Node) (count int64) {
	var g api.DLQGroups
	n.Call("GET", "/v1/dlq/groups", "", 200, &g)
	for _, x := range g.Data {
		count += x.Count
	}
	return count
}

func TestFailedItemsAreRetriedByGroup(t *testing.T) {
	n := ended(t, false)
	b := newBrowser(t, n)
	_, page := b.get("/ui/failed")
	b.want(page, "No failed items are left", "Nothing is lost until it is discarded.")
	made := n.Make(oneStep, `{"id":"u1","fail":"account 1 is closed"}`+"\n"+`{"id":"u2","fail":"account 2 is closed"}`+"\n"+`{"id":"u3","fail":"no such user"}`+"\n")
	n.Until(made.ID, api.Completed)
	_, page = b.get("/ui/failed")
	b.want(page, "3 items in 2 groups not yet retried or discarded", "2 closed send: account <n> is closed send account <n> is closed growth 1",
		"closed : 2 of 2", "u1 spring 1 account 1 is closed", "Retry 2 items", "Discard 2", "Download 2 as CSV", "Download all as CSV")
	_, page = b.get("/ui/failed?message=SUCH")
	b.want(page, "1 item in 1 group", "u3 spring 1 no such user")
	b.lacks(page, "account <n>")
	key := keyOf(t, page)
	_, page = b.get("/ui/failed?code=timeout&tenant=growth&since=24h&bulk_action=" + made.ID)
	b.want(page, "No failed item matches these filters.")
	for _, typed := range []string{"fast", "-1"} {
		status, page := b.post("/ui/failed/retry", url.Values{"group": {key}, "rate": {typed}, "reason": {"they are back"}})
		if status != http.StatusUnprocessableEntity || !strings.Contains(page, `value="they are back"`) || !strings.Contains(page, `id="rt-e"`) {
			t.Errorf("with the rate %q the status is %d: %s", typed, status, text(t, page))
		}
	}
	_, page = b.post("/ui/failed/retry", url.Values{"group": {key}, "rate": {"50"}, "reason": {"they are back"}, "once": {"x"}})
	b.want(page, "1 item retried, in 1 new bulk action.", "50/s")
	for _, x := range []string{"retry", "discard"} {
		status, page := b.post("/ui/failed/"+x, url.Values{"group": {"nothing"}, "reason": {"x"}})
		if status != http.StatusConflict {
			t.Errorf("%s of a group that is gone: status %d: %s", x, status, text(t, page))
		}
	}
}

func TestADiscardNeedsAReasonAndAQuestion(t *testing.T) {
	n := ended(t, false)
	n.Until(n.Make(oneStep, `{"id":"u1","fail":"gone"}`+"\n"+`{"id":"u2","fail":"gone"}`+"\n").ID, api.Completed)
	b := newBrowser(t, n)
	_, page := b.get("/ui/failed")
	key := keyOf(t, page)
	_, page = b.get("/ui/failed/discard?group=" + key)
	b.want(page, "Discard 2 items?", "Will not run again 2 items of send, closed: gone", "Keep them")
	status, page := b.post("/ui/failed/discard", url.Values{"group": {key}})
	if status != http.StatusUnprocessableEntity || failures(n) != 2 {
		t.Errorf("without a reason: status %d, %d items left", status, failures(n))
	}
	b.want(page, "Give a reason.")
	_, page = b.post("/ui/failed/discard", url.Values{"group": {key}, "reason": {"known"}})
	b.want(page, "2 items discarded.", "No failed items are left")
	if failures(n) != 0 {
		t.Errorf("%d items are left", failures(n))
	}
}

func TestManyFailedItemsAreDiscardedOnlyWithTheirNumber(t *testing.T) {
	n := ended(t, false)
	var rows strings.Builder
	for i := range 10_001 {
		fmt.Fprintf(&rows, "{\"id\":\"u%d\",\"fail\":\"gone\"}\n", i)
	}
	n.Until(n.Make(`{"name":"spring","steps":[{"action":"send"}],"stop_on":{"keep_trying":true}}`, rows.String()).ID, api.Completed)
	b := newBrowser(t, n)
	_, page := b.get("/ui/failed")
	key := keyOf(t, page)
	if status, _ := b.post("/ui/failed/discard", url.Values{"group": {key}, "reason": {"known"}}); status != http.StatusUnprocessableEntity {
		t.Errorf("without the number the status is %d", status)
	}
	_, page = b.post("/ui/failed/discard", url.Values{"group": {key}, "reason": {"known"}, "items": {"10,001"}})
	b.want(page, "10,001 items discarded.")
}

func TestFailedItemsAreDownloadedByABrowser(t *testing.T) {
	n := ended(t, true)
	admin := n.As([]access.Scope{access.Admin})
	admin.Until(admin.Make(oneStep, `{"id":"u1","fail":"a"}`+"\n"+`{"id":"u2","fail":"b"}`+"\n").ID, api.Completed)
	theirs := strings.Replace(oneStep, "growth", "crm", 1)
	admin.Until(admin.Make(theirs, `{"id":"secret","fail":"<script>x</script>"}`+"\n").ID, api.Completed)
	b := signIn(t, n, []access.Scope{access.Read}, "growth")
	status, file := b.get("/ui/failed/failed-items.csv")
	if lines := strings.Count(strings.TrimSpace(file), "\n"); status != http.StatusOK || lines != 2 || strings.Contains(file, "secret") {
		t.Errorf("status %d: %s", status, file)
	}
	_, page := b.get("/ui/failed")
	if _, file = b.get("/ui/failed/failed-items.csv?group=" + keyOf(t, page)); strings.Count(strings.TrimSpace(file), "\n") != 1 {
		t.Errorf("a group is downloaded as %s", file)
	}
	if !strings.Contains(page, "Your key lacks the scope control") {
		t.Error("a reader can press retry")
	}
	b.lacks(page, "crm")
	if status, page := b.post("/ui/failed/retry", url.Values{"group": {keyOf(t, page)}}); status != http.StatusForbidden {
		t.Errorf("a reader retries: status %d: %s", status, text(t, page))
	}
	if status, _ := newBrowser(t, n).get("/ui/failed/failed-items.csv"); status != http.StatusUnauthorized {
		t.Errorf("without a key the status is %d", status)
	}
	_, page = signIn(t, n, []access.Scope{access.Admin}).get("/ui/failed?tenant=crm")
	b.want(page, "<script>x</script>")
	for _, name := range foreign(t, page) {
		t.Errorf("the page has the element or attribute %s", name)
	}
}

// failInGroups makes bulk actions whose items each fail for a reason of their own.
func failInGroups(n *nodetest.Node, bulkActions, each int) {
	for of := range bulkActions {
		var rows strings.Builder
		for i := range each {
			fmt.Fprintf(&rows, "{\"id\":\"u%d\",\"fail\":\"%c%c%c is wrong\"}\n", i, 'a'+of, 'a'+i/26, 'a'+i%26)
		}
		n.Until(n.Make(`{"name":"spring","tenant":"growth","steps":[{"action":"send"}],"stop_on":{"keep_trying":true}}`, rows.String()).ID, api.Completed)
	}
}

func TestAllFailedItemsOfAFilterAreRetried(t *testing.T) {
	n := ended(t, false)
	b := newBrowser(t, n)
	if status, _ := b.get("/ui/failed/retry-all"); status != http.StatusConflict {
		t.Errorf("without a failed item the status is %d", status)
	}
	n.Until(n.Make(oneStep, `{"id":"u1","fail":"account 1 is closed"}`+"\n"+`{"id":"u2","fail":"no such user"}`+"\n").ID, api.Completed)
	n.Until(n.Make(strings.Replace(oneStep, "growth", "crm", 1), `{"id":"u3","fail":"no such user"}`+"\n").ID, api.Completed)
	_, page := b.get("/ui/failed")
	b.want(page, "3 items in 3 groups", "Retry all 3 failed items…")
	_, page = b.get("/ui/failed?message=such")
	b.want(page, "2 items in 2 groups")
	b.lacks(page, "Retry all")
	_, page = b.get("/ui/failed?tenant=growth")
	b.want(page, "2 items in 2 groups", "Retry all 2 failed items…")
	_, page = b.get("/ui/failed/retry-all?tenant=growth")
	b.want(page, "Retry all 2 failed items?", "Failed items with tenant growth", "2 items in 2 groups, each from the step at which it failed", "Leave them here")
	form := url.Values{"tenant": {"growth"}, "shown": {"1"}, "once": {"x"}, "reason": {"they are back"}}
	status, page := b.post("/ui/failed/retry-all", form)
	if status != http.StatusUnprocessableEntity || failures(n) != 3 {
		t.Errorf("with another number the status is %d: %s", status, text(t, page))
	}
	b.want(page, "It is 2 items by now; the page had shown 1.")
	form.Set("shown", "2")
	_, page = b.post("/ui/failed/retry-all", form)
	b.want(page, "2 items retried, in 1 new bulk action.")
	var left api.DLQGroups
	if n.Call("GET", "/v1/dlq/groups?tenant=crm", "", 200, &left); left.Items != 1 {
		t.Errorf("%d items of another tenant are left, want 1", left.Items)
	}
}

func TestTheNumberOfFailedItemsCountsGroupsThatAreNotShown(t *testing.T) {
	n := ended(t, false)
	failInGroups(n, 3, 70)
	b := newBrowser(t, n)
	for _, query := range []string{"", "?tenant=growth", "?message=wrong"} {
		_, page := b.get("/ui/failed" + query)
		b.want(page, "210 items in 210 groups", "These are the 200 largest of 210 groups.")
	}
	_, page := b.get("/ui/failed/retry-all")
	b.want(page, "Retry all 210 failed items?")
}
