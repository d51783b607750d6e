package dashboard_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

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

// A file whose upload is cut off is told as that, and the page stays.
func TestAFormThatIsCutOffIsSentAgain(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"send"}})
	for field, name := range map[string]string{"file": `; filename="users.csv"`, "rows": ""} {
		body := "--x\r\nContent-Disposition: form-data; name=\"" + field + "\"" + name + "\r\n\r\nid,amount\nu1,5\nu2"
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.URL+at+"/data", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		status, page := b.do(req)
		if status != http.StatusUnprocessableEntity {
			t.Errorf("status %d: %s", status, text(t, page))
		}
		b.want(page, "The data did not arrive completely. Send it again.")
	}
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

// nextMonth is a time to come, as a field of a form has it.
func nextMonth() string { return time.Now().UTC().AddDate(0, 1, 0).Format("2006-01-02T15:04") }

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
	b.want(page, "Start canary of 1 item", "5 = 3 items + 1 duplicate + 1 bad row", "Run 1 % (1 item) first, then ask me", "It has not started.")
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

const season = `{"title":"Season reward","params":[{"name":"amount","type":"integer","title":"Points","required":true,"min":10,"max":500},
	{"name":"season","type":"string","default":"spring","allowed":["spring","autumn"]},{"name":"loud","type":"boolean"},{"name":"day","type":"date"}],
	"bulk_action":{"steps":[{"action":"send","input":{"to":"id","n":"params.amount"}}],"on_bad_line":"record","duplicates":"keep_first","canary":{"items":1}}}`

func TestAManagerUsesATemplate(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	n.Call("PUT", "/v1/templates/season", season, 200, nil)
	b := newBrowser(t, n)
	_, page := b.get("/ui/new")
	b.want(page, "Season reward", "Use Season reward", "Build a chain")
	_, page = b.get("/ui/new?template=season")
	b.want(page, "Points (needed)", "Whole number from 10 to 500", "spring", "optional")
	form := url.Values{"template": {"season"}, "name": {"autumn"}, "p-amount": {"5000"}, "p-season": {"autumn"}, "labels": {"team crm"}}
	status, page, _ := b.postAt("/ui/new", form)
	b.want(page, "Write labels as name=value")
	if status != http.StatusUnprocessableEntity || !strings.Contains(page, `value="5000"`) {
		t.Errorf("a wrong label has status %d, or what was typed is gone", status)
	}
	form.Set("labels", "team=crm")
	for typed, want := range map[string]string{"5000": "5000 is more than 500. Choose between 10 and 500.", "many": "is not a", "": "Is missing."} {
		form.Set("p-amount", typed)
		_, page, _ = b.postAt("/ui/new", form)
		b.want(page, want)
	}
	form.Set("p-amount", "50")
	at := b.begin(form)
	_, page = b.get(at)
	b.want(page, "New bulk action: autumn", "From the template Season reward")
	if !strings.Contains(page, `value="50"`) {
		t.Error("the parameter is gone")
	}
	if _, _, shown := b.sendForm(at+"/data", "kind", "", "rows", "u1\r\nu2\r\nu1\r\n"); shown != at+"/mapping" {
		t.Fatalf("pasted ids end at %s", shown)
	}
	_, page = b.get(at + "/mapping")
	b.want(page, "Rows 3", "Valid 2", "Duplicate ids 1", "The template decides", "params.amount", `{"n":50,"to":"u1"}`)
	if _, _, shown := b.postAt(at+"/mapping", url.Values{"do": {"next"}, "shown": {"2"}}); shown != at+"/rules" {
		t.Fatalf("the mapping ends at %s", shown)
	}
	_, page = b.get(at + "/rules")
	b.want(page, "The template decides about these", "Canary 1 item first")
	if _, _, shown := b.postAt(at+"/rules", url.Values{"tier": {"high"}, "canary": {"none"}}); shown != at+"/forecast" {
		t.Fatalf("the rules end at %s", shown)
	}
	b.post(at+"/start", url.Values{"once": {"a"}})
	got := n.Until(idOf(at), api.Awaiting)
	if got.Counts.Total != 2 || got.Template == nil || got.Tier != "high" || got.Canary == nil || got.Labels["team"] != "crm" {
		t.Errorf("it is %+v", got)
	}
}

