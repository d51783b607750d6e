package forecast

import (
	"testing"
	"time"
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
	w, l := chain(30_000) // 500/s and 300/s
	whole := left(t, w, l)
	near(t, "all of it", whole, 100*time.Second, 0.05)
	w.Standing = []int64{0, 30_000}
	near(t, "all at the second step", left(t, w, l), 100*time.Second, 0.05)
	w.Items, w.Standing = 3000, []int64{0, 2400}
	w.Flying = []int64{0, 600}
	near(t, "a tenth, much of it in flight", left(t, w, l), 8*time.Second, 0.1)
	l.Others = []Other{{Name: "y", Tenant: "y", Items: 50_000, Steps: []string{"send-message", "elsewhere"}, Standing: []int64{0, 50_000}}}
	near(t, "beside one that has passed the step that they share", left(t, w, l), 8*time.Second, 0.1)
	l.Others[0].Standing = []int64{600, 49_400}
	near(t, "beside one that has little left to do there", left(t, w, l), 10*time.Second, 0.1)
}

func TestItemsThatAreTriedAgainSkipAndEnd(t *testing.T) {
	w, l := chain(60_000)
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
