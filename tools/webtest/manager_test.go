package webtest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// germanTable is a file as an Excel with a decimal comma saves it: semicolons, a byte order mark, numbers of customers.
func germanTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\uFEFFE-Mail;Kundennummer;Gutscheinbetrag in Euro\r\n")
	for i := range 300 {
		fmt.Fprintf(&b, "kunde.mit.langem.namen.%d@beispiel-unternehmen.de;K-2026-%06d;2,5\r\n", i, i)
	}
	b.WriteString("kunde@beispiel.de;K-2026-000000;7,5\r\n") // the first customer again, with another amount
	path := filepath.Join(t.TempDir(), "kunden.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// managed is a server with a bulk action of the table, of which some items have failed, and a draft of it.
func managed(t *testing.T) (s *server, b *tab, done, draft string) {
	t.Helper()
	s = serve(t)
	d := service(t)
	d.fails = func(_, id string) string {
		if strings.HasSuffix(id, "7") {
			return "the customer has revoked the consent to advertising by electronic mail"
		}
		return ""
	}
	s.call("PUT", "/v1/actions/send-voucher", fmt.Sprintf(`{"url":"%s/send","batch":50,"schema":{"type":"object","properties":{"amount":{"type":"number"}}}}`, d.URL), nil)
	s.call("PUT", "/v1/resources/send-voucher", `{"rate":"200/s"}`, nil) // the report tells what it waited on
	b = open(t, s)
	for _, id := range []*string{&done, &draft} {
		var made struct{ ID string }
		s.call("POST", "/v1/bulk-actions", `{"name":"autumn-voucher-for-customers","tenant":"marketing-germany","duplicates":"keep_first","on_bad_line":"record","steps":[{"action":"send-voucher"}]}`, &made)
		*id = made.ID
		b.visit(s.url("/ui/new/" + made.ID + "/data"))
		b.do(chromedp.SetUploadFiles("#"+b.field("File"), []string{germanTable(t)}, chromedp.ByQuery))
		b.press("Upload and check")
		b.see("Match columns")
	}
	s.call("POST", "/v1/bulk-actions/"+done+"/start", "{}", nil)
	s.until(done, "completed")
	return s, b, done, draft
}

// sideways lists what a person has to scroll sideways on the page, and figures that leave their place.
const sideways = `(() => {
	const shown = e => e.getClientRects().length > 0
	const tables = [...document.querySelectorAll('.scroll')].filter(e => shown(e) && e.scrollWidth > e.clientWidth + 1)
		.map(e => e.ariaLabel + ' is ' + e.scrollWidth + ' px wide in ' + e.clientWidth)
	const figures = [...document.querySelectorAll('.stats dd')].filter(e => shown(e) && e.scrollWidth > e.clientWidth + 1)
		.map(e => 'the figure ' + e.textContent + ' is ' + e.scrollWidth + ' px wide in ' + e.clientWidth)
	const within = e => { const r = document.createRange(); r.selectNodeContents(e); return r.getBoundingClientRect().right }
	const cells = [...document.querySelectorAll('td, th')].filter(e => shown(e) && !e.querySelector('.vh') && within(e) > e.getBoundingClientRect().right + 1)
		.map(e => e.textContent + ' leaves its cell')
	return [...tables, ...figures, ...cells]
})()`

func TestAPhoneShowsWhatAManagerReadsWithoutScrollingSideways(t *testing.T) {
	s, b, done, draft := managed(t)
	for _, path := range []string{"/ui/bulk-actions/" + done + "/report", "/ui/bulk-actions/" + done, "/ui/bulk-actions/" + done + "/items",
		"/ui/bulk-actions/" + done + "/errors", "/ui/bulk-actions", "/ui/failed", "/ui/new/" + draft + "/mapping", "/ui/new/" + draft + "/forecast"} {
		for _, width := range []int64{390, 360} {
			b.wide(width, 844)
			b.visit(s.url(path))
			if strings.HasSuffix(path, "/report") {
				b.see("What it waited on")
			}
			var bad []string
			b.do(chromedp.Evaluate(sideways, &bad))
			for _, text := range bad {
				t.Errorf("%s on %d px: %s", path, width, text)
			}
			b.fits(path)
		}
	}
}

// visible reports whether the page shows an element.
func (b *tab) visible(selector string) (yes bool) {
	b.t.Helper()
	b.do(chromedp.Evaluate(`[...document.querySelectorAll(`+quote(selector)+`)].some(e => e.checkVisibility({contentVisibilityAuto: true}))`, &yes))
	return yes
}

func TestFiltersAreFoldedOnAPhoneUnlessOneIsSet(t *testing.T) {
	s, b, done, _ := managed(t)
	for path, filter := range map[string]string{"/ui/bulk-actions": "state=completed", "/ui/failed": "action=send-voucher",
		"/ui/bulk-actions/" + done + "/items": "state=failed", "/ui/settings/audit": "target=x"} {
		for _, tt := range []struct {
			width int64
			query string
			want  bool
		}{{1280, "", true}, {390, "", false}, {390, "?" + filter, true}} {
			b.wide(tt.width, 844)
			b.visit(s.url(path + tt.query))
			if got := b.visible(".filters input, .filters select"); got != tt.want {
				t.Errorf("%s%s on %d px shows its filters: %v, want %v", path, tt.query, tt.width, got, tt.want)
			}
		}
		b.visit(s.url(path))
		b.press("Filter")
		if !b.visible(".filters input, .filters select") {
			t.Errorf("%s: the filters do not unfold", path)
		}
	}
}

func TestTheFieldsOfAStepComeWithTheirChoice(t *testing.T) {
	s, b, _, draft := managed(t)
	b.wide(1280, 900)
	b.visit(s.url("/ui/new/" + draft + "/mapping"))
	b.see("please check")
	b.do(chromedp.Click(`[name="s0"][value="whole"]`, chromedp.ByQuery))
	if b.visible(`[name="s0-0-column"]`) {
		t.Error("the fields are shown although the row is sent as it is")
	}
	b.do(chromedp.Click(`[name="s0"][value="fields"]`, chromedp.ByQuery))
	if !b.visible(`[name="s0-0-column"]`) {
		t.Error("the fields are not shown although they are chosen")
	}
	const cut = `[...document.querySelectorAll('.match select')].flatMap(e => {
		const all = e.cloneNode(true)
		all.style.width = 'auto'; all.style.position = 'absolute'; all.style.maxWidth = 'none'
		document.body.append(all)
		const wants = all.offsetWidth
		all.remove()
		return wants > e.offsetWidth + 1 ? [e.ariaLabel + ' needs ' + wants + ' px and has ' + e.offsetWidth] : []
	})`
	for _, width := range []int64{1280, 390} {
		b.wide(width, 900)
		var bad []string
		b.do(chromedp.Evaluate(cut, &bad))
		for _, text := range bad {
			t.Errorf("on %d px a select is cut off: %s", width, text)
		}
	}
	if !b.visible(".match .lbl") {
		t.Error("on a phone the fields have no labels")
	}
	b.wide(1280, 900)
	if b.visible(".match .lbl") {
		t.Error("the head of the table is said twice")
	}
	b.press("Save and check again")
	b.see("Match columns checked")
}

// segment serves a list page by page, as a service of a customer does.
func segment(t *testing.T) string {
	return httptestServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path != "/segments/7":
			http.NotFound(w, r)
		case r.URL.Query().Get("cursor") == "":
			fmt.Fprint(w, `{"items":[{"id":"u1","name":"Ada"},{"id":"u2","name":"Bo"}],"next_cursor":"2"}`)
		default:
			fmt.Fprint(w, `{"items":[{"id":"u3","name":"Cy"}]}`)
		}
	}))
}

