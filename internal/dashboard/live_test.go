package dashboard_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/server"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// keyed is a person who has signed in with a key of some tenants, and the id of the key.
func keyed(t *testing.T, admin *nodetest.Node, tenants ...string) (b *browser, id string) {
	t.Helper()
	n := admin.As([]access.Scope{access.Read, access.Submit, access.Control}, tenants...)
	var me api.Whoami
	n.Call("GET", "/v1/whoami", "", 200, &me)
	b = newBrowser(t, n)
	if status, page := b.post("/ui/sign-in", url.Values{"key": {n.Key()}}); status != http.StatusOK {
		t.Fatalf("sign in: %d %s", status, page)
	}
	return b, me.Key
}

// stream opens the live parts of a page.
func (b *browser) stream(ctx context.Context, of string) *bufio.Scanner {
	b.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.node.URL+"/ui/live?of="+url.QueryEscape(of), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	resp, err := b.web.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return lines
}

// event returns the kind of the next event; empty at the end.
func event(lines *bufio.Scanner) string {
	for lines.Scan() {
		if kind, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			return kind
		}
	}
	return ""
}

// TestTheStreamsOfARevokedKeyEndSoon revokes a key with so many pages open that each is looked at seldom.
func TestTheStreamsOfARevokedKeyEndSoon(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Closed: true}).As([]access.Scope{access.Admin})
	b, id := keyed(t, n)
	other, _ := keyed(t, n)
	stays := other.stream(t.Context(), "/ui/")
	if got := event(stays); got != "parts" {
		t.Fatalf("the stream of the other key begins with %q", got)
	}
	var all []*bufio.Scanner
	for i := range 200 {
		lines := b.stream(t.Context(), fmt.Sprintf("/ui/bulk-actions?name=n%d", i))
		if got := event(lines); got != "parts" {
			t.Fatalf("stream %d begins with %q", i, got)
		}
		all = append(all, lines)
	}
	n.Call("DELETE", "/v1/keys/"+id, "", 200, nil)
	began := time.Now()
	var g sync.WaitGroup
	for _, lines := range all {
		g.Go(func() {
			for kind := event(lines); kind != ""; kind = event(lines) {
				if kind != "parts" && kind != "beat" && kind != "failed" {
					t.Errorf("a stream of a revoked key sends %q", kind)
				}
			}
		})
	}
	g.Wait()
	if took := time.Since(began); took > 12*time.Second {
		t.Errorf("the streams of a revoked key ended after %v", took)
	}
	if got := event(stays); got == "" {
		t.Error("the stream of another key has ended, too")
	}
}

// TestASignOutEndsTheStreamsAndDownloadsOfTheSession: those of other tabs, and not those of another session with the same key.
func TestASignOutEndsTheStreamsAndDownloadsOfTheSession(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Closed: true, Steps: []weir.Step{send(opened())}, Server: server.Options{Exports: 1, SlowBody: time.Hour}}).As([]access.Scope{access.Admin})
	row := fmt.Sprintf(`"text":%q}`, strings.Repeat("x", 2000))
	var rows strings.Builder
	for i := range 16_000 { // more than sockets hold
		fmt.Fprintf(&rows, "{\"id\":\"u%d\",%s\n", i, row)
	}
	made := n.Make(oneStep, rows.String())
	n.Until(made.ID, api.Completed)
	b, other := newBrowser(t, n), newBrowser(t, n)
	for _, x := range []*browser{b, other} {
		x.post("/ui/sign-in", url.Values{"key": {n.Key()}})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ends, stays := b.stream(ctx, "/ui/"), other.stream(t.Context(), "/ui/")
	for _, lines := range []*bufio.Scanner{ends, stays} {
		if got := event(lines); got != "parts" {
			t.Fatalf("a stream begins with %q", got)
		}
	}
	file, err := b.web.Get(n.URL + "/ui/bulk-actions/" + made.ID + "/results?state=all")
	if err != nil || file.StatusCode != http.StatusOK {
		t.Fatalf("download: %v %v", file, err)
	}
	defer file.Body.Close()
	b.post("/ui/sign-out", nil)
	last := ""
	for kind := event(ends); kind != ""; kind = event(ends) {
		last = kind
	}
	if last != "failed" {
		t.Errorf("the last event of the session that was ended is %q, want failed", last)
	}
	n.Eventually("the download has ended, of which there is one at a time", func() bool {
		resp := n.Request(t.Context(), "GET", "/v1/bulk-actions/"+made.ID+"/results", "", nil)
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	if got, err := io.Copy(io.Discard, file.Body); err == nil {
		t.Errorf("the download has all its %d bytes", got)
	}
	if got := event(stays); got == "" {
		t.Error("the stream of another session has ended, too")
	}
}

func TestAScriptIsToldWhyAPageCannotBeShown(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Closed: true, Steps: []weir.Step{send(nil)}}).As([]access.Scope{access.Admin})
	b, id := keyed(t, n, "growth")
	var mine, theirs api.BulkAction
	n.Call("POST", "/v1/bulk-actions", strings.ReplaceAll(oneStep, "growth", "crm"), 201, &theirs)
	n.Call("POST", "/v1/bulk-actions", oneStep, 201, &mine)
	check := func(b *browser, of string, want int, says string) {
		t.Helper()
		status, text := b.get("/ui/check?of=" + url.QueryEscape(of))
		if status != want || !strings.Contains(text, says) || strings.Contains(text, "<") {
			t.Errorf("%q: %d %q, want %d %q", of, status, text, want, says)
		}
	}
	check(b, "", http.StatusNoContent, "")
	check(b, "/ui/bulk-actions?name=x", http.StatusNoContent, "")
	check(b, "/ui/bulk-actions/"+mine.ID, http.StatusNoContent, "")
	check(b, "/ui/bulk-actions/"+theirs.ID, http.StatusNotFound, theirs.ID)
	check(b, "/ui/check?of=/ui/", http.StatusBadRequest, "not the path of a page")
	check(b, "/v1/bulk-actions", http.StatusBadRequest, "not the path of a page")
	check(newBrowser(t, n), "/ui/", http.StatusUnauthorized, "The session has ended.")
	n.Call("DELETE", "/v1/keys/"+id, "", 200, nil)
	n.Eventually("the key is refused", func() bool {
		status, text := b.get("/ui/check?of=/ui/")
		return status == http.StatusUnauthorized && strings.Contains(text, "The key was revoked or has expired.")
	})
	check(b, "", http.StatusUnauthorized, "The key was revoked or has expired.")
}

