package model

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestABulkActionKeepsToItsOwnRates(t *testing.T) {
	for _, tt := range []struct {
		name  string
		parts int
		items int64
		rates []Rate
		want  time.Duration // when it ends
		peak  float64       // the most of any second at the first step
	}{
		{"none of its own", 1, 3_000, nil, 10 * time.Second, 300},
		{"below the resource's", 1, 3_000, []Rate{100}, 30 * time.Second, 100},
		{"above the resource's", 1, 3_000, []Rate{1000}, 10 * time.Second, 300},
		{"below one a second", 1, 10, []Rate{0.5}, 18 * time.Second, 1},
		{"at the second step", 1, 3_000, []Rate{0, 50}, 60 * time.Second, 300},
		{"divided between shards", 8, 60_000, []Rate{200}, 300 * time.Second, 204},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := World{
				Partitions: tt.parts,
				Resources: []Resource{
					{Name: "a", Rate: 300, Downstream: Downstream{Latency: 20 * ms}}, {Name: "b", Downstream: Downstream{Latency: 20 * ms}},
				},
				BulkActions: []BulkAction{{Name: "bulk", Items: tt.items, Steps: []string{"a", "b"}, Rates: tt.rates}},
			}
			r := play(t, w)
			if got := time.Duration(r.Kinds[0].Finish); math.Abs(float64(got-tt.want)) > float64(tt.want)/20+float64(time.Second) {
				t.Errorf("it ends after %v, want %v", got, tt.want)
			}
			if k := r.Kinds[0]; k.Done != tt.items {
				t.Errorf("%d of %d items are done", k.Done, tt.items)
			}
			if got := r.Resources[0].Peak; got > tt.peak+1 {
				t.Errorf("in some second %v items started, want at most %v", got, tt.peak)
			}
		})
	}
}

func TestItsOwnRateIsNamedAsWhatIsWaitedFor(t *testing.T) {
	w := simple(2_000, Resource{Rate: 400})
	w.BulkActions[0].Rates = []Rate{100}
	ws := play(t, w).Kinds[0].Waited
	if len(ws) == 0 || ws[0].Reason != "rate" || !ws[0].Own || ws[0].Resource != "api" || ws[0].Share < 0.8 || ws[0].Share > 1 {
		t.Errorf("waited for %+v, want first of all its own rate, nearly always", ws)
	}
	w.BulkActions[0].Rates = nil
	if ws := play(t, w).Kinds[0].Waited; ws[0].Reason != "rate" || ws[0].Own {
		t.Errorf("without a rate of its own it waited for %+v", ws)
	}
}

// What keeps to a rate of its own leaves the rest to others, and retries keep to it, too.
func TestWhatIsLeftByARateOfItsOwnIsUsed(t *testing.T) {
	w := simple(1_000, Resource{Rate: 400, Downstream: Downstream{Latency: 20 * ms, Failures: 0.1}})
	w.BulkActions[0].Rates = []Rate{40}
	w.BulkActions = append(w.BulkActions, BulkAction{Name: "other", Items: 8_000, Steps: []string{"api"}})
	r := play(t, w)
	if slow := time.Duration(r.Kinds[0].Finish); slow < 27*time.Second {
		t.Errorf("1000 items at 40/s, every tenth again, end after %v", slow)
	}
	if quick := time.Duration(r.Kinds[1].Finish); quick > 31*time.Second {
		t.Errorf("8000 items beside it end after %v, want about 25s and the last retries", quick)
	}
}

func TestBadRatesOfItsOwnAreRefused(t *testing.T) {
	w := simple(1, Resource{})
	w.BulkActions[0].Rates = []Rate{-1, 5}
	err := w.Validate()
	if err == nil || !strings.Contains(err.Error(), "rates[0]: -1 is not between 0 and 1e9") || !strings.Contains(err.Error(), "has 2 entries for 1 steps") {
		t.Errorf("bad rates: %v", err)
	}
}
