package docstest

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir/internal/assembly"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store/memstore"
)

// described is a metric by what its collector says of it.
type described struct {
	name, help string
	labels     []string
}

var descText = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: (".*"), constLabels: \{([^}]*)\}, variableLabels: \{([^}]*)\}\}$`)

// metrics lists all that a node counts, by name.
func metrics(t *testing.T) (all []described) {
	t.Helper()
	for _, d := range descriptions(running(t)) {
		m := descText.FindStringSubmatch(d.String())
		if m == nil {
			t.Errorf("%s cannot be read", d)
			continue
		}
		one := described{name: m[1], help: strings.Trim(m[2], `"`)}
		for label := range strings.SplitSeq(m[3]+","+m[4], ",") {
			if name, _, _ := strings.Cut(label, "="); name != "" {
				one.labels = append(one.labels, name)
			}
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b described) int { return strings.Compare(a.name, b.name) })
	return slices.CompactFunc(all, func(a, b described) bool { return a.name == b.name })
}

// running returns the metrics of a node that runs until the test ends, and has no work: the engine exports them only
// while it runs.
func running(t *testing.T) *prometheus.Registry {
	t.Helper()
	s := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = s.Close() })
	v, err := vault.New(vault.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	reg, log := prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	_, e, err := assembly.Open(context.Background(), assembly.Options{Store: s, Guard: egress.New(egress.Policy{}), Vault: v, Metrics: reg, Logger: log}, engine.Options{Logger: log, Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	last := func(d *prometheus.Desc) bool { return strings.Contains(d.String(), `"weir_item_attempts_total"`) } // of the collector that is registered last
	for range 2000 {
		if slices.ContainsFunc(descriptions(reg), last) {
			return reg
		}
		<-tick.C
	}
	t.Fatal("the engine does not tell what it counts")
	return nil
}

func descriptions(reg *prometheus.Registry) (all []*prometheus.Desc) {
	descs := make(chan *prometheus.Desc)
	go func() { reg.Describe(descs); close(descs) }()
	for d := range descs {
		all = append(all, d)
	}
	return all
}

func TestThePageListsEveryMetric(t *testing.T) {
	var b strings.Builder
	b.WriteString("| metric | labels | what |\n|---|---|---|\n")
	for _, m := range metrics(t) {
		if !strings.HasPrefix(m.name, "weir_") {
			continue // of the process and of Go
		}
		labels := "—"
		if len(m.labels) > 0 {
			labels = "`" + strings.Join(m.labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m.name, labels, m.help)
	}
	Section(t, "docs/metrics.md", "metrics", b.String())
}

// rules is a file of alert rules as Prometheus reads it.
type rules struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

// runbooks is where the sections of docs/alerts.md are.
const runbooks = "https://github.com/weirhq/weir/blob/main/docs/alerts.md#"

var (
	metricName = regexp.MustCompile(`\bweir_[a-z_]+`)
	suffix     = regexp.MustCompile(`_(bucket|sum|count)$`)
)

func TestAlertsAreAboutMetricsThatThereAre(t *testing.T) {
	var file rules
	if err := yaml.UnmarshalWithOptions([]byte(Read(t, "docs/alerts.yaml")), &file, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range metrics(t) {
		known[m.name] = true
	}
	page, count := Read(t, "docs/alerts.md"), 0
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			count++
			names := metricName.FindAllString(r.Expr, -1)
			if len(names) == 0 && !strings.Contains(r.Expr, "up{") {
				t.Errorf("%s: no metric of weir's in %s", r.Alert, r.Expr)
			}
			for _, n := range names {
				if !known[n] && !known[suffix.ReplaceAllString(n, "")] {
					t.Errorf("%s: unknown metric %s", r.Alert, n)
				}
			}
			if r.Annotations["summary"] == "" || r.Labels["severity"] == "" {
				t.Errorf("%s has no summary or no severity", r.Alert)
			}
			if !strings.Contains(page, "\n## "+r.Alert+"\n") {
				t.Errorf("docs/alerts.md does not say what to do about %s", r.Alert)
			}
			if want := runbooks + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
				t.Errorf("the runbook of %s is %q, want %s", r.Alert, r.Annotations["runbook_url"], want)
			}
		}
	}
	if count == 0 {
		t.Error("no alerts found")
	}
}
