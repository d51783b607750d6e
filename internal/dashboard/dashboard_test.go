package dashboard_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"golang.org/x/net/html"
)

// send is an action that waits until it is opened, and then fails the items that say so with a message of theirs.
func send(open <-chan struct{}) weir.Step { return gated("send", open) }

func gated(name string, open <-chan struct{}) weir.Step {
	return weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: name, Handle: func(ctx context.Context,
		b *weir.Batch[json.RawMessage, json.RawMessage]) error {
		select {
		case <-open:
		case <-ctx.Done():
			return ctx.Err()
		}
		for i := range b.Len() {
			var it struct{ Fail string }
			if err := json.Unmarshal(b.Item(i).Value, &it); err == nil && it.Fail != "" {
				b.Fail(i, "closed", errors.New(it.Fail))
				continue
			}
			b.Done(i, json.RawMessage("{}"))
		}
		return nil
	}})
}

// browser is a browser without script.
type browser struct {
	t    *testing.T
	node *nodetest.Node
	web  *http.Client
}

func newBrowser(t *testing.T, n *nodetest.Node) *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t, n, &http.Client{Jar: jar}}
}

func (b *browser) do(req *http.Request) (status int, page string) {
	b.t.Helper()
	resp, err := b.web.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		if at := doubleStop.FindString(text(b.t, string(raw))); at != "" {
			b.t.Errorf("%s: a sentence ends twice: %q", req.URL.Path, at)
		}
	}
	return resp.StatusCode, string(raw)
}

// doubleStop finds a full stop that was written after a text which has its own.
var doubleStop = regexp.MustCompile(`.{0,60}[^. ] ?\. ?\.( |$)`)

func (b *browser) get(path string) (status int, page string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.node.URL+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.do(req)
}

func (b *browser) post(path string, form url.Values) (status int, page string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.node.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.do(req)
}

// want fails unless a page has all of these texts, without tags and with single spaces.
func (b *browser) want(page string, texts ...string) {
	b.t.Helper()
	seen := text(b.t, page)
	for _, want := range texts {
		if !strings.Contains(seen, want) {
			b.t.Errorf("the page lacks %q:\n%s", want, seen)
		}
	}
}

// text returns what a person reads on a page.
func text(t *testing.T, page string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data + " ")
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(root)
	return strings.Join(strings.Fields(strings.ReplaceAll(b.String(), "\u00a0", " ")), " ")
}

const oneStep = `{"name":"spring","tenant":"growth","steps":[{"action":"send"}]}`

func TestAManagerFollowsPausesAndResumesABulkAction(t *testing.T) {
	open := make(chan struct{})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(open)}})
	made := n.Make(oneStep, `{"id":"u1"}`+"\n"+`{"id":"u2","fail":"account 17 is closed"}`+"\n")
	b := newBrowser(t, n)
	_, page := b.get("/ui/")
	b.want(page, "spring growth Running", "Needs attention nothing now")
	_, page = b.post("/ui/bulk-actions/"+made.ID+"/pause", nil)
	b.want(page, "spring Paused", "Paused. Calls that were running end", "weir pause "+made.ID, "Resume")
	_, page = b.post("/ui/bulk-actions/"+made.ID+"/resume", nil)
	b.want(page, "Resumed.", "Running")
	close(open)
	n.Until(made.ID, api.Completed)
	_, page = b.get("/ui/bulk-actions/" + made.ID)
	b.want(page, "spring Completed", "100 % 2 of 2 items finished", "Done 1 Failed 1", "Total 2 Adds up", "1 send closed send: account <n> is closed")
	_, page = b.get("/ui/bulk-actions?state=completed&tenant=growth")
	b.want(page, "spring growth Completed")
	_, page = b.get("/ui/bulk-actions?state=running")
	b.want(page, "No bulk action matches.")
}

