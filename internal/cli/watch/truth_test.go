package watch

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/local"
	"github.com/weirhq/weir/internal/cli/term"
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
		if got := headline(term.Paint(false), sum, "1s"); !strings.HasPrefix(got, tt.mark+" ") {
			t.Errorf("%+v: %s, want %s", tt.counts, got, tt.mark)
		}
	}
}

// TestAResumedRunTellsOfTheTimeSinceTheResume: it went on with 600 items at its second step, a minute before its end.
func TestAResumedRunTellsOfTheTimeSinceTheResume(t *testing.T) {
	end := time.Unix(1000, 0)
	r := &Running{
		Run: &local.Run{Results: local.Results{Report: "out"}}, Forecast: 2 * time.Second,
		Resumed: &Resumption{end.Add(-time.Minute), []api.StepProgress{{Done: 1000}, {Done: 400, Pending: 600}}},
	}
	rep := &api.Report{
		State: api.Completed, FinishedAt: end, Duration: api.Duration(time.Hour), Counts: api.Counts{Total: 1000, Done: 1000},
		Steps: []api.StepReport{
			{StepProgress: api.StepProgress{Step: "award", Done: 1000, Attempts: 1000}, Rate: 0.3},
			{StepProgress: api.StepProgress{Step: "send-message", Done: 1000, Attempts: 1000}, Rate: 0.3},
		},
	}
	text := strings.Join(summaryLines(&link.Link{Printer: &command.Printer{Env: &command.Env{}}}, term.Paint(false), r, rep, summaryOf(rep), nil), "\n")
	for _, want := range []string{"finished in 1m0s since the resume (forecast +2900.0%), all items done", "10/s since the resume"} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary lacks %q:\n%s", want, text)
		}
	}
}

func TestTheSummaryCountsItemsWithoutAClearAnswer(t *testing.T) {
	rep := &api.Report{State: api.Cancelled, FinishedAt: time.Unix(1000, 0), Counts: api.Counts{Total: 5, Done: 2, Cancelled: 3}, Unclear: 2,
		Steps: []api.StepReport{{StepProgress: api.StepProgress{Step: "award", Done: 2, Cancelled: 3, Unclear: 2}}}}
	sum := summaryOf(rep)
	text := strings.Join((*summary)(sum).lines(term.Paint(false), "", "", nil, nil), "\n")
	if want := "2 cancelled items have no clear answer: the service may have done the work"; !strings.Contains(text, want) || sum.Steps[0].Unclear != 2 {
		t.Errorf("the summary lacks %q:\n%s", want, text)
	}
}

func TestTheSummaryOfWhatIsUndoneSaysSo(t *testing.T) {
	rep := &api.Report{State: api.Completed, Counts: api.Counts{Total: 600, Done: 600}, UndoneBy: "ba_2",
		Undone: &api.Undone{State: api.Running, Items: 600, Done: 120, Failed: 1}}
	text := strings.Join((*summary)(summaryOf(rep)).lines(term.Paint(false), "", "", nil, nil), "\n")
	if want := "by ba_2, which is running: 120 of 600 items undone, 1 item failed"; !strings.Contains(text, want) {
		t.Errorf("the summary lacks %q:\n%s", want, text)
	}
}

func TestCallsThatWereSentBackAreCalls(t *testing.T) {
	for _, tt := range []struct {
		step report.Step
		want string
	}{
		{report.Step{}, "done 0   failed 0   no attempts"},
		{report.Step{Refused: 15}, "done 0   failed 0   item attempts 0   items refused 15   0/s"},
	} {
		if got := stepText(tt.step, ""); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.step, got, tt.want)
		}
	}
}

func TestACancelledItemIsCalledSo(t *testing.T) {
	if got := ItemState(term.Paint(false), &api.ItemResult{State: "cancelled", Reason: "user"}); got != "cancelled: user" {
		t.Errorf("itemState = %q, want cancelled: user", got)
	}
}

func TestAForecastOfWhatMayNotStartSaysSo(t *testing.T) {
	f := api.Forecast{Takes: api.Quantiles{P50: api.Duration(time.Minute), P90: api.Duration(time.Minute)}}
	if line := ForecastLine(false, &f); !strings.Contains(line, "counted from its start") {
		t.Errorf("without a finish the forecast says %q", line)
	}
	f.Finish.P50 = time.Unix(60, 0)
	if line := ForecastLine(false, &f); strings.Contains(line, "may start") {
		t.Errorf("with a finish the forecast says %q", line)
	}
}
