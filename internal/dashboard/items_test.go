package dashboard_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// ended starts a node whose action answers at once.
func ended(t *testing.T, closed bool) *nodetest.Node {
	t.Helper()
	open := make(chan struct{})
	close(open)
	return nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(open)}, Closed: closed})
}

// signIn returns a browser with a new key.
func signIn(t *testing.T, n *nodetest.Node, scopes []access.Scope, tenants ...string) *browser {
	t.Helper()
	b := newBrowser(t, n)
	if status, page := b.post("/ui/sign-in", url.Values{"key": {n.As(scopes, tenants...).Key()}, "next": {"/ui/bulk-actions"}}); status != http.StatusOK {
		t.Fatalf("sign-in: status %d: %s", status, text(t, page))
	}
	return b
}

// lacks fails if a page has one of these texts.
func (b *browser) lacks(page string, texts ...string) {
	b.t.Helper()
	seen := text(b.t, page)
	for _, bad := range texts {
		if strings.Contains(seen, bad) {
			b.t.Errorf("the page has %q:\n%s", bad, seen)
		}
	}
}

func TestWhatHappenedToAnItemIsShownInAllBulkActionsAndItCanBeRetried(t *testing.T) {
	n := ended(t, false)
	n.Until(n.Make(oneStep, `{"id":"user-42","n":7}`+"\n").ID, api.Completed)
	failed := n.Make(strings.Replace(oneStep, "spring", "autumn", 1), `{"id":"user-42","fail":"account 17 is closed"}`+"\n"+`{"id":"user-43","fail":"x"}`+"\n")
	n.Until(failed.ID, api.Completed)
	b := newBrowser(t, n)
	_, page := b.get("/ui/items")
	b.want(page, "Look up what happened to one item", "The exact name of a bulk action leads to it.")
	status, page := b.post("/ui/items", url.Values{"id": {" user-42 "}})
	if status != http.StatusOK {
		t.Errorf("the status is %d", status)
	}
	b.want(page, "What happened to user-42", "Found in 2 bulk actions", `send failed after 1 attempt: closed account 17 is closed`,
		`send done after 1 attempt. Answer {}`, `"n":7`, "Idempotency key", "weir item user-42", "autumn Failed growth", "spring Done growth")
	if text := text(t, page); strings.Index(text, "autumn") > strings.Index(text, "spring") {
		t.Error("the newest is not the first")
	}
	var list api.Page[api.ItemResult]
	n.Call("GET", "/v1/bulk-actions/"+failed.ID+"/items", "", 200, &list)
	item := list.Data[0].Item
	_, page = b.get("/ui/items/" + item)
	b.want(page, "user-42 Failed in autumn", "Id for addresses "+item, "account 17 is closed", "Retry this item")
	_, page = b.post("/ui/items/"+item+"/retry", url.Values{"once": {"a"}})
	b.want(page, "1 item retried, in this bulk action", "keeps its idempotency key")
	b.post("/ui/items/"+item+"/retry", url.Values{"once": {"a"}})
	var got api.BulkAction
	n.Call("GET", "/v1/bulk-actions/"+failed.ID, "", 200, &got)
	if len(got.Retries) != 1 {
		t.Errorf("a form that was sent twice made %d retries", len(got.Retries))
	}
}

func TestTheSearchLeadsToBulkActionsByIDAndName(t *testing.T) {
	n := ended(t, false)
	made := n.Make(oneStep, `{"id":"u1"}`+"\n")
	n.Until(made.ID, api.Completed)
	b := newBrowser(t, n)
	for _, typed := range []string{made.ID, "spring"} {
		_, page := b.post("/ui/items", url.Values{"id": {typed}})
		b.want(page, "spring Completed", "Adds up")
	}
	_, page := b.post("/ui/items", url.Values{"id": {strings.Replace(made.ID, "ba_", "itm_", 1) + "-0"}})
	b.want(page, "u1 Done in spring")
	_, page = b.post("/ui/items", url.Values{"id": {"prin"}})
	b.want(page, "No bulk action has an item “prin”", "Bulk actions with this name in theirs: spring")
	n.Until(n.Make(oneStep, `{"id":"u1"}`+"\n").ID, api.Completed)
	_, page = b.post("/ui/items", url.Values{"id": {"spring"}})
	b.want(page, "Bulk actions with this name in theirs: spring growth spring growth")
}

func TestAnItemThatIsNotFoundSaysWhatToCheck(t *testing.T) {
	n := ended(t, true)
	admin := n.As([]access.Scope{access.Admin})
	admin.Until(admin.Make(oneStep, `{"id":"user-42","fail":"x"}`+"\n").ID, api.Completed)
	b := signIn(t, n, []access.Scope{access.Read}, "crm")
	for _, id := range []string{"user-42", "ba_nothing", "itm_nothing-0", "spring"} {
		_, page := b.post("/ui/items", url.Values{"id": {id}})
		b.want(page, "No bulk action has an item “"+id+"”", "capitals and leading zeros count")
		b.lacks(page, "spring growth")
	}
	status, page := b.post("/ui/items", url.Values{"id": {"  "}})
	if status != http.StatusUnprocessableEntity {
		t.Errorf("an empty id: status %d", status)
	}
	b.want(page, "Enter the id of an item.")
	_, page = b.post("/ui/items", url.Values{"id": {strings.Repeat("x", 300)}})
	b.want(page, "256")
	reader := signIn(t, n, []access.Scope{access.Read})
	_, page = reader.post("/ui/items", url.Values{"id": {"user-42"}})
	reader.lacks(page, "Retry this item")
}

func TestHostileItemsStayTexts(t *testing.T) {
	n := ended(t, false)
	const hostile = `"><script>alert(1)</script>'\`
	row, err := json.Marshal(map[string]any{"id": hostile, "fail": hostile, "<b>": hostile})
	if err != nil {
		t.Fatal(err)
	}
	made := n.Make(oneStep, string(row)+"\n")
	n.Until(made.ID, api.Completed)
	b := newBrowser(t, n)
	_, found := b.post("/ui/items", url.Values{"id": {hostile}})
	item := strings.Replace(made.ID, "ba_", "itm_", 1) + "-0"
	_, one := b.get("/ui/items/" + item)
	_, none := b.post("/ui/items", url.Values{"id": {hostile + "!"}})
	for _, page := range []string{found, one, none} {
		b.want(page, hostile)
		for _, name := range foreign(t, page) {
			t.Errorf("a page has the element or attribute %s", name)
		}
	}
	if _, page := b.post("/ui/items/"+item+"/retry", nil); !strings.Contains(text(t, page), "1 item retried, in this bulk action") {
		t.Errorf("an item with quotes in its id is not retried: %s", text(t, page))
	}
}

// Spaces around an id may be of the id, or have come with a copy.
func TestAnIDWithSpacesAroundItIsFound(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(opened())}})
	made := n.Make(oneStep, `{"id":" K1200 "}`+"\n"+`{"id":"K1300"}`+"\n")
	n.Until(made.ID, api.Completed)
	b := newBrowser(t, n)
	for _, id := range []string{" K1200 ", "K1300", " K1300\t"} {
		if _, page := b.post("/ui/items", url.Values{"id": {id}}); !strings.Contains(text(t, page), "1 bulk action") {
			t.Errorf("%q is not found: %s", id, text(t, page))
		}
	}
	_, page := b.post("/ui/items", url.Values{"id": {"K1200"}}) // another id
	b.lacks(page, "1 bulk action")
}
