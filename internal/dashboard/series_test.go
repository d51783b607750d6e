package dashboard

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
)

func TestTheChartOfABulkActionBeginsAtItsStart(t *testing.T) {
	start, one := time.Date(2026, 11, 15, 14, 0, 0, 0, time.UTC), 1.0
	line := &api.Timeline{Start: start, Step: api.Duration(10 * time.Second), End: start.Add(20 * time.Second), Points: 2}
	if from, to := whole(line, api.Column{nil, &one}); !from.Equal(start) || !to.Equal(line.End) {
		t.Errorf("it spans %v to %v", from, to)
	}
	if from, _ := lately(line, api.Column{nil, &one}); !from.Before(start) {
		t.Errorf("the last hour begins at %v, with a dot at the edge", from)
	}
}

func TestAChartSaysWhichTimeItSpans(t *testing.T) {
	start, one := time.Date(2026, 11, 15, 14, 0, 0, 0, time.UTC), 1.0
	line := &api.Timeline{Start: start, Step: api.Duration(10 * time.Second), End: start.Add(time.Hour), Points: 360}
	for first, want := range map[int]string{0: "last hour", 180: "last 30\u00a0min", 355: "last 5\u00a0min"} {
		column := make(api.Column, 360)
		for i := first; i < 360; i++ {
			column[i] = &one
		}
		if got := spanned(line, column); got != want {
			t.Errorf("a chart of %d values is of the %q, want %q", 360-first, got, want)
		}
	}
}

func TestTheFindingOfAChartIsOfTheMomentOfThePage(t *testing.T) {
	allowed := 20.0
	page := &bulkPage{bulkHead: bulkHead{Bulk: api.BulkAction{State: api.Running}, Progress: api.Progress{Rate: 15, Counts: api.Counts{InFlight: 10}}}}
	if got, want := strings.ReplaceAll(page.speedNow(api.Column{&allowed}), "\u00a0", " "), "15/s now, 20/s allowed, 10 items in flight."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
