package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

// answering is an action whose calls all end alike.
func answering(name string, answer func(context.Context) error) weir.Action[int, int] {
	return weir.Action[int, int]{
		Name: name, BatchSize: 10,
		Handle: func(ctx context.Context, _ *weir.Batch[int, int]) error { return answer(ctx) },
	}
}

func TestABulkActionWhoseCallsAreAllRefusedOrThatACircuitHoldsIsStalled(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer func(context.Context) error
		want   float64
	}{
		{"refused", func(context.Context) error { return &weir.RefusedError{Err: errors.New("404")} }, 1},
		{"failing until the circuit opens", func(context.Context) error { return errors.New("connection refused") }, 1},
		{"slow", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, reg := answering("call", tt.answer), prometheus.NewPedanticRegistry()
				a.Timeout, a.Retry = time.Hour, weir.Backoff{MaxAttempts: 200, Base: time.Second, Cap: 10 * time.Second}
				r := start(t, memory(), engine.Options{Partitions: 1, Metrics: reg}, action(a))
				s := spec(a)
				s.StopOn.KeepTrying = true // else it is stopped early, which is another alert
				submit(t, r, s, numbers(1000))
				began := time.Now()
				for range 60 { // it must stay up: an alert wants it for minutes
					time.Sleep(5 * time.Second)
					if at := scrape(t, reg)[`weir_bulk_actions_stalled{}`]; time.Since(began) > 2*time.Minute && at != tt.want {
						t.Fatalf("stalled = %v after %v, want %v", at, time.Since(began), tt.want)
					}
				}
			})
		})
	}
}

func TestTenantsOfALowTierAreNotStarvedByThoseOfAHighOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, reg := slow("call", 100*time.Millisecond), prometheus.NewPedanticRegistry()
		a.Resource = weir.Resource{Name: "mail", Rate: weir.PerSecond(100)}
		r := start(t, memory(), engine.Options{Partitions: 1, Metrics: reg}, action(a))
		for tenant, tier := range map[string]weir.Tier{"high": weir.TierCritical, "low": weir.TierLow} {
			s := spec(a)
			s.Tenant, s.Tier = tenant, tier
			submit(t, r, s, numbers(20_000))
		}
		time.Sleep(60 * time.Second)
		got := scrape(t, reg)
		for _, tenant := range []string{"high", "low"} {
			share := func(kind string) float64 {
				return got[`weir_tenant_share_ratio{kind="`+kind+`",resource="mail",tenant="`+tenant+`"}`]
			}
			if e, is := share("entitled"), share("actual"); e < is-0.1 || e > is+0.1 {
				t.Errorf("%s is entitled to %.2f and gets %.2f: want about the same", tenant, e, is)
			}
		}
		if low := got[`weir_tenant_share_ratio{kind="entitled",resource="mail",tenant="low"}`]; low > 0.25 {
			t.Errorf("low is entitled to %.2f beside a high tier, want less than a quarter", low)
		}
		if v := got[`weir_tenant_starved_seconds_total{tenant="low"}`]; v > 5 {
			t.Errorf("low counts as starved for %v s of 60, want none", v)
		}
	})
}

func TestCountersOfWhatIsKnownBeginAt0(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, reg := slow("call", time.Minute), prometheus.NewPedanticRegistry()
		r := start(t, memory(), engine.Options{Partitions: 1, Metrics: reg}, action(a))
		time.Sleep(time.Second)
		got := scrape(t, reg)
		for _, name := range []string{
			`weir_item_attempts_total{action="call",result="failed"}`, `weir_circuit_transitions_total{resource="call",to="open"}`,
			`weir_bulk_actions_finished_total{outcome="some_failed"}`, `weir_waiting_seconds_total{reason="circuit_open"}`,
		} {
			if v, there := got[name]; !there || v != 0 {
				t.Errorf("before any work %s is %v (there: %v), want 0", name, v, there)
			}
		}
		submit(t, r, spec(a), numbers(10))
		time.Sleep(3 * time.Second)
		got = scrape(t, reg)
		for _, state := range []string{"done", "failed", "cancelled"} {
			name := `weir_items_finished_total{action="call",state="` + state + `",tenant="default"}`
			if v, there := got[name]; !there || v != 0 {
				t.Errorf("while the first call runs %s is %v (there: %v), want 0", name, v, there)
			}
		}
	})
}
