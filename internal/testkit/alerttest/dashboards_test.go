package alerttest

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/weirhq/weir/internal/lab/grafana"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store/redisstore"
)

// pictures is where the dashboards are drawn to with UPDATE=1, which takes minutes: a picture needs some time to show.
const (
	pictures = "../../../docs/dashboards"
	longLoad = 150 * time.Second
	rate     = "10s"
)

// chosen are the values of the variables of the dashboards.
var chosen = map[string]string{"job": "weir", "tenant": "bolt", "resource": "mail", "action": "crm", "__range": "5m"}

// TestEveryPanelOfTheDashboardsHasData has a Prometheus scrape three nodes on one Redis under load, and asks it what
// each panel asks.
func TestEveryPanelOfTheDashboardsHasData(t *testing.T) {
	m := watch(t, "groups: []")
	nodes := threeNodes(t)
	for _, n := range nodes {
		m.scrapes(n.URL, true)
	}
	began := time.Now()
	stop := load(t, nodes)
	var missing []string
	late := time.Now().Add(patience)
	for dashboards := grafana.All(); ; <-time.After(4 * pollEvery) {
		if missing = without(m, dashboards, began); len(missing) == 0 {
			t.Logf("every panel has data after %v", time.Since(began).Round(time.Second))
			break
		}
		if time.Now().After(late) {
			t.Fatalf("after %v these have no data: %q", patience, missing)
		}
	}
	update := os.Getenv("UPDATE") != ""
	if update {
		<-time.After(time.Until(began.Add(longLoad)))
	}
	dashboards := grafana.All()
	for i := range dashboards {
		f := picture(m, &dashboards[i], began, time.Now())
		for _, words := range f.Crowded() {
			t.Errorf("picture of %s: %s", dashboards[i].Name, words)
		}
		if svg := f.SVG(); update {
			if err := os.WriteFile(filepath.Join(pictures, dashboards[i].Name+".svg"), svg, 0o644); err != nil {
				t.Error(err)
			}
		}
	}
	stop()
}

// threeNodes starts three nodes on a Redis.
func threeNodes(t *testing.T) (nodes []*nodetest.Node) {
	t.Helper()
	redis := testenv.Redis(t)
	v, err := vault.New(vault.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s, err := redisstore.Open(t.Context(), redisstore.Options{Addresses: []string{redis.Addr}, Mode: redisstore.Memory})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		reg := prometheus.NewRegistry()
		reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})) // as weir serve does
		nodes = append(nodes, nodetest.Start(t, nodetest.Options{Store: s, Partitions: 6, Metrics: reg, Vault: v}))
	}
	return nodes
}

// load has the nodes work until it is stopped: three tenants share a service with a rate, and one calls another service
// that fails now and then.
func load(t *testing.T, nodes []*nodetest.Node) (stop func()) {
	t.Helper()
	d := newDownstream(t)
	action(nodes[0], d, "mail", "/steep", `{"rate":"60/s","concurrency":60}`)
	action(nodes[0], d, "crm", "/mixed", "")
	for _, n := range nodes[1:] {
		n.Eventually("it knows the actions", func() bool {
			resp := n.Request(t.Context(), http.MethodGet, "/v1/actions/crm", "", nil)
			_ = resp.Body.Close()
			return resp.StatusCode == http.StatusOK
		})
	}
	for i, tenant := range []string{"acme", "bolt", "cora"} { // more than the rate allows, for as long as pictures take
		submit(nodes[i], tenant, "mail", 6000, "")
	}
	tiers := []string{"critical", "high", "default", "low"}
	return repeat(t, time.Second, func(i int) {
		submit(nodes[i%3], "acme", "mail", 5+5*(i/20%3), fmt.Sprintf(`,"tier":%q`, tiers[i%len(tiers)]))
		submit(nodes[i%3], "bolt", "crm", 10+10*(i/30%2), "")
	})
}

// without lists the panels that have no data.
func without(m *monitor, dashboards []grafana.Dashboard, from time.Time) (missing []string) {
	for i := range dashboards {
		d := &dashboards[i]
		for k := range d.Panels {
			p, found := &d.Panels[k], false
			for _, q := range p.Queries {
				found = found || len(m.series(&q, from, time.Now())) > 0
			}
			if !found {
				missing = append(missing, d.Name+": "+p.Title)
			}
		}
	}
	return missing
}

// line is one series of a panel.
type line struct {
	name   string
	points []point
}

type point struct{ at, value float64 } // seconds since the start; NaN: unknown

// series asks for the values of a query, those that are numbers somewhere.
func (m *monitor) series(q *grafana.Query, from, to time.Time) (lines []line) {
	m.t.Helper()
	var out struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	v := url.Values{
		"query": {q.With(rate, chosen)}, "step": {"2"},
		"start": {strconv.FormatInt(from.Unix(), 10)}, "end": {strconv.FormatInt(to.Unix(), 10)},
	}
	m.get("/api/v1/query_range?"+v.Encode(), &out)
	if out.Status != "success" {
		m.t.Fatalf("%s: %s", q.Expr, out.Error)
	}
	for _, r := range out.Data.Result {
		if at := slices.Index(m.at, r.Metric["instance"]); at >= 0 {
			r.Metric["instance"] = fmt.Sprint("node ", at+1) // ports are others each time
		}
		l, known := line{name: q.Called(r.Metric)}, false
		for _, p := range r.Values {
			value, err := strconv.ParseFloat(p[1].(string), 64)
			if err != nil {
				m.t.Fatal(err)
			}
			known = known || !math.IsNaN(value) && !math.IsInf(value, 0)
			l.points = append(l.points, point{p[0].(float64) - float64(from.Unix()), value})
		}
		if known {
			lines = append(lines, l)
		}
	}
	slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(a.name, b.name) })
	return lines
}
