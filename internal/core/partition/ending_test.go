package partition

import (
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
)

func TestWhatAResultSaysOfTheDownstream(t *testing.T) {
	again, no := weir.Outcome{Kind: weir.OutcomeRetry}, weir.Outcome{Kind: weir.OutcomeRefused, After: time.Second}
	done, wrong := weir.Outcome{Kind: weir.OutcomeDone}, weir.Outcome{Kind: weir.OutcomeFailed}
	for _, tt := range []struct {
		name   string
		result Result
		want   capacity.Ending
	}{
		{"all is well", Result{Outcomes: []weir.Outcome{done, done, done}}, capacity.Ending{}},
		{"items that are wrong are not its fault", Result{Outcomes: []weir.Outcome{wrong, wrong, wrong}}, capacity.Ending{}},
		{"all are to be tried again", Result{Outcomes: []weir.Outcome{again, again, again}}, capacity.Ending{}},
		{"one without an answer", Result{Outcomes: []weir.Outcome{{}, done, done}}, capacity.Ending{}},
		{"most without answers", Result{Outcomes: []weir.Outcome{{}, {}, again}}, capacity.Ending{Failed: true, Code: "no_result"}},
		{"without answers", Result{Outcomes: make([]weir.Outcome, 3)}, capacity.Ending{Failed: true, Code: "no_result"}},
		{"some are refused", Result{Outcomes: []weir.Outcome{no, done, done}}, capacity.Ending{Refused: 1, After: time.Second}},
		{"the task failed", Result{Failure: &Failure{Code: "timeout"}}, capacity.Ending{Failed: true, Code: "timeout"}},
		{"its endpoint is wrong", Result{Failure: &Failure{Code: "http_404", Misconfigured: true}}, capacity.Ending{Failed: true, Misconfigured: true, Code: "http_404"}},
		{"the task was refused", Result{Failure: &Failure{Refused: true, After: time.Minute}}, capacity.Ending{Refused: 3, After: time.Minute}},
		{"one tenant was refused", Result{Failure: &Failure{Refused: true, OfTenant: true}}, capacity.Ending{Silent: true}},
		{"the failure is ours", Result{Failure: &Failure{Code: "panic", Ours: true}}, capacity.Ending{Silent: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.result.Task = &Task{Items: []uint16{0, 1, 2}}
			if got := tt.result.ending(); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}