func TestTheListIsFilteredByTimesOfTheViewer(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(nil)}})
	made := n.Make(oneStep, `{"id":"u1"}`+"\n")
	b := newBrowser(t, n).in("Pacific/Kiritimati")
	at := made.CreatedAt.In(time.FixedZone("", 14*3600)).Truncate(time.Minute)
	local := func(after time.Duration) string { return at.Add(after).Format("2006-01-02T15:04") }
	for _, tt := range []struct {
		query string
		want  string
	}{
		{"from=" + local(0), "spring growth"},
		{"from=" + local(0) + "&to=" + local(time.Minute), "spring growth"},
		{"from=" + local(-time.Hour) + "&to=" + local(0), "No bulk action matches."},
		{"from=" + local(time.Minute), "No bulk action matches."},
		{"from=" + local(time.Minute) + "&to=" + local(0), "From must be before To."},
		{"to=tomorrow", "Write dates and times such as"},
		{"from=0001-01-01T00:00", "Write dates and times such as"},
	} {
		_, page := b.get("/ui/bulk-actions?" + tt.query)
		b.want(page, tt.want)
		if name, value, _ := strings.Cut(strings.Split(tt.query, "&")[0], "="); !strings.Contains(page, `name="`+name+`" type="datetime-local" value="`+value+`"`) {
			t.Errorf("the filter of the page with %s has not its value of %s", tt.query, name)
		}
	}
	_, page := b.get("/ui/bulk-actions?from=" + local(0))
	b.want(page, "weir list --created-after "+at.UTC().Format(time.RFC3339), "Clear")
}

func TestACancelIsAskedForOnAPageOfItsOwn(t *testing.T) {
	open := make(chan struct{})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(open)}})
	t.Cleanup(func() { close(open) })
	made := n.Make(oneStep, `{"id":"u1"}`+"\n"+`{"id":"u2"}`+"\n")
	b := newBrowser(t, n)
	n.Call("POST", "/v1/bulk-actions/"+made.ID+"/pause", "{}", 200, nil)
	_, page := b.get("/ui/bulk-actions/" + made.ID + "/cancel")
	b.want(page, "Cancel spring?", "Will not run", "Stays done 0 items", "Stays failed 0 items", "In all 2 items", "Keep it")
	b.post("/ui/bulk-actions/"+made.ID+"/cancel", url.Values{"reason": {"wrong amount"}})
	var got api.BulkAction
	n.Call("GET", "/v1/bulk-actions/"+made.ID, "", 200, &got)
	if got.State != api.Cancelling && got.State != api.Cancelled || got.Reason != "wrong amount" {
		t.Errorf("it is %s, for the reason %q", got.State, got.Reason)
	}
}

func TestTheNumberOfManyItemsHasToBeTyped(t *testing.T) {
	open := make(chan struct{})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(open)}})
	t.Cleanup(func() { close(open) })
	var rows strings.Builder
	for i := range 30_000 { // thousands of them are in flight
		fmt.Fprintf(&rows, "{\"id\":\"u%d\"}\n", i)
	}
	made := n.Make(oneStep, rows.String())
	n.Call("POST", "/v1/bulk-actions/"+made.ID+"/pause", "{}", 200, nil)
	b := newBrowser(t, n)
	cancel := "/ui/bulk-actions/" + made.ID + "/cancel"
	for _, typed := range []string{"", "17", "many"} {
		if status, _ := b.post(cancel, url.Values{"items": {typed}}); status != http.StatusUnprocessableEntity {
			t.Errorf("with %q typed the status is %d", typed, status)
		}
	}
	n.Until(made.ID, api.Paused)
	if status, page := b.post(cancel, url.Values{"shown": {"30000"}, "items": {"30,000"}}); status != http.StatusOK {
		t.Errorf("with the number that the page had shown the status is %d: %s", status, text(t, page))
	}
	var got api.BulkAction
	if n.Call("GET", "/v1/bulk-actions/"+made.ID, "", 200, &got); got.State != api.Cancelling && got.State != api.Cancelled {
		t.Errorf("it is %s", got.State)
	}
}

