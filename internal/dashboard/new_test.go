package dashboard_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// sendForm posts a form with a file or pasted rows, and follows to the next page. It returns its address.
func (b *browser) sendForm(path string, fields ...string) (status int, page, at string) {
	b.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for i := 0; i+1 < len(fields); i += 2 {
		name, file, isFile := strings.Cut(fields[i], "=")
		make := w.CreateFormField
		if isFile {
			make = func(name string) (io.Writer, error) { return w.CreateFormFile(name, file) }
		}
		part, err := make(name)
		if err != nil {
			b.t.Fatal(err)
		}
		if _, err := part.Write([]byte(fields[i+1])); err != nil {
			b.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.node.URL+path, &body)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", w.FormDataContentType())
	return b.doAt(req)
}

// doAt is do, with the address of the page that is shown in the end.
func (b *browser) doAt(req *http.Request) (status int, page, at string) {
	b.t.Helper()
	b.web.CheckRedirect = func(r *http.Request, _ []*http.Request) error { at = r.URL.Path; return nil }
	at = req.URL.Path
	status, page = b.do(req)
	b.web.CheckRedirect = nil
	return status, page, at
}

// postAt is post, with the address of the page that is shown in the end.
func (b *browser) postAt(path string, form url.Values) (status int, page, at string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.node.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.doAt(req)
}

// begin makes a draft by step 1, and returns the address of its pages.
func (b *browser) begin(form url.Values) string {
	b.t.Helper()
	status, page, at := b.postAt("/ui/new", form)
	if status != http.StatusOK || !strings.HasSuffix(at, "/data") {
		b.t.Fatalf("step 1 ends at %s with status %d: %s", at, status, text(b.t, page))
	}
	return strings.TrimSuffix(at, "/data")
}

func idOf(at string) string { return at[strings.LastIndexByte(at, '/')+1:] }

func openNode(t *testing.T, o nodetest.Options) *nodetest.Node {
	t.Helper()
	open := make(chan struct{})
	close(open)
	o.Steps = append(o.Steps, send(open))
	return nodetest.Start(t, o)
}

func TestAManagerMakesABulkActionOfAFile(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	_, page := b.get("/ui/new")
	b.want(page, "New bulk action", "Choose an action", "Nothing is sent", "Continue to data")
	at := b.begin(url.Values{"name": {"autumn"}, "tenant": {"crm"}, "labels": {"season=autumn"}, "action": {"send", ""}, "once": {"k1"}})
	if _, _, again := b.postAt("/ui/new", url.Values{"name": {"autumn"}, "tenant": {"crm"}, "labels": {"season=autumn"}, "action": {"send", ""}, "once": {"k1"}}); again != at+"/data" {
		t.Errorf("a second click makes another draft: %s and %s", again, at)
	}
	status, page, shown := b.sendForm(at+"/data", "file=users.csv", "user_id,amount\nu1,5\nu2,7\nu1,9\n,3\nu4,1\n")
	if status != http.StatusOK || shown != at+"/mapping" {
		t.Fatalf("the upload ends at %s with status %d: %s", shown, status, text(t, page))
	}
	b.want(page, "1 of 5 rows cannot be used", "Valid 3", "Duplicate ids 1", "Bad rows 1", "3 + 1 + 1 = 5", "line 5", "Continue with 3 items", "Nothing has been sent")
	status, _, shown = b.postAt(at+"/mapping", url.Values{"item_id": {"user_id"}, "bad": {"record"}, "duplicates": {"keep_first"}, "s0": {"fields"},
		"s0-0": {"to"}, "s0-0-column": {"user_id"}, "s0-1": {"points"}, "s0-1-column": {"amount"}, "s0-1-as": {"int"}, "do": {"next"}, "shown": {"3"}})
	if status != http.StatusOK || shown != at+"/rules" {
		t.Fatalf("the mapping ends at %s with status %d", shown, status)
	}
	_, page = b.get(at + "/mapping")
	b.want(page, `{"points":5,"to":"u1"}`, "int(item.amount)")
	status, page, shown = b.postAt(at+"/rules", url.Values{"canary": {"percent"}, "canary_percent": {"1"}, "approve": {"manual"}, "stop": {"1"},
		"stop_percent": {"5"}, "stop_after": {"1000"}, "tier": {"default"}})
	if status != http.StatusOK || shown != at+"/forecast" {
		t.Fatalf("the rules end at %s with status %d: %s", shown, status, text(t, page))
	}
	b.want(page, "Start canary of 1 item", "5 = 3 items + 1 duplicate + 1 bad row", "Run 1 % (1 item) first, then ask me", "Nothing has been sent")
	var got api.BulkAction
	if n.Call("GET", "/v1/bulk-actions/"+idOf(at), "", 200, &got); got.State != api.Draft {
		t.Fatalf("before the last button it is %s", got.State)
	}
	form := url.Values{"once": {"k2"}}
	_, page, shown = b.postAt(at+"/start", form)
	if shown != "/ui/bulk-actions/"+idOf(at) {
		t.Fatalf("the start ends at %s: %s", shown, text(t, page))
	}
	if _, _, shown = b.postAt(at+"/start", form); shown != "/ui/bulk-actions/"+idOf(at) {
		t.Errorf("a second click ends at %s", shown)
	}
	got = n.Until(idOf(at), api.Awaiting)
	if got.Counts.Total != 3 || got.Counts.Done != 1 || got.Duplicates != 1 || got.BadLines != 1 || got.Tenant != "crm" || got.Labels["season"] != "autumn" {
		t.Errorf("it is %+v", got)
	}
	status, page = b.get(at + "/rules")
	b.want(page, "The wizard is over for this bulk action")
	if status != http.StatusConflict {
		t.Errorf("the wizard of what runs has status %d", status)
	}
}

var _ = json.Marshal
var _ = access.Admin
