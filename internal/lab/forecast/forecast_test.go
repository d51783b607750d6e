package forecast

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

const ms = time.Millisecond

// awards is the work of the examples: an award at 500/s, then a message at 300/s.
// on are steps on resources.
func on(resources ...string) (steps []Step) {
	for _, r := range resources {
		steps = append(steps, Step{Resource: r})
	}
	return steps
}

func awards(items int64) (Work, Load) {
	w := Work{
		Name: "spring", Tenant: "growth", Items: items,
		Steps: []Step{{Name: "award", Action: "award-reward", Resource: "award.db"}, {Name: "notify", Action: "send-message", Resource: "send-message"}},
	}
	l := Load{Resources: []Resource{
		{Name: "award.db", Rate: 500, Service: 80 * ms, P99: 300 * ms, Samples: 10_000},
		{Name: "send-message", Rate: 300, Service: 200 * ms, P99: 800 * ms, Samples: 10_000},
	}}
	return w, l
}

func of(t *testing.T, w Work, l Load) Forecast {
	t.Helper()
	began := time.Now()
	f, err := Of(w, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("p50 %v, p90 %v, %+v, %+v, %v; took %v", f.P50, f.P90, f.Bottleneck, f.Clashes, f.Assumptions, time.Since(began).Round(ms))
	if f.P90 < f.P50 {
		t.Errorf("p90 %v is before p50 %v", f.P90, f.P50)
	}
	return f
}

// cases returns how many of several to take: all, or in a short run the first few.
func cases[T any](all []T, few int) []T {
	if testing.Short() {
		return all[:few]
	}
	return all
}

// near fails the test unless got is within a share of want.
func near(t *testing.T, what string, got, want time.Duration, share float64) {
	t.Helper()
	if off := got.Seconds()/want.Seconds() - 1; math.Abs(off) > share {
		t.Errorf("%s is forecast as %v, should be %v: off by %+.1f%%", what, got, want, off*100)
	}
}

func TestALoneChainTakesAsLongAsItsSlowestRate(t *testing.T) {
	for _, items := range cases([]int64{1_000_000, 3_000, 30_000, 100_000_000}, 2) {
		w, l := awards(items)
		f := of(t, w, l)
		near(t, fmt.Sprint(items), f.P50, time.Duration(float64(items)/300*1e9)+time.Second/2, 0.05)
		near(t, fmt.Sprint("p90 of ", items), f.P90, time.Duration(float64(items)/300*1e9)+time.Second/2, 0.15)
		if b := f.Bottleneck; b.Kind != ByRate || b.Resource != "send-message" || b.Value != "300/s" {
			t.Errorf("%d items: the bottleneck is %+v", items, b)
		}
	}
}

// The number of calls goes by the pacing of the resource, and by how long calls take.
func TestCallsGoByThePacing(t *testing.T) {
	for _, tt := range []struct {
		name        string
		pacing      weir.Pacing
		service     time.Duration
		least, most int64
	}{
		{"smooth", weir.PacingSmooth, 100 * time.Millisecond, 600, 680},
		{"full", weir.PacingFull, 100 * time.Millisecond, 90, 130},
		{"smooth, but slow", weir.PacingSmooth, 4 * time.Second, 300, 500},
	} {
		l := Load{Slots: 64, Partitions: 8, Resources: []Resource{{Name: "api", Rate: 300, Pacing: tt.pacing, Service: tt.service, Samples: 1000}}}
		f := of(t, Work{Items: 9_000, Steps: []Step{{Name: "call", Resource: "api"}}}, l)
		if s := f.Steps[0]; s.Calls < tt.least || s.Calls > tt.most {
			t.Errorf("%s: 9,000 items at 300/s are %d calls, want %d to %d", tt.name, s.Calls, tt.least, tt.most)
		}
	}
}

func TestStepsTellCallsAndTimes(t *testing.T) {
	w, l := awards(1_000_000)
	l.Resources[0].Rejects, l.Resources[1].Failures = 0.1, 0.02
	f := of(t, w, l)
	if s := f.Steps[0]; s.Name != "award" || s.Items != 1_000_000 || s.Calls < 40_000 || s.Calls > 40_100 || s.Rate != 500 || s.Duration != 2000*time.Second {
		t.Errorf("the first step is %+v", s)
	}
	if s := f.Steps[1]; s.Items != 900_000 || s.Calls < 61_200 || s.Calls > 92_000 || s.Rate != 300 || s.Duration != 3060*time.Second {
		t.Errorf("the second step is %+v", s)
	}
	near(t, "with failures", f.P50, 3060*time.Second, 0.05)
}

func TestAnEqualCompetitorTakesHalf(t *testing.T) {
	w, l := awards(300_000)
	l.Others = []Work{{Name: "ba_x", Tenant: "crm", Items: 900_000, Steps: on("send-message")}}
	f := of(t, w, l)
	near(t, "beside an equal", f.P50, 2000*time.Second, 0.05)
	if len(f.Clashes) != 1 || f.Clashes[0].Resource != "send-message" || f.Clashes[0].Tenants != 1 || f.Clashes[0].Backlog != 900_000 ||
		math.Abs(f.Clashes[0].Share-0.5) > 0.03 || f.Clashes[0].BulkActions[0] != "ba_x" {
		t.Errorf("clashes are %+v", f.Clashes)
	}
	if s := f.Steps[1]; math.Abs(s.Rate-150) > 8 {
		t.Errorf("the step runs at %v/s", s.Rate)
	}
}

func TestCompetitorsTakeWhatTheyAreDue(t *testing.T) {
	for _, tt := range cases([]struct {
		name   string
		weight float64
		items  int64
		want   time.Duration
	}{
		{"with three times the weight", 3, 900_000, 1333 * time.Second},
		{"beside a smaller one", 1, 50_000, 1167 * time.Second},
		{"beside a huge one", 1, 10_000_000_000, 2000 * time.Second},
	}, 1) {
		w, l := awards(300_000)
		w.Weight = tt.weight
		l.Others = []Work{{Name: "x", Tenant: "crm", Items: tt.items, Steps: on("send-message")}}
		near(t, tt.name, of(t, w, l).P50, tt.want, 0.05)
	}
}

func TestManyOthersShareByTheirNumber(t *testing.T) {
	w, l := awards(30_000)
	tenants := len(cases(make([]int, 100), 30))
	for i := range tenants - 1 {
		l.Others = append(l.Others, Work{Name: fmt.Sprint(i), Tenant: fmt.Sprint(i), Items: 1_000_000, Steps: on("other", "send-message")})
	}
	f := of(t, w, l)
	near(t, "a part of the rate", f.P50, time.Duration(tenants)*100*time.Second, 0.1)
	if c := f.Clashes[0]; math.Abs(c.Share*float64(tenants)-1) > 0.1 || c.Backlog != int64(tenants-1)*1_000_000 {
		t.Errorf("the clash is %+v", c)
	}
}

func TestOwnBacklogComesFirstOrLast(t *testing.T) {
	w, l := awards(3_000)
	l.Others = []Work{{Name: "mine", Tenant: "growth", Items: 3_000_000, Steps: on("send-message"), Priority: 90}}
	ahead := of(t, w, l)
	l.Others[0].Priority = -90
	if after := of(t, w, l); after.P50 > ahead.P50 || after.P50 > time.Minute {
		t.Errorf("before the backlog it takes %v, behind it %v", after.P50, ahead.P50)
	}
}

func TestConcurrencyWorkersAndServiceAreBottlenecks(t *testing.T) {
	one := func(items int64, r Resource) (Work, Load) {
		r.Name, r.Samples = "api", 1000
		return Work{Items: items, Steps: []Step{{Resource: "api"}}}, Load{Resources: []Resource{r}}
	}
	w, l := one(1_000_000, Resource{Concurrency: 4, Service: 200 * ms})
	f := of(t, w, l) // 4 calls in 200 ms, and 11 calls for a block of 1,024 items
	near(t, "four at once", f.P50, 500*time.Second*1100/1024, 0.05)
	if f.Bottleneck != (Bottleneck{ByConcurrency, "api", "4 at once", ""}) {
		t.Errorf("four at once: %+v", f.Bottleneck)
	}
	w, l = one(10_000_000, Resource{Service: 200 * ms})
	l.Slots, l.MaxWorkers = 1000, 16
	f = of(t, w, l) // 16 calls in 200 ms
	near(t, "sixteen workers", f.P50, 1250*time.Second*1100/1024, 0.07)
	if f.Bottleneck != (Bottleneck{ByWorkers, "api", "16 workers", ""}) {
		t.Errorf("sixteen workers: %+v", f.Bottleneck)
	}
	w, l = one(10, Resource{Service: 3 * time.Second})
	f = of(t, w, l)
	if f.Bottleneck != (Bottleneck{ByService, "api", "3s a call", ""}) || f.P50 > 10*time.Second {
		t.Errorf("one call: %+v in %v", f.Bottleneck, f.P50)
	}
}

func TestNewWorkOfOthersTakesItsPart(t *testing.T) {
	w, l := awards(300_000)
	l.Resources[1].Arrivals = 100
	f := of(t, w, l)
	near(t, "beside 100/s of new work", f.P50, 1500*time.Second, 0.07)
	if len(f.Clashes) != 1 || math.Abs(f.Clashes[0].Share-0.66) > 0.05 {
		t.Errorf("clashes are %+v", f.Clashes)
	}
}

func TestBacklogIsGoneAtALaterStart(t *testing.T) {
	w, l := awards(300_000)
	l.Others = []Work{{Name: "x", Tenant: "crm", Items: 300_000, Steps: on("send-message")}}
	for _, tt := range cases([]struct{ delay, want time.Duration }{{500 * time.Second, 1500 * time.Second}, {30 * time.Minute, 1000 * time.Second}}, 1) {
		w.Delay = tt.delay
		near(t, "at a later start", of(t, w, l).P50, tt.want, 0.05)
	}
}

// TestSmallWorkOfTomorrowIsForecastAsOfThen: the wait is too long to be played, and what others have is less by then.
func TestSmallWorkOfTomorrowIsForecastAsOfThen(t *testing.T) {
	for _, tt := range []struct {
		name    string
		backlog int64
		want    time.Duration
	}{
		{"alone", 0, 10 * time.Second},
		{"beside what is done by then", 300_000, 10 * time.Second},
		{"beside what is half done by then", 2 * 300 * 36 * 3600, 20 * time.Second},
	} {
		w, l := awards(3_000)
		w.Delay = 36 * time.Hour
		if tt.backlog > 0 {
			l.Others = []Work{{Name: "x", Tenant: "crm", Items: tt.backlog, Steps: on("send-message")}}
		}
		near(t, tt.name, of(t, w, l).P50, tt.want, 0.15)
	}
}

func TestDeadlines(t *testing.T) {
	for _, tt := range []struct {
		at, p50, p90 time.Duration
		want         Deadline
	}{{0, 9, 11, NoDeadline}, {11, 9, 11, Holds}, {10, 9, 11, AtRisk}, {8, 9, 11, Missed}} {
		if got := deadline(tt.at, tt.p50, tt.p90); got != tt.want {
			t.Errorf("deadline(%d, %d, %d) = %q, want %q", tt.at, tt.p50, tt.p90, got, tt.want)
		}
	}
	w, l := awards(3_000)
	w.Deadline = time.Second
	if f := of(t, w, l); f.Deadline != Missed {
		t.Errorf("a second for ten seconds of work: %q", f.Deadline)
	}
}

func TestAssumptionsAreSaid(t *testing.T) {
	w, l := awards(200_000)
	w.Steps[1].Conditional = true
	l.Resources[0].Service = 0
	l.Resources[1].Samples = 12
	l.Nodes = 3
	said := strings.Join(of(t, w, l).Assumptions, "\n")
	for _, want := range []string{
		"No bulk action has called award.db yet: a call is assumed to take 100ms.", "All items are assumed to meet the condition of notify.",
		"Call durations of send-message come from only 12 calls.", "of its size and extrapolated linearly.",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no assumption says %q in:\n%s", want, said)
		}
	}
}

