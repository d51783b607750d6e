package engine_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

// scrape reads all metrics, each under its name and labels as Prometheus writes
// them, and wants them to have the form that Prometheus asks for.
func scrape(t *testing.T, from prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("form of the metrics: %+v, %v", problems, err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			all[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = m.GetGauge().GetValue() + m.GetCounter().GetValue() // one of them
		}
	}
	return all
}

// wantMetrics checks values; a negative one only has to be above 0.
func wantMetrics(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for name, v := range want {
		is, ok := got[name]
		if !ok || v >= 0 && is != v || v < 0 && is <= 0 {
			t.Errorf("%s = %v (there: %v), want %v", name, is, ok, v)
		}
	}
}

const above0 = -1

func TestMetricsOfABusyNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, reg := slow("call", time.Second), prometheus.NewPedanticRegistry()
		a.Resource = weir.Resource{Name: "mail", Rate: weir.PerSecond(1000), Concurrency: 500}
		r := start(t, memory(), engine.Options{Partitions: 1, Slots: 64, Metrics: reg}, action(a))
		submit(t, r, spec(a), numbers(20_000))
		time.Sleep(15500 * time.Millisecond)
		got, lane := scrape(t, reg), r.busiest(t)
		wantMetrics(t, got, map[string]float64{
			`weir_lane_tasks{lane="mail",partition="p00",state="ready"}`:          lane.Tasks(lane.Ready),
			`weir_lane_tasks{lane="mail",partition="p00",state="in_flight"}`:      float64(lane.InFlight),
			`weir_lane_tasks{lane="mail",partition="p00",state="waiting"}`:        0,
			`weir_lane_workers{lane="mail",partition="p00"}`:                      float64(lane.Workers),
			`weir_lane_pwqd{lane="mail",partition="p00"}`:                         lane.Depth(),
			`weir_lane_tasks_ended_total{lane="mail",partition="p00"}`:            float64(lane.Ended),
			`weir_lane_tasks_failed_total{lane="mail",partition="p00"}`:           0,
			`weir_lane_busy_seconds_total{lane="mail",partition="p00"}`:           lane.Took.Seconds(),
			`weir_lane_wait_seconds{lane="mail",partition="p00",percentile="99"}`: lane.Wait99.Seconds(),
			`weir_lane_oldest_ready_seconds{lane="mail",partition="p00"}`:         lane.Oldest.Seconds(),
			`weir_resource_rate_items_per_second{kind="set",resource="mail"}`:     1000,
			`weir_resource_concurrency{kind="set",resource="mail"}`:               500,
			`weir_resource_use_ratio{resource="mail"}`:                            above0,
			`weir_circuit_open{resource="mail"}`:                                  0,
			`weir_lane_workers_needed{lane="mail",partition="p00"}`:               above0,
			`weir_lane_workers_useful{lane="mail",partition="p00"}`:               above0,
			`weir_nodes_desired{}`: above0,
			`weir_nodes{}`:         1, `weir_leader{}`: 1, `weir_node_slots{}`: 64,
		})
		ups := 0.0
		for name, n := range got {
			if strings.HasPrefix(name, `weir_scale_decisions_total{direction="up"`) {
				ups += n
			}
		}
		stored := slices.DeleteFunc(r.decisions(t, lane.ID), func(d weir.Decision) bool { return d.To <= d.From })
		if ups == 0 || ups != float64(len(stored)) {
			t.Errorf("%v decisions to grow are counted, want the %d that are stored", ups, len(stored))
		}
		if lane.Ended == 0 || lane.Workers <= 16 {
			t.Errorf("the lane did not get going: %+v", lane)
		}
		for _, name := range []string{"weir_node_cpu_ratio{}", "weir_node_memory_ratio{}"} {
			if v, ok := got[name]; !ok || v < 0 || v > 1 {
				t.Errorf("%s = %v (there: %v), want a share", name, v, ok)
			}
		}
	})
}

