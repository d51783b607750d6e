package forecast

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/lab/model"
)

// full plays a world as it is, with seeds that no forecast uses, and returns how
// long its first bulk action takes.
func full(t *testing.T, w model.World, runs int) (took []time.Duration) {
	t.Helper()
	w.StopAfter = w.BulkActions[0].Name
	for i := range runs {
		w.Seed = uint64(1000 + i)
		r, err := model.Run(w)
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Duration(r.Kinds[0].Finish))
	}
	return took
}

// What a forecast says of a part agrees with what the model says of the whole, which
// is described here by hand: several nodes and partitions, as they are.
func TestForecastsAgreeWithTheWholeModel(t *testing.T) {
	for _, tt := range cases([]struct {
		name  string
		work  Work
		load  Load
		world model.World
		share float64
	}{
		{
			"a chain whose second step fails at times",
			Work{Items: 60_000, Steps: []Step{{Resource: "a"}, {Resource: "b", Batch: 20}}},
			Load{Resources: []Resource{
				{Name: "a", Rate: 800, Service: 100 * ms, P99: 300 * ms, Samples: 500},
				{Name: "b", Rate: 300, Service: 150 * ms, P99: 900 * ms, Failures: 0.03, Rejects: 0.01, Samples: 500},
			}},
			model.World{
				Resources: []model.Resource{
					{Name: "a", Rate: 800, Downstream: model.Downstream{Latency: model.Span(100 * ms), P99: model.Span(300 * ms)}},
					{Name: "b", Rate: 300, Downstream: model.Downstream{Latency: model.Span(150 * ms), P99: model.Span(900 * ms), Failures: 0.03, Rejects: 0.01}},
				},
				BulkActions: []model.BulkAction{{Name: "x", Items: 60_000, Batches: []int{100, 20}, Steps: []string{"a", "b"}}},
			},
			0.05,
		},
		{
			"three nodes, a heavier tenant, and one of a higher tier",
			Work{Tenant: "x", Items: 40_000, Steps: []Step{{Resource: "a"}}},
			Load{
				Nodes: 3, Slots: 64, Partitions: 6,
				Resources: []Resource{{Name: "a", Rate: 600, Service: 100 * ms, P99: 300 * ms, Samples: 500}},
				Others: []Work{
					{Name: "y", Tenant: "y", Weight: 2, Items: 200_000, Steps: on("a")},
					{Name: "z", Tenant: "z", Items: 20_000, Steps: on("a"), Tier: weir.TierHigh},
				},
			},
			model.World{
				Nodes: []model.Node{{Slots: 64}, {Slots: 64}, {Slots: 64}}, Partitions: 6,
				Resources: []model.Resource{{Name: "a", Rate: 600, Downstream: model.Downstream{Latency: model.Span(100 * ms), P99: model.Span(300 * ms)}}},
				BulkActions: []model.BulkAction{
					{Name: "x", Items: 40_000, Steps: []string{"a"}},
					{Name: "y", Items: 200_000, Steps: []string{"a"}},
					{Name: "z", Items: 20_000, Steps: []string{"a"}, Tier: "high"},
				},
				Tenants: []model.Tenant{{Name: "y", Weight: 2}},
			},
			0.15,
		},
		{
			"no limit but workers, which have to grow first",
			Work{Items: 2_000_000, Steps: []Step{{Resource: "a"}}},
			Load{Resources: []Resource{{Name: "a", Service: 300 * ms, P99: 900 * ms, Samples: 500}}},
			model.World{
				Resources:   []model.Resource{{Name: "a", Downstream: model.Downstream{Latency: model.Span(300 * ms), P99: model.Span(900 * ms)}}},
				BulkActions: []model.BulkAction{{Name: "x", Items: 2_000_000, Steps: []string{"a"}}},
			},
			0.1,
		},
		{
			"small work beside a backlog",
			Work{Tenant: "x", Items: 200, Steps: []Step{{Resource: "a"}}},
			Load{
				Resources: []Resource{{Name: "a", Rate: 400, Service: 100 * ms, P99: 300 * ms, Samples: 500}},
				Others:    []Work{{Name: "y", Tenant: "y", Items: 1_000_000, Steps: on("a")}},
			},
			model.World{
				Resources: []model.Resource{{Name: "a", Rate: 400, Downstream: model.Downstream{Latency: model.Span(100 * ms), P99: model.Span(300 * ms)}}},
				BulkActions: []model.BulkAction{
					{Name: "x", Items: 200, Steps: []string{"a"}}, {Name: "y", Items: 1_000_000, Steps: []string{"a"}},
				},
			},
			0.3, // it is over in a second, and lucky or not
		},
	}, 1) {
		t.Run(tt.name, func(t *testing.T) {
			f := of(t, tt.work, tt.load)
			for _, took := range full(t, tt.world, len(cases([]int{1, 2, 3}, 1))) {
				near(t, tt.name, f.P50, took, tt.share)
				if took > f.P90+f.P90/20 {
					t.Errorf("it takes %v, and was said to be done by %v nine times of ten", took, f.P90)
				}
			}
		})
	}
}

// Twice the work does not end sooner, nor does it beside more of others.
func TestMoreWorkTakesLonger(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range cases(make([]int, 6), 1) {
		w := Work{Tenant: "x", Items: 1 + rng.Int64N(1<<(4+rng.IntN(20)))}
		l := Load{Nodes: 1 + rng.IntN(4), Slots: 8 << rng.IntN(5)}
		for i := range 1 + rng.IntN(3) {
			r := Resource{Name: fmt.Sprint(i), Service: time.Duration(10+rng.IntN(2000)) * ms, Samples: 1000, Failures: 0.02 * rng.Float64()}
			if rng.IntN(2) == 0 {
				r.Rate = weir.PerSecond(float64(1 + rng.IntN(2000)))
			} else {
				r.Concurrency = 1 + rng.IntN(32)
			}
			l.Resources = append(l.Resources, r)
			w.Steps = append(w.Steps, Step{Resource: r.Name, Batch: 1 + rng.IntN(200)})
		}
		once := of(t, w, l)
		w.Items *= 2
		if twice := of(t, w, l); twice.P50 < once.P50*95/100 {
			t.Errorf("%+v\n%+v: takes %v, half of it %v", w, l, twice.P50, once.P50)
		}
		w.Items /= 2
		l.Others = []Work{{Name: "y", Tenant: "y", Items: w.Items, Steps: on("0")}}
		if beside := of(t, w, l); beside.P50 < once.P50*95/100 {
			t.Errorf("%+v\n%+v: takes %v, alone %v", w, l, beside.P50, once.P50)
		}
	}
}

func BenchmarkForecast(b *testing.B) {
	w, l := awards(1_000_000)
	l.Others = []Work{{Name: "x", Tenant: "crm", Items: 10_000_000, Steps: on("award.db", "send-message")}}
	for b.Loop() {
		if _, err := Of(w, l); err != nil {
			b.Fatal(err)
		}
	}
}
