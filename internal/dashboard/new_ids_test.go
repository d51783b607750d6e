package dashboard_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// germanFile is what an Excel with a decimal comma saves.
const germanFile = "\uFEFFE-Mail;Kundennummer;Betrag\r\na@x.de;K1;5\r\nb@x.de;K2;6\r\nb@x.de;K2;7\r\nb@x.de;k2;7\r\n"

func TestAManagerDecidesAboutIDsThatDifferInCapitals(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"send"}})
	_, page, _ := b.sendForm(at+"/data", "file=kunden.csv", germanFile)
	if !strings.Contains(page, `<option value="Kundennummer" selected>`) {
		t.Errorf("the number of the customer is not suggested as the id: %s", text(t, page))
	}
	b.want(page, "please check", "1 id differs from another one only in capitals or spaces", "line 4 K2 line 3 Betrag first 6 → , here 7")
	save := url.Values{"item_id": {"Kundennummer"}, "s0": {"whole"}, "bad": {"record"}, "duplicates": {"keep_first"}, "shown": {"3"}, "do": {"check"}}
	_, page, _ = b.postAt(at+"/mapping", save)
	b.want(page, "Match columns checked")
	b.lacks(page, "please check")
	save.Set("fold_ids", "1")
	_, page, _ = b.postAt(at+"/mapping", save)
	b.want(page, "2 of 4 rows will be used; 2 duplicates are left out")
	b.lacks(page, "differs from another one")
	if !strings.Contains(page, `name="fold_ids" value="1" checked`) {
		t.Error("the choice is not kept")
	}
}

func TestTheReportIsDownloadedAsTheFileWas(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"send"}})
	b.sendForm(at+"/data", "file=kunden.csv", germanFile)
	b.postAt(at+"/mapping", url.Values{"item_id": {"Kundennummer"}, "s0": {"whole"}, "bad": {"record"}, "duplicates": {"keep_first"}, "shown": {"3"}, "do": {"next"}})
	b.post(at+"/rules", url.Values{"canary": {"none"}})
	b.post(at+"/start", nil)
	n.Until(idOf(at), api.Completed)
	_, page := b.get("/ui/bulk-actions/" + idOf(at) + "/report")
	link := strings.ReplaceAll(between(page, `href="/ui/bulk-actions/`+idOf(at)+`/results?state=all`, `"`), "&amp;", "&")
	status, file := b.get("/ui/bulk-actions/" + idOf(at) + "/results?state=all" + link)
	if status != http.StatusOK || !strings.HasPrefix(file, "\uFEFFitem;bulk_action;id;") {
		t.Errorf("status %d, the file begins %.40q", status, file)
	}
}

func TestAScheduleTriesItsSource(t *testing.T) {
	segment := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"items":[{"id":"u1","n":1},{"id":"u2","n":2}]}`)
	}))
	t.Cleanup(segment.Close)
	n := openNode(t, nodetest.Options{Connections: []api.Connection{{Name: "crm", Kind: "http", URL: segment.URL}}})
	b := newBrowser(t, n)
	n.Call("PUT", "/v1/templates/autumn", `{"title":"Autumn","bulk_action":{"steps":[{"action":"send"}]}}`, 200, nil)
	form := scheduleForm("bulk_action", "", "bulk_action.template", "autumn", "bulk_action.source", "crm", "bulk_action.source.segment.url", segment.URL+"/seven")
	form.Set("try", "1")
	_, page := b.post("/ui/schedules/new", form)
	b.want(page, "Nothing is saved or sent. The source begins with:", `u1: {"id":"u1","n":1}`, "u2:", "Try the source")
	form.Set("bulk_action.source.segment.url", segment.URL+"/gone")
	_, page = b.post("/ui/schedules/new", form)
	if b.want(page, "The source cannot be read", "No such segment. Check the URL."); !strings.Contains(page, `id="f-bulk_action-source-e"`) {
		t.Error("what is wrong is not said at the source")
	}
	form.Set("bulk_action.source", "")
	form.Set("bulk_action.source.segment.url", "crm")
	if _, page = b.post("/ui/schedules/new", form); !strings.Contains(page, `id="f-bulk_action-source-segment-url-e"`) {
		t.Errorf("what is wrong is not said at the URL: %s", text(t, page))
	}
	var schedules api.Page[api.Schedule]
	n.Call("GET", "/v1/schedules", "", 200, &schedules)
	var bulks api.Page[api.BulkAction]
	n.Call("GET", "/v1/bulk-actions", "", 200, &bulks)
	if len(schedules.Data)+len(bulks.Data) > 0 {
		t.Errorf("there are %d schedules and %d bulk actions", len(schedules.Data), len(bulks.Data))
	}
	_, page = b.get("/ui/schedules/new")
	_, css := b.get(between(page, `rel="stylesheet" href="`, `"`))
	for _, kind := range []string{"http", "postgres", "s3", "kafka"} {
		if !strings.Contains(css, fmt.Sprintf(`option[data-kind=%q]:checked) [data-from]:not([data-from~=%q])`, kind, kind)) {
			t.Errorf("the style sheet has no rule for %s", kind)
		}
	}
	if !strings.Contains(page, `<option value="crm" data-kind="http">`) || !strings.Contains(page, `data-from="http"`) {
		t.Error("the page does not say which fields a connection needs")
	}
}

// Words of engineers stand on the pages of managers only where they are explained.
func TestPagesOfManagersHavePlainWords(t *testing.T) {
	explained := map[string]string{"lane": "A lane is", "partition": "one partition, which is", "canary": "as a canary: ", "idempotency": "its idempotency key", "expression": "expression, which is"}
	words := regexp.MustCompile(`(?i)\b(lanes?|partitions?|batch(es)?|idempoten\w+|backlog|p50|p95|p99|payloads?|NDJSON|JSON lines|bottleneck)\b`)
	marks := regexp.MustCompile(`(?s)\{\{.*?\}\}|<[^>]*>`)
	var files []string
	for _, glob := range []string{"new-*.html", "bulk-action.html", "bulk-decisions.html", "bulk-errors.html", "bulk-report.html"} {
		found, err := filepath.Glob(filepath.Join("templates", glob))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", glob, found, err)
		}
		files = append(files, found...)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		shown := marks.ReplaceAllString(string(raw), " ")
		for _, word := range words.FindAllString(shown, -1) {
			is := explained[strings.TrimSuffix(strings.ToLower(word), "s")]
			if is == "" || !strings.Contains(shown, is) && !strings.Contains(shown, "("+"new idempotency keys)") {
				t.Errorf("%s says %q and does not explain it", name, word)
			}
		}
	}
}
