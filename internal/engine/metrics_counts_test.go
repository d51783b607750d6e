package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

// histogramOf finds the only histogram of a name.
func histogramOf(t *testing.T, from prometheus.Gatherer, name string) *dto.Histogram {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name && len(f.GetMetric()) == 1 {
			return f.GetMetric()[0].GetHistogram()
		}
	}
	t.Fatalf("there is no %s, or several", name)
	return nil
}

func TestMetricsCountItemsTasksAndBulkActions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewPedanticRegistry()
		a := weir.Action[int, struct{}]{Name: "call", BatchSize: 10, Retry: weir.Backoff{MaxAttempts: 2}, Handle: func(_ context.Context, b *weir.Batch[int, struct{}]) error {
			time.Sleep(300 * time.Millisecond)
			for i := range b.Len() {
				switch {
				case b.Item(i).Value%10 == 0 && b.Attempt() == 1:
					b.Retry(i, errors.New("busy"), time.Second)
				case b.Item(i).Value%10 == 1:
					b.Fail(i, "closed", errors.New("closed"))
				default:
					b.Done(i, struct{}{})
				}
			}
			return nil
		}}
		r := start(t, memory(), engine.Options{Partitions: 1, Metrics: reg}, action(a))
		s := spec(a)
		s.Tenant = "acme"
		submit(t, r, s, numbers(100))
		time.Sleep(10 * time.Second)
		wantMetrics(t, scrape(t, reg), map[string]float64{
			`weir_items_ingested_total{source="submit",tenant="acme"}`:              100,
			`weir_items_finished_total{action="call",state="done",tenant="acme"}`:   90,
			`weir_items_finished_total{action="call",state="failed",tenant="acme"}`: 10,
			`weir_item_attempts_total{action="call",result="done"}`:                 90,
			`weir_item_attempts_total{action="call",result="failed"}`:               10,
			`weir_item_attempts_total{action="call",result="retry"}`:                10,
			`weir_bulk_actions_finished_total{outcome="some_failed"}`:               1,
			`weir_bulk_actions{state="running"}`:                                    0,
			`weir_items_at_risk{}`:                                                  0,
			`weir_conservation_violations_total{}`:                                  0,
			`weir_late_results_dropped_total{}`:                                     0,
			`weir_leases_lost_total{}`:                                              0,
			`weir_store_regressions_total{}`:                                        0,
			`weir_bulk_actions_stalled{}`:                                           0,
		})
		items, calls := histogramOf(t, reg, "weir_item_duration_seconds"), histogramOf(t, reg, "weir_task_duration_seconds")
		if items.GetSampleCount() != 110 || math.Abs(items.GetSampleSum()-110*0.3) > 0.01 {
			t.Errorf("durations of items: %d, together %v; want 110 of 0.3 s", items.GetSampleCount(), items.GetSampleSum())
		}
		if calls.GetSampleCount() != 11 || histogramOf(t, reg, "weir_task_items").GetSampleSum() != 110 {
			t.Errorf("%d tasks, want 11, one with all that is tried again, with 110 items together", calls.GetSampleCount())
		}
		if w := histogramOf(t, reg, "weir_item_wait_seconds"); w.GetSampleCount() != 100 {
			t.Errorf("%d first waits, want one for each of 100 items", w.GetSampleCount())
		}
		for _, b := range calls.GetBucket() { // 0.3 s is above 0.25 and below 1
			if want := map[bool]uint64{true: 11, false: 0}[b.GetUpperBound() >= 0.3]; b.GetCumulativeCount() != want {
				t.Errorf("%d tasks up to %v s, want %d", b.GetCumulativeCount(), b.GetUpperBound(), want)
			}
		}
		if calls.GetSchema() != 2 || len(calls.GetPositiveSpan()) != 1 || calls.GetPositiveSpan()[0].GetOffset() != -6 {
			t.Errorf("native buckets: %v, want one that ends at 2^(-6/4) = 0.35 s", calls.GetPositiveSpan())
		}
	})
}

func TestMetricsOfWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, reg := slow("call", 100*time.Millisecond), prometheus.NewPedanticRegistry()
		a.Resource = weir.Resource{Name: "mail", Rate: weir.PerSecond(50)}
		r := start(t, memory(), engine.Options{Partitions: 1, Metrics: reg}, action(a))
		for _, tenant := range []string{"acme", "bolt"} {
			s := spec(a)
			s.Tenant = tenant
			submit(t, r, s, numbers(5000))
		}
		time.Sleep(20500 * time.Millisecond)
		got := scrape(t, reg)
		wantMetrics(t, got, map[string]float64{
			`weir_bulk_actions{state="running"}`:                2,
			`weir_waiting_seconds_total{reason="rate"}`:         above0,
			`weir_resource_wait_seconds_total{resource="mail"}`: above0,
			`weir_bulk_actions_stalled{}`:                       0,
		})
		for _, tenant := range []string{"acme", "bolt"} {
			for _, kind := range []string{"entitled", "actual"} {
				name := fmt.Sprintf(`weir_tenant_share_ratio{kind=%q,resource="mail",tenant=%q}`, kind, tenant)
				if v := got[name]; v < 0.4 || v > 0.6 {
					t.Errorf("%s = %v, want about a half", name, v)
				}
			}
			if v := got[fmt.Sprintf(`weir_tenant_starved_seconds_total{tenant=%q}`, tenant)]; v > 5 {
				t.Errorf("%s starved for %v s of 20 beside one with the same weight", tenant, v)
			}
		}
		if err := r.Operator().OpenCircuit(t.Context(), "mail", time.Hour, "test"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Second)
		wantMetrics(t, scrape(t, reg), map[string]float64{
			`weir_circuit_transitions_total{resource="mail",to="open"}`: 1,
			`weir_bulk_actions_stalled{}`:                               2,
		})
	})
}

func TestATenantIsKeptToItsPendingItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := slow("call", time.Second)
		a.Resource = weir.Resource{Name: "mail", Rate: weir.PerSecond(100)}
		r := start(t, memory(), engine.Options{Partitions: 2}, action(a))
		if err := r.Operator().SetLimits(t.Context(), func(l *weir.Limits) { l.Tenants["acme"] = weir.TenantLimits{MaxPending: 1000} }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		try := func(tenant string, n int) error {
			s := spec(a)
			s.Tenant = tenant
			_, err := attempt(t.Context(), r.Engine, s, engine.Items(numbers(n)))
			return err
		}
		full := func(err error) bool {
			var e *weir.BacklogError
			return errors.As(err, &e) && e.Tenant == "acme" && e.Limit == 1000 && e.RetryAfter > 0 && strings.Contains(err.Error(), "acme")
		}
		var never *weir.FieldError
		if err := try("acme", 1001); !errors.As(err, &never) || never.Code != "too_many_items" || full(err) {
			t.Errorf("1,001 items at once: %v, want too_many_items: no waiting helps", err)
		}
		if err := try("acme", 700); err != nil {
			t.Fatal(err)
		}
		if err := try("acme", 400); !full(err) {
			t.Errorf("400 beside 700: %v, want a refusal", err)
		}
		if err := try("bolt", 5000); err != nil {
			t.Errorf("another tenant: %v", err)
		}
		if err := try("acme", 300); err != nil {
			t.Errorf("300 beside 700: %v", err)
		}
		time.Sleep(10 * time.Second) // some of them have ended, and not all
		if err := try("acme", 900); !full(err) {
			t.Errorf("900 while others wait: %v, want a refusal", err)
		}
		time.Sleep(60 * time.Second)
		if err := try("acme", 1000); err != nil {
			t.Errorf("1,000 after all have ended: %v", err)
		}
	})
}
