package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

const weekly = `{"name":"weekly-digest","tenant":"growth","cron":"0 9 * * 1","zone":"Asia/Tokyo",` +
	`"bulk_action":{"steps":[{"action":"send"}],"items":[{"id":"u1"}]}}`

func makeSchedule(n *nodetest.Node, body string) (s api.Schedule) {
	n.Call("POST", "/v1/schedules", body, 201, &s)
	return s
}

// inUTC makes the browser tell that its time zone is UTC.
func (b *browser) inUTC() *browser { return b.in("UTC") }

// in makes the browser tell its time zone.
func (b *browser) in(zone string) *browser {
	at, err := url.Parse(b.node.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	b.web.Jar.SetCookies(at, []*http.Cookie{{Name: "weir_zone", Value: url.QueryEscape(zone)}})
	return b
}

func scheduleForm(with ...string) url.Values {
	f := url.Values{"name": {"digest"}, "every": {"week"}, "time": {"09:00"}, "weekday": {"1"}, "zone": {"Asia/Tokyo"}, "overlap": {"queue"},
		"bulk_action": {"steps:\n- action: send\nitems:\n- id: u1\n"}, "catch_up": {"6h"}}
	for i := 0; i+1 < len(with); i += 2 {
		f.Set(with[i], with[i+1])
	}
	return f
}

func TestSchedulesAreListedWithTheirWeekPausedAndResumed(t *testing.T) {
	n := ended(t, false)
	b := newBrowser(t, n).inUTC()
	_, page := b.get("/ui/schedules")
	b.want(page, "No schedules yet", "Make the first schedule")
	s := makeSchedule(n, weekly)
	makeSchedule(n, strings.NewReplacer("weekly-digest", "hourly-sync", "0 9 * * 1", "0 * * * *").Replace(weekly))
	makeSchedule(n, strings.NewReplacer("weekly-digest", "reminders", "0 9 * * 1", "*/5 * * * *").Replace(weekly))
	makeSchedule(n, strings.NewReplacer("weekly-digest", "uneven", "0 9 * * 1", "1-58 * * * *").Replace(weekly))
	_, page = b.get("/ui/schedules")
	b.want(page, "4 schedules. The next one fires", "Every 5 min: reminders", "reminders growth On Every 5 minutes, Asia/Tokyo", "Often: uneven", "By its own rule, Asia/Tokyo", "Next 7 days", "Today, ", "24 × hourly-sync", "weekly-digest growth On Mondays 09:00, Asia/Tokyo 0 9 * * 1",
		"Has not fired", "Pause weekly-digest")
	_, page = b.post("/ui/schedules/"+s.ID+"/pause", url.Values{"reason": {"holidays"}, "from": {"list"}})
	b.want(page, "weekly-digest is paused.", "--reason holidays", "None while paused", "Resume weekly-digest")
	_, page = b.post("/ui/schedules/"+s.ID+"/resume", nil)
	b.want(page, "weekly-digest is on again, and fires next Mon", "It has not fired yet", "Next five Mon", "Run late if within 1 h, the newest only")
	_, page = b.get("/ui/schedules/" + s.ID + "/delete")
	b.want(page, "Delete weekly-digest?", "Will not fire", "every bulk action that it has made")
	_, page = b.post("/ui/schedules/"+s.ID+"/delete", url.Values{"reason": {"over"}})
	b.want(page, "The schedule is deleted.", "3 schedules.")
}

func TestAScheduleIsMadeAfterItsTimesWereShown(t *testing.T) {
	n := ended(t, false)
	b := newBrowser(t, n).inUTC()
	_, page := b.get("/ui/schedules/new")
	b.want(page, "New schedule", "Show the next times", "Create the schedule")
	status, page := b.post("/ui/schedules/new", scheduleForm("check", "1"))
	if status != http.StatusUnprocessableEntity || !strings.Contains(page, `value="digest"`) {
		t.Errorf("a check: status %d", status)
	}
	b.want(page, "Nothing is saved yet. It would fire at these times, and so on: Mon", "(09:00 in Tokyo)")
	var all api.Page[api.Schedule]
	if n.Call("GET", "/v1/schedules", "", 200, &all); len(all.Data) != 0 {
		t.Fatal("a check saves")
	}
	for range 2 { // a double click
		_, page = b.post("/ui/schedules/new", scheduleForm("once", "twice"))
		b.want(page, "digest is saved, and fires next Mon", "Mondays 09:00, Asia/Tokyo")
	}
	n.Call("GET", "/v1/schedules", "", 200, &all)
	if len(all.Data) != 1 || all.Data[0].Cron != "0 9 * * 1" || all.Data[0].Overlap != "queue" || all.Data[0].CatchUp.String() != "6h0m0s" {
		t.Fatalf("made %+v", all.Data)
	}
	edit := "/ui/schedules/" + all.Data[0].ID + "/edit"
	_, page = b.get(edit)
	if !strings.Contains(page, `<option value="week" selected>`) || !strings.Contains(page, `value="09:00"`) {
		t.Errorf("the form does not have what was saved: %s", page)
	}
	_, page = b.post(edit, scheduleForm("every", "month", "day", "31", "time", "06:30", "name", "monthly"))
	b.want(page, "monthly is saved", "Day 31 of the month 06:30", "30 6 31 * *")
	_, page = b.post("/ui/schedules/new", scheduleForm("every", "once", "at", "2031-12-24T00:00", "zone", "Europe/Berlin"))
	b.want(page, "digest is saved, and fires next Tue 23 Dec 2031 23:00 (00:00 in Berlin)")
}

func TestWhatIsWrongWithAScheduleIsSaidAtItsField(t *testing.T) {
	n := ended(t, false)
	b := newBrowser(t, n).inUTC()
	for _, tt := range []struct{ field, value, more, fault, at string }{
		{"time", "25:00", "", "Write a time of day", "f-time-e"},
		{"zone", "Asia/Tokio", "", "did you mean Asia/Tokyo?", "f-zone-e"},
		{"cron", "61 * * * *", "own", "61", "f-cron-e"},
		{"cron", "", "own", "Write a rule of five fields", "f-cron-e"},
		{"day", "0", "month", "1 to 31", "f-day-e"},
		{"at", "", "once", "Write a date and a time.", "f-at-e"},
		{"name", "", "", "", "f-name-e"},
		{"catch_up", "soon", "", "is not a duration", "f-catch_up-e"},
		{"until", "2001-01-01T00:00", "", "", "f-until-e"},
		{"bulk_action", "steps: [", "", "neither JSON nor YAML", "f-bulk_action-e"},
		{"bulk_action", `{"stepps":[]}`, "", "stepps", "f-bulk_action-e"},
		{"bulk_action", `{"steps":[{"action":"sent"}],"items":[{"id":"u1"}]}`, "", "sent", "f-bulk_action-e"},
		{"bulk_action", `{"steps":[{"action":"send"}]}`, "", "name the source to read the items from", "f-bulk_action-source-e"},
		{"bulk_action.source.segment.url", "crm", "", "crm", "f-bulk_action-source-segment-url-e"},
	} {
		form := scheduleForm(tt.field, tt.value)
		if tt.more != "" {
			form.Set("every", tt.more)
		}
		status, page := b.post("/ui/schedules/new", form)
		if status != http.StatusUnprocessableEntity || !strings.Contains(page, `id="`+tt.at+`"`) || !strings.Contains(text(t, page), tt.fault) {
			t.Errorf("%s %q: status %d, want %q at %s:\n%s", tt.field, tt.value, status, tt.fault, tt.at, text(t, page))
		}
	}
}

func TestABackfillSaysHowManyTimesBeforeItMakesThem(t *testing.T) {
	n := ended(t, false)
	s := makeSchedule(n, strings.Replace(weekly, "Asia/Tokyo", "UTC", 1))
	b := newBrowser(t, n).inUTC()
	path := "/ui/schedules/" + s.ID + "/backfill"
	form := url.Values{"from": {"2026-01-01T00:00"}, "to": {"2026-02-01T00:00"}, "reason": {"outage"}}
	_, page := b.post(path, form) // nothing was shown: it is shown first
	b.want(page, "It would make up for 4 times:", "Make up for 4 times")
	var got api.Schedule
	if n.Call("GET", "/v1/schedules/"+s.ID, "", 200, &got); len(got.Waiting)+len(got.History) != 0 {
		t.Fatal("a look makes something")
	}
	form.Set("shown", "2026-01-01T00:00 2026-02-01T00:00")
	_, page = b.post(path, form)
	b.want(page, "It makes up for 4 times now")
	for _, bad := range []url.Values{{"from": {""}, "to": {"2026-02-01T00:00"}}, {"from": {"2026-01-06T00:00"}, "to": {"2026-01-07T00:00"}}} {
		if status, page := b.post(path, bad); status != http.StatusUnprocessableEntity || !strings.Contains(page, `id="f-from-e"`) {
			t.Errorf("%v: status %d", bad, status)
		}
	}
	form = url.Values{"from": {"2026-01-01T00:00"}, "to": {"2096-02-01T00:00"}, "shown": {"2026-01-01T00:00 2096-02-01T00:00"}}
	_, page = b.post(path, form)
	b.want(page, "is in the future")
}

func TestSchedulesOfOthersAreNotThere(t *testing.T) {
	n := ended(t, true)
	admin := n.As([]access.Scope{access.Admin})
	s := makeSchedule(admin, strings.Replace(weekly, "weekly-digest", "<script>alert(1)</script>", 1))
	b := signIn(t, n, []access.Scope{access.Admin}, "crm")
	_, page := b.get("/ui/schedules")
	b.want(page, "No schedules yet")
	for _, path := range []string{"", "/edit", "/delete", "/backfill"} {
		if status, _ := b.get("/ui/schedules/" + s.ID + path); status != http.StatusNotFound {
			t.Errorf("%s of another tenant: status %d", path, status)
		}
	}
	reader := signIn(t, n, []access.Scope{access.Read})
	for _, path := range []string{"/ui/schedules", "/ui/schedules/" + s.ID} {
		_, page := reader.get(path)
		reader.want(page, "<script>alert(1)</script>")
		reader.lacks(page, "Pause", "New schedule", "Change schedule")
		if foreign(t, page) != nil {
			t.Errorf("%s: a text is an element: %v", path, foreign(t, page))
		}
	}
	if status, page := reader.get("/ui/schedules/" + s.ID + "/edit"); status != http.StatusForbidden || !strings.Contains(page, "Your key lacks the scope submit") {
		t.Errorf("the form of a reader has the status %d, or does not say why", status)
	}
	if status, _ := reader.post("/ui/schedules/"+s.ID+"/pause", nil); status != http.StatusForbidden {
		t.Errorf("a reader pauses: status %d", status)
	}
}

// The form of a schedule shows the fields of the chosen kind: the style sheet has a rule for each.
func TestTheFieldsOfAScheduleBelongToItsKind(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	_, page := b.get("/ui/schedules/new")
	for field, kinds := range map[string]string{"time": "day weekdays week month", "weekday": "week", "day": "month", "cron": "own", "at": "once"} {
		if !strings.Contains(page, `data-of="`+kinds+`"><label for="f-`+field+`"`) {
			t.Errorf("the field %s is not told to be for %s", field, kinds)
		}
	}
	style := between(page, `rel="stylesheet" href="`, `"`)
	_, css := b.get(style)
	for _, kind := range []string{"day", "weekdays", "week", "month", "hour", "own", "once"} {
		if !strings.Contains(css, `option[value="`+kind+`"]:checked) > [data-of]:not([data-of~="`+kind+`"])`) {
			t.Errorf("the style sheet has no rule for %s", kind)
		}
	}
}

// A schedule of a template belongs to the tenant of the template.
func TestAScheduleHasTheTenantOfItsTemplate(t *testing.T) {
	n := ended(t, false)
	b := newBrowser(t, n)
	n.Call("PUT", "/v1/templates/autumn", `{"title":"Autumn","tenant":"growth","bulk_action":{"steps":[{"action":"send"}]}}`, 200, nil)
	form := scheduleForm("bulk_action", "", "bulk_action.template", "autumn", "bulk_action.source.segment.url", "https://crm.example.com/segments/7")
	form.Set("tenant", "crm")
	_, page := b.post("/ui/schedules/new", form)
	b.want(page, "The template Autumn belongs to the tenant growth.")
	form.Set("tenant", "")
	_, page = b.post("/ui/schedules/new", form)
	b.want(page, "digest is saved", "growth")
	var all api.Page[api.Schedule]
	n.Call("GET", "/v1/schedules", "", 200, &all)
	if len(all.Data) != 1 || all.Data[0].Tenant != "growth" {
		t.Errorf("the schedules are %+v", all.Data)
	}
}

func TestAScheduleWhoseRunsWaitForAPersonSaysSo(t *testing.T) {
	n := ended(t, false)
	b := newBrowser(t, n).inUTC()
	const template = `{"bulk_action":{"steps":[{"action":"send"}],"canary":{"items":1%s}}}`
	n.Call("PUT", "/v1/templates/asks", fmt.Sprintf(template, ""), 200, nil)
	n.Call("PUT", "/v1/templates/decides", fmt.Sprintf(template, `,"approve":"auto"`), 200, nil)
	const asks = "Each time, it runs a canary and then waits until a person approves the rest. Times that come while it waits are skipped."
	for name, want := range map[string]bool{"asks": true, "decides": false} {
		s := makeSchedule(n, `{"name":"`+name+`","tenant":"growth","cron":"0 9 * * 1","bulk_action":{"template":"`+name+`","items":[{"id":"u1"},{"id":"u2"}]}}`)
		for _, at := range []string{"/ui/schedules/" + s.ID, "/ui/schedules/" + s.ID + "/edit", "/ui/schedules/new?template=" + name} {
			if _, page := b.get(at); strings.Contains(text(t, page), asks) != want {
				t.Errorf("%s of %s: says that a person is waited for: %v, want %v", at, name, !want, want)
			}
		}
	}
}

func TestAScheduleThatIsOverCannotBePaused(t *testing.T) {
	n := ended(t, false)
	b := newBrowser(t, n).inUTC()
	s := makeSchedule(n, strings.Replace(weekly, `"cron":"0 9 * * 1"`, `"at":"`+time.Now().UTC().Format(time.RFC3339)+`"`, 1))
	n.Eventually("it has fired", func() bool {
		s.Next = nil
		n.Call("GET", "/v1/schedules/"+s.ID, "", 200, &s)
		return len(s.Next) == 0
	})
	for _, at := range []string{"/ui/schedules", "/ui/schedules/" + s.ID} {
		_, page := b.get(at)
		b.want(page, "Over")
		b.lacks(page, "Pause")
	}
}
