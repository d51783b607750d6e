package assembly_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/assembly"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service"
	"github.com/weirhq/weir/internal/service/draft"
	"github.com/weirhq/weir/internal/service/result"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

// sized is a store that knows how much it holds, and counts who asks.
type sized struct {
	store.Store
	asked int
}

func (s *sized) Size(context.Context) (int64, error) { s.asked++; return 12345, nil }

// quiet is a node without HTTP, on fake time.
type quiet struct {
	*service.Service
	t   *testing.T
	reg *prometheus.Registry

	keepFor api.Duration // of what is submitted; 0: as configured
}

// startQuiet runs a node in a bubble until the test ends.
func startQuiet(t *testing.T, st store.Store, steps ...weir.Step) *quiet {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	v, err := vault.New(vault.NewKey())
	must(err)
	log, reg := slog.New(slog.DiscardHandler), prometheus.NewPedanticRegistry()
	n, e, err := assembly.Open(t.Context(), assembly.Options{Store: st, Guard: egress.New(egress.Policy{}), Vault: v, Steps: steps, Metrics: reg, Logger: log}, engine.Options{Logger: log, Partitions: 2})
	must(err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- e.Run(ctx) }()
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	return &quiet{Service: n.Service(), t: t, reg: reg}
}

// submit starts a bulk action.
func (q *quiet) submit(action, rate string, items int, data string) string {
	q.t.Helper()
	n := api.NewBulkAction{Steps: []api.Step{{Action: action}}, Start: true, KeepFor: q.keepFor}
	for i := range items {
		n.Items = append(n.Items, api.Item{ID: fmt.Sprint(i), Data: json.RawMessage(data)})
	}
	if rate != "" {
		var r api.Rate
		if err := r.UnmarshalText([]byte(rate)); err != nil {
			q.t.Fatal(err)
		}
		n.Rates = map[string]api.Rate{action: r}
	}
	b, err := q.Bulks.Create(q.t.Context(), n, draft.Made{})
	if err != nil {
		q.t.Fatal(err)
	}
	return b.ID
}

// values are the gauges of a name, by their label.
func (q *quiet) values(name string) map[string]float64 {
	out := map[string]float64{}
	for _, m := range q.family(name) {
		label := ""
		for _, l := range m.GetLabel() {
			label = l.GetValue()
		}
		out[label] = m.GetGauge().GetValue()
	}
	return out
}

// histogram is the only one of a name.
func (q *quiet) histogram(name string) *dto.Histogram { return q.family(name)[0].GetHistogram() }

func (q *quiet) family(name string) []*dto.Metric {
	q.t.Helper()
	all, err := q.reg.Gather()
	if err != nil {
		q.t.Fatal(err)
	}
	for _, f := range all {
		if f.GetName() == name {
			return f.GetMetric()
		}
	}
	return nil
}

func allTenants() result.DLQ { return result.DLQ{Sees: func(string) bool { return true }} }

const aLook = 16 * time.Second

func TestMetricsTellWhatIsInTheDLQ(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := startQuiet(t, memory(t), echo("award"), echo("notify"))
		q.submit("award", "", 3, `{"x":"bad"}`)
		q.submit("award", "", 2, `{"x":"bad"}`)
		q.submit("notify", "", 4, `{"x":"good"}`)
		time.Sleep(10 * time.Minute)
		if got := q.values("weir_dlq_items"); len(got) != 1 || got["award"] != 5 {
			t.Errorf("in the DLQ are %v, want 5 of award", got)
		}
		if got := q.values("weir_dlq_oldest_seconds")["award"]; got < 590 || got > 601 {
			t.Errorf("the oldest is %v s old, want ten minutes", got)
		}
		q.submit("notify", "", 1, `{"x":"bad"}`)
		time.Sleep(aLook)
		if got := q.values("weir_dlq_items"); got["award"] != 5 || got["notify"] != 1 {
			t.Errorf("in the DLQ are %v, want one of notify, too", got)
		}
		if got := q.values("weir_dlq_oldest_seconds")["notify"]; got > 17 {
			t.Errorf("the one of notify is %v s old", got)
		}
		d := allTenants()
		d.Filter.Action = "award"
		if _, err := q.Results.DLQDiscard(t.Context(), d, "gone", "key"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(aLook)
		if got := q.values("weir_dlq_items"); len(got) != 2 || got["award"] != 0 || got["notify"] != 1 {
			t.Errorf("after a discard there are %v, want none of award, told as 0", got)
		}
		if got := q.values("weir_dlq_oldest_seconds")["award"]; got != 0 {
			t.Errorf("nothing is %v s old", got)
		}
	})
}

// memory is a store that is closed after the node has ended.
func memory(t *testing.T) store.Store {
	t.Helper()
	s := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestTheSizeOfTheStoreIsNotReadByScrapes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sized{Store: memory(t)}
		q := startQuiet(t, s, echo("award"))
		time.Sleep(10 * time.Minute)
		for range 100 {
			if got := q.values("weir_store_size_bytes")[""]; got != 12345 {
				t.Fatalf("the size is %v, want 12345", got)
			}
		}
		if most := int(10*time.Minute/(15*time.Second)) + 1; s.asked > most || s.asked < 2 {
			t.Errorf("the store was asked %d times in ten minutes and a hundred scrapes, want at most %d", s.asked, most)
		}
	})
}

func TestAStoreThatDoesNotKnowItsSizeHasNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := startQuiet(t, memory(t), echo("award"))
		time.Sleep(aLook)
		if got := q.values("weir_store_size_bytes"); len(got) != 0 {
			t.Errorf("it is told to have %v", got)
		}
	})
}

func TestForecastsAreHeldAgainstWhatItTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := startQuiet(t, memory(t), echo("award"))
		q.submit("award", "10/s", 1000, `{}`)
		paused := q.submit("award", "5/s", 1000, `{}`)
		time.Sleep(20 * time.Second)
		if _, _, err := q.Bulks.Pause(t.Context(), paused, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(aLook)
		if _, _, err := q.Bulks.Resume(t.Context(), paused, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		h := q.histogram("weir_forecast_error_ratio")
		if h.GetSampleCount() != 1 || h.GetSampleSum() < -0.1 || h.GetSampleSum() > 0.1 {
			t.Errorf("%d forecasts are off by %v together, want one that is right: the other bulk action was paused", h.GetSampleCount(), h.GetSampleSum())
		}
		if b, err := q.Bulks.Get(t.Context(), paused); err != nil || b.State != api.Completed {
			t.Errorf("the one that was paused is %s, %v", b.State, err)
		}
	})
}

// What retention removes is in the DLQ no more.
func TestMetricsForgetWhatRetentionRemoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := startQuiet(t, memory(t), echo("award"))
		q.keepFor = api.Duration(5 * time.Minute)
		id := q.submit("award", "", 3, `{"x":"bad"}`)
		time.Sleep(aLook)
		if got := q.values("weir_dlq_items")["award"]; got != 3 {
			t.Fatalf("in the DLQ are %v of award, want 3", got)
		}
		time.Sleep(2 * time.Hour)
		if _, err := q.Bulks.Get(t.Context(), id); err == nil {
			t.Fatal("the bulk action is still there after two hours")
		}
		if got := q.values("weir_dlq_items"); got["award"] != 0 {
			t.Errorf("after retention there are %v, want none of award", got)
		}
	})
}