func TestTheSameForecastTwice(t *testing.T) {
	w, l := awards(1_500)
	l.Others = []Work{{Name: "x", Tenant: "crm", Items: 2_000, Steps: on("award.db", "send-message"), Tier: weir.TierHigh}}
	if a, b := fmt.Sprint(of(t, w, l)), fmt.Sprint(of(t, w, l)); a != b {
		t.Errorf("two forecasts of the same:\n%s\n%s", a, b)
	}
}

func TestImpossibleWorkIsRefused(t *testing.T) {
	_, err := Of(Work{Delay: -1, Steps: []Step{{Resource: "x"}}}, Load{})
	for _, want := range []string{"items: is 0", "start_at: is in the past", `steps[0].resource: unknown resource "x"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := Of(Work{Items: 1}, Load{}); err == nil {
		t.Error("work without steps is forecast")
	}
}

// However large and odd: there is an answer, and soon.
func TestForecastsAreQuick(t *testing.T) {
	for _, tt := range cases([]struct {
		name   string
		change func(*Work, *Load)
	}{
		{"one that only fails", func(_ *Work, l *Load) { l.Resources[1].Failures = 1 }},
		{"a slow resource", func(_ *Work, l *Load) { l.Resources[1].Rate = weir.PerMinute(1) }},
		{"a billion items", func(w *Work, _ *Load) { w.Items = 1_000_000_000 }},
		{"a billion items of all", func(w *Work, l *Load) {
			w.Items, l.Others = 1e9, []Work{{Tenant: "x", Items: 1e12, Steps: on("send-message")}}
		}},
		{"no limits", func(_ *Work, l *Load) { l.Resources[0].Rate, l.Resources[1].Rate = 0, 0 }},
		{"a downstream that fails", func(_ *Work, l *Load) { l.Resources[1].Failures = 0.5 }},
		{"all are refused", func(_ *Work, l *Load) { l.Resources[0].Rejects = 1 }},
		{"more arrivals than room", func(_ *Work, l *Load) { l.Resources[1].Arrivals = 10_000 }},
		{"a start tomorrow", func(w *Work, _ *Load) { w.Delay = 36 * time.Hour }},
		{"a large cluster", func(_ *Work, l *Load) { l.Nodes, l.Slots, l.Partitions, l.MaxWorkers = 60, 10_000, 256, 64 }},
		{"fifty thousand others", func(_ *Work, l *Load) {
			for i := range 50_000 {
				l.Others = append(l.Others, Work{Tenant: fmt.Sprint(i), Items: 1000, Steps: on("award.db", "send-message")})
			}
		}},
		{"sixteen steps", func(w *Work, _ *Load) {
			for len(w.Steps) < weir.MaxSteps {
				w.Steps = append(w.Steps, w.Steps[len(w.Steps)%2])
			}
		}},
	}, 2) {
		t.Run(tt.name, func(t *testing.T) {
			w, l := awards(1_000_000)
			tt.change(&w, &l)
			began := time.Now()
			f := of(t, w, l)
			if f.P50 <= 0 && !f.NoEnd { // what only fails has no end
				t.Errorf("%+v", f)
			}
			if took := time.Since(began); took > 30*time.Second { // half a second on a machine with nothing else to do
				t.Errorf("took %v", took)
			}
		})
	}
}
