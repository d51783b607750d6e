package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/report"
)

// TestOnlyASuccessIsTicked: a tick beside failed items would be taken for success.
func TestOnlyASuccessIsTicked(t *testing.T) {
	for _, tt := range []struct {
		counts report.Counts
		mark   string
	}{
		{report.Counts{Total: 300, Done: 300}, "✓"},
		{report.Counts{Total: 300, Failed: 300}, "✗"},
		{report.Counts{Total: 300, Done: 299, Failed: 1}, "!"},
		{report.Counts{Total: 300, Done: 1, Failed: 299}, "!"},
	} {
		sum := &report.Summary{State: weir.BulkCompleted.String(), Counts: tt.counts}
		if got := headline(paint(false), sum, forecast{}, time.Second); !strings.HasPrefix(got, tt.mark+" ") {
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
