package webtest

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// campaign is a file with rows that can be used, rows that cannot, and an id that comes twice.
func campaign(t *testing.T, good int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("user_id,amount\n")
	for i := range good {
		fmt.Fprintf(&b, "user-%d,%d\n", i, i%5*100)
	}
	b.WriteString("user-0,100\n")     // a duplicate
	b.WriteString("\"broken,1\n,5\n") // a quote without an end
	path := filepath.Join(t.TempDir(), "users.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestACampaignFromAFileToItsReport is the whole way of a campaign manager, with a server that is killed on the way.
func TestACampaignFromAFileToItsReport(t *testing.T) {
	const good = 600
	s, d := serve(t), service(t)
	failing := true
	d.fails = func(path, id string) string {
		if failing && path == "/award" && strings.HasSuffix(id, "7") {
			return "account " + id + " is closed"
		}
		return ""
	}
	for _, name := range []string{"award", "message"} {
		s.call("PUT", "/v1/actions/"+name, fmt.Sprintf(`{"url":"%s/%s","batch":20}`, d.URL, name), nil)
	}
	b := open(t, s)
	b.visit(s.url("/ui/"))
	b.press("New bulk action")
	b.see("Name and owner")
	b.choose("First", "award")
	b.choose("Then", "message")
	b.fill("Name", "spring-reward")
	b.press("Continue to data")
	b.see("A file")
	b.do(chromedp.SetUploadFiles("#"+b.field("File"), []string{campaign(t, good)}, chromedp.ByQuery))
	b.press("Upload and check")
	b.see("Match columns", "Bad rows")
	b.press("Continue with")
	b.see("Run a part first")
	b.fill("More than per cent", "50")
	b.press("Continue to the forecast")
	b.see("Ways to start")
	b.press("Start canary of")
	b.see("Awaiting approval")
	id := regexp.MustCompile(`ba_[0-9a-z]+`).FindString(b.where())
	s.call("PUT", "/v1/resources/award", `{"rate":"60/s"}`, nil)
	b.press("Approve the rest")
	b.see("The rest was approved")
	b.press("Pause")
	b.see("Paused.")

	s.kill()
	b.see("Trying again in")
	s.start()
	b.see("Live")
	b.press("Resume")
	b.see("Resumed.", "Running")
	b.see("Completed", "100 %", "Adds up")
	failed := 0
	for i := range good {
		if strings.HasSuffix(fmt.Sprint(i), "7") {
			failed++
		}
	}
	b.press("Errors")
	b.see(fmt.Sprintf("%d items in 1 group", failed))
	d.set(func(*downstream) { failing = false })
	b.press(fmt.Sprintf("Retry %d items", failed))
	b.see("retried, as a bulk action of their own", "Completed")
	b.visit(s.url("/ui/bulk-actions/" + id + "/report"))
	b.see(fmt.Sprintf("All %d items are done, with its retries.", good), "after retries, 60 before", "1 duplicate and")
	compare(t, d, b.download(func() { b.press("Download all.csv") }), good, failed)
}

// compare holds a report that was downloaded against the input, and against what the services were sent.
func compare(t *testing.T, d *downstream, report string, good, failed int) {
	t.Helper()
	f, err := os.Open(report)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	states, ids, retried := map[string]int{}, map[string]bool{}, 0
	for _, row := range rows[1:] {
		states[row[column["state"]]]++
		ids[row[column["id"]]] = true
		if row[column["retried_by"]] != "" {
			retried++
		}
	}
	if len(ids) != good || len(rows)-1 != good || states["done"] != good || retried != failed {
		t.Errorf("the report has %d rows of %d ids, %d of them retried: %v", len(rows)-1, len(ids), retried, states)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, path := range []string{"/award", "/message"} {
		for i := range good {
			if item := fmt.Sprintf("user-%d", i); !ids[item] || d.done[path][item] == 0 {
				t.Errorf("%s was not done at %s, or is not in the report", item, path)
			}
		}
		if len(d.done[path]) != good {
			t.Errorf("%s was sent %d items", path, len(d.done[path]))
		}
	}
}

// TestTwoTenantsSeeOnlyTheirs has two people look at once, with keys of different tenants.
func TestTwoTenantsSeeOnlyTheirs(t *testing.T) {
	s, d := serve(t), service(t)
	s.call("PUT", "/v1/actions/award", fmt.Sprintf(`{"url":"%s/award"}`, d.URL), nil)
	var keys [2]struct{ Key string }
	var admin struct{ Key string }
	tenants := [2]string{"growth", "crm"}
	for i, tenant := range tenants {
		s.call("POST", "/v1/keys", fmt.Sprintf(`{"name":"%s","scopes":["read","submit","control","approve"],"tenants":["%s"]}`, tenant, tenant), &keys[i])
		s.until(s.bulk(fmt.Sprintf(`{"name":"secret-of-%s","tenant":"%s","start":true,"steps":[{"action":"award"}]}`, tenant, tenant), rows(tenant, 20)), "completed")
	}
	s.call("POST", "/v1/keys", `{"name":"admin","scopes":["admin"]}`, &admin)
	file := filepath.Join(t.TempDir(), "admin.key")
	if err := os.WriteFile(file, []byte(admin.Key), 0o600); err != nil {
		t.Fatal(err)
	}
	s.kill()
	s.args = append(s.args, "--admin-key-file", file)
	s.start()
	var tabs [2]*tab
	for i := range tabs {
		tabs[i] = open(t, s)
		tabs[i].visit(s.url("/ui/bulk-actions"))
		tabs[i].see("Sign in")
		if i == 0 { // the page of the walk that needs a server with keys
			tabs[i].fill("API key", "wk_wrong")
			tabs[i].press("Sign in")
			tabs[i].see("Invalid API key")
			tabs[i].onEveryScreen("sign in")
			tabs[i].wide(1280, 900)
		}
		tabs[i].fill("API key", keys[i].Key)
		tabs[i].press("Sign in")
		tabs[i].see("secret-of-" + tenants[i])
	}
	for i, tab := range tabs {
		for _, path := range []string{"/ui/", "/ui/bulk-actions", "/ui/failed", "/ui/schedules", "/ui/settings", "/ui/new"} {
			tab.visit(s.url(path))
			if text := tab.text(); strings.Contains(text, "secret-of-"+tenants[1-i]) || strings.Contains(text, tenants[1-i]+"-1") {
				t.Errorf("%s shows %s what is of %s", path, tenants[i], tenants[1-i])
			}
		}
		tab.visit(s.url("/ui/items"))
		tab.fill("Item id", tenants[1-i]+"-1")
		tab.press("Look up")
		tab.see("What happened to " + tenants[1-i] + "-1")
		if text := tab.text(); strings.Contains(text, "Found in") || strings.Contains(text, "secret-of-"+tenants[1-i]) {
			t.Errorf("%s finds an item of %s: %s", tenants[i], tenants[1-i], text)
		}
	}
}
