package engine_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

// onTime returns the values of a tier's objective.
func onTime(tier string, all, good float64) map[string]float64 {
	return map[string]float64{
		fmt.Sprintf(`weir_slo_bulk_actions_total{tier=%q}`, tier):      all,
		fmt.Sprintf(`weir_slo_bulk_actions_good_total{tier=%q}`, tier): good,
	}
}

func TestTheFirstCallOfABulkActionShouldBeginWithinTheTargetOfItsTier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, reg := slow("call", 40*time.Second), prometheus.NewPedanticRegistry()
		a.Timeout = 10 * time.Minute
		a.Resource = weir.Resource{Name: "mail", Concurrency: 1}
		r := start(t, memory(), engine.Options{Partitions: 1, Metrics: reg}, action(a))
		give := func(tier weir.Tier) {
			s := spec(a)
			s.Tier = tier
			submit(t, r, s, numbers(1))
			time.Sleep(10 * time.Millisecond)
		}
		wait := func(d time.Duration) map[string]float64 { time.Sleep(d); return scrape(t, reg) }
		for _, tier := range []string{"critical", "high", "default", "low"} {
			wantMetrics(t, wait(time.Second), onTime(tier, 0, 0))
		}
		give(weir.TierCritical) // is called at once
		give(weir.TierCritical) // after 40 s
		give(weir.TierHigh)     // after 80 s
		wantMetrics(t, wait(28*time.Second), onTime("critical", 1, 1))
		wantMetrics(t, wait(4*time.Second), onTime("critical", 2, 1)) // its target has passed, and it has not been called
		wantMetrics(t, wait(60*time.Second), onTime("critical", 2, 1))
		wantMetrics(t, scrape(t, reg), onTime("high", 1, 1))
		wait(time.Minute)

		// Time in which the downstream cannot be called does not count, and no bulk action counts twice.
		if err := r.Operator().OpenCircuit(t.Context(), "mail", 2*time.Minute, "test"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		give(weir.TierCritical)
		wantMetrics(t, wait(time.Minute), onTime("critical", 2, 1))
		if err := r.Operator().CloseCircuit(t.Context(), "mail", time.Hour, "test"); err != nil {
			t.Fatal(err)
		}
		got := wait(2 * time.Minute)
		wantMetrics(t, got, onTime("critical", 3, 2))
		wantMetrics(t, got, onTime("default", 0, 0))
	})
}

func TestABulkActionIsCountedOnceByAllItsOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := slow("call", 5*time.Minute), several{memory()}
		a.Timeout = 10 * time.Minute
		a.Resource = weir.Resource{Name: "mail", Concurrency: 1}
		first := start(t, s, engine.Options{Partitions: 1, Metrics: prometheus.NewPedanticRegistry()}, action(a))
		late := spec(a)
		late.Tier = weir.TierCritical
		for range 3 {
			submit(t, first, late, numbers(1))
		}
		time.Sleep(time.Minute) // two are late, and counted
		soon := spec(a)
		soon.Tier = weir.TierHigh
		submit(t, first, soon, numbers(1))
		time.Sleep(time.Second)
		if err := first.stop(); err != nil {
			t.Fatal(err)
		}
		reg := prometheus.NewPedanticRegistry()
		start(t, s, engine.Options{Partitions: 1, Metrics: reg}, action(a))
		time.Sleep(3 * time.Minute)
		got := scrape(t, reg)
		wantMetrics(t, got, onTime("critical", 0, 0))
		wantMetrics(t, got, onTime("high", 1, 0))
	})
}

func TestSlowdownOfTwoThatShareARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, reg := slow("call", 100*time.Millisecond), prometheus.NewPedanticRegistry()
		a.Resource = weir.Resource{Name: "mail", Rate: weir.PerSecond(50)}
		r := start(t, memory(), engine.Options{Partitions: 1, Metrics: reg}, action(a))
		submit(t, r, spec(a), numbers(2000))
		time.Sleep(time.Minute)
		for _, tenant := range []string{"acme", "bolt"} {
			s := spec(a)
			s.Tenant = tenant
			submit(t, r, s, numbers(2000))
		}
		time.Sleep(2 * time.Minute)
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range families {
			if f.GetName() != "weir_bulk_action_slowdown_ratio" {
				continue
			}
			for _, m := range f.GetMetric() {
				h, class := m.GetHistogram(), m.GetLabel()[0].GetValue()
				if class != "up_to_10k" {
					if h.GetSampleCount() != 0 {
						t.Errorf("%d bulk actions %s", h.GetSampleCount(), class)
					}
					continue
				}
				found = true
				if sum := h.GetSampleSum(); h.GetSampleCount() != 3 || sum < 4.7 || sum > 5.2 {
					t.Errorf("%d slowdowns, together %v; want one of 1 and two of about 2", h.GetSampleCount(), sum)
				}
			}
		}
		if !found {
			t.Error("there is no slowdown of the class up_to_10k")
		}
	})
}

func TestFairnessOfTenantsThatShareARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, reg := slow("call", 100*time.Millisecond), prometheus.NewPedanticRegistry()
		a.Resource = weir.Resource{Name: "mail", Rate: weir.PerSecond(50)}
		r := start(t, memory(), engine.Options{Partitions: 2, Metrics: reg}, action(a))
		for i := range 6 {
			s := spec(a)
			s.Tenant = fmt.Sprint("tenant ", i%3)
			submit(t, r, s, numbers(2000))
		}
		time.Sleep(30 * time.Second)
		if got := scrape(t, reg)[`weir_resource_fairness_ratio{resource="mail"}`]; got < 0.95 || got > 1 {
			t.Errorf("fairness of three equal tenants = %v, want about 1", got)
		}
	})
}
