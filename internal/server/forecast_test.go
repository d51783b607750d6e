package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// forecastOf asks for a forecast and returns it with its assumptions as one text.
func forecastOf(n *nodetest.Node, id, req string) (api.Forecast, string) {
	var f api.Forecast
	n.Call("POST", "/v1/bulk-actions/"+id+"/forecast", req, 200, &f)
	return f, strings.Join(f.Assumptions, "\n")
}

// TestAForecastCountsFromTheStart: whether the request or the bulk action says when that is.
func TestAForecastCountsFromTheStart(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{operated("award")}})
	start := time.Now().Add(24 * time.Hour).Truncate(time.Second).UTC()
	at := fmt.Sprintf(`"start_at":%q`, start.Format(time.RFC3339))
	items := rows(50, func(i int) string { return fmt.Sprintf(`{"id":"u%d"}`, i) })
	held := n.Make(`{"steps":[{"action":"award"}],"canary":{"percent":10}}`, items)
	var scheduled api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"items":[{"id":"a","data":{}}],`+at+`}`, 201, &scheduled)
	for id, req := range map[string]string{held.ID: "{" + at + "}", scheduled.ID: "{}"} {
		f, _ := forecastOf(n, id, req)
		if want := start.Add(time.Duration(f.Takes.P50)); !f.Finish.P50.Equal(want) {
			t.Errorf("forecast %s: finish %v, want %v", req, f.Finish.P50, want)
		}
	}
	if _, says := forecastOf(n, held.ID, "{}"); !strings.Contains(says, "canary waits for approval") {
		t.Errorf("the forecast of a canary assumes %q", says)
	}
	if _, says := forecastOf(n, scheduled.ID, "{}"); strings.Contains(says, "approval") {
		t.Errorf("the forecast without a canary assumes %q", says)
	}
}

// TestARateAtWhichItTakesAWeekIsWarnedOf: when it is created, and in a forecast of more items than are there.
func TestARateAtWhichItTakesAWeekIsWarnedOf(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{operated("award")}})
	const rules = `"steps":[{"action":"award"}],"rates":{"award":"0.001/s"},"canary":{"percent":0.0001}`
	const rate, canary = "Rate of award, 0.001/s: 600 items at 1 per 1,000 s take 6 days 22 h.", "Canary of 0.0001 %: less than 1 of 600 items."
	items := "[" + strings.TrimSuffix(rows(600, func(i int) string { return fmt.Sprintf(`{"id":"u%d"},`, i) }), ",\n") + "]"
	var b, draft api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{`+rules+`,"items":`+items+`}`, 201, &b)
	f, _ := forecastOf(n, b.ID, "{}")
	for of, got := range map[string][]string{"the bulk action": b.Warnings, "the forecast": f.Warnings} {
		if len(got) != 2 || got[0] != rate || !strings.HasPrefix(got[1], canary) {
			t.Errorf("%s warns %q", of, got)
		}
	}
	n.Call("POST", "/v1/bulk-actions", `{`+rules+`}`, 201, &draft)
	if len(draft.Warnings) != 2 || !strings.HasSuffix(draft.Warnings[0], "1,000 items at 1 per 1,000 s would take 11 days 13 h.") {
		t.Errorf("a draft without items warns %q", draft.Warnings)
	}
}

// TestAPausedTenantHasNoRateAndNoEnd: in the progress and in forecasts, until it is resumed.
func TestAPausedTenantHasNoRateAndNoEnd(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	url := downstream(t, func(*http.Request, []byte) (int, string) { return 200, `{"default":"done"}` })
	n.Call("PUT", "/v1/actions/award", fmt.Sprintf(`{"url":%q,"batch":5}`, url), 200, nil)
	n.Call("PUT", "/v1/resources/award", `{"rate":"100/s"}`, 200, nil)
	b := n.Make(`{"tenant":"acme","steps":[{"action":"award"}],"start":true}`, rows(20_000, func(i int) string { return fmt.Sprintf(`{"id":"u%d"}`, i) }))
	progress := func() (p api.Progress) {
		n.Call("GET", "/v1/bulk-actions/"+b.ID+"/progress", "", 200, &p)
		return p
	}
	n.Eventually("it has a rate", func() bool { p := progress(); return p.Rate > 0 && p.ETA > 0 })
	n.Call("PUT", "/v1/tenants/acme", `{"paused":true}`, 200, nil)
	if p := progress(); p.Rate != 0 || p.ETA != 0 || len(p.WaitingOn) == 0 || p.WaitingOn[0].Reason != "paused_tenant" {
		t.Errorf("while the tenant is paused: rate %v, eta %v, waiting on %v", p.Rate, p.ETA, p.WaitingOn)
	}
	f, says := forecastOf(n, b.ID, "{}")
	if f.Finish != (api.Finish{}) || !strings.Contains(says, `The tenant "acme" is paused: nothing starts before it is resumed`) {
		t.Errorf("while the tenant is paused: finish %v, assumptions %q", f.Finish, says)
	}
	n.Call("PUT", "/v1/tenants/acme", `{}`, 200, nil)
	n.Call("PUT", "/v1/resources/award", `{"rate":"10/s"}`, 200, nil)
	n.Eventually("the ETA agrees with the limit", func() bool {
		p := progress()
		return p.ETA > 0 && time.Duration(p.ETA).Seconds() >= 0.99*float64(p.Counts.Ready)/10
	})
	if f, _ := forecastOf(n, b.ID, "{}"); f.Finish.P50.IsZero() {
		t.Error("no finish after the tenant was resumed")
	}
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/cancel", `{}`, 200, nil)
}

// TestAForecastCountsWhatIsScheduled: for the same moment and for later while it runs, not for after its end.
func TestAForecastCountsWhatIsScheduled(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	n.Call("PUT", "/v1/actions/mail", `{"url":"http://127.0.0.1:9/mail","batch":10}`, 200, nil)
	n.Call("PUT", "/v1/resources/mail", `{"rate":"100/s"}`, 200, nil)
	midnight := time.Now().Add(24 * time.Hour).Truncate(time.Second)
	schedule := func(tenant string, at time.Time) api.BulkAction {
		return n.Make(fmt.Sprintf(`{"tenant":%q,"steps":[{"action":"mail"}],"start_at":%q}`, tenant, at.Format(time.RFC3339)),
			rows(1000, func(i int) string { return fmt.Sprintf(`{"id":"u%d"}`, i) }))
	}
	mine := schedule("acme", midnight)
	schedule("later", midnight.Add(time.Hour))
	alone, _ := forecastOf(n, mine.ID, "{}")
	if len(alone.Clashes) != 0 {
		t.Fatalf("alone, it clashes with %+v", alone.Clashes)
	}
	schedule("globex", midnight)
	schedule("initech", midnight.Add(5*time.Second))
	f, says := forecastOf(n, mine.ID, "{}")
	if f.Takes.P50 < 2*alone.Takes.P50 || len(f.Clashes) != 1 || f.Clashes[0].Tenants != 2 || f.Clashes[0].Backlog != 2000 {
		t.Errorf("it takes %v beside two, %v alone, and clashes with %+v", f.Takes.P50, alone.Takes.P50, f.Clashes)
	}
	if !strings.Contains(says, "start before it ends: 2.") {
		t.Errorf("the forecast assumes %q", says)
	}
}