func TestAWizardReadsASegment(t *testing.T) {
	s, d, at := serve(t), service(t), segment(t)
	s.call("PUT", "/v1/actions/award", fmt.Sprintf(`{"url":"%s/award"}`, d.URL), nil)
	b := open(t, s)
	b.visit(s.url("/ui/new?chain=1"))
	b.choose("First", "award")
	b.press("Continue to data")
	b.see("URL of a segment")
	b.fill("URL of a segment", at+"/segments/8")
	b.press("Test and use this source")
	b.see("cannot be used", "No such segment")
	b.fill("URL of a segment", at+"/segments/7")
	b.press("Test and use this source")
	b.see("3 rows read", "Ada")
	b.press("Check the rows")
	b.see("All 3 rows can be used")
	b.press("Continue with 3 items")
	b.see("Run a part first")
	b.do(chromedp.Click(`[name="canary"][value="none"]`, chromedp.ByQuery))
	b.press("Continue to the forecast")
	b.press("Start 3 items")
	b.see("Completed", "3 of 3 items finished")
	for _, id := range []string{"u1", "u2", "u3"} {
		if d.done["/award"][id] != 1 {
			t.Errorf("%s was sent %d times", id, d.done["/award"][id])
		}
	}
}

func TestAScheduleReadsASegment(t *testing.T) {
	s, d, at := serve(t), service(t), segment(t)
	s.call("PUT", "/v1/actions/award", fmt.Sprintf(`{"url":"%s/award"}`, d.URL), nil)
	s.call("PUT", "/v1/templates/autumn", `{"title":"Autumn","bulk_action":{"steps":[{"action":"award"}]}}`, nil)
	s.call("PUT", "/v1/connections/warehouse", `{"kind":"postgres","url":"db.example.com:5432","option":{"database":"shop"},"secret":{"password":"s3cret"}}`, nil)
	b := open(t, s)
	b.visit(s.url("/ui/schedules/new"))
	url, query := `[name="bulk_action.source.segment.url"]`, `[name="bulk_action.source.postgres.query"]`
	if !b.visible(url) || b.visible(query) {
		t.Error("without a connection the form asks for a query, or for no URL")
	}
	b.choose("Connection", "warehouse")
	if b.visible(url) || !b.visible(query) {
		t.Error("with a database the form asks for no query, or for a URL")
	}
	b.choose("Connection", "")
	b.fill("Name", "digest")
	b.choose("Template or bulk action", "autumn")
	b.fill("URL of a segment", at+"/segments/8")
	b.press("Try the source")
	b.see("The source cannot be read.", "No such segment")
	b.fill("URL of a segment", at+"/segments/7")
	b.press("Try the source")
	b.see("The source begins with:", `u1: {"id":"u1","name":"Ada"}`)
	b.press("Create the schedule")
	b.see("digest is saved")
}