func TestThePageOnScalingNamesTheMetricsThatThereAre(t *testing.T) {
	page, err := os.ReadFile("../../docs/scaling.md")
	if err != nil {
		t.Fatal(err)
	}
	onPage := map[string]bool{}
	for _, name := range regexp.MustCompile(`\bweir_[a-z_0-9]+`).FindAllString(string(page), -1) {
		onPage[name] = true
	}
	synctest.Test(t, func(t *testing.T) {
		a, reg := slow("call", time.Second), prometheus.NewPedanticRegistry()
		a.Resource = weir.Resource{Name: "mail", Rate: weir.PerSecond(1000), Concurrency: 500}
		r := start(t, memory(), engine.Options{Partitions: 1, Metrics: reg}, action(a))
		submit(t, r, spec(a), numbers(20_000))
		time.Sleep(15500 * time.Millisecond)
		there := map[string]bool{}
		for series := range scrape(t, reg) {
			name, _, _ := strings.Cut(series, "{")
			there[name] = true
		}
		for name := range onPage {
			if !there[name] {
				t.Errorf("%s is on the page and not exported; there are %v", name, slices.Sorted(maps.Keys(there)))
			}
		}
		for name := range there {
			if strings.HasPrefix(name, "weir_lane_") && !onPage[name] {
				t.Errorf("%s is exported and not on the page", name)
			}
		}
	})
}

func TestMetricsOfACircuitThatAPersonOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, reg := slow("call", time.Second), prometheus.NewPedanticRegistry()
		r := start(t, memory(), engine.Options{Partitions: 1, Metrics: reg}, action(a))
		submit(t, r, spec(a), numbers(10_000))
		time.Sleep(3500 * time.Millisecond)
		if err := r.Operator().OpenCircuit(t.Context(), "call", time.Minute, "a look"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		wantMetrics(t, scrape(t, reg), map[string]float64{`weir_circuit_open{resource="call"}`: 1, `weir_lane_tasks{lane="call",partition="p00",state="in_flight"}`: 0})
	})
}

func TestMetricsCountDecisionsOfTheLeaderAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := slow("call", time.Second), several{memory()}
		var regs []*prometheus.Registry
		var first *rig
		for range 2 {
			reg := prometheus.NewPedanticRegistry()
			regs = append(regs, reg)
			r := start(t, s, engine.Options{Partitions: 4, Metrics: reg}, action(a))
			if first == nil {
				first = r
			}
			time.Sleep(time.Second)
		}
		for range 4 {
			submit(t, first, spec(a), numbers(20_000))
		}
		time.Sleep(10 * time.Second)
		leaders := 0.0
		for i, reg := range regs {
			got := scrape(t, reg)
			leaders += got["weir_leader{}"]
			decided := false
			for name, n := range got {
				decided = decided || n > 0 && strings.HasPrefix(name, "weir_scale_decisions_total")
			}
			if decided != (got["weir_leader{}"] == 1) || got["weir_nodes{}"] != 2 {
				t.Errorf("node %d: decided is %v, leader %v, nodes %v", i, decided, got["weir_leader{}"], got["weir_nodes{}"])
			}
		}
		if leaders != 1 {
			t.Errorf("%v nodes lead, want 1", leaders)
		}
	})
}

func TestMetricsLastAsLongAsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, reg := noop("call"), prometheus.NewPedanticRegistry()
		r := start(t, memory(), engine.Options{Metrics: reg}, action(a))
		time.Sleep(time.Second)
		if len(scrape(t, reg)) == 0 {
			t.Error("a running engine exports nothing")
		}
		second := open(t, memory(), engine.Options{Metrics: reg}, action(a))
		if err := second.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "Metrics") {
			t.Errorf("a second engine on the same registry: %v, want an error that names the option", err)
		}
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		if got := scrape(t, reg); len(got) != 0 {
			t.Errorf("an engine that has ended exports %v", got)
		}
	})
}

func TestMetricsHaveNoLabelThatGrowsWithTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, reg := slow("call", 50*time.Millisecond), prometheus.NewPedanticRegistry()
		r := start(t, memory(), engine.Options{Partitions: 1, Metrics: reg}, action(a))
		names := func() (all []string) {
			for name := range scrape(t, reg) {
				all = append(all, name)
			}
			slices.Sort(all)
			return all
		}
		var before []string
		for i := range 3 {
			for tenant := range 60 { // more than have labels of their own
				s := spec(a)
				s.Tenant = fmt.Sprint("tenant ", i, tenant)
				submit(t, r, s, numbers(10))
			}
			time.Sleep(4 * time.Second)
			if i > 0 && !slices.Equal(before, names()) {
				t.Errorf("series after more tenants:\n%v\nwant those of before:\n%v", names(), before)
			}
			before = names()
		}
	})
}
