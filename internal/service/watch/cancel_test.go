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
	const text = "60 items will be cancelled. 20 items in flight: their calls end; those with a step or an attempt left are then cancelled."
	counts := api.Counts{Total: 100, Ready: 50, Waiting: 10, InFlight: 20, Done: 15, Failed: 5}
	for _, tt := range []struct {
		name  string
		state api.State
		steps []api.StepProgress
		want  *api.CancelPreview
	}{
		{"no item has done a step", api.Running, steps(80, 0), &api.CancelPreview{Items: 60, InFlight: 20, Text: text}},
		{"items of one step have done none of it", api.Paused, steps(80), &api.CancelPreview{Items: 60, InFlight: 20, Text: text}},
		{"items between steps", api.Stopped, steps(50, 0, 30), &api.CancelPreview{Items: 60, InFlight: 20, Text: text, Begun: []api.BegunStep{
			{Done: "message", Next: "log", Items: 30, Text: "30 items have done message and will not get log, except those in flight there."}}}},
		{"items after each step", api.Awaiting, steps(50, 20, 10), &api.CancelPreview{Items: 60, InFlight: 20, Text: text,
			Begun: []api.BegunStep{{Done: "award", Next: "message", Items: 20, Text: "20 items have done award and will not get message, except those in flight there."},
				{Done: "message", Next: "log", Items: 10, Text: "10 items have done message and will not get log, except those in flight there."}}}},
		{"items without a clear answer", api.Paused, []api.StepProgress{{Step: "award", Pending: 60, Unclear: 1}, {Step: "message", Unclear: 2}}, &api.CancelPreview{Items: 60, InFlight: 20,
			Text: text, Unclear: 3, UnclearText: "3 items were called and gave no clear answer so far: the service may have done the work."}},
		{"it is being cancelled", api.Cancelling, steps(0, 0), nil},
		{"it has ended", api.Completed, steps(0, 0), nil},
		{"a draft is deleted instead", api.Draft, steps(0, 0), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := api.Progress{State: tt.state, Counts: counts, Steps: tt.steps}
			if got := cancelPreview(&p, 0, false); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// An item that was undone at a step stays so: the words of a cancel of an undo do not call that done.
func TestACancelOfAnUndoIsForetoldInItsWords(t *testing.T) {
	p := api.Progress{State: api.Paused, Steps: []api.StepProgress{{Step: "undo-message"}, {Step: "undo-award", Pending: 1}}, Counts: api.Counts{Ready: 1}}
	const want = "1 item has passed undo-message and will not get undo-award: what that would have undone stays done."
	if got := cancelPreview(&p, 0, true); len(got.Begun) != 1 || got.Begun[0].Text != want ||
		got.Text != "1 item will not be undone. What is undone stays undone." {
		t.Errorf("got %+v, want %q", got, want)
	}
}
