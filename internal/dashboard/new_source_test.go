package dashboard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// A source that cannot be reached is told as that, on pages that open and let it be corrected.
func TestASourceThatCannotBeReachedIsCorrectedInTheWizard(t *testing.T) {
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	var down atomic.Bool
	users := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, `{"items":[{"id":"u1"},{"id":"u2"}]}`)
	}))
	t.Cleanup(users.Close)
	n := openNode(t, nodetest.Options{Connections: []api.Connection{{Name: "db", Kind: "postgres", URL: strings.TrimPrefix(away.URL, "http://")}}})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"send"}})
	const refused = "the connection was refused, because nothing listens at this address and port"
	for what, form := range map[string]url.Values{
		"d-u": {"url": {away.URL + "/seg"}}, "d-con": {"connection": {"db"}, "query": {"SELECT 1 AS id"}, "key": {"id"}},
	} {
		status, page, shown := b.postAt(at+"/source", form)
		if status != http.StatusUnprocessableEntity || shown != at+"/source" {
			t.Errorf("%s: status %d at %s: %s", what, status, shown, text(t, page))
		}
		b.want(page, refused, "The source is kept as you entered it", "Test and use this source")
		if !strings.Contains(page, `id="`+what+`" name="`+map[string]string{"d-u": "url", "d-con": "connection"}[what]+`"`) || !strings.Contains(page, `aria-invalid="true"`) {
			t.Errorf("%s is not marked as wrong: %s", what, page)
		}
		for _, path := range []string{"/data", "/mapping", "/forecast", "/rules", "/start"} {
			if status, page := b.get(at + path); status != http.StatusOK || path != "/rules" && path != "/start" && !strings.Contains(text(t, page), refused) {
				t.Errorf("%s: %s answers %d: %s", what, path, status, text(t, page))
			}
		}
		_, page = b.post(at+"/start", nil)
		b.want(page, "It cannot start like this", refused)
	}
	if status, page, shown := b.postAt(at+"/source", url.Values{"url": {users.URL}}); status != http.StatusOK || shown != at+"/data" {
		t.Fatalf("the right source: %d at %s: %s", status, shown, text(t, page))
	}
	down.Store(true)
	_, page := b.get(at + "/mapping")
	b.want(page, "The data cannot be used", "answered 503", "Nothing has been sent")
	down.Store(false)
	_, page = b.get(at + "/mapping")
	b.want(page, "All 2 rows can be used")

	_, page = b.post("/ui/schedules/new", scheduleForm("bulk_action", "steps:\n- action: send\n", "bulk_action.source.segment.url", away.URL, "try", "1"))
	if b.want(page, "The source cannot be read", refused); !strings.Contains(page, `id="f-bulk_action-source-segment-url-e"`) {
		t.Errorf("the fault is not at the URL: %s", page)
	}
}

// customers serves rows whose id column has a name that is not known as one.
func customers(t *testing.T) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var rows []string
		for i := range 250 {
			rows = append(rows, fmt.Sprintf(`{"kundin":"K%d","stadt":"Bonn"}`, i))
		}
		fmt.Fprintf(w, `{"items":[%s]}`, strings.Join(rows, ","))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// A source without a known id lists its columns to choose from, and its first rows.
func TestTheIDOfASourceIsChosen(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"send"}})
	_, page, _ := b.postAt(at+"/source", url.Values{"url": {customers(t)}})
	b.want(page, "no column was recognised as the id", "found kundin, stadt", "Choose the id", `none {"kundin":"K0","stadt":"Bonn"}`)
	b.lacks(page, "250 rows read")
	_, page = b.get(at + "/mapping")
	b.want(page, "Which column identifies each row?", `no member has the name "id"`, "Choose a column", "Bad rows 250 rows", "Show the first 50 bad rows")
	b.lacks(page, "Download bad-rows.csv", "Bad rows none")
	if !strings.Contains(page, `<option value="kundin">kundin</option>`) {
		t.Errorf("the column cannot be chosen: %s", page)
	}
	if _, page = b.post(at+"/mapping", url.Values{"s0": {"whole"}, "bad": {"record"}, "do": {"next"}}); !strings.Contains(page, "Choose the column that identifies each row.") {
		t.Errorf("it goes on without an id: %s", text(t, page))
	}
	_, page = b.post(at+"/mapping", url.Values{"item_id": {"kundin"}, "s0": {"whole"}, "bad": {"record"}})
	b.want(page, "All 250 rows can be used", "K0")
	if !strings.Contains(page, `<option value="kundin" selected>`) {
		t.Errorf("the choice is gone: %s", page)
	}
}

// Trying the source of a schedule says which column is missing, and which there are.
func TestTryingASourceNamesTheMissingColumn(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	from := customers(t)
	for _, rule := range []string{"record", "refuse"} {
		_, page := b.post("/ui/schedules/new", scheduleForm("bulk_action", "steps:\n- action: send\nitem_id: user_id\non_bad_line: "+rule+"\n", "bulk_action.source.segment.url", from, "try", "1"))
		b.want(page, "The source has rows, and none of the first can be used", `No member has the name "user_id"`, "found kundin, stadt", `without an id: {"kundin":"K0"`)
		b.lacks(page, "has no rows now")
	}
}
