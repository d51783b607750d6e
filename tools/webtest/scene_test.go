package webtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// scene is a server with one of everything, at rest: what pages show does not change by itself.
type scene struct {
	*server
	service                                             *downstream
	completed, awaiting, paused, draft, checked, sealed string // bulk actions
	webhook, delivery, schedule, key                    string
	pinned, lane                                        string
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

const chain = `"steps":[{"action":"award-reward"},{"action":"send-message"}]`

func makeScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{server: serve(t), service: service(t)}
	s.service.fails = func(_, id string) string {
		if strings.HasSuffix(id, "7") {
			return "account " + id + " is closed"
		}
		return ""
	}
	for _, name := range []string{"award-reward", "send-message", "slow"} {
		s.call("PUT", "/v1/actions/"+name, fmt.Sprintf(`{"url":"%s/%s","batch":50}`, s.service.URL, name), nil)
	}
	s.call("PUT", "/v1/resources/slow", `{"rate":"1/s"}`, nil)
	s.bulkActions()
	s.drafts()
	s.settings()
	s.byHand()
	return s
}

// bulkActions makes bulk actions in most states.
func (s *scene) bulkActions() {
	s.t.Helper()
	s.completed = s.bulk(`{"name":"spring-reward","tenant":"growth","labels":{"team":"crm"},"start":true,`+chain+`}`, rows("user", 300))
	s.until(s.completed, "completed")
	s.awaiting = s.bulk(`{"name":"summer-push","tenant":"crm","start":true,"canary":{"items":20},`+chain+`}`, rows("member", 400))
	s.until(s.awaiting, "awaiting_approval")
	cancelled := s.bulk(`{"name":"price-update","tenant":"ops","start":true,"canary":{"items":10},`+chain+`}`, rows("sku", 200))
	s.until(cancelled, "awaiting_approval")
	s.call("POST", "/v1/bulk-actions/"+cancelled+"/cancel", `{"reason":"wrong price list"}`, nil)
	s.until(cancelled, "cancelled")
	s.bulk(fmt.Sprintf(`{"name":"new-year","tenant":"growth","start_at":"%d-01-01T00:00:00Z",`, time.Now().Year()+2)+chain+`}`, rows("guest", 50))
	s.paused = s.bulk(`{"name":"slow-import","tenant":"ops","start":true,"steps":[{"action":"slow"}]}`, rows("line", 500))
	s.until(s.paused, "running")
	s.call("POST", "/v1/bulk-actions/"+s.paused+"/pause", `{"reason":"until Monday"}`, nil)
	s.sealed = s.bulk(`{"name":"ready-to-start","tenant":"growth",`+chain+`}`, rows("guest", 50))
}

// drafts makes a draft without data, and one with a file that was checked.
func (s *scene) drafts() {
	s.t.Helper()
	var d struct{ ID string }
	s.call("POST", "/v1/bulk-actions", `{"name":"half-made","tenant":"growth",`+chain+`}`, &d)
	s.draft = d.ID
	s.call("POST", "/v1/bulk-actions", `{"name":"winter-offer","tenant":"growth","duplicates":"keep_first","on_bad_line":"record","canary":{"percent":1},`+chain+`}`, &d)
	s.checked = d.ID
	b := open(s.t, s.server)
	b.visit(s.url("/ui/new/" + s.checked + "/data"))
	b.do(chromedp.SetUploadFiles("#"+b.field("File"), []string{campaign(s.t, 500)}, chromedp.ByQuery))
	b.press("Upload and check")
	b.see("Match columns")
}

