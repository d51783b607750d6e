package watch

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/report"
)

func twoSteps() []weir.Step {
	return []weir.Step{
		{Name: "award", BatchSize: 200, Resource: weir.Resource{Name: "award", Rate: 500}},
		{Name: "send-message", BatchSize: 100, Resource: weir.Resource{Name: "send-message", Rate: 300, Concurrency: 8}},
	}
}

func halfway() *Track {
	return &Track{Label: "spring", Steps: twoSteps(), Now: api.Progress{
		Counts:    api.Counts{Total: 1000, Ready: 350, Waiting: 20, InFlight: 30, Done: 590, Failed: 10},
		Steps:     []api.StepProgress{{Done: 790, Failed: 10}, {Done: 590}},
		ETA:       api.Duration(35*time.Minute + 19*time.Second),
		WaitingOn: []api.Cause{{Reason: "rate", Text: "Rate of send-message, 300/s"}, {Reason: "retry"}},
	}, speed: []partition.Lately{{Rate: 499}, {Rate: 299}}}
}

func TestPanelShowsStepsCountsAndCause(t *testing.T) {
	got := strings.Join(panel(false, 100, []*Track{halfway()}, 20*time.Minute+26*time.Second, "p pause   q stop"), "\n")
	want := `
  award         ███████████████████░░░░░  80%     800/1,000  499/s of 500
  send-message  ██████████████░░░░░░░░░░  59%       590/990  299/s of 300
  failed 10 · waiting 20 · in flight 30 · elapsed 20m26s · ETA 35m19s
  waiting on  rate of send-message, 300/s                                 p pause   q stop`
	if got != want {
		t.Errorf("panel:\n%s\nwant:\n%s", got, want)
	}
}

func TestADeadlineIsShownUntilTheEnd(t *testing.T) {
	tr := halfway()
	tr.Deadline = time.Date(2030, 1, 31, 18, 0, 0, 0, time.UTC)
	const want = " · ETA 35m19s · deadline 2030-01-31 18:00:00Z"
	if live, plain := countLine(false, 100, []*Track{tr}, time.Minute), plainLine([]*Track{tr}, time.Minute); !strings.HasSuffix(live, want) || !strings.HasSuffix(plain, want) {
		t.Errorf("panel: %q; line: %q; want %q at the end", live, plain, want)
	}
	tr.Now.State = api.Completed
	if got := countLine(false, 100, []*Track{tr}, time.Minute); strings.Contains(got, "deadline") {
		t.Errorf("after the end: %q", got)
	}
}

func TestPanelOfSeveralHasALineEach(t *testing.T) {
	small := halfway()
	small.Label, small.Now.State = "acme", api.Completed
	small.Now.Counts = api.Counts{Total: 5, Done: 5}
	small.Started, small.Finished = time.Unix(10, 0), time.Unix(12, 0)
	lines := panel(false, 100, []*Track{halfway(), small}, time.Second, "")
	if !strings.HasPrefix(lines[1], "  spring") || !strings.Contains(lines[1], "600/1,000") {
		t.Errorf("line of the running one: %q", lines[1])
	}
	if !strings.HasPrefix(lines[2], "  acme") || !strings.Contains(lines[2], "✓ in 2s") {
		t.Errorf("line of the one that ended: %q", lines[2])
	}
}

func TestATickIsForWhatIsWhole(t *testing.T) {
	for _, tt := range []struct {
		c    weir.Counts
		want string
	}{
		{weir.Counts{Total: 3, Done: 3}, "✓"},
		{weir.Counts{Total: 3, Done: 2, Cancelled: 1}, "!"},
		{weir.Counts{Total: 3, Done: 2, Failed: 1}, "!"},
		{weir.Counts{Total: 3, Failed: 3}, "✗"},
	} {
		if got := endMark(term.Paint(false), tt.c); got != tt.want {
			t.Errorf("mark of %+v = %q, want %q", tt.c, got, tt.want)
		}
	}
}