func TestPeopleSignInWithAKeyAndSeeTheirTenantOnly(t *testing.T) {
	open := make(chan struct{})
	close(open)
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(open)}, Closed: true})
	admin := n.As([]access.Scope{access.Admin})
	admin.Make(oneStep, `{"id":"u1"}`+"\n")
	admin.Make(strings.ReplaceAll(oneStep, "growth", "crm"), `{"id":"u1"}`+"\n")
	b := newBrowser(t, n)
	status, page := b.get("/ui/bulk-actions")
	if status != http.StatusUnauthorized {
		t.Errorf("without a key the status is %d", status)
	}
	b.want(page, "Sign in", "API key")
	status, page = b.post("/ui/sign-in", url.Values{"key": {"wk_0000"}})
	if status != http.StatusUnauthorized {
		t.Errorf("with a wrong key the status is %d", status)
	}
	b.want(page, "Invalid API key. Check it, or request a new one.")
	theirs := n.As([]access.Scope{access.Read}, "growth")
	status, page = b.post("/ui/sign-in", url.Values{"key": {theirs.Key()}, "next": {"/ui/bulk-actions"}})
	if status != http.StatusOK {
		t.Errorf("with a key the status is %d", status)
	}
	b.want(page, "spring growth")
	if strings.Contains(text(t, page), "crm") {
		t.Error("the page of one tenant shows another")
	}
	b.post("/ui/sign-out", nil)
	if status, _ = b.get("/ui/"); status != http.StatusUnauthorized {
		t.Errorf("after signing out the status is %d", status)
	}
}

func TestASignInLeadsToPagesOfThisServerOnly(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Closed: true})
	key := n.As([]access.Scope{access.Read}).Key()
	for _, next := range []string{"https://evil.test/ui/", "//evil.test/ui/", "/v1/keys", "javascript:alert(1)", "/ui/../v1/keys"} {
		b := newBrowser(t, n)
		b.web.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.URL+"/ui/sign-in",
			strings.NewReader(url.Values{"key": {key}, "next": {next}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := b.web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if to := resp.Header.Get("Location"); to != "/ui/" {
			t.Errorf("next %q leads to %q", next, to)
		}
		for _, c := range resp.Cookies() {
			if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/ui" || strings.Contains(c.Value, key) {
				t.Errorf("the cookie is %v", c)
			}
		}
	}
}

// A proxy may end TLS and say nothing of it: the origin of the form tells.
func TestTheCookieIsSecureOverTLS(t *testing.T) {
	open := make(chan struct{})
	n := nodetest.Start(t, nodetest.Options{Closed: true, Steps: []weir.Step{send(open)}})
	t.Cleanup(func() { close(open) })
	key := n.As([]access.Scope{access.Admin}).Key()
	host := strings.TrimPrefix(n.URL, "http://")
	for _, tt := range []struct {
		name, header, value string
		secure              bool
	}{
		{"a page over HTTP", "Origin", "http://" + host, false},
		{"a page over TLS", "Origin", "https://" + host, true},
		{"a proxy that says so", "X-Forwarded-Proto", "https", true},
	} {
		b := newBrowser(t, n)
		b.web.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.URL+"/ui/sign-in", strings.NewReader(url.Values{"key": {key}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set(tt.header, tt.value)
		resp, err := b.web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if len(resp.Cookies()) != 1 || resp.Cookies()[0].Secure != tt.secure {
			t.Errorf("%s: cookies %v", tt.name, resp.Cookies())
		}
	}
}

func TestOnlyPathsOfPagesAreLive(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	b := newBrowser(t, n)
	for _, of := range []string{"/ui/../v1/whoami", "/ui/..//evil.com/x", "//evil.com/ui/", "/ui//bulk-actions", "/v1/whoami"} {
		if status, page := b.get("/ui/live?of=" + url.QueryEscape(of)); status != http.StatusBadRequest {
			t.Errorf("%s: status %d: %s", of, status, page)
		}
	}
}

func TestOtherSitesAndNamesGetNothing(t *testing.T) {
	open := make(chan struct{})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(open)}})
	t.Cleanup(func() { close(open) })
	made := n.Make(oneStep, `{"id":"u1"}`+"\n")
	b := newBrowser(t, n)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.URL+"/ui/bulk-actions/"+made.ID+"/pause", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	if status, _ := b.do(req); status != http.StatusForbidden {
		t.Errorf("a form of another site: status %d", status)
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		path := map[string]string{http.MethodGet: "/ui/bulk-actions", http.MethodPost: "/ui/bulk-actions/" + made.ID + "/pause"}[method]
		req, err := http.NewRequestWithContext(t.Context(), method, n.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "evil.test"
		if status, page := b.do(req); status != http.StatusMisdirectedRequest || strings.Contains(page, "spring") {
			t.Errorf("%s under another name: status %d", method, status)
		}
	}
	var got api.BulkAction
	if n.Call("GET", "/v1/bulk-actions/"+made.ID, "", 200, &got); got.State != api.Running {
		t.Errorf("it is %s now", got.State)
	}
}