// TestATenantCannotTakeTheLivePagesOfOthers opens as many pages as a node serves with one key, and one with that of another.
func TestATenantCannotTakeTheLivePagesOfOthers(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Closed: true, Server: server.Options{Streams: 1}}).As([]access.Scope{access.Admin})
	greedy, _ := keyed(t, n, "crm")
	var all []*bufio.Scanner
	for i := range 32 {
		lines := greedy.stream(t.Context(), "/ui/bulk-actions")
		if got := event(lines); got != "parts" {
			t.Fatalf("page %d gets %q", i, got)
		}
		all = append(all, lines)
	}
	if got := event(greedy.stream(t.Context(), "/ui/bulk-actions")); got != "busy" {
		t.Errorf("one more page of the same key gets %q", got)
	}
	small, _ := keyed(t, n, "growth")
	for i := range 4 {
		if got := event(small.stream(t.Context(), "/ui/bulk-actions")); got != "parts" {
			t.Errorf("page %d of the other tenant gets %q", i, got)
		}
	}
	for i, lines := range all[:4] { // the oldest give way, and are told
		kind := event(lines)
		for kind == "beat" || kind == "parts" {
			kind = event(lines)
		}
		if kind != "busy" {
			t.Errorf("page %d of the greedy key, whose place was given away, gets %q", i, kind)
		}
	}
}

// TestAFormSentTwiceShowsTheResultOfTheFirst sends forms again, as from another tab that shows the same page.
func TestAFormSentTwiceShowsTheResultOfTheFirst(t *testing.T) {
	open := make(chan struct{})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(open)}})
	t.Cleanup(func() { close(open) })
	made := n.Make(oneStep, `{"id":"u1"}`+"\n"+`{"id":"u2"}`+"\n")
	n.Until(made.ID, api.Running)
	at := "/ui/bulk-actions/" + made.ID
	for _, tt := range []struct {
		path, told string
		form       url.Values
	}{
		{"/pause", "Paused. Calls that were running end; nothing is lost.", nil},
		{"/resume", "Resumed.", nil},
		{"/cancel", "Cancelled. Calls that were running end.", url.Values{"shown": {"2"}}},
	} {
		for try := range 2 {
			status, page := newBrowser(t, n).post(at+tt.path, tt.form)
			if seen := text(t, page); status != http.StatusOK || !strings.Contains(seen, tt.told) || strings.Contains(seen, "Nothing was changed") {
				t.Errorf("%s, try %d: %d, want %q: %s", tt.path, try+1, status, tt.told, seen)
			}
		}
	}
	copies := func() (list api.Page[api.BulkAction]) {
		n.Call("GET", "/v1/bulk-actions?state=draft", "", 200, &list)
		return list
	}
	for range 2 {
		if status, page := newBrowser(t, n).post(at+"/clone", url.Values{"once": {"same"}}); status != http.StatusOK {
			t.Errorf("copy: %d %s", status, text(t, page))
		}
	}
	if list := copies(); len(list.Data) != 1 {
		t.Errorf("a form that was sent twice made %d copies", len(list.Data))
	}
}

// TestPartsOfAPageAreSentOnlyIfWhatTheyShowChanges opens a page twice: what is pushed is the same, and so are the next looks.
func TestPartsOfAPageAreSentOnlyIfWhatTheyShowChanges(t *testing.T) {
	open := make(chan struct{})
	close(open)
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(open)}})
	made := n.Make(oneStep, `{"id":"u1","fail":"closed"}`+"\n")
	n.Until(made.ID, api.Completed)
	b := newBrowser(t, n)
	for _, of := range []string{"/ui/bulk-actions/" + made.ID, "/ui/bulk-actions/" + made.ID + "/errors", "/ui/failed"} {
		first := func() string {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			lines := b.stream(ctx, of)
			if got := event(lines); got != "parts" || !lines.Scan() {
				t.Fatalf("%s: the stream begins with %q", of, got)
			}
			return lines.Text()
		}
		if one, two := first(), first(); one != two {
			t.Errorf("%s: nothing has changed, and parts differ:\n%s\n%s", of, one, two)
		}
	}
}
