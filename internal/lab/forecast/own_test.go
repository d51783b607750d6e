package forecast

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

func TestARateOfItsOwnIsKeptTo(t *testing.T) {
	for _, tt := range cases([]struct {
		name       string
		items      int64
		rates      [2]weir.Rate
		want       time.Duration
		bottleneck Bottleneck
	}{
		{"below the resource's", 60_000, [2]weir.Rate{0, 50}, 1200 * time.Second, Bottleneck{ByRate, "send-message", "50/s", OfBulkAction}},
		{"at the first step", 60_000, [2]weir.Rate{100, 0}, 600 * time.Second, Bottleneck{ByRate, "award.db", "100/s", OfBulkAction}},
		{"above the resource's", 60_000, [2]weir.Rate{0, 900}, 201 * time.Second, Bottleneck{ByRate, "send-message", "300/s", ""}},
		{"very low", 300, [2]weir.Rate{0, 0.5}, 600 * time.Second, Bottleneck{ByRate, "send-message", "0.5/s", OfBulkAction}},
		{"of huge work", 100_000_000, [2]weir.Rate{20, 0}, 5_000_000 * time.Second, Bottleneck{ByRate, "award.db", "20/s", OfBulkAction}},
	}, 2) {
		t.Run(tt.name, func(t *testing.T) {
			w, l := awards(tt.items)
			w.Steps[0].Rate, w.Steps[1].Rate = tt.rates[0], tt.rates[1]
			f := of(t, w, l)
			near(t, tt.name, f.P50, tt.want, 0.05)
			if f.Bottleneck != tt.bottleneck {
				t.Errorf("the bottleneck is %+v, want %+v", f.Bottleneck, tt.bottleneck)
			}
			for i, s := range f.Steps {
				if own := float64(tt.rates[i]); own > 0 && s.Rate > own {
					t.Errorf("step %s runs at %v/s, and its own rate is %v/s", s.Name, s.Rate, own)
				}
			}
			if said := strings.Join(f.Assumptions, "\n"); !strings.Contains(said, "Its own rate of ") {
				t.Errorf("no assumption mentions its rate in:\n%s", said)
			}
		})
	}
}

// Another bulk action that keeps to a rate of its own takes no more than that,
// whatever its weight would give it.
func TestOthersKeepToTheirOwnRates(t *testing.T) {
	const alone, shared = 1000 * time.Second, 2000 * time.Second
	for _, tt := range cases([]struct {
		name   string
		rates  [2]weir.Rate
		lo, hi time.Duration
	}{
		{"one at 60/s leaves 240/s", [2]weir.Rate{60}, alone + alone/10, alone + alone/4},
		{"one without takes half", [2]weir.Rate{}, shared, shared},
		{"one at 1/s takes nothing to speak of", [2]weir.Rate{1}, alone, alone + alone/100},
		{"one above its share takes about half", [2]weir.Rate{299}, alone + alone/2, shared},
		{"one at another step takes half here", [2]weir.Rate{0, 1}, shared, shared},
	}, 2) {
		t.Run(tt.name, func(t *testing.T) {
			w, l := awards(300_000)
			l.Others = []Work{{Name: "x", Tenant: "crm", Items: 900_000, Steps: []Step{
				{Resource: "send-message", Rate: tt.rates[0]}, {Resource: "elsewhere", Rate: tt.rates[1]},
			}}}
			if got := of(t, w, l).P50; got < tt.lo-tt.lo/20 || got > tt.hi+tt.hi/20 {
				t.Errorf("it is forecast to take %v, want %v to %v", got, tt.lo, tt.hi)
			}
		})
	}
}

func TestManyOthersWithRatesOfTheirOwnTakeThoseTogether(t *testing.T) {
	w, l := awards(30_000)
	l.Resources[1].Service, l.Resources[1].P99 = 20*ms, 80*ms
	for i := range 2 * mostOthers {
		l.Others = append(l.Others, Work{Name: fmt.Sprint(i), Tenant: fmt.Sprint(i), Items: 1_000_000, Steps: []Step{{Resource: "send-message", Rate: 2}}})
	}
	near(t, "beside 48 at 2/s", of(t, w, l).P50, time.Duration(30_000/(300-2*2*mostOthers))*time.Second, 0.1)
}

// Work that keeps to a rate of its own leaves the rest of a resource to others.
func TestTheShareOfPacedWorkIsWhatItsRateTakes(t *testing.T) {
	w, l := awards(60_000)
	w.Steps[1].Rate = 10
	l.Others = []Work{{Name: "x", Tenant: "crm", Items: 90_000_000, Steps: on("send-message")}}
	f := of(t, w, l)
	near(t, "beside an equal", f.P50, 6000*time.Second, 0.15)
	if c := f.Clashes[0]; c.Share > 0.05 || c.Share < 0.02 {
		t.Errorf("the clash is %+v, want a share of at most 10 in 300", c)
	}
}

func TestTheSlowestStepTakesAsLongAsTheWhole(t *testing.T) {
	for _, tt := range []struct {
		name        string
		rate        weir.Rate
		concurrency int
		limit       weir.Rate
		steps       int
		batch       int
	}{
		{"one small call at once, below its rate", 100, 1, 0, 1, 100},
		{"no limits", 0, 0, 0, 1, 1},
		{"the rate of the resource", 0, 0, 100, 1, 1},
		{"one call at once for two steps", 100, 1, 0, 2, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, l := awards(2000)
			w.Steps, w.Concurrency = w.Steps[:tt.steps], tt.concurrency
			for i := range w.Steps {
				w.Steps[i].Rate, w.Steps[i].Batch = tt.rate, tt.batch
				l.resource(w.Steps[i].Resource).Rate = tt.limit
			}
			f := of(t, w, l)
			slow := f.Steps[0]
			for _, s := range f.Steps {
				if s.Duration > slow.Duration {
					slow = s
				}
			}
			near(t, "the slowest step", slow.Duration, f.P50, 0.1)
			if at := float64(slow.Items) / slow.Rate; at > 1.15*f.P50.Seconds() || at < 0.85*f.P50.Seconds() {
				t.Errorf("%d items at %.1f/s are %.1f s, and all of it takes %v", slow.Items, slow.Rate, at, f.P50)
			}
		})
	}
}
