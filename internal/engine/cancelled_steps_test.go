package engine_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/report"
)

// TestCancelledItemsAreCountedAtTheStepThatTheyHadReached checks that progress, report, rows and metrics agree.
func TestCancelledItemsAreCountedAtTheStepThatTheyHadReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, reg := halfway(), prometheus.NewPedanticRegistry()
		r := start(t, memory(), engine.Options{Metrics: reg}, chain(c))
		b := submit(t, r, job[int]{Chain: c, Spec: weir.Spec{Tenant: "acme"}}, numbers(300))
		time.Sleep(5500 * time.Millisecond)
		do(t, b.Pause)
		time.Sleep(time.Minute) // what runs has ended
		paused := wantState(t, b, weir.BulkPaused)
		if paused.Steps[0].Pending == 0 || paused.Steps[1].Pending == 0 || paused.Steps[0].LeftOut == 0 {
			t.Fatalf("steps at the pause: %+v, want items that wait for each, and some left out", paused.Steps)
		}
		do(t, b.Cancel)
		wantCancelledSteps(t, b, paused.Steps[0].Pending, paused.Steps[1].Pending)
		time.Sleep(time.Minute)
		wantMetrics(t, scrape(t, reg), map[string]float64{
			`weir_items_finished_total{action="one",state="cancelled",tenant="acme"}`: float64(paused.Steps[0].Pending + paused.Steps[0].LeftOut),
			`weir_items_finished_total{action="two",state="cancelled",tenant="acme"}`: float64(paused.Steps[1].Pending),
		})
	})
}

// halfway is a chain whose first step leaves every tenth item out, and is faster than the second.
func halfway() weir.Chain[int, string] {
	one := each("one", func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
		if i == 0 {
			time.Sleep(time.Second)
			b.LeaveOut(i, "holdout")
			return
		}
		b.Done(i, it.ID)
	})
	one.Resource = weir.Resource{Name: "first", Concurrency: 1}
	two := relay("two", func(b *weir.Batch[string, string], i int, _ weir.Item[string]) {
		if i == 0 {
			time.Sleep(2 * time.Second)
		}
		b.Done(i, "")
	})
	two.Resource = weir.Resource{Name: "second", Concurrency: 1}
	return weir.Then(weir.Start(one), two, joined)
}

// wantCancelledSteps waits for the end, and checks how many were cancelled at each step, wherever that is told.
func wantCancelledSteps(t *testing.T, b *engine.BulkAction, cancelled ...int64) {
	t.Helper()
	rep := wait(t, b)
	p := wantState(t, b, weir.BulkCancelled)
	rows := map[string]int64{}
	for row, err := range rep.Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if row.State == report.StateCancelled && row.Reason != "holdout" {
			rows[row.Step]++
		}
	}
	for i, want := range cancelled {
		says, has := p.Steps[i], rep.Steps[i]
		if says.Cancelled != want || has.Cancelled != want || rows[has.Name] != want {
			t.Errorf("cancelled at step %s: %d in progress, %d in the report, %d rows; want %d", has.Name, says.Cancelled, has.Cancelled, rows[has.Name], want)
		}
		if says.Pending != 0 || has.Pending != 0 {
			t.Errorf("pending at step %s after the end: %d in progress, %d in the report; want 0", has.Name, says.Pending, has.Pending)
		}
	}
	sum := fmt.Sprint(p.Counts.Total, p.Counts.Done, p.Counts.Failed, p.Counts.Cancelled)
	if in := fmt.Sprint(rep.Counts.Total, rep.Counts.Done, rep.Counts.Failed, rep.Counts.Cancelled); in != sum {
		t.Errorf("total, done, failed, cancelled: %s in progress, %s in the report", sum, in)
	}
}
