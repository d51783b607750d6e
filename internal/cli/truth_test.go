package cli

import (
	"testing"

	"github.com/weirhq/weir"
)

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
