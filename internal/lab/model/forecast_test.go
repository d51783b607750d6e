package model

import (
	"testing"
	"time"
)

func TestForecastSpansTheLuck(t *testing.T) {
	w := simple(20_000, Resource{Rate: 500, Downstream: Downstream{Failures: 0.1}})
	w.Seed = 3000
	f, err := Foresee(w, 20)
	if err != nil {
		t.Fatal(err)
	}
	if f.P50 < Span(40*time.Second) || f.P90 < f.P50 || f.P90 > Span(60*time.Second) {
		t.Errorf("20,000 items at 500/s, a tenth of the calls failing: p50 %s, p90 %s", spanText(f.P50), spanText(f.P90))
	}
	if k := f.Kinds[0]; k.Name != "bulk" || k.P50 != f.P50 || k.P90 != f.P90 || f.Unfinished != 0 {
		t.Errorf("the only bulk action is %+v beside %+v", k, f)
	}
	again, err := Foresee(w, 20)
	if err != nil || again.P90 != f.P90 {
		t.Errorf("the same seeds forecast %s and %s, %v", spanText(f.P90), spanText(again.P90), err)
	}
	w.Length = Span(10 * time.Second)
	if f, err := Foresee(w, 2); err != nil || f.Unfinished != 2 || f.P90 != w.Length {
		t.Errorf("what cannot finish in 10 s is forecast as %+v, %v", f, err)
	}
	w.Resources = nil
	if _, err := Foresee(w, 2); err == nil {
		t.Error("a world without resources is forecast")
	}
}

// What was waited for names the resource, so that a chain shows its bottleneck.
func TestWaitsNameTheBottleneck(t *testing.T) {
	w := World{
		Resources: []Resource{
			{Name: "quick", Rate: 4000, Downstream: Downstream{Latency: 20 * ms}},
			{Name: "slow", Rate: 500, Downstream: Downstream{Latency: 20 * ms}},
		},
		BulkActions: []BulkAction{{Name: "chain", Items: 20_000, Steps: []string{"quick", "slow"}}},
	}
	ws := play(t, w).Kinds[0].Waited
	if len(ws) == 0 || ws[0].Reason != "rate" || ws[0].Resource != "slow" || ws[0].Share < 0.8 || ws[0].Share > 1 {
		t.Errorf("waited for %+v, want first of all the rate of slow, nearly always", ws)
	}
}
