package forecast

import (
	"testing"
	"time"

	"github.com/weirhq/weir"
)

func left(t *testing.T, w Work, l Load) time.Duration {
	t.Helper()
	d, ends, err := Left(w, l)
	if err != nil || !ends {
		t.Fatalf("what is left takes %v, ends %t: %v", d, ends, err)
	}
	return d
}

// Of a chain that has begun, only what each step still has to do counts.
func TestWhatIsLeftIsAtItsSteps(t *testing.T) {
	w, l := awards(30_000) // 500/s and 300/s
	whole := left(t, w, l)
	near(t, "all of it", whole, 100*time.Second, 0.05)
	w.Standing = []int64{0, 30_000}
	near(t, "all at the second step", left(t, w, l), 100*time.Second, 0.05)
	w.Items, w.Standing = 3000, []int64{0, 2400}
	w.Flying = []int64{0, 600}
	near(t, "a tenth, much of it in flight", left(t, w, l), 8*time.Second, 0.1)
	l.Others = []Work{{Name: "y", Tenant: "y", Items: 50_000, Steps: on("send-message", "elsewhere"), Standing: []int64{0, 50_000}}}
	near(t, "beside one that has passed the step that they share", left(t, w, l), 8*time.Second, 0.1)
	l.Others[0].Standing = []int64{600, 49_400}
	near(t, "beside one that has little left to do there", left(t, w, l), 10*time.Second, 0.1)
}

// A step that all items have passed takes no time, and nothing of others is in its way.
func TestAStepThatIsOverTakesNoTime(t *testing.T) {
	w, l := awards(3000)
	w.Standing = []int64{0, 3000}
	l.Others = []Work{{Name: "y", Tenant: "y", Items: 50_000, Steps: on(w.Steps[0].Resource)}}
	f := of(t, w, l)
	if s := f.Steps[0]; s.Items != 0 || s.Calls != 0 || s.Duration != 0 || len(f.Clashes) != 0 {
		t.Errorf("step %+v, clashes %+v; want nothing left of it, and no clash", s, f.Clashes)
	}
}

func TestItemsThatAreTriedAgainSkipAndEnd(t *testing.T) {
	w, l := awards(60_000)
	plain := of(t, w, l).P50
	l.Resources[1].Retries = 0.1
	near(t, "a tenth is tried again at the second step", of(t, w, l).P50, plain*10/9+7*time.Second, 0.03)
	l.Resources[1].Retries = 0
	l.Resources[0].Rejects = 0.1
	near(t, "a tenth ends at the first step", of(t, w, l).P50, plain*9/10, 0.03)
	l.Resources[0].Rejects = 0
	w.Steps[1].Conditional, w.Steps[1].Skips = true, 0.5
	near(t, "half skips the second step", of(t, w, l).P50, 120*time.Second, 0.03) // the first is the slower one now
}

// Items that wait for their next attempt come back when they are due, not at once.
func TestWhatWaitsIsDueLater(t *testing.T) {
	w, l := awards(3000)
	l.Resources[1].Retries = 0.01
	w.Items, w.Standing, w.Waiting, w.Due = 400, []int64{0, 300}, []int64{0, 100}, 30*time.Second
	near(t, "the last is due in half a minute", left(t, w, l), 30*time.Second, 0.05)
	w.Due = 0
	near(t, "all are due", left(t, w, l), 2*time.Second, 0.5)
}

// progress is that of two steps, of which the second has a condition.
func progress() *weir.Progress {
	return &weir.Progress{
		Counts: weir.Counts{Total: 1000, Done: 100, InFlight: 50, Waiting: 40},
		Steps: []weir.StepCounts{
			{Done: 1000, Attempts: 1100, Retries: 100},
			{Done: 100, Attempts: 40, Skipped: 60, Pending: 900},
		},
	}
}

func TestUnderwayTellsWhereItemsAre(t *testing.T) {
	w, l := awards(1000)
	w.Steps[1].Conditional = true
	now := time.Unix(1000, 0)
	p := progress()
	p.Due = now.Add(7 * time.Second)
	Underway(&w, &l, p, now)
	if w.Flying[0] != 0 || w.Flying[1] != 50 || w.Waiting[0] != 0 || w.Waiting[1] != 40 || w.Due != 7*time.Second {
		t.Errorf("in flight are %v, waiting %v for %v; want all at the second step, for 7s", w.Flying, w.Waiting, w.Due)
	}
	if got := w.Steps[1].Skips; got < 0.08 || got > 0.09 { // 60 of 100 that passed and 600 that were looked at
		t.Errorf("it is taken to skip %.3f", got)
	}
	if got := l.Resources[0].Retries; got < 0.07 || got > 0.09 {
		t.Errorf("a share of %.3f is taken to be tried again where 100 of 1,100 were, and none before", got)
	}
	if err := check(&w, &l); err != nil {
		t.Error(err)
	}
}

// A few dozen items of another bulk action tell what its condition does, rather than nothing.
func TestAFewItemsTellOfACondition(t *testing.T) {
	for _, tt := range []struct {
		name  string
		c     weir.StepCounts
		skips float64
	}{
		{"no sample", weir.StepCounts{Done: 10, Skipped: 8}, 0},
		{"a few dozen", weir.StepCounts{Done: 40, Skipped: 30}, 0.75},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if skips, _ := Uncalled(&tt.c, 100, 10); skips != tt.skips {
				t.Errorf("it skips %v, want %v", skips, tt.skips)
			}
		})
	}
}
