package result

import (
	"fmt"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/report"
)

func failed(no int64, step, code string) *report.Row {
	return &report.Row{No: no, ID: fmt.Sprint(no), State: report.StateFailed, Step: step, Code: code, Message: "endpoint answered 404"}
}

// An entry takes what matches it and what no entry before it has taken.
func TestAnItemIsTakenOnce(t *testing.T) {
	x := &stored.Extra{Steps: []stored.Step{{ID: "notify", Action: "send"}, {ID: "award", Action: "award"}}}
	before := []handling{
		{Key: "1", Which: selector{Code: "timeout"}},
		{Key: "2", Only: (&numbers{runs: []run{{5, 6}}}).pack()},
	}
	c, err := newChoice(before, &handling{Which: selector{Action: "send"}}, x)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		row  *report.Row
		want bool
	}{
		{"one of the action", failed(1, "notify", "gone"), true},
		{"one of another action", failed(1, "award", "gone"), false},
		{"taken by its code", failed(1, "notify", "timeout"), false},
		{"taken by its number", failed(5, "notify", "gone"), false},
		{"one that was left out", &report.Row{No: 1, State: report.StateFailed, Step: "notify", LeftOut: true}, false},
		{"one that is done", &report.Row{No: 1, State: report.StateDone, Step: "notify"}, false},
	} {
		if got, err := c.takes(tt.row); err != nil || got != tt.want {
			t.Errorf("%s: takes = %v, %v; want %v", tt.name, got, err, tt.want)
		}
	}
}

func TestWhatWasTakenIsMissingFromTheGroups(t *testing.T) {
	list := []api.ErrorGroup{
		{Step: "a", Code: "timeout", Message: "slow", Count: 10},
		{Step: "a", Code: bulk.OtherCode, Message: bulk.OtherMessage, Count: 5},
		{Step: "b", Code: "timeout", Message: "slow", Count: 2},
	}
	var h handled
	h.take([]taken{{"a", "timeout", "slow", 4}, {"a", "rare", "odd", 1}})
	h.take([]taken{{"a", "timeout", "slow", 3}})
	h.Entries = []handling{{Groups: []taken{{"a", "timeout", "slow", 5}}}} // it is being carried out
	less(list, h)
	got := fmt.Sprint(list[0].Count, list[1].Count, list[2].Count)
	if got != "0 2 2" { // of 12 taken, 10 are of the group; two and the rare one are of the others
		t.Errorf("left are %s, want 0 2 2", got)
	}
	if len(h.Taken) != 2 || h.Taken[0].Items != 7 {
		t.Errorf("taken = %+v, want one entry a group", h.Taken)
	}
}

func TestManyGroupsCountAsOneBeyondABound(t *testing.T) {
	by := map[taken]int64{}
	for i := range mostTaken + 50 {
		by[taken{Step: "a", Code: "c", Message: fmt.Sprint(i)}] = 2
	}
	list := (&Results{}).grouped(by)
	if len(list) != mostTaken+1 || list[mostTaken].Code != bulk.OtherCode || list[mostTaken].Items != 100 {
		t.Errorf("%d groups, the last %+v; want %d, and the rest of 100 items", len(list), list[len(list)-1], mostTaken+1)
	}
}