func TestHostileTextsStayTexts(t *testing.T) {
	open := make(chan struct{})
	close(open)
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(open)}})
	for _, hostile := range []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</title><script>x</script>`,
		`'-alert(1)-'`, `{{.Root}}`, "javascript:alert(1)", `<svg onload=alert(1)>`} {
		spec, err := json.Marshal(map[string]any{"name": hostile, "steps": []any{map[string]any{"action": "send"}}})
		if err != nil {
			t.Fatal(err)
		}
		row, err := json.Marshal(map[string]any{"id": hostile, "fail": hostile})
		if err != nil {
			t.Fatal(err)
		}
		made := n.Make(string(spec), string(row)+"\n")
		n.Until(made.ID, api.Completed)
		for _, path := range []string{"/ui/", "/ui/bulk-actions", "/ui/bulk-actions/" + made.ID} {
			_, page := newBrowser(t, n).get(path)
			if !strings.Contains(text(t, page), strings.Join(strings.Fields(hostile), " ")) {
				t.Errorf("%s does not show %s", path, hostile)
			}
			for _, name := range foreign(t, page) {
				t.Errorf("%s has the element or attribute %s", path, name)
			}
		}
	}
}

// foreign lists elements and attributes of a page that can run script, besides the page's own.
func foreign(t *testing.T, page string) (list []string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			own := n.Data == "script" && a.Key == "src" && a.Val == "/ui/assets/live.js"
			if strings.HasPrefix(a.Key, "on") || strings.HasPrefix(a.Val, "javascript:") && a.Key == "href" || n.Data == "script" && a.Key == "src" && !own {
				list = append(list, n.Data+" "+a.Key)
			}
		}
		if n.Data == "img" || n.Data == "iframe" || n.Data == "script" && n.FirstChild != nil {
			list = append(list, n.Data)
		}
	}
	return list
}

func TestAnAddressWithoutAPageIsSaidInAPage(t *testing.T) {
	n := ended(t, false)
	b := newBrowser(t, n)
	for _, path := range []string{"/ui/nothing", "/ui/settings/nothing", "/ui/bulk-actions/ba_1/items/7"} {
		status, page := b.get(path)
		if status != http.StatusNotFound {
			t.Errorf("%s: status %d", path, status)
		}
		b.want(page, "This page cannot be shown No page has this address. Check the address, or choose a page above.", "Overview Bulk actions")
	}
	_, page := b.get("/ui/bulk-actions/ba_missing")
	b.want(page, "weir api GET /v1/bulk-actions/ba_missing", "not_found")
	b.lacks(page, "req_") // only faults of the server are in its log
}

func TestALivePageGetsThePartsThatChange(t *testing.T) {
	open := make(chan struct{})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(open)}})
	made := n.Make(oneStep, `{"id":"u1"}`+"\n")
	resp := n.Request(t.Context(), "GET", "/ui/live?of=/ui/bulk-actions/"+made.ID, "", nil)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	opened := false
	for lines.Scan() {
		raw, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var news struct {
			Title string
			Parts []struct{ ID, HTML string }
		}
		if err := json.Unmarshal([]byte(raw), &news); err != nil {
			t.Fatal(err)
		}
		for _, p := range news.Parts {
			if !strings.Contains(p.HTML, `id="`+p.ID+`"`) {
				t.Errorf("part %s has another id: %s", p.ID, p.HTML)
			}
			if p.ID == "progress" && strings.Contains(text(t, p.HTML), "1 of 1 item finished") {
				if !opened {
					t.Error("it has ended before it could")
				}
				if news.Title != "spring, 100\u00a0%" {
					t.Errorf("the title is %q", news.Title)
				}
				return
			}
		}
		if !opened {
			opened = true
			close(open)
		}
	}
	t.Fatalf("the stream ended: %v", lines.Err())
}
