package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/report"
)

// TestOnlyASuccessIsTicked: a tick beside failed items would be taken for success.
func TestOnlyASuccessIsTicked(t *testing.T) {
	for _, tt := range []struct {
		counts weir.Counts
		mark   string
	}{
		{weir.Counts{Total: 300, Done: 300}, "✓"},
		{weir.Counts{Total: 300, Failed: 300}, "✗"},
		{weir.Counts{Total: 300, Done: 299, Failed: 1}, "!"},
		{weir.Counts{Total: 300, Done: 1, Failed: 299}, "!"},
	} {
		sum := &report.Summary{State: weir.BulkCompleted.String(), Counts: tt.counts}
		if got := headline(paint(false), sum, "1s"); !strings.HasPrefix(got, tt.mark+" ") {
			t.Errorf("%+v: %s, want %s", tt.counts, got, tt.mark)
		}
	}
}

func TestCallsAtATimeFollowTheConcurrencyOfResources(t *testing.T) {
	two, other := weir.Step{Resource: weir.Resource{Name: "a", Concurrency: 2}}, weir.Step{Resource: weir.Resource{Name: "b", Concurrency: 3}}
	for _, tt := range []struct {
		name  string
		steps []weir.Step
		want  int
	}{
		{"a bound below the slots", []weir.Step{two}, 2},
		{"two resources", []weir.Step{two, other}, 5},
		{"one resource at two steps", []weir.Step{two, two}, 2},
		{"no bound", []weir.Step{two, {}}, 64},
	} {
		if got := predict(tt.steps, 100, 64).slots; got != tt.want {
			t.Errorf("%s: %d calls at a time, want %d", tt.name, got, tt.want)
		}
	}
}

// halfResumed is a run that went on with 600 items at its second step, a minute before its end.
func halfResumed() (*running, *report.Summary) {
	end := time.Unix(1000, 0)
	p := weir.Progress{
		Counts: weir.Counts{Total: 1000, Done: 400, Ready: 600},
		Steps:  []weir.StepCounts{{Done: 1000}, {Done: 400, Pending: 600}},
	}
	r := &running{resumed: &resumption{end.Add(-time.Minute), p.Steps}, forecast: predictEach(twoSteps(), leftAt(&p), 64)}
	return r, &report.Summary{
		State: weir.BulkCompleted.String(), FinishedAt: &end, Duration: report.Duration(time.Hour), Counts: weir.Counts{Total: 1000, Done: 1000},
		Steps: []report.Step{{Name: "award", Done: 1000, Attempts: 1000, Rate: 0.3}, {Name: "send-message", Done: 1000, Attempts: 1000, Rate: 0.3}},
	}
}

func TestTheForecastOfAResumeGoesByWhatEachStepHasLeft(t *testing.T) {
	steps := twoSteps()
	steps[0].Resource.Rate = 1 // the bottleneck, if it had anything left to do
	p := weir.Progress{Counts: weir.Counts{Total: 1000, Done: 400, Ready: 600}, Steps: []weir.StepCounts{{Done: 1000}, {Done: 400, Pending: 600}}}
	if f := predictEach(steps, leftAt(&p), 64); f.p50 != 2*time.Second || f.bottleneck != "send-message 300/s" {
		t.Errorf("600 items left at the second step: %v, bottleneck %s; want 2s, send-message 300/s", f.p50, f.bottleneck)
	}
	p = weir.Progress{Counts: weir.Counts{Total: 1000, Ready: 1000}, Steps: make([]weir.StepCounts, 2)} // accepted, and not read yet
	if f := predictEach(steps, leftAt(&p), 64); f.p50 != 1000*time.Second {
		t.Errorf("nothing was done yet: %v, want 1000s", f.p50)
	}
}

func TestAResumedRunTellsOfTheTimeSinceTheResume(t *testing.T) {
	r, sum := halfResumed()
	r.job = &job{Report: "out"}
	text := strings.Join(summaryLines(paint(false), &session{env: &Env{}}, r, sum, nil, time.Hour), "\n")
	for _, want := range []string{"finished in 1m0s since the resume (forecast +2900.0%), all items done", "10/s since the resume"} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary lacks %q:\n%s", want, text)
		}
	}
}

func TestCallsThatWereSentBackAreCalls(t *testing.T) {
	for _, tt := range []struct {
		step report.Step
		want string
	}{
		{report.Step{}, "done 0   failed 0   no attempts"},
		{report.Step{Refused: 15}, "done 0   failed 0   item attempts 0   items sent back 15   0/s"},
	} {
		if got := stepText(tt.step, ""); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.step, got, tt.want)
		}
	}
}

func TestACancelledItemIsCalledSo(t *testing.T) {
	if got := itemState(paint(false), &api.ItemResult{State: "cancelled", Reason: "user"}); got != "cancelled: user" {
		t.Errorf("itemState = %q, want cancelled: user", got)
	}
}

func TestAForecastOfWhatMayNotStartSaysSo(t *testing.T) {
	f := api.Forecast{Takes: api.Quantiles{P50: api.Duration(time.Minute), P90: api.Duration(time.Minute)}}
	if line := forecastLine(false, &f); !strings.Contains(line, "counted from its start") {
		t.Errorf("without a finish the forecast says %q", line)
	}
	f.Finish.P50 = time.Unix(60, 0)
	if line := forecastLine(false, &f); strings.Contains(line, "may start") {
		t.Errorf("with a finish the forecast says %q", line)
	}
}