func TestTheWizardReadsASource(t *testing.T) {
	serves := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"items":[{"id":"u1","n":1},{"id":"u2","n":2}]}`)
	})
	segment := httptest.NewServer(serves)
	t.Cleanup(segment.Close)
	n := openNode(t, nodetest.Options{Connections: []api.Connection{{Name: "crm", Kind: "http", URL: segment.URL}}})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"send"}})
	for _, form := range []url.Values{{}, {"connection": {"none"}}, {"url": {"ftp://x"}}} {
		status, page, _ := b.postAt(at+"/source", form)
		if status != http.StatusUnprocessableEntity || !strings.Contains(page, `class="err"`) {
			t.Errorf("the source %v has status %d: %s", form, status, text(t, page))
		}
	}
	status, page, shown := b.postAt(at+"/source", url.Values{"connection": {"crm"}, "url": {segment.URL + "/seven"}})
	if status != http.StatusOK || shown != at+"/data" {
		t.Fatalf("the source ends at %s with status %d: %s", shown, status, text(t, page))
	}
	b.want(page, "2 rows read", "The first items", `{"id":"u1","n":1}`)
	if _, page, shown = b.postAt(at+"/mapping", url.Values{"do": {"next"}, "shown": {"2"}, "bad": {"record"}, "duplicates": {"keep_first"}}); shown != at+"/rules" {
		t.Fatalf("the mapping ends at %s: %s", shown, text(t, page))
	}
	b.post(at+"/rules", url.Values{"canary": {"none"}})
	_, page = b.get(at + "/forecast")
	b.want(page, "Start 2 items", "all items run at once")
	b.post(at+"/start", nil)
	if got := n.Until(idOf(at), api.Completed); got.Counts.Done != 2 {
		t.Errorf("it is %+v", got)
	}
}

func TestFaultsAreShownAtTheirFields(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	status, page, _ := b.postAt("/ui/new", url.Values{"action": {""}})
	b.want(page, "Choose at least one action.")
	if status != http.StatusUnprocessableEntity {
		t.Errorf("without an action the status is %d", status)
	}
	_, page, _ = b.postAt("/ui/new", url.Values{"action": {"sent"}})
	b.want(page, "Unknown action")
	at := b.begin(url.Values{"action": {"send", "send"}})
	_, page, _ = b.sendForm(at+"/data", "file=", "")
	b.want(page, "Choose a file.")
	_, page, _ = b.sendForm(at+"/data", "kind", "", "rows", "  ")
	b.want(page, "Paste at least one row.")
	_, page = b.get(at + "/mapping")
	b.want(page, "This draft has no data yet")
	_, page = b.get(at + "/forecast")
	b.want(page, "It cannot start like this.", "This draft has no data yet")
	status, page, _ = b.postAt(at+"/start", nil)
	b.want(page, "It cannot start like this.")
	if status != http.StatusUnprocessableEntity {
		t.Errorf("a start without data has status %d", status)
	}
	_, page, _ = b.sendForm(at+"/data", "file=x.xlsx", "PK\x03\x04 a spreadsheet")
	b.want(page, "The data cannot be used.")
	for name, damaged := range map[string]string{"x.json": `[{"id":"a"},]`, "y.json": `[{"id":"a"}`, "z.zst": "\x28\xb5\x2f\xfd\xff\xff damaged"} {
		b.sendForm(at+"/data", "file="+name, damaged)
		for _, step := range []string{"/data", "/mapping"} { // other data can be chosen
			_, page = b.get(at + step)
			b.want(page, "cannot be used.", "Nothing has been")
		}
	}
	_, page, _ = b.sendForm(at+"/data", "file=u.csv", "person,amount\nc1,5\nc2,x\n")
	b.want(page, "Which column identifies each row?", "person")
	status, page, _ = b.postAt(at+"/mapping", url.Values{"do": {"next"}})
	b.want(page, "Choose the column that identifies each row.")
	if status != http.StatusUnprocessableEntity {
		t.Errorf("without an id column the status is %d", status)
	}
	mapping := url.Values{"item_id": {"person"}, "bad": {"record"}, "duplicates": {"keep_first"}, "do": {"next"}, "s0": {"fields"}, "s0-0": {"n"},
		"s0-0-expression": {"itm.amount"}, "s1": {"whole"}}
	_, page, _ = b.postAt(at+"/mapping", mapping)
	b.want(page, "itm")
	if !strings.Contains(page, `id="e-s0-0"`) || !strings.Contains(page, `value="itm.amount"`) {
		t.Error("the fault of an expression is not at its field, or what was typed is gone")
	}
	mapping.Set("s0-0-expression", "int(item.amount)")
	_, page, _ = b.postAt(at+"/mapping", mapping)
	b.want(page, "Your change makes it 1 item.", "1 of 2 rows cannot be used", `"x" is not a whole number`, "write a whole number as in 12", "line 3")
	for field, value := range map[string]string{"canary_percent": "101", "stop_percent": "many", "rate-send": "fast", "concurrency": "-1", "deadline": "tomorrow",
		"keep": "-3", "callback": "ftp://x", "priority": "1000"} {
		form := url.Values{"canary": {"percent"}, "canary_percent": {"1"}, "stop": {"1"}, "stop_percent": {"5"}, "stop_after": {"10"}}
		form.Set(field, value)
		status, page, _ := b.postAt(at+"/rules", form)
		if status != http.StatusUnprocessableEntity || !strings.Contains(page, `id="e-`+field+`"`) {
			t.Errorf("%s %q has status %d, or no fault at its field: %s", field, value, status, text(t, page))
		}
	}
	_, page, _ = b.postAt(at+"/start", url.Values{"later": {"1"}})
	b.want(page, "Choose a date and a time.")
	_, page, _ = b.postAt(at+"/start", url.Values{"later": {"1"}, "start_at": {"2001-01-01T10:00"}, "zone": {"Europe/Nowhere"}})
	if !strings.Contains(page, `id="e-zone"`) && !strings.Contains(page, `id="e-start_at"`) {
		t.Errorf("a wrong zone: %s", text(t, page))
	}
	_, page, _ = b.postAt(at+"/trial", url.Values{"first": {"21"}})
	b.want(page, "Choose from 1 to 20 items.")
	_, page, _ = b.postAt(at+"/trial", url.Values{"first": {"1"}})
	b.want(page, "a trial would do the real work")
}

func TestATrialShowsWhatWasSentAndATemplateIsKept(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"send"}})
	b.sendForm(at+"/data", "kind", "csv", "rows", "id;fail\nu1;\nu2;no such user\n")
	status, page, _ := b.postAt(at+"/trial", url.Values{"first": {"2"}, "real": {"1"}})
	b.want(page, "sent for real", "u1 Done", "u2 Failed", "no such user")
	if status != http.StatusOK {
		t.Errorf("the trial has status %d", status)
	}
	_, page = b.get(at + "/forecast")
	if !strings.Contains(page, `href="/ui/settings/new/template?from=`+idOf(at)+`"`) {
		t.Error("the last step offers no template")
	}
	_, page = b.get("/ui/settings/new/template?from=" + idOf(at))
	b.want(page, "only fixed values of the mapping can be asked for")
	_, page = b.post("/ui/settings/new/template", url.Values{"from": {idOf(at)}, "name": {"again"}, "title": {"Once more"}})
	b.want(page, "again is created.")
	_, page = b.post("/ui/settings/new/template", url.Values{"from": {idOf(at)}, "name": {"again"}})
	b.want(page, "Another template has this name.")
	var made api.Template
	if n.Call("GET", "/v1/templates/again", "", 200, &made); made.Title != "Once more" || made.BulkAction.Source != nil || made.BulkAction.Canary == nil {
		t.Errorf("the template is %+v", made)
	}
	_, page, shown := b.postAt(at+"/start", url.Values{"later": {"1"}, "start_at": {nextMonth()}, "zone": {"Europe/Berlin"}})
	b.want(page, "It is scheduled for")
	var got api.BulkAction
	if n.Call("GET", "/v1/bulk-actions/"+idOf(at), "", 200, &got); got.State != api.Scheduled || shown != "/ui/bulk-actions/"+idOf(at) {
		t.Errorf("it is %s, at %s", got.State, shown)
	}
}

func TestManyItemsAreConfirmedByTheirNumber(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"send"}})
	var rows strings.Builder
	for i := range 12_000 {
		fmt.Fprintf(&rows, "u%d\n", i)
	}
	b.sendForm(at+"/data", "kind", "ids", "rows", rows.String())
	_, page := b.get(at + "/start")
	b.want(page, "Start canary of 120 items?", "12,000 items", "Type 12000 to confirm", "Keep it as a draft")
	for _, typed := range []string{"", "120"} {
		if status, _ := b.post(at+"/start", url.Values{"items": {typed}, "asked": {"yes"}}); status != http.StatusUnprocessableEntity {
			t.Errorf("with %q typed the status is %d", typed, status)
		}
	}
	b.post(at+"/start", url.Values{"items": {"12,000"}, "shown": {"12000"}})
	if got := n.Until(idOf(at), api.Awaiting); got.Counts.Done != 120 {
		t.Errorf("the canary is %+v", got.Counts)
	}
}

func TestBadRowsCanBeRefusedAndDownloaded(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"send"}})
	b.sendForm(at+"/data", "file=u.csv", "user_id,n\nu1,1\n,2\nu1,3\n")
	for field, want := range map[string]string{"bad": "Leave the bad rows out, or upload a corrected file.", "duplicates": "Keep the first row of each id"} {
		form := url.Values{"item_id": {"user_id"}, "bad": {"record"}, "duplicates": {"keep_first"}, "do": {"next"}, "shown": {"1"}}
		form.Set(field, "refuse")
		_, page, _ := b.postAt(at+"/mapping", form)
		b.want(page, want)
		status, page, _ := b.postAt(at+"/start", nil)
		if status != http.StatusUnprocessableEntity {
			t.Errorf("it starts all the same: %s", text(t, page))
		}
	}
	_, file := b.get(at + "/bad-rows.csv")
	if !strings.HasPrefix(file, "weir_line,weir_problem,weir_fix,user_id,") {
		t.Errorf("the bad rows are %q", file)
	}
	_, page := b.get(at + "/delete")
	b.want(page, "Delete the draft send?", "Keep the draft")
	_, page, _ = b.postAt(at+"/delete", nil)
	b.want(page, "The draft is deleted.")
	if status, _ := b.get(at); status != http.StatusNotFound {
		t.Errorf("the deleted draft has status %d", status)
	}
}

func TestBackAndForwardKeepEverything(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	n.Call("PUT", "/v1/templates/season", season, 200, nil)
	b := newBrowser(t, n)
	deadline := nextMonth()
	at := b.begin(url.Values{"name": {"autumn"}, "action": {"send"}})
	b.sendForm(at+"/data", "file=u.csv", "user_id,n\nu1,1\n")
	b.post(at+"/mapping", url.Values{"item_id": {"user_id"}, "bad": {"refuse"}, "duplicates": {"refuse"}, "s0": {"fields"}, "s0-0": {"x"}, "s0-0-column": {"n"}})
	b.post(at+"/rules", url.Values{"canary": {"items"}, "canary_items": {"7"}, "rate-send": {"30/m"}, "keep": {"2"}, "deadline": {deadline}})
	b.post(at, url.Values{"name": {"winter"}, "action": {"send", "send"}})
	var d api.NewBulkAction
	n.Call("GET", "/v1/bulk-actions/"+idOf(at)+"/draft", "", 200, &d)
	if d.Name != "winter" || len(d.Steps) != 2 || d.Steps[0].Input["x"] != "item.n" || d.OnBadLine != "refuse" || d.Canary.Items != 7 || len(d.Rates) != 1 || d.KeepFor == 0 || d.Source == nil {
		t.Errorf("it is described as %+v", d)
	}
	_, page := b.get(at + "/rules")
	if !strings.Contains(page, `value="0.5/s"`) || !strings.Contains(page, `value="`+deadline+`"`) {
		t.Errorf("the rules are gone: %s", text(t, page))
	}
	_, page = b.get(at + "?template=season")
	b.want(page, "Points (needed)")
	b.post(at, url.Values{"name": {"winter"}, "template": {"season"}, "p-amount": {"20"}})
	n.Call("GET", "/v1/bulk-actions/"+idOf(at)+"/draft", "", 200, &d)
	var got api.BulkAction
	if n.Call("GET", "/v1/bulk-actions/"+idOf(at), "", 200, &got); got.Template == nil || got.Source == nil || got.Canary.Items != 1 {
		t.Errorf("with the template it is %+v", got)
	}
	b.post(at, url.Values{"name": {"winter"}, "action": {"send"}})
	got = api.BulkAction{}
	if n.Call("GET", "/v1/bulk-actions/"+idOf(at), "", 200, &got); got.Template != nil || got.Source == nil || got.Canary == nil || got.Canary.Percent != 1 {
		t.Errorf("without the template it is %+v", got)
	}
}

func TestTheWizardAsksForScopesAndTenants(t *testing.T) {
	n := openNode(t, nodetest.Options{Closed: true})
	b := newBrowser(t, n)
	b.post("/ui/sign-in", url.Values{"key": {n.As([]access.Scope{access.Read, access.Submit}, "growth").Key()}})
	_, page := b.get("/ui/new")
	if !strings.Contains(page, "<option selected>growth</option>") {
		t.Error("the tenant of the key is not chosen")
	}
	at := b.begin(url.Values{"tenant": {"growth"}, "action": {"send"}})
	b.sendForm(at+"/data", "kind", "ids", "rows", "u1\n")
	_, page, _ = b.postAt("/ui/new", url.Values{"tenant": {"crm"}, "action": {"send"}})
	b.want(page, "The key is not for this tenant")
	reader, other := newBrowser(t, n), newBrowser(t, n)
	reader.post("/ui/sign-in", url.Values{"key": {n.As([]access.Scope{access.Read}, "growth").Key()}})
	for _, step := range []string{"", "/data", "/mapping", "/rules", "/forecast"} {
		status, page := reader.get(at + step)
		if status != http.StatusForbidden || !strings.Contains(page, "Your key lacks the scope submit") {
			t.Errorf("%s of a reader has status %d, or does not say why", step, status)
		}
	}
	for _, form := range []string{"", "/source", "/mapping", "/rules", "/start", "/delete", "/trial"} {
		if status, _ := reader.post(at+form, url.Values{"action": {"send"}, "url": {"http://127.0.0.1:1/x"}, "first": {"1"}, "name": {"x"}}); status != http.StatusForbidden {
			t.Errorf("%s by a reader has status %d", form, status)
		}
	}
	if status, _, _ := reader.sendForm(at+"/data", "file=u.csv", "id\nu1\n"); status != http.StatusForbidden {
		t.Errorf("an upload by a reader has status %d", status)
	}
	other.post("/ui/sign-in", url.Values{"key": {n.As([]access.Scope{access.Read, access.Submit}, "crm").Key()}})
	for _, step := range []string{"", "/data", "/mapping", "/rules", "/forecast", "/start", "/delete", "/bad-rows.csv"} {
		if status, _ := other.get(at + step); status != http.StatusNotFound {
			t.Errorf("%s of another tenant has status %d", step, status)
		}
	}
}

func TestHostileColumnsAndValuesStayTexts(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	for _, hostile := range []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</textarea><script>x</script>`, `{{.Root}}`, `<svg onload=alert(1)>`} {
		b := newBrowser(t, n)
		at := b.begin(url.Values{"name": {hostile}, "action": {"send"}, "labels": {"x=" + hostile}})
		row, err := json.Marshal(map[string]string{"id": hostile, hostile: hostile})
		if err != nil {
			t.Fatal(err)
		}
		b.sendForm(at+"/data", "file="+"a.ndjson", string(row)+"\n"+string(row)+"\n{\"id\":{}}\n")
		b.post(at+"/mapping", url.Values{"item_id": {"id"}, "bad": {"record"}, "duplicates": {"keep_first"}, "s0": {"fields"}, "s0-0": {hostile}, "s0-0-column": {hostile}})
		for _, step := range []string{"", "/data", "/mapping", "/rules", "/forecast", "/start", "/delete"} {
			status, page := b.get(at + step)
			if status != http.StatusOK {
				t.Fatalf("%s of %s: status %d", step, hostile, status)
			}
			for _, name := range foreign(t, page) {
				t.Errorf("%s has the element or attribute %s", step, name)
			}
		}
		_, page := b.get(at + "/mapping")
		b.want(page, "New bulk action: "+hostile, "Valid 1")
		_, page, _ = b.postAt(at+"/trial", url.Values{"first": {"1"}, "real": {"1"}})
		for _, name := range foreign(t, page) {
			t.Errorf("the trial has the element or attribute %s", name)
		}
		_, page, _ = b.postAt(at, url.Values{"name": {strings.Repeat(hostile, 20)}, "action": {hostile}, "labels": {hostile}})
		for _, name := range foreign(t, page) {
			t.Errorf("a fault has the element or attribute %s", name)
		}
	}
}