func TestPanelFitsNarrowTerminals(t *testing.T) {
	for wide := 10; wide < 120; wide += 3 {
		for _, l := range panel(true, wide, []*Track{halfway()}, time.Hour, "p pause") {
			if got := term.Width(term.Fit(l, wide)); got > wide {
				t.Errorf("a line takes %d of %d characters: %q", got, wide, l)
			}
		}
	}
}

func TestPanelBeforeAnythingIsKnown(t *testing.T) {
	lines := panel(false, 80, []*Track{{Label: "new", Steps: twoSteps()}}, 0, "")
	if !strings.Contains(lines[1], "0%") || !strings.Contains(lines[3], "failed 0") {
		t.Errorf("panel: %q", lines)
	}
}

func TestTheFirstRatesAreMeansFromTheStart(t *testing.T) {
	tr, now := &Track{}, time.Unix(100, 0)
	for i := range 7 { // 1,500 a second, and a task more at the first look
		done := int64(300*i + min(i, 1)*20)
		tr.note(now.Add(time.Duration(i)*200*time.Millisecond), api.Progress{Steps: []api.StepProgress{{Done: done}}})
	}
	if got := tr.speed[0].Rate; got < 1500 || got > 1520 {
		t.Errorf("rate after 1.2 s = %v, want the mean, 1517", got)
	}
}

func TestCausesAreWords(t *testing.T) {
	for cause, want := range map[api.Cause]string{
		{Reason: "rate", Text: "Rate of send-message, 300/s"}:                           "rate of send-message, 300/s",
		{Reason: "refused", Text: "The service: it refuses calls", Detail: "after 2 s"}: "the service: it refuses calls: after 2 s",
		{Reason: "a reason of an older server"}:                                         "a reason of an older server",
	} {
		if got := causeText(cause); got != want {
			t.Errorf("causeText(%+v) = %q, want %q", cause, got, want)
		}
	}
}

func TestForecast(t *testing.T) {
	f := api.Forecast{
		Takes: api.Quantiles{P50: api.Duration(55*time.Minute + 31*time.Second), P90: api.Duration(58*time.Minute + 18*time.Second)}, Finish: api.Finish{P50: time.Unix(1, 0)},
		Steps: []api.ForecastStep{{Calls: 39_977}, {Calls: 66_628}}, Bottleneck: &api.Bottleneck{Kind: "rate", Resource: "send-message", Value: "300/s"},
	}
	if got := ForecastLine(false, &f); got != "  forecast  55m31s (p90 58m18s) · about 106,605 calls · bottleneck send-message 300/s" {
		t.Errorf("forecast: %q", got)
	}
	said, took := time.Duration(f.Takes.P50), 55*time.Minute+48*time.Second
	if got := offBy(said, &report.Summary{State: "completed"}, took); got != " (forecast +0.5%)" {
		t.Errorf("offBy = %q", got)
	}
	cut := &report.Summary{State: "completed", Reason: "deadline", Counts: weir.Counts{Total: 4, Done: 1, Failed: 1, Cancelled: 2}, Steps: []report.Step{{LeftOut: 1}, {Cancelled: 1}}}
	if got := offBy(said, cut, took) + headline(false, cut, "9s"); got != "■ ended by its deadline after 9s, 1 item cancelled, 1 item failed" {
		t.Errorf("ended by its deadline: %q", got)
	}
}

func TestAnErrorOfAnEarlierProcessIsNotTold(t *testing.T) {
	began := time.Now()
	tr := &Track{Since: began, Now: api.Progress{State: api.Running, LastError: &api.LastError{Step: "award", Code: "refused", Last: began.Add(-time.Minute), Failing: true}}}
	if line := newError([]*Track{tr}); line != "" {
		t.Errorf("told %q, want nothing: the error is older than the process", line)
	}
	tr.Now.LastError.Last = began.Add(time.Second)
	if newError([]*Track{tr}) == "" {
		t.Error("an error of this process was not told")
	}
}