// settings makes one of each kind.
func (s *scene) settings() {
	s.t.Helper()
	var made struct{ ID string }
	s.call("PUT", "/v1/connections/warehouse", `{"kind":"postgres","url":"db.example.com:5432","option":{"database":"shop"},"secret":{"password":"s3cret"}}`, nil)
	s.call("PUT", "/v1/templates/season-reward", `{"title":"Season reward","params":[{"name":"amount","type":"number"}],"bulk_action":{`+chain+`}}`, nil)
	s.call("PUT", "/v1/tenants/growth", `{"weight":3,"max_tasks":50}`, nil)
	s.call("POST", "/v1/webhooks", fmt.Sprintf(`{"url":"%s/hook","note":"for the CRM"}`, s.service.URL), &made)
	s.webhook = made.ID
	s.call("POST", "/v1/webhooks/"+s.webhook+"/test", "{}", &made)
	s.delivery = made.ID
	s.call("POST", "/v1/keys", `{"name":"campaign tool","scopes":["read","submit"],"tenants":["growth"]}`, &made)
	s.key = made.ID
	schedule := `{"name":"%s","tenant":"growth","cron":"0 9 * * 1","zone":"Asia/Tokyo","bulk_action":{` + chain + `,"items":[{"id":"u1"}]}}`
	s.call("POST", "/v1/schedules", fmt.Sprintf(schedule, "weekly-digest"), &made)
	s.schedule = made.ID
	s.call("POST", "/v1/schedules", fmt.Sprintf(schedule, "win-back"), &made)
	s.call("POST", "/v1/schedules/"+made.ID+"/pause", `{"reason":"holidays"}`, nil)
}

// byHand has an operator hold a lane and a circuit.
func (s *scene) byHand() {
	s.t.Helper()
	for end := time.Now().Add(patience); s.pinned == "" || s.lane == ""; time.Sleep(50 * time.Millisecond) {
		var lanes struct {
			Data []struct{ Partition, Lane string }
		}
		s.call("GET", "/v1/lanes", "", &lanes) // nodes report them once a second
		for _, l := range lanes.Data {
			switch name := l.Partition + "/" + l.Lane; l.Lane {
			case "slow":
				s.pinned = name
			case "award-reward":
				s.lane = name
			}
		}
		if time.Now().After(end) {
			s.t.Fatalf("the lanes are %v", lanes.Data)
		}
	}
	until := time.Now().Add(2 * time.Hour).UTC().Format(time.RFC3339)
	s.call("PUT", "/v1/lanes/"+s.pinned+"/pin", fmt.Sprintf(`{"workers":3,"until":"%s","reason":"flash sale"}`, until), nil)
	s.call("POST", "/v1/resources/send-message/circuit", `{"do":"open","for":"30m","reason":"they asked us to"}`, nil)
}

// place is a page of the walk: the address, and what is done there to get to what is shown.
type place struct {
	name, path string
	do         func(*tab)
}

// pages are all pages: every one that is registered, in each of its shapes.
func (s *scene) pages() (all []place) {
	add := func(name, path string) { all = append(all, place{name: name, path: path}) }
	after := func(name, path string, do func(*tab)) { all = append(all, place{name, path, do}) }
	add("overview", "/ui/")
	add("help", "/ui/help")
	add("error", "/ui/bulk-actions/ba_missing")
	s.bulkPages(add, after)
	s.wizardPages(add, after)
	s.operatorPages(add, after)
	s.settingsPages(add, after)
	return all
}

func (s *scene) bulkPages(add func(_, _ string), after func(_, _ string, _ func(*tab))) {
	add("list", "/ui/bulk-actions")
	add("list filtered", "/ui/bulk-actions?state=completed&tenant=growth&label=team%3Dcrm")
	add("list empty", "/ui/bulk-actions?name=nothing")
	add("list of times", "/ui/bulk-actions?from=2026-01-02T00:00&to=2026-01-01T00:00")
	of := "/ui/bulk-actions/"
	for _, id := range []string{s.completed, s.awaiting, s.paused, s.sealed, s.draft} {
		add("bulk action", of+id)
	}
	for _, tab := range []string{"items", "errors", "timeline", "decisions", "report"} {
		add("bulk action "+tab, of+s.completed+"/"+tab)
	}
	add("bulk action rules", of+s.awaiting+"/rules")
	add("cancel", of+s.awaiting+"/cancel")
	add("items", "/ui/items")
	add("item", "/ui/items/itm_"+strings.TrimPrefix(s.completed, "ba_")+"-7")
	look := func(id string) func(*tab) {
		return func(b *tab) { b.fill("Item id", id); b.press("Look up"); b.see("What happened to " + id) }
	}
	after("item found", "/ui/items", look("user-7"))
	after("item not found", "/ui/items", look("user-nobody"))
	add("failed", "/ui/failed")
	after("failed group", "/ui/failed", func(b *tab) { b.press("rejected"); b.see("Retry") })
	add("retry all", "/ui/failed/retry-all")
	after("discard", "/ui/failed", func(b *tab) { b.press("rejected"); b.press("Discard"); b.see("Keep") })
}

