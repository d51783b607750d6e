package outlook

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/lab/forecast"
)

func TestTenantsThatTheCallerDoesNotSeeAreOne(t *testing.T) {
	got := shareCurve(time.Second, []string{"mine", "x", "y"}, [][]int64{{5, 3, 2}, {0, 0, 0}}, func(t string) bool { return t == "mine" })
	if !slices.Equal(got.Tenants, []string{"mine", "others"}) || len(got.Points) != 2 {
		t.Fatalf("curve = %+v, want mine and others", got)
	}
	if p := got.Points[0]; p.Items != 10 || !slices.Equal(p.Shares, []float64{0.5, 0.5}) || time.Duration(p.At) != time.Second {
		t.Errorf("first point = %+v, want halves of 10 items after a second", p)
	}
	if p := got.Points[1]; p.Items != 0 || !slices.Equal(p.Shares, []float64{0, 0}) {
		t.Errorf("second point = %+v, want nothing", p)
	}
}

func TestASimulationChangesOnlyWhatTheBulkActionUses(t *testing.T) {
	w := forecast.Work{Tenant: "mine", Steps: []forecast.Step{{Name: "notify", Resource: "mail"}}}
	load := forecast.Load{Resources: []forecast.Resource{{Name: "mail", Rate: 5}, {Name: "secret"}}, Others: []forecast.Work{{Tenant: "x"}}}
	err := change(&w, &load, &api.Simulation{Rates: map[string]api.Rate{"mail": 50}, Weights: map[string]float64{"x": 2, "mine": 3}, Workers: 4})
	if err != nil || load.Resources[0].Rate != 50 || load.Others[0].Weight != 2 || w.Weight != 3 || load.MaxWorkers != 4 {
		t.Errorf("change = %v, load %+v, weight %v", err, load, w.Weight)
	}
	for name, what := range map[string]*api.Simulation{
		"unknown_resource": {Rates: map[string]api.Rate{"secret": 1}}, // the caller must not learn that it exists
		"out_of_range":     {Concurrency: map[string]int{"mail": -1}},
		"bad_value":        {Pacing: map[string]string{"mail": "odd"}},
	} {
		var bad *weir.InputError
		if err := change(&w, &load, what); !errors.As(err, &bad) || bad.Fields[0].Code != name {
			t.Errorf("change(%+v) = %v, want %s", what, err, name)
		}
	}
}
