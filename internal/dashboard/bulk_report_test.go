package dashboard

import (
	"testing"
	"time"

	"github.com/weirhq/weir/api"
)

func TestAReportSaysWhatIsTrueInOneSentence(t *testing.T) {
	done := api.Counts{Total: 600, Done: 600}
	for _, tt := range []struct {
		name string
		r    api.Report
		want string
	}{
		{"all done", api.Report{State: api.Completed, Counts: done}, "All 600\u00a0items are done."},
		{"cancelled", api.Report{State: api.Cancelled, Counts: api.Counts{Total: 600, Done: 349, Cancelled: 251}},
			"It was cancelled: 349 of 600\u00a0items were done before."},
		{"cancelled, and some of the rest were run later", api.Report{State: api.Cancelled, Counts: api.Counts{Total: 600, Done: 349, Cancelled: 251},
			Retries: []string{"ba_2"}, Combined: &api.Counts{Total: 600, Done: 388, Ready: 212}},
			"It was cancelled: 349 of 600\u00a0items were done before, 39 later by retries."},
		{"being undone", api.Report{State: api.Completed, Counts: done, Undone: &api.Undone{State: api.Running, Items: 600, Done: 120}},
			"600 of 600\u00a0items were done. It is being undone: 120 of 600\u00a0items so far."},
		{"undone", api.Report{State: api.Completed, Counts: done, Undone: &api.Undone{State: api.Completed, Items: 600, Done: 600}},
			"600 of 600\u00a0items were done. It was undone: 600 of 600\u00a0items."},
		{"partly undone", api.Report{State: api.Completed, Counts: done, Undone: &api.Undone{State: api.Completed, Items: 600, Done: 590, Failed: 10}},
			"600 of 600\u00a0items were done. It was partly undone: 590 of 600\u00a0items, 10 failed."},
		{"undone, and the undo is no longer kept", api.Report{State: api.Completed, Counts: done, Undone: &api.Undone{}},
			"600 of 600\u00a0items were done. It was undone later."},
	} {
		if got := inOneSentence(&tt.r); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestCancelledItemsAreNoSpeed(t *testing.T) {
	column := func(values ...float64) (c api.Column) {
		for i := range values {
			c = append(c, &values[i])
		}
		return c
	}
	// 3 items were left out by a step, and 251 cancelled at the end, of which the last two steps know.
	steps := []api.StepProgress{{Step: "award", Done: 346, LeftOut: 3}}
	n := neverProcessed(api.Counts{Total: 600, Done: 346, Cancelled: 254}, steps)
	if n != 251 {
		t.Fatalf("%d items were never processed, want 251", n)
	}
	got := withoutLast(column(2, 1, 250, 1), n)
	for i, want := range []float64{2, 1, 0, 0} {
		if *got[i] != want {
			t.Errorf("step %d has %v items, want %v", i, *got[i], want)
		}
	}
	line := api.Timeline{Step: api.Duration(10 * time.Second), Points: 4}
	if rates := line.PerSecond(got); *rates[2] != 0 {
		t.Errorf("the step of the cancel shows %v/s, want 0", *rates[2])
	}
}
