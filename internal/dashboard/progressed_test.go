package dashboard

import (
	"testing"

	"github.com/weirhq/weir/api"
)

func TestWhatACancelEndedIsNoProgress(t *testing.T) {
	counts := api.Counts{Total: 100, Done: 10, Failed: 5, Cancelled: 85}
	for state, want := range map[api.State]int64{api.Cancelled: 15, api.Cancelling: 15, api.Completed: 100} { // steps leave items out, too
		if got := progressed(&api.BulkAction{State: state, Counts: counts}); got != want {
			t.Errorf("%s: %d of 100 items, want %d", state, got, want)
		}
	}
}
