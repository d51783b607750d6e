package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

func newPlace(w *world, tenant string) *place {
	return &place{w, tenant, map[string]string{"admin": w.key("admin", tenant)}, nil}
}

func TestAScheduleThatFiresOnceMakesOneBulkAction(t *testing.T) {
	w := start(t, opening{})
	acme, in := newPlace(w, "acme"), newInbox(t)
	template := `{"name":"nightly","steps":[{"action":"award"}],"items":[{"id":"u1"},{"id":"u2"}],"callback":{"url":"` + in.URL + `","secret":"whsec_` + strings.Repeat("MTIz", 8) + `"}}`
	var s api.Schedule
	a := acme.must("POST", "/v1/schedules", `{"name":"tonight","at":"`+time.Now().UTC().Format(time.RFC3339)+`","bulk_action":`+template+`}`, &s)
	if a.status != 201 || a.header.Get("Location") != "/v1/schedules/"+s.ID || a.header.Get("ETag") != `"1"` {
		t.Fatalf("%d %v", a.status, a.header)
	}
	if s.BulkAction.Callback == nil || s.BulkAction.Callback.Secret != "" || s.Tenant != "acme" {
		t.Errorf("shown %+v", s)
	}
	w.until("the firing", func() bool {
		acme.must("GET", "/v1/schedules/"+s.ID, "", &s)
		return len(s.History) > 0 && s.History[0].Result == "fired"
	})
	path := acme.in("completed", "/v1/bulk-actions/"+s.History[0].BulkAction)
	var b api.BulkAction
	acme.must("GET", path, "", &b)
	if b.Schedule != s.ID || b.Counts.Done != 2 || b.Tenant != "acme" || len(s.Next) != 0 {
		t.Errorf("made %+v by %+v", b, s)
	}
	w.until("its callback", func() bool { return len(in.all()) == 1 })
	if in.all()[0].header.Get("Webhook-Signature") == "" {
		t.Error("the callback is not signed: the template has lost its secret")
	}
}

func TestAScheduleIsChangedPausedResumedAndRemoved(t *testing.T) {
	w := start(t, opening{})
	acme := newPlace(w, "acme")
	path := acme.one("/v1/schedules", acme.scheduleBody("yearly"))
	var s api.Schedule
	first := acme.must("GET", path, "", &s)
	if len(s.Next) != 5 || s.Overlap != "skip" || time.Duration(s.CatchUp) != time.Hour {
		t.Errorf("shown with its defaults: %+v", s)
	}
	if berlin := s.Next[0].UTC(); berlin.Hour() != 2 || berlin.Month() != time.January {
		t.Errorf("3 o'clock in Berlin is %v", berlin)
	}
	s.Name, s.Overlap = "weekly", "queue"
	body, _ := json.Marshal(s)
	second := acme.must("PUT", path, string(body), &s, "If-Match", first.header.Get("ETag"))
	if s.Name != "weekly" || s.Overlap != "queue" || second.header.Get("ETag") == first.header.Get("ETag") {
		t.Errorf("changed: %+v", s)
	}
	for _, method := range []string{"PUT", "DELETE"} {
		if a := acme.ask(method, path, map[string]string{"PUT": string(body)}[method], "If-Match", first.header.Get("ETag")); a.status != 412 || a.problem().Code != "changed_meanwhile" {
			t.Errorf("%s of what was changed meanwhile: %d %s", method, a.status, a.body)
		}
	}
	var paused, resumed api.Schedule
	acme.must("POST", path+"/pause", `{"reason":"holidays"}`, &paused)
	if !paused.Paused || len(paused.Next) != 0 {
		t.Errorf("paused: %+v", paused)
	}
	acme.must("POST", path+"/resume", "", &resumed)
	var times api.ScheduleTimes
	acme.must("GET", path+"/next?n=7", "", &times)
	if resumed.Paused || len(times.Times) != 7 || times.Times[0].Location() != time.UTC {
		t.Errorf("resumed: %+v, next %v", resumed, times)
	}
	acme.must("POST", path+"/backfill", `{"from":"2024-12-01T00:00:00Z","to":"2026-02-01T00:00:00Z"}`, &times)
	if len(times.Times) != 2 {
		t.Errorf("to be made up for: %v, want two New Years", times)
	}
	acme.must("DELETE", path, "", nil)
	if a := acme.ask("GET", path, ""); a.status != 404 {
		t.Errorf("after it was removed: %d %s", a.status, a.body)
	}
}

