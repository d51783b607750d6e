package partition

import (
	"testing"
	"time"

	"github.com/weirhq/weir"
)

func TestWhatAResultSaysOfTheDownstream(t *testing.T) {
	again, no := weir.Outcome{Kind: weir.Retry}, weir.Outcome{Kind: weir.Refused, After: time.Second}
	done, wrong := weir.Outcome{Kind: weir.Done}, weir.Outcome{Kind: weir.Failed}
	for _, tt := range []struct {
		name   string
		result Result
		want   Complaint
	}{
		{"all is well", Result{Outcomes: []weir.Outcome{done, done, done}}, Complaint{}},
		{"items that are wrong are not its fault", Result{Outcomes: []weir.Outcome{wrong, wrong, wrong}}, Complaint{}},
		{"some are to be tried again", Result{Outcomes: []weir.Outcome{again, done, done}}, Complaint{}},
		{"most are", Result{Outcomes: []weir.Outcome{again, again, done}}, Complaint{Failed: true, Code: "retry"}},
		{"without answers", Result{Outcomes: make([]weir.Outcome, 3)}, Complaint{Failed: true, Code: "no_result"}},
		{"some are refused", Result{Outcomes: []weir.Outcome{no, done, done}}, Complaint{Refused: 1, After: time.Second}},
		{"the task failed", Result{Failure: &Failure{Code: "timeout"}}, Complaint{Failed: true, Code: "timeout"}},
		{"its endpoint is wrong", Result{Failure: &Failure{Code: "http_404", Misconfigured: true}}, Complaint{Failed: true, Misconfigured: true, Code: "http_404"}},
		{"the task was refused", Result{Failure: &Failure{Refused: true, After: time.Minute}}, Complaint{Refused: 3, After: time.Minute}},
		{"one tenant was refused", Result{Failure: &Failure{Refused: true, OfTenant: true}}, Complaint{Silent: true}},
		{"the failure is ours", Result{Failure: &Failure{Code: "panic", Ours: true}}, Complaint{Silent: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.result.Task = &Task{Items: []uint16{0, 1, 2}}
			if got := tt.result.Complaint(); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}
