package watch

import (
	"reflect"
	"testing"

	"github.com/weirhq/weir/api"
)

func TestACancelIsForetold(t *testing.T) {
	steps := func(pending ...int64) (list []api.StepProgress) {
		for i, n := range pending {
			list = append(list, api.StepProgress{Step: []string{"award", "message", "log"}[i], Pending: n})
		}
		return list
	}
	counts := api.Counts{Total: 100, Ready: 50, Waiting: 10, InFlight: 20, Done: 15, Failed: 5}
	for _, tt := range []struct {
		name  string
		state api.State
		steps []api.StepProgress
		want  *api.CancelPreview
	}{
		{"no item has done a step", api.Running, steps(80, 0), &api.CancelPreview{Items: 60, InFlight: 20}},
		{"items of one step have done none of it", api.Paused, steps(80), &api.CancelPreview{Items: 60, InFlight: 20}},
		{"items between steps", api.Stopped, steps(50, 0, 30), &api.CancelPreview{Items: 60, InFlight: 20, Begun: []api.BegunStep{{Done: "message", Next: "log", Items: 30}}}},
		{"items after each step", api.Awaiting, steps(50, 20, 10), &api.CancelPreview{Items: 60, InFlight: 20,
			Begun: []api.BegunStep{{Done: "award", Next: "message", Items: 20}, {Done: "message", Next: "log", Items: 10}}}},
		{"it is being cancelled", api.Cancelling, steps(0, 0), nil},
		{"it has ended", api.Completed, steps(0, 0), nil},
		{"a draft is deleted instead", api.Draft, steps(0, 0), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := api.Progress{State: tt.state, Counts: counts, Steps: tt.steps}
			if got := cancelPreview(&p); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