// TestWhatIsWrongWithAScheduleIsToldWhenItIsMade: also what would only show when it fires, and all of it at once.
func TestWhatIsWrongWithAScheduleIsToldWhenItIsMade(t *testing.T) {
	w := start(t, opening{})
	acme := newPlace(w, "acme")
	good := `{"steps":[{"action":"award"}],"items":[{"id":"u1"}]}`
	later := time.Now().Add(24 * time.Hour).UTC().Format("2006-01-02T15:04")
	for _, tt := range []struct{ name, body, want string }{
		{"neither cron nor at", `{"name":"x","bulk_action":` + good + `}`, "cron bad_time"},
		{"both", `{"name":"x","cron":"* * * * *","at":"` + later + `Z","bulk_action":` + good + `}`, "at bad_time"},
		{"a minute that there is not", `{"name":"x","cron":"61 * * * *","bulk_action":` + good + `}`, "cron"},
		{"a day that never comes", `{"name":"x","cron":"0 0 30 2 *","bulk_action":` + good + `}`, "cron"},
		{"an unknown zone", `{"name":"x","cron":"0 0 * * *","zone":"Europe/Berlim","bulk_action":` + good + `}`, "zone bad_time"},
		{"the past", `{"name":"x","at":"2020-01-01T00:00:00Z","bulk_action":` + good + `}`, "at bad_time"},
		{"too far away", `{"name":"x","at":"2190-01-01T00:00:00Z","bulk_action":` + good + `}`, "at bad_time"},
		{"without a zone", `{"name":"x","at":"` + later + `","bulk_action":` + good + `}`, "at bad_time"},
		{"a time that is left out", `{"name":"x","at":"2027-03-28T02:30","zone":"Europe/Berlin","bulk_action":` + good + `}`, "at bad_time"},
		{"an unknown action", `{"name":"x","cron":"0 0 * * *","bulk_action":{"steps":[{"action":"awrd"}],"items":[{"id":"u1"}]}}`, "bulk_action.steps[0].action unknown_action"},
		{"no items", `{"name":"x","cron":"0 0 * * *","bulk_action":{"steps":[{"action":"award"}]}}`, "bulk_action.source no_items"},
		{"a start in the template", `{"name":"x","cron":"0 0 * * *","bulk_action":{"start_at":"` + later + `Z","steps":[{"action":"award"}],"items":[{"id":"u1"}]}}`, "bulk_action.start_at bad_value"},
		{"another's template", `{"name":"x","cron":"0 0 * * *","bulk_action":{"tenant":"beta","steps":[{"action":"award"}],"items":[{"id":"u1"}]}}`, "bulk_action.tenant bad_value"},
		{"a callback to a private address", `{"name":"x","cron":"0 0 * * *","bulk_action":{"callback":{"url":"http://10.0.0.1"},"steps":[{"action":"award"}],"items":[{"id":"u1"}]}}`, "bulk_action.callback.url address_not_allowed"},
		{"an end before the beginning", `{"name":"x","cron":"0 0 * * *","until":"2020-01-01T00:00:00Z","bulk_action":` + good + `}`, "until out_of_range"},
		{"several things", `{"name":"","cron":"61 * * * *","catch_up":"1s","bulk_action":{"steps":[{"action":"award"}]}}`, "bulk_action.source no_items; name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := w.in(t).ask(acme.keys["admin"], "POST", "/v1/schedules", tt.body)
			var faults []string
			for _, f := range a.problem().Errors {
				faults = append(faults, f.Field+" "+f.Code)
			}
			if got := strings.Join(faults, "; "); a.status != 422 || !strings.HasPrefix(got, tt.want) {
				t.Errorf("%d: %s, want %s\n%s", a.status, got, tt.want, a.body)
			}
		})
	}
	if a := acme.must("GET", "/v1/schedules", "", nil); !strings.Contains(a.body, `"data":[]`) {
		t.Errorf("there is one: %s", a.body)
	}
}

func TestATimeThatComesTwiceIsSaid(t *testing.T) {
	w := start(t, opening{})
	acme := newPlace(w, "acme")
	year := time.Now().Year() + 1
	last := time.Date(year, time.October, 31, 0, 0, 0, 0, time.UTC)
	last = last.AddDate(0, 0, -int(last.Weekday()))
	var s api.Schedule
	acme.must("POST", "/v1/schedules", fmt.Sprintf(`{"name":"x","at":"%sT02:30","zone":"Europe/Berlin","bulk_action":{"steps":[{"action":"award"}],"items":[{"id":"u1"}]}}`, last.Format(time.DateOnly)), &s)
	if !strings.Contains(s.Note, "twice") || s.At != last.Format(time.DateOnly)+"T00:30:00Z" {
		t.Errorf("at %s, note %q", s.At, s.Note)
	}
}

// TestWhatCanNeverWorkIsGivenUp: a template whose items are refused fails, and is not tried for ever.
func TestWhatCanNeverWorkIsGivenUp(t *testing.T) {
	w := start(t, opening{})
	acme := newPlace(w, "acme")
	path := acme.one("/v1/schedules", `{"name":"x","at":"`+time.Now().UTC().Format(time.RFC3339)+`","bulk_action":{"steps":[{"action":"award"}],"items":[{"id":"u1"},{"id":"u1"}]}}`)
	var s api.Schedule
	w.until("the end of it", func() bool {
		acme.must("GET", path, "", &s)
		return len(s.History) > 0 && s.History[0].Result != "retrying"
	})
	if f := s.History[0]; f.Result != "failed" || f.Tries != 1 || f.Reason == "" {
		t.Errorf("history %+v", s.History)
	}
	if a := acme.must("GET", "/v1/bulk-actions", "", nil); !strings.Contains(a.body, `"data":[]`) {
		t.Errorf("something is left: %s", a.body)
	}
}

func TestTheTimesOfARuleAreListedWithoutASchedule(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	var got api.ScheduleTimes
	n.Call("GET", "/v1/schedule-times?cron=0+9+*+*+1&zone=Asia/Tokyo&from=2026-11-16T00:00:00Z&n=2", "", 200, &got)
	want := []time.Time{time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)}
	if !slices.EqualFunc(got.Times, want, time.Time.Equal) {
		t.Errorf("times %v, want %v", got.Times, want)
	}
	n.Call("GET", "/v1/schedule-times?cron=0+*+*+*+*&from=2026-11-16T00:00:00Z&to=2026-11-16T23:59:00Z&n=1000", "", 200, &got)
	if len(got.Times) != 24 {
		t.Errorf("%d times a day, want 24", len(got.Times))
	}
	for path, field := range map[string]string{"cron=61+*+*+*+*": "cron", "cron=0+*+*+*+*&zone=Mars": "zone"} {
		var p api.Problem
		n.Call("GET", "/v1/schedule-times?"+path, "", 422, &p)
		if len(p.Errors) != 1 || p.Errors[0].Field != field {
			t.Errorf("%s: problem %+v, want the field %s", path, p, field)
		}
	}
}
