package result

import (
	"testing"

	"github.com/weirhq/weir/api"
)

func TestTheTextOfRetriedItems(t *testing.T) {
	for _, tt := range []struct {
		r    api.Retried
		was  api.Counts
		want string
	}{
		{api.Retried{Failed: 50, Done: 50}, api.Counts{Failed: 50}, "All 50 failed items were retried: 50 done"},
		{api.Retried{Failed: 1200, Done: 1100, FailedAgain: 100}, api.Counts{Failed: 12000},
			"1,200 of 12,000 failed items were retried: 1,100 done, 100 failed again"},
		{api.Retried{Failed: 1, FailedAgain: 1}, api.Counts{Failed: 1}, "The failed item was retried: 0 done, 1 failed again"},
		{api.Retried{Failed: 1, Left: 1}, api.Counts{Failed: 3}, "1 of 3 failed items was retried: 0 done, 1 left to do"},
		{api.Retried{Failed: 2, Cancelled: 251, Done: 39, Left: 200, FailedAgain: 4}, api.Counts{Failed: 4, Cancelled: 251},
			"2 of 4 failed items and 251 of those cancelled were retried: 39 done, 4 failed again, 10 cancelled or left out, 200 left to do"},
	} {
		if got := retriedText(&tt.r, &tt.was); got != tt.want {
			t.Errorf("%+v of %+v:\n%s, want\n%s", tt.r, tt.was, got, tt.want)
		}
	}
}
