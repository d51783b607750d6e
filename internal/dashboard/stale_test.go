package dashboard_test

import (
	"bufio"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
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
	b.replaceData(at, "kind", "ids", "rows", "u3\nu4\nu5\n") // in another window
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

// A start that was shown with some data or steps does not start others, even if there are as many items.
func TestAStartIsOfTheDraftThatWasShown(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"send"}})
	b.sendForm(at+"/data", "kind", "ids", "rows", "u1\nu2\n")
	_, page := b.get(at + "/forecast")
	seen := seenField.FindStringSubmatch(page)
	if seen == nil {
		t.Fatalf("the forecast has no field for what it shows: %s", text(t, page))
	}
	b.replaceData(at, "kind", "ids", "rows", "x1\nx2\n") // in another window
	for _, form := range []url.Values{{"shown": {"2"}, "seen": seen[1:], "once": {"x"}}, {"shown": {"2"}, "seen": seen[1:], "once": {"y"}, "asked": {"yes"}}} {
		status, page := b.post(at+"/start", form)
		if status != http.StatusUnprocessableEntity {
			t.Errorf("status %d: %s", status, text(t, page))
		}
		b.want(page, "Someone changed this draft after you opened the page.")
	}
	_, page = b.get(at + "/start?seen=" + seen[1])
	b.want(page, "Someone changed this draft after you opened the page.")
	again := seenField.FindStringSubmatch(page)
	if again == nil {
		t.Fatalf("the question has no field for what it shows: %s", text(t, page))
	}
	b.post(at+"/start", url.Values{"shown": {"2"}, "seen": again[1:], "once": {"z"}, "asked": {"yes"}})
	var got api.BulkAction
	if n.Call("GET", "/v1/bulk-actions/"+idOf(at), "", 200, &got); got.State == api.Draft {
		t.Error("it was not started after it was looked at again")
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

var seenField = regexp.MustCompile(`name="seen" value="([^"]+)"`)

// Two people who change the same thing do not undo each other's change.
func TestAChangeOfWhatAnotherHasChangedIsShownAgain(t *testing.T) {
	n := ended(t, false)
	n.Call("PUT", "/v1/tenants/growth", `{"weight":2}`, 200, nil)
	n.Call("PUT", "/v1/resources/send", `{"concurrency":5}`, 200, nil)
	made := n.Make(strings.Replace(oneStep, "{", `{"canary":{"items":1},`, 1), `{"id":"u1"}`+"\n"+`{"id":"u2"}`+"\n")
	b := newBrowser(t, n)
	for _, tt := range []struct {
		path, form  string // of the page, and of the form
		change      func()
		first, kept url.Values
	}{
		{"/ui/resources?of=send", "/ui/resources/send/limits", func() { n.Call("PUT", "/v1/resources/send", `{"rate":"700/s"}`, 200, nil) },
			url.Values{"concurrency": {"9"}, "pacing": {"smooth"}}, url.Values{"rate": {"700/s"}, "concurrency": {"9"}, "pacing": {"smooth"}}},
		{"/ui/bulk-actions/" + made.ID + "/rules", "/ui/bulk-actions/" + made.ID + "/rules",
			func() { n.Call("PATCH", "/v1/bulk-actions/"+made.ID, `{"concurrency":3}`, 200, nil) },
			url.Values{"priority": {"7"}, "tier": {"default"}}, url.Values{"concurrency": {"3"}, "priority": {"7"}, "tier": {"default"}}},
		{"/ui/settings/tenants/growth/edit", "/ui/settings/tenants/growth/edit", func() { n.Call("PUT", "/v1/tenants/growth", `{"weight":5}`, 200, nil) },
			url.Values{"weight": {"2"}, "max_tasks": {"40"}}, url.Values{"weight": {"5"}, "max_tasks": {"40"}}},
	} {
		_, page := b.get(tt.path)
		seen := seenField.FindStringSubmatch(page)
		if seen == nil {
			t.Errorf("%s does not say what it shows: %s", tt.path, text(t, page))
			continue
		}
		tt.change()
		tt.first.Set("seen", seen[1])
		status, page := b.post(tt.form, tt.first)
		if status != http.StatusUnprocessableEntity {
			t.Errorf("%s: status %d: %s", tt.form, status, text(t, page))
		}
		b.want(page, "Someone else changed this after you opened the page.")
		if seen = seenField.FindStringSubmatch(page); seen == nil {
			t.Fatalf("%s: it cannot be sent again: %s", tt.form, text(t, page))
		}
		tt.kept.Set("seen", seen[1])
		if status, page := b.post(tt.form, tt.kept); status >= http.StatusBadRequest {
			t.Errorf("%s, again: status %d: %s", tt.form, status, text(t, page))
		}
	}
	var r api.ResourceStatus
	if n.Call("GET", "/v1/resources/send", "", 200, &r); r.Rate.String() != "700/s" || r.Concurrency != 9 {
		t.Errorf("the limits are %v and %d", r.Rate, r.Concurrency)
	}
	var got api.BulkAction
	if n.Call("GET", "/v1/bulk-actions/"+made.ID, "", 200, &got); got.Concurrency != 3 || got.Priority != 7 {
		t.Errorf("the rules are %+v", got.Rules)
	}
}

// A request for a name that cannot be one gets an answer, not an error of the server.
func TestAHostThatIsNoneIsRefused(t *testing.T) {
	n := ended(t, false)
	for _, host := range []string{"", "evil.example:localhost", "a b"} {
		r := httptest.NewRequest(http.MethodGet, "/ui/", http.NoBody)
		r.Host = host
		w := httptest.NewRecorder()
		n.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusMisdirectedRequest && w.Code != http.StatusBadRequest {
			t.Errorf("%q: status %d", host, w.Code)
		}
	}
}
