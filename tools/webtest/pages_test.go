package webtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// scene fills a server with one of everything, at rest: what pages show does not change by itself.
type scene struct {
	*server
	service                             *downstream
	completed, awaiting, draft, checked string
}

// rows returns items with ids of a prefix.
func rows(prefix string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"id\":\"%s-%d\",\"amount\":%d}\n", prefix, i, i%7*100)
	}
	return b.String()
}

// bulk makes a bulk action, with items, and seals it.
func (s *server) bulk(spec, items string) (id string) {
	s.t.Helper()
	var b struct{ ID string }
	s.call("POST", "/v1/bulk-actions", spec, &b)
	s.call("POST", "/v1/bulk-actions/"+b.ID+"/items", items, nil)
	s.call("POST", "/v1/bulk-actions/"+b.ID+"/seal", "{}", nil)
	return b.ID
}

func makeScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{server: serve(t), service: service(t)}
	s.service.fails = func(_, id string) string {
		if strings.HasSuffix(id, "7") {
			return "account " + id + " is closed"
		}
		return ""
	}
	for _, name := range []string{"award-reward", "send-message"} {
		s.call("PUT", "/v1/actions/"+name, fmt.Sprintf(`{"url":"%s/%s","batch":50}`, s.service.URL, name), nil)
	}
	chain := `"steps":[{"action":"award-reward"},{"action":"send-message"}]`
	s.completed = s.bulk(`{"name":"spring-reward","tenant":"growth","start":true,`+chain+`}`, rows("user", 300))
	s.until(s.completed, "completed")
	s.awaiting = s.bulk(`{"name":"summer-push","tenant":"crm","start":true,"canary":{"items":20},`+chain+`}`, rows("member", 400))
	s.until(s.awaiting, "awaiting_approval")
	cancelled := s.bulk(`{"name":"price-update","tenant":"ops","start":true,"canary":{"items":10},`+chain+`}`, rows("sku", 200))
	s.until(cancelled, "awaiting_approval")
	s.call("POST", "/v1/bulk-actions/"+cancelled+"/cancel", `{"reason":"wrong price list"}`, nil)
	s.until(cancelled, "cancelled")
	s.bulk(fmt.Sprintf(`{"name":"new-year","tenant":"growth","start_at":"%d-01-01T00:00:00Z",`, time.Now().Year()+2)+chain+`}`, rows("guest", 50))
	var d struct{ ID string }
	s.call("POST", "/v1/bulk-actions", `{"name":"half-made","tenant":"growth",`+chain+`}`, &d)
	s.draft = d.ID
	s.call("POST", "/v1/bulk-actions", `{"name":"winter-offer","tenant":"growth","duplicates":"keep_first","on_bad_line":"record","canary":{"percent":1},`+chain+`}`, &d)
	s.checked = d.ID
	s.upload(s.checked)
	return s
}

// pages are the addresses of all pages, by name.
func (s *scene) pages() map[string]string {
	all := map[string]string{
		"overview": "/ui/", "bulk-actions": "/ui/bulk-actions", "bulk-action": "/ui/bulk-actions/" + s.completed,
		"bulk-action-canary": "/ui/bulk-actions/" + s.awaiting, "confirm": "/ui/bulk-actions/" + s.awaiting + "/cancel",
		"bulk-rules": "/ui/bulk-actions/" + s.awaiting + "/rules", "help": "/ui/help", "error": "/ui/bulk-actions/ba_missing",
		"new": "/ui/new", "new-data": "/ui/new/" + s.draft + "/data", "new-mapping": "/ui/new/" + s.checked + "/mapping",
		"new-rules": "/ui/new/" + s.checked + "/rules", "new-forecast": "/ui/new/" + s.checked + "/forecast",
		"items": "/ui/items", "item": "/ui/items/itm_" + strings.TrimPrefix(s.completed, "ba_") + "-7", "failed": "/ui/failed",
		"schedules": "/ui/schedules", "schedule-new": "/ui/schedules/new", "resources": "/ui/resources", "lanes": "/ui/lanes",
		"simulator": "/ui/simulator", "settings": "/ui/settings",
	}
	for _, tab := range []string{"items", "errors", "timeline", "decisions", "report"} {
		all["bulk-"+tab] = "/ui/bulk-actions/" + s.completed + "/" + tab
	}
	for _, tab := range []string{"actions", "connections", "templates", "webhooks", "tenants", "keys", "audit"} {
		all["settings-"+tab] = "/ui/settings/" + tab
	}
	return all
}

// screens are the ways in which people see pages.
var screens = []struct {
	name          string
	width, height int64
	dark          bool
}{{"light", 1280, 900, false}, {"dark", 1280, 900, true}, {"phone", 390, 844, false}}

func TestEveryPageIsAccessible(t *testing.T) {
	s := makeScene(t)
	for _, screen := range screens {
		t.Run(screen.name, func(t *testing.T) {
			b := open(t, s.server)
			b.wide(screen.width, screen.height)
			b.dark(screen.dark)
			for name, path := range s.pages() {
				b.visit(s.url(path))
				b.accessible(screen.name + " " + name)
			}
		})
	}
}

// upload sends a file through the wizard.
func (s *scene) upload(draft string) {
	s.t.Helper()
	b := open(s.t, s.server)
	b.visit(s.url("/ui/new/" + draft + "/data"))
	b.do(chromedp.SetUploadFiles("#"+b.field("File"), []string{campaign(s.t, 500)}, chromedp.ByQuery))
	b.press("Upload and check")
	b.see("Match columns")
}
