package docstest

import (
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/weirhq/weir/internal/core/scale"
	"github.com/weirhq/weir/internal/core/sched"
	"github.com/weirhq/weir/internal/service/callback"
	"github.com/weirhq/weir/internal/service/schedule"
)

// openLabels are those whose values come with the work or with requests: resources, actions and tenants, lanes, and
// the answers to requests.
var openLabels = []string{"action", "resource", "tenant", "partition", "lane", "route", "method", "code", "goversion", "revision", "version"}

// closedLabels has the values of the labels of each metric that has no open one.
func closedLabels() map[string]map[string][]string {
	tiers := map[string][]string{"tier": {"critical", "high", "default", "low"}}
	return map[string]map[string][]string{
		"weir_bulk_actions":                {"state": {"sealed", "scheduled", "running", "awaiting_approval", "paused", "stopped", "cancelling"}},
		"weir_bulk_actions_finished_total": {"outcome": {"all_done", "some_failed", "some_cancelled", "cancelled", "failed"}},
		"weir_waiting_seconds_total":       {"reason": sched.WaitingOn()},
		"weir_scale_decisions_total":       {"direction": {"up", "down", "hold"}, "reason": words(scale.Reasons())},
		"weir_callback_deliveries_total":   {"result": words(callback.Results())},
		"weir_schedule_fires_total":        {"result": words(schedule.Results())},
		"weir_slo_target_seconds":          tiers,
		"weir_slo_bulk_actions_total":      tiers,
		"weir_slo_bulk_actions_good_total": tiers,
		"weir_bulk_action_slowdown_ratio":  {"size": {"up_to_1k", "up_to_10k", "up_to_100k", "above_100k"}},
	}
}

func words[W ~string](list []W) (all []string) {
	for _, w := range list {
		all = append(all, string(w))
	}
	return all
}

// TestSeriesOfClosedSetsAreThereFromTheStart wants every series whose labels are known before there is work: an
// increase() does not see the first event of a series that begins above 0.
func TestSeriesOfClosedSetsAreThereFromTheStart(t *testing.T) {
	reg := running(t)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]int{} // series by metric
	values := map[string]map[string]bool{}
	for _, f := range families {
		there[f.GetName()] = len(f.GetMetric())
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				key := f.GetName() + " " + l.GetName()
				if values[key] == nil {
					values[key] = map[string]bool{}
				}
				values[key][l.GetValue()] = true
			}
		}
	}
	known := closedLabels()
	for _, d := range metrics(t) {
		if !strings.HasPrefix(d.name, "weir_") || slices.ContainsFunc(d.labels, func(l string) bool { return slices.Contains(openLabels, l) }) {
			continue
		}
		series := 1
		for _, label := range d.labels {
			want := known[d.name][label]
			if len(want) == 0 {
				t.Errorf("%s: add the values of %s to closedLabels, or the label to openLabels", d.name, label)
			}
			if got := slices.Sorted(maps.Keys(values[d.name+" "+label])); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
				t.Errorf("%s begins with the values %v of %s, want %v", d.name, got, label, want)
			}
			series *= len(want)
		}
		if late := []string{"weir_nodes_desired", "weir_store_size_bytes", "weir_node_cpu_ratio", "weir_node_memory_ratio"}; there[d.name] != series && !slices.Contains(late, d.name) {
			t.Errorf("%s begins with %d series, want %d", d.name, there[d.name], series)
		}
	}
	page := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	promtool(t, page.Body, "check", "metrics")
}
