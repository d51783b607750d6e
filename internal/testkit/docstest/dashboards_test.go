package docstest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/lab/grafana"
)

func TestThePageListsEveryPanel(t *testing.T) {
	for _, d := range grafana.All() {
		var b strings.Builder
		b.WriteString("| panel | what | unit |\n|---|---|---|\n")
		for _, p := range d.Panels {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", p.Title, p.About, p.Unit.Words)
		}
		Section(t, "docs/dashboards.md", d.Name, b.String())
	}
}

func TestDashboardsAskForMetricsThatThereAre(t *testing.T) {
	known := map[string]bool{}
	for _, m := range metrics(t) {
		known[m.name] = true
	}
	for _, d := range grafana.All() {
		for _, p := range d.Panels {
			for _, x := range p.Queries {
				for _, n := range metricName.FindAllString(x.Expr, -1) {
					if !known[n] && !known[suffix.ReplaceAllString(n, "")] {
						t.Errorf("%s: %s: unknown metric %s", d.Name, p.Title, n)
					}
				}
			}
		}
		for _, v := range d.Variables {
			if v.Metric != "" && !known[v.Metric] {
				t.Errorf("%s: the values of %s come from the unknown metric %s", d.Name, v.Name, v.Metric)
			}
		}
	}
}