func (s *scene) wizardPages(add func(_, _ string), after func(_, _ string, _ func(*tab))) {
	add("new", "/ui/new")
	add("new template", "/ui/new?template=season-reward")
	add("new changed", "/ui/new/"+s.draft)
	add("new empty data", "/ui/new/"+s.draft+"/data")
	for _, step := range []string{"data", "mapping", "rules", "forecast", "delete"} {
		add("new "+step, "/ui/new/"+s.checked+"/"+step)
	}
	add("new start", "/ui/new/"+s.checked+"/start")
	after("new fault", "/ui/new/"+s.draft+"/data", func(b *tab) { b.press("Upload and check"); b.see("Choose a file") })
	after("new trial", "/ui/new/"+s.checked+"/forecast", func(b *tab) { b.press("Send trial items"); b.see("sent as a dry run") })
	after("new choice", "/ui/new/"+s.checked+"/data", func(b *tab) {
		b.do(chromedp.SetUploadFiles("#"+b.field("File"), []string{campaign(s.t, 20)}, chromedp.ByQuery))
		b.press("Upload and check")
		b.see("or replace what is there")
	})
	add("new gone", "/ui/new/"+s.completed)
}

func (s *scene) operatorPages(add func(_, _ string), after func(_, _ string, _ func(*tab))) {
	add("resources", "/ui/resources")
	add("resource", "/ui/resources?of=send-message")
	add("effect", "/ui/resources?of=slow&rate=5&concurrency=&pacing=smooth")
	for _, verb := range []string{"open", "close"} {
		add("circuit "+verb, "/ui/resources/award-reward/circuit/"+verb)
	}
	add("lanes", "/ui/lanes")
	add("lanes idle", "/ui/lanes?idle=1")
	add("lane", "/ui/lanes?lane="+s.lane)
	add("lane pinned", "/ui/lanes?lane="+s.pinned)
	after("lane stop", "/ui/lanes?lane="+s.lane, func(b *tab) {
		b.fill("Workers", "0")
		b.fill("Reason", "the service moves")
		b.press("Pin the workers")
		b.see("Stop the lane")
	})
	add("simulator", "/ui/simulator")
	add("schedules", "/ui/schedules")
	add("schedule", "/ui/schedules/"+s.schedule)
	add("schedule new", "/ui/schedules/new")
	for _, verb := range []string{"edit", "backfill", "delete"} {
		add("schedule "+verb, "/ui/schedules/"+s.schedule+"/"+verb)
	}
}

func (s *scene) settingsPages(add func(_, _ string), after func(_, _ string, _ func(*tab))) {
	of := "/ui/settings/"
	add("settings", "/ui/settings")
	for _, tab := range []string{"actions", "connections", "templates", "webhooks", "tenants", "keys", "audit"} {
		add("settings "+tab, of+tab)
	}
	for _, kind := range []string{"action", "connection", "template", "tenant", "webhook", "key"} {
		add("new "+kind, of+"new/"+kind)
	}
	for _, at := range []string{"actions/slow", "connections/warehouse", "templates/season-reward", "tenants/growth", "webhooks/" + s.webhook} {
		add("edit "+at, of+at+"/edit")
		add("delete "+at, of+at+"/delete")
	}
	add("test action", of+"actions/award-reward/test")
	after("trial", of+"actions/award-reward/test", func(b *tab) { b.press("Send the test"); b.see("What happened") })
	add("webhook", of+"webhooks/"+s.webhook)
	add("rotate", of+"webhooks/"+s.webhook+"/rotate")
	after("rotated", of+"webhooks/"+s.webhook+"/rotate", func(b *tab) { b.press("Rotate the secret"); b.see("shown this once") })
	add("delivery", of+"deliveries/"+s.delivery)
	add("revoke", of+"keys/"+s.key+"/revoke")
	after("key made", of+"new/key", func(b *tab) {
		b.fill("Name", "nightly")
		b.press("Create the key")
		b.see("shown this once")
	})
	after("sheet fault", of+"new/action", func(b *tab) { b.press("Create the action"); b.see("Write a name.") })
}
