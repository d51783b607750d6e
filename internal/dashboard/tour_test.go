package dashboard_test

import (
	"bufio"
	"net/url"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

func TestATourIsShownClosedAndOpenedAgain(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(opened())}, Tour: true})
	made := n.Make(oneStep, `{"id":"u1"}`+"\n")
	b := newBrowser(t, n)
	on := map[string]string{
		"/ui/":                        "This is where you are needed.",
		"/ui/bulk-actions/" + made.ID: "Every item is counted once.",
		"/ui/resources?of=send":       "What each service can take.",
		"/ui/lanes":                   "Workers follow the load.",
	}
	for path, note := range map[string]string{ // there is nothing that they could explain
		"/ui/failed": "trying again by itself", "/ui/bulk-actions/" + made.ID: "The same fault of many items",
	} {
		if _, page := b.get(path); strings.Contains(text(t, page), note) {
			t.Errorf("%s has a note that does not fit: %q", path, note)
		}
	}
	for path, note := range on {
		if _, page := b.get(path); !strings.Contains(text(t, page), note) || !strings.Contains(page, `value="closed">Close the tour<`) {
			t.Errorf("%s has no note %q that can be closed", path, note)
		}
	}
	if _, page := b.get("/ui/settings"); strings.Contains(page, "Close the tour") {
		t.Error("a page without notes offers to close them")
	}
	status, page := b.post("/ui/tour", url.Values{"tour": {"closed"}, "next": {"/ui/lanes"}})
	if status != 200 || !strings.Contains(page, "<h1>Lanes</h1>") {
		t.Errorf("closing the tour answers %d, not the page that one was on", status)
	}
	for path, note := range on {
		if _, page := b.get(path); strings.Contains(text(t, page), note) || !strings.Contains(page, `value="open">Show the tour<`) {
			t.Errorf("%s shows the closed tour, or offers no way back", path)
		}
	}
	_, page = b.post("/ui/tour", url.Values{"tour": {"open"}, "next": {"/ui/"}})
	b.want(page, "This is where you are needed.", "Close the tour")
	if strings.Contains(page, "Show the tour") {
		t.Error("an open tour can be opened")
	}
}

func TestAServerHasNoTourByItself(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(opened())}})
	b := newBrowser(t, n)
	for _, path := range []string{"/ui/", "/ui/lanes", "/ui/resources", "/ui/failed"} {
		if _, page := b.get(path); strings.Contains(page, "tour") || strings.Contains(page, `class="tip"`) {
			t.Errorf("%s speaks of a tour", path)
		}
	}
	if status, _ := b.post("/ui/tour", url.Values{"tour": {"closed"}}); status != 405 && status != 404 {
		t.Errorf("POST /ui/tour = %d, want no such form", status)
	}
}

func TestNotesOfTheTourAreNotPushed(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(opened())}, Tour: true})
	resp := n.Request(t.Context(), "GET", "/ui/live?of=/ui/", "", nil)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if parts, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if !strings.Contains(parts, `"todo"`) || strings.Contains(parts, "tip") {
				t.Errorf("pushed: %s", parts)
			}
			return
		}
	}
	t.Error("nothing is pushed")
}
