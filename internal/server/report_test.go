package server_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

func TestAReportHasAllThatBecameOfABulkAction(t *testing.T) {
	gate := newGate()
	gate.open()
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{gate.step("award"), gate.step("notify")}})
	b := n.Make(`{"name":"spring","steps":[{"id":"give","action":"award"},{"action":"notify","when":"item.n != 7"}]}`,
		rows(2000, func(i int) string { return fmt.Sprintf(`{"id":"u%d","n":%d,"bad":%v}`, i, i, i%100 == 0) }))
	n.Until(b.ID, api.Completed)
	var r api.Report
	n.Call("GET", "/v1/bulk-actions/"+b.ID+"/report", "", 200, &r)
	addsUp(t, r.Counts)
	if r.Counts.Done != 1979 || r.Counts.Failed != 20 || r.Counts.Cancelled != 1 || r.Outcome != "some_failed" || r.Name != "spring" {
		t.Errorf("report %+v", r)
	}
	give, notify := r.Steps[0], r.Steps[1]
	if give.Step != "give" || give.Action != "award" || give.Done != 1980 || give.Failed != 20 || give.P50 <= 0 || give.P99 < give.P95 || give.P95 < give.P50 {
		t.Errorf("first step %+v", give)
	}
	if notify.Done != 1979 || notify.LeftOut != 1 {
		t.Errorf("second step %+v", notify)
	}
	if len(r.Errors) != 1 || r.Errors[0].Count != 20 || r.Errors[0].Message != "account <n> is bad" && r.Errors[0].Action != "award" {
		t.Errorf("errors %+v, want one group of 20", r.Errors)
	}
	var sample api.ItemResult
	n.Call("GET", "/v1/items/"+r.Errors[0].Sample, "", 200, &sample)
	if sample.Code != "is_bad" {
		t.Errorf("sample %+v, want one of the group", sample)
	}
	var text string
	n.Call("GET", r.Files.Cancelled, "", 200, &text)
	if r.Retries != nil || r.Combined != nil {
		t.Errorf("retries %v, combined %v; want none", r.Retries, r.Combined)
	}
}

// Numbers add up in every answer, whatever is done to a bulk action meanwhile.
func TestNumbersAddUpWhateverIsDone(t *testing.T) {
	gate := newGate()
	gate.open()
	slow := gate.step("award")
	slow.BatchSize, slow.Resource = 5, weir.Resource{Name: "rewards", Rate: 2000}
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{slow, gate.step("notify")}})
	random := rand.New(rand.NewPCG(1, 2))
	for range 2 {
		b := n.Make(`{"steps":[{"action":"award"},{"action":"notify"}]}`, rows(800, func(i int) string { return fmt.Sprintf(`{"id":"u%d","bad":%v}`, i, i%7 == 0) }))
		path := "/v1/bulk-actions/" + b.ID
		ended := false
		for until := time.Now().Add(400 * time.Millisecond); !ended; {
			verb := []string{"pause", "resume", "pause", "resume"}[random.IntN(4)]
			if time.Now().After(until) {
				verb = []string{"cancel", "resume"}[random.IntN(2)]
			}
			n.Request(t.Context(), "POST", path+"/"+verb, `{}`, nil).Body.Close()
			var p api.Progress
			n.Call("GET", path+"/progress", "", 200, &p)
			addsUp(t, p.Counts)
			var r api.Report
			n.Call("GET", path+"/report", "", 200, &r)
			addsUp(t, r.Counts)
			ended = r.State.Final()
			if left := r.Counts.Ready + r.Counts.Waiting + r.Counts.InFlight; ended && left != 0 {
				t.Fatalf("%s with %d items left: %+v", r.State, left, r.Counts)
			}
		}
		var r api.Report
		n.Call("GET", path+"/report", "", 200, &r)
		for state, want := range map[string]int64{"done": r.Counts.Done, "failed": r.Counts.Failed, "cancelled": r.Counts.Cancelled} {
			if got := pages(t, n, path+"/items?limit=1000&state="+state); int64(len(got)) != want {
				t.Errorf("%d items %s, the report has %d", len(got), state, want)
			}
		}
	}
}
