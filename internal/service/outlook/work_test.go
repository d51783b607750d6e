package outlook

import (
	"context"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/lab/forecast"
)

// remembered is a past in which calls of credit took 73 ms.
type remembered struct{}

func (remembered) Speeds(context.Context, string, *weir.Progress) ([]float64, error) { return nil, nil }

func (remembered) CallTime(_ context.Context, resource string) (time.Duration, int64, error) {
	if resource == "credit" {
		return 73 * time.Millisecond, 400, nil
	}
	return 0, 0, nil
}

func TestCallTimesAreRememberedAfterARestart(t *testing.T) {
	all := []forecast.Resource{{Name: "credit"}, {Name: "mail", Service: time.Second, Samples: 9}, {Name: "new"}}
	w := forecast.Work{Steps: []forecast.Step{{Resource: "credit"}, {Resource: "mail"}, {Resource: "new"}}}
	if err := recall(t.Context(), remembered{}, &w, all); err != nil {
		t.Fatal(err)
	}
	if r := all[0]; r.Service != 73*time.Millisecond || r.Samples != 400 {
		t.Errorf("a call of credit takes %v, known from %d calls; want 73ms and 400", r.Service, r.Samples)
	}
	if all[1].Service != time.Second || all[1].Samples != 9 || all[2].Service != 0 {
		t.Errorf("what nodes measure, and what was never called, are %+v", all[1:])
	}
}

func TestTimeSpentOnPeopleIsNoErrorOfTheForecast(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	r := api.Report{StartedAt: start, FinishedAt: start.Add(10 * time.Minute), Waited: []api.Waited{
		{Reason: "approval", Duration: api.Duration(5 * time.Minute)}, {Reason: "rate", Duration: api.Duration(3 * time.Minute)},
		{Reason: "paused", Duration: api.Duration(time.Minute)}}}
	if got := ran(&r); got != 4*time.Minute {
		t.Errorf("it ran for %v, want 4m0s", got)
	}
}