func TestAnErrorOfThePastIsNotShownAsOfNow(t *testing.T) {
	e := &api.LastError{Step: "message", Code: "http_404", Message: "http_404: answered 404", Count: 3, Last: time.Date(2030, 1, 31, 12, 3, 4, 0, time.UTC), Failing: true}
	tracks := []*Track{{Now: api.Progress{State: api.Running, LastError: e}}}
	shown := func() string {
		return newError(tracks) + plainLine(tracks, time.Second) + strings.Join(panel(term.Paint(false), 100, tracks, time.Second, ""), "\n")
	}
	got := func() string {
		return lastErrorText(&api.BulkAction{LastError: e})
	}
	if text := shown(); !strings.Contains(text, "calls fail: message: http_404") || strings.Count(text, "last error") != 2 {
		t.Errorf("while calls fail, shows\n%s", text)
	}
	if want := "message: http_404: answered 404 (3 calls failed), last 2030-01-31 12:03:04Z"; got() != want {
		t.Errorf("while calls fail, get says %q, want %q", got(), want)
	}
	e.Failing, tracks[0].told = false, nil
	if text := shown(); strings.Contains(text, "404") {
		t.Errorf("after calls have succeeded, shows\n%s", text)
	}
	if want := "at 2030-01-31 12:03:04Z: message: http_404: answered 404 (3 calls failed); no call has failed since"; got() != want {
		t.Errorf("after calls have succeeded, get says %q, want %q", got(), want)
	}
}

func TestACancelledOneIsHeadlinedSo(t *testing.T) {
	sum := &report.Summary{State: weir.BulkCancelled.String(), Counts: weir.Counts{Total: 100, Done: 10, Failed: 4, Cancelled: 86}}
	if got, want := headline(term.Paint(false), sum, "12s"), "■ cancelled after 12s, 86 items cancelled, 4 items failed"; got != want {
		t.Errorf("headline = %q, want %q", got, want)
	}
}

func TestALineSaysWhyItStandsStill(t *testing.T) {
	still := api.Progress{State: api.Running, Counts: api.Counts{Total: 100, Ready: 100}, WaitingOn: []api.Cause{{Text: "An operator: the tenant is paused"}}}
	moving := still
	moving.Counts.Ready, moving.Counts.InFlight = 99, 1
	failing := still
	failing.LastError = &api.LastError{Step: "award", Code: "unreachable", Failing: true, Last: time.Now()}
	const cause = " · waiting on an operator: the tenant is paused"
	for _, tt := range []struct {
		name string
		now  api.Progress
		want bool
	}{{"nothing is in flight", still, true}, {"a call is in flight", moving, false}, {"the last error says more", failing, false}} {
		got := plainLine([]*Track{{Now: tt.now}}, time.Second)
		if strings.HasSuffix(got, cause) != tt.want {
			t.Errorf("%s: %q; ends with the cause: want %v", tt.name, got, tt.want)
		}
	}
}

func TestAnUncertainETAHasARangeWhereItFits(t *testing.T) {
	tr := halfway()
	tr.Now.LikelyEnd = time.Date(2030, 1, 31, 18, 0, 0, 0, time.UTC)
	tr.Now.LikelyEndFrom, tr.Now.LikelyEndTo = tr.Now.LikelyEnd.Add(-5*time.Minute), tr.Now.LikelyEnd.Add(10*time.Minute)
	const want = "ETA 35m19s (30m19s to 45m19s)"
	if live, plain := countLine(false, 100, []*Track{tr}, time.Minute), plainLine([]*Track{tr}, time.Minute); !strings.Contains(live, want) || !strings.Contains(plain, want) {
		t.Errorf("panel: %q; line: %q; want %q", live, plain, want)
	}
	if got := countLine(false, 50, []*Track{tr}, 20*time.Minute); !strings.Contains(got, "ETA 35m19s") || term.Width(got) > 50 {
		t.Errorf("narrow: %q, want the ETA within 50 characters", got)
	}
}

func TestPanelOnANarrowTerminalKeepsTheETA(t *testing.T) {
	lines := panel(false, 60, []*Track{halfway()}, 20*60e9, "")
	if got := lines[3]; !strings.Contains(got, "ETA 35m19s") || term.Width(got) > 60 {
		t.Errorf("counts: %q, want the ETA within 60 characters", got)
	}
}
