package dashboard_test

import (
	"bufio"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// A form acts on what its page has shown: if more items have come since, it asks again.
func TestMoreItemsThanWereShownAreAskedForAgain(t *testing.T) {
	n := ended(t, false)
	b := newBrowser(t, n)
	fail := func(ids ...string) {
		var rows strings.Builder
		for _, id := range ids {
			fmt.Fprintf(&rows, "{\"id\":%q,\"fail\":\"gone\"}\n", id)
		}
		n.Until(n.Make(oneStep, rows.String()).ID, api.Completed)
	}
	fail("u1", "u2")
	_, page := b.get("/ui/failed")
	key := keyOf(t, page)
	b.want(page, "Retry 2 items")
	_, page = b.get("/ui/failed/discard?group=" + key)
	b.want(page, "Discard 2 items?")
	fail("u3", "u4", "u5")
	for _, path := range []string{"/ui/failed/retry", "/ui/failed/discard"} {
		status, page := b.post(path, url.Values{"group": {key}, "shown": {"2"}, "reason": {"old"}})
		if status != http.StatusUnprocessableEntity || failures(n) != 5 {
			t.Errorf("%s of two, and by now five: status %d, %d are left: %s", path, status, failures(n), text(t, page))
		}
		b.want(page, "5 items", "by now; the page had shown 2.")
	}
	if _, page := b.post("/ui/failed/discard", url.Values{"group": {key}, "shown": {"5"}, "reason": {"old"}}); failures(n) != 0 {
		t.Errorf("%d are left: %s", failures(n), text(t, page))
	}
}

var olderLink = regexp.MustCompile(`href="([^"]*cursor[^"]*)"`)

// The link to older entries leads to other ones, of the same filter.
func TestOlderBulkActionsAreReached(t *testing.T) {
	n := ended(t, false)
	b := newBrowser(t, n)
	for i := range 60 {
		n.Call("POST", "/v1/bulk-actions", fmt.Sprintf(`{"name":"camp-%02d","tenant":"growth","steps":[{"action":"send"}]}`, i), 201, nil)
		n.Call("POST", "/v1/bulk-actions", `{"name":"other","tenant":"crm","steps":[{"action":"send"}]}`, 201, nil)
	}
	_, page := b.get("/ui/bulk-actions?tenant=growth")
	b.want(page, "camp-59", "camp-10")
	b.lacks(page, "camp-09")
	link := olderLink.FindStringSubmatch(page)
	if link == nil {
		t.Fatalf("no link to older ones: %s", text(t, page))
	}
	to := html.UnescapeString(link[1])
	if strings.HasPrefix(to, "?") {
		to = "/ui/bulk-actions" + to
	}
	_, page = b.get(to)
	b.want(page, "camp-09", "camp-00")
	b.lacks(page, "camp-10", "other")
}

// A start that was shown with some items does not start others.
func TestAStartIsOfTheItemsThatWereShown(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"send"}})
	b.sendForm(at+"/data", "kind", "ids", "rows", "u1\nu2\n")
	_, page := b.get(at + "/forecast")
	b.want(page, `2 items`)
	b.sendForm(at+"/data", "kind", "ids", "rows", "u3\nu4\nu5\n") // in another window
	status, page := b.post(at+"/start", url.Values{"shown": {"2"}, "once": {"x"}})
	if status != http.StatusUnprocessableEntity {
		t.Errorf("status %d: %s", status, text(t, page))
	}
	b.want(page, "It is 3 items by now; the page had shown 2.")
	var got api.BulkAction
	if n.Call("GET", "/v1/bulk-actions/"+idOf(at), "", 200, &got); got.State != api.Draft {
		t.Errorf("it is %s", got.State)
	}
	b.post(at+"/start", url.Values{"shown": {"3"}, "once": {"y"}, "asked": {"yes"}})
	if n.Call("GET", "/v1/bulk-actions/"+idOf(at), "", 200, &got); got.State == api.Draft {
		t.Error("it was not started")
	}
}

// A shutdown does not wait for people who look at pages.
func TestLivePagesEndWhenTheServerStops(t *testing.T) {
	n := ended(t, false)
	resp := n.Request(t.Context(), "GET", "/ui/live?of=/ui/", "", nil)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		t.Fatal("nothing was pushed")
	}
	n.Server().Drain()
	for lines.Scan() { //nolint:revive // until it ends
	}
	if err := lines.Err(); err != nil {
		t.Error(err)
	}
}
