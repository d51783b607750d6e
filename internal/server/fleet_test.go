package server_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/store/memstore"
)

func rowsOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"id\":\"u%d\"}\n", i)
	}
	return b.String()
}

func TestTenantsAndFairness(t *testing.T) {
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	defer open()
	n := nodetest.Start(t, nodetest.Options{Partitions: 1})
	url := downstream(t, held(gate))
	n.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q,"batch":5}`, url), 200, nil)
	n.Call("PUT", "/v1/resources/push", `{"concurrency":2}`, 200, nil)

	var x api.Tenant
	n.Call("GET", "/v1/tenants/acme", "", 200, &x)
	if x.Weight != 1 || x.Name != "acme" {
		t.Errorf("a tenant without settings: %+v", x)
	}
	tag := n.CallWith("PUT", "/v1/tenants/acme", `{"weight":3,"max_pending":1000}`, http.Header{"If-None-Match": {"*"}}, 200, &x).Get("ETag")
	if got := n.Call("GET", "/v1/tenants/acme", "", 200, &x).Get("ETag"); got != tag || tag == "" || x.Weight != 3 {
		t.Errorf("ETag %q after %q, %+v", got, tag, x)
	}
	n.CallWith("PUT", "/v1/tenants/acme", `{"weight":5}`, ifMatch(`"zz"`), 412, nil)
	n.CallWith("DELETE", "/v1/tenants/acme", "", ifMatch(`"zz"`), 412, nil)
	n.Call("PUT", "/v1/tenants/idle", `{"paused":true}`, 200, nil)

	acme, bolt := n.As([]access.Scope{access.Read, access.Submit}, "acme"), n.As([]access.Scope{access.Read}, "bolt")
	var page api.Page[api.Tenant]
	acme.Call("GET", "/v1/tenants", "", 200, &page)
	if len(page.Data) != 1 || page.Data[0].Name != "acme" {
		t.Errorf("acme sees %+v", page.Data)
	}
	bolt.Call("GET", "/v1/tenants/acme", "", 404, nil)
	n.Call("GET", "/v1/tenants", "", 200, &page)
	if len(page.Data) != 2 {
		t.Errorf("all see %+v", page.Data)
	}

	spec := `{"tenant":%q,"steps":[{"action":"push"}],"item_id":"id"}`
	n.Make(fmt.Sprintf(spec, "acme"), rowsOf(800))
	n.Make(fmt.Sprintf(spec, "bolt"), rowsOf(800))
	var shares api.Fairness
	n.Eventually("both tenants are told of, by weight", func() bool {
		n.Call("GET", "/v1/fairness?resource=push", "", 200, &shares)
		return len(shares.Data) == 2 && shares.Data[0].Tenant == "acme" && shares.Data[0].Weight == 3 &&
			shares.Data[0].Entitled > 0.7 && shares.Data[0].Entitled < 0.8 && shares.Data[1].Ready > 0
	})
	bolt.Call("GET", "/v1/fairness", "", 200, &shares)
	if len(shares.Data) != 1 || shares.Data[0].Tenant != "bolt" {
		t.Errorf("bolt sees %+v", shares.Data)
	}

	var b api.BulkAction
	acme.Call("POST", "/v1/bulk-actions", fmt.Sprintf(spec, "acme"), 201, &b)
	acme.CallWith("POST", "/v1/bulk-actions/"+b.ID+"/items", rowsOf(400), http.Header{"Content-Type": {"application/x-ndjson"}}, 202, nil)
	var p api.Problem
	h := acme.Call("POST", "/v1/bulk-actions/"+b.ID+"/seal", `{}`, 429, &p)
	if p.Code != "tenant_quota" || h.Get("Retry-After") == "" {
		t.Errorf("over its quota: %+v, Retry-After %q", p, h.Get("Retry-After"))
	}

	n.Call("PUT", "/v1/tenants/bolt", `{"paused":true}`, 200, nil)
	var list api.Page[api.BulkAction]
	n.Call("GET", "/v1/bulk-actions?tenant=bolt", "", 200, &list)
	<-time.After(engine.LimitsWithin)
	open() // what runs ends, and nothing of the paused tenant starts
	n.Eventually("it waits for its tenant", func() bool {
		var pr api.Progress
		n.Call("GET", "/v1/bulk-actions/"+list.Data[0].ID+"/progress", "", 200, &pr)
		return slices.ContainsFunc(pr.WaitingOn, func(c api.Cause) bool { return c.Reason == "paused_tenant" })
	})
	n.Call("DELETE", "/v1/tenants/bolt", "", 204, nil)
	n.Call("DELETE", "/v1/tenants/bolt", "", 404, nil)
	n.Until(list.Data[0].ID, api.Completed)
	n.Eventually("there is room by now", func() bool {
		resp := acme.Request(t.Context(), "POST", "/v1/bulk-actions/"+b.ID+"/seal", `{}`, nil)
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

func TestLanesPinsAndScale(t *testing.T) {
	gate := make(chan struct{})
	n := nodetest.Start(t, nodetest.Options{Partitions: 3})
	url := downstream(t, held(gate))
	n.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q,"batch":1}`, url), 200, nil)
	b := n.Make(`{"steps":[{"action":"push"}],"item_id":"id"}`, rowsOf(200))
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	var lanes api.Page[api.Lane]
	n.Eventually("the lane is there", func() bool {
		n.Call("GET", "/v1/lanes", "", 200, &lanes)
		return len(lanes.Data) == 1 && lanes.Data[0].Lane == "push" && lanes.Data[0].InFlight > 0 && lanes.Data[0].Ready > 0 && lanes.Data[0].Node != ""
	})
	at := "/v1/lanes/" + lanes.Data[0].Partition + "/push"
	n.Call("PUT", at+"/pin", fmt.Sprintf(`{"workers":40,"until":%q,"reason":"flash sale"}`, until.Format(time.RFC3339)), 200, nil)
	n.Eventually("the lane has the workers that it was pinned to", func() bool {
		n.Call("GET", "/v1/lanes", "", 200, &lanes)
		l := lanes.Data[0]
		return l.Workers == 40 && l.Pin != nil && l.Pin.Reason == "flash sale" && l.Pin.Until.Equal(until) && l.Decision != nil
	})
	for _, path := range []string{at + "/decisions", "/v1/bulk-actions/" + b.ID + "/decisions"} {
		var d api.Decisions
		n.Call("GET", path, "", 200, &d)
		if len(d.Data) == 0 || d.Data[0].To != 40 || d.Data[0].Reason != "override" || d.Data[0].Sentence == "" || d.Data[0].Lane != "push" {
			t.Errorf("%s: %+v", path, d.Data)
		}
	}
	n.As([]access.Scope{access.Read}, "acme").Call("GET", "/v1/bulk-actions/"+b.ID+"/decisions", "", 404, nil)
	n.Call("DELETE", at+"/pin", "", 204, nil)
	n.Call("DELETE", at+"/pin", "", 404, nil)
	n.Call("GET", "/v1/lanes/x/push/decisions", "", 404, nil)

	var nodes api.Page[api.Node]
	n.Call("GET", "/v1/nodes", "", 200, &nodes)
	if len(nodes.Data) != 1 || nodes.Data[0].Partitions != 3 || !nodes.Data[0].Leader || nodes.Data[0].InFlight == 0 {
		t.Errorf("nodes %+v", nodes.Data)
	}
	var parts api.Page[api.Partition]
	n.Call("GET", "/v1/partitions?limit=2", "", 200, &parts)
	if len(parts.Data) != 2 || parts.Data[0].Owner != nodes.Data[0].Node || !parts.HasMore {
		t.Errorf("partitions %+v", parts)
	}
	var sc api.Scale
	n.Call("GET", "/v1/scale", "", 200, &sc)
	if sc.Nodes != 1 || sc.DesiredNodes < 1 || sc.Workers == 0 || len(sc.Lanes) != 1 {
		t.Errorf("scale %+v", sc)
	}
	close(gate)
	ended := n.Until(b.ID, api.Completed)

	n.Call("PUT", at+"/pin", fmt.Sprintf(`{"workers":7,"until":%q,"reason":"after it"}`, until.Format(time.RFC3339)), 200, nil)
	var of, about api.Decisions
	n.Eventually("something is decided about the lane after the end", func() bool {
		n.Call("GET", at+"/decisions", "", 200, &of)
		return of.Data[0].At.After(ended.FinishedAt)
	})
	n.Call("GET", "/v1/bulk-actions/"+b.ID+"/decisions", "", 200, &about)
	if len(about.Data) == 0 || about.Data[0].At.After(ended.FinishedAt) {
		t.Errorf("it ended at %v, and its decisions are %+v", ended.FinishedAt, about.Data)
	}
}

// TestAKeyOfATenantSeesNothingOfTheLoadOfOthers: the sums of nodes and of the fleet are those of the lanes that it sees.
func TestAKeyOfATenantSeesNothingOfTheLoadOfOthers(t *testing.T) {
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	defer open()
	n := nodetest.Start(t, nodetest.Options{Partitions: 1})
	n.Call("PUT", "/v1/actions/acme-push", fmt.Sprintf(`{"url":%q,"batch":5,"tenants":["acme"]}`, downstream(t, held(gate))), 200, nil)
	b := n.Make(`{"tenant":"acme","steps":[{"action":"acme-push"}],"item_id":"id"}`, rowsOf(200))
	seen := func(as *nodetest.Node) (tasks int, scale api.Scale, cpu bool) {
		var nodes api.Page[map[string]any]
		as.Call("GET", "/v1/nodes", "", 200, &nodes)
		for _, x := range nodes.Data {
			_, has := x["memory"] // the processor may be idle
			tasks, cpu = tasks+int(x["in_flight"].(float64)), cpu || has
		}
		as.Call("GET", "/v1/scale", "", 200, &scale)
		return tasks, scale, cpu
	}
	scopes := []access.Scope{access.Read, access.Control}
	acme, beta := n.As(scopes, "acme"), n.As(scopes, "beta")
	n.Eventually("the lane of acme has workers and tasks, and the machine a load", func() bool {
		tasks, scale, load := seen(n)
		return tasks > 0 && scale.Workers > 0 && load
	})
	if tasks, scale, load := seen(acme); tasks == 0 || scale.Workers == 0 || load {
		t.Errorf("acme sees %d of its tasks, %+v, and whether machines are loaded: %t; want its work alone", tasks, scale, load)
	}
	if tasks, scale, load := seen(beta); tasks != 0 || scale.Workers != 0 || scale.DesiredWorkers != 0 || load {
		t.Errorf("beta sees %d tasks of others, %+v, and whether machines are loaded: %t; want nothing", tasks, scale, load)
	}
	open()
	n.Until(b.ID, api.Completed)
}

func TestScalingIsSetAsAWhole(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	var s api.ScalingSettings
	tag := n.Call("GET", "/v1/scaling", "", 200, &s).Get("ETag")
	next := n.CallWith("PUT", "/v1/scaling", `{"shadow":"littles-law","min":2,"max":50,"drain":"30s","timetables":{"push":"Fri 20:00 64"}}`, ifMatch(tag), 200, &s).Get("ETag")
	if s.Shadow != "littles-law" || s.Min != 2 || s.Max != 50 || s.Drain.String() != "30s" || next == tag {
		t.Errorf("set: %+v, ETag %q", s, next)
	}
	n.CallWith("PUT", "/v1/scaling", `{}`, ifMatch(tag), 412, nil)
	var rest api.ScalingSettings
	n.CallWith("PUT", "/v1/scaling", `{"policy":"off"}`, ifMatch(next), 200, &rest)
	if rest.Policy != "off" || rest.Shadow != "" || rest.Max != 0 || len(rest.Timetables) != 0 {
		t.Errorf("what was left out is %+v", rest)
	}
}

func TestTheNumberOfPartitionsIsChangedOverTheAPI(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	var was, p api.PartitioningStatus
	tag := n.Call("GET", "/v1/partitioning", "", 200, &was).Get("ETag")
	more, fewer := was.Partitions+5, was.Partitions+2
	n.Call("PUT", "/v1/partitioning?dry_run=true", fmt.Sprintf(`{"partitions":%d}`, more), 200, &p)
	if want := (api.PartitioningStatus{Partitioning: api.Partitioning{Partitions: more}, Kept: more}); p != want {
		t.Errorf("a dry run returned %+v, want %+v", p, want)
	}
	for _, bad := range []string{`{"partitions":0}`, `{"partitions":257}`, `{}`} {
		n.Call("PUT", "/v1/partitioning", bad, 422, nil)
	}
	if n.Call("GET", "/v1/partitioning", "", 200, &p); p != was {
		t.Errorf("refused changes and a dry run left %+v, want %+v", p, was)
	}
	n.CallWith("PUT", "/v1/partitioning", fmt.Sprintf(`{"partitions":%d}`, more), ifMatch(tag), 200, &p)
	n.CallWith("PUT", "/v1/partitioning", fmt.Sprintf(`{"partitions":%d}`, fewer), ifMatch(tag), 412, nil)
	n.Call("PUT", "/v1/partitioning", fmt.Sprintf(`{"partitions":%d}`, fewer), 200, &p)
	if want := (api.PartitioningStatus{Partitioning: api.Partitioning{Partitions: fewer}, Kept: more}); p != want {
		t.Errorf("after two changes there are %+v, want %+v", p, want)
	}
	var log api.Page[api.AuditEntry]
	n.Call("GET", "/v1/audit?action=partitioning.put", "", 200, &log)
	if len(log.Data) != 2 {
		t.Errorf("the audit log has %d entries of it, want the two changes", len(log.Data))
	}
}

// tableOfMetrics is what the documentation promises, of what there is within seconds: workers_useful and decisions take longer,
// and starving and late things do not happen here. The engine's own tests have those.
var tableOfMetrics = strings.Fields(`
	items_ingested_total items_finished_total item_attempts_total item_duration_seconds item_wait_seconds items_at_risk
	task_duration_seconds task_items tasks_in_flight
	lane_tasks lane_oldest_ready_seconds lane_workers lane_workers_needed lane_pwqd
	leases_lost_total nodes nodes_desired
	resource_rate_items_per_second resource_use_ratio resource_concurrency resource_wait_seconds_total
	circuit_open circuit_transitions_total tenant_share_ratio
	bulk_actions bulk_actions_stalled bulk_actions_finished_total
	waiting_seconds_total late_results_dropped_total conservation_violations_total
	store_commit_duration_seconds store_regressions_total sse_clients http_request_duration_seconds build_info schedule_lag_seconds
`)

func TestMetricsHaveTheNamesAndTheFormThatArePromised(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	n := nodetest.Start(t, nodetest.Options{Metrics: reg, Partitions: 1})
	url := downstream(t, func(*http.Request, []byte) (int, string) {
		<-time.After(50 * time.Millisecond)
		return 200, `{"default":"done"}`
	})
	n.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q,"batch":5}`, url), 200, nil)
	n.Call("PUT", "/v1/resources/push", `{"rate":"200/s","concurrency":60}`, 200, nil)
	n.Until(n.Make(`{"tenant":"acme","steps":[{"action":"push"}],"item_id":"id"}`, rowsOf(10)).ID, api.Completed)
	n.Make(`{"tenant":"acme","steps":[{"action":"push"}],"item_id":"id"}`, rowsOf(20_000))
	var text string
	var missing []string
	opened := false
	defer func() {
		if t.Failed() {
			t.Logf("missing: %v", missing)
		}
	}()
	n.Eventually("all metrics are there", func() bool {
		n.Call("GET", "/metrics", "", 200, &text)
		missing = slices.DeleteFunc(slices.Clone(tableOfMetrics), func(name string) bool { return strings.Contains(text, "\n# TYPE weir_"+name+" ") })
		if len(missing) == 1 && missing[0] == "circuit_transitions_total" && !opened {
			opened = true
			n.Call("POST", "/v1/resources/push/circuit", `{"do":"open","for":"1h","reason":"test"}`, 200, nil)
		}
		return len(missing) == 0 || t.Failed()
	})
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("form: %v, %v", problems, err)
	}
	n.As([]access.Scope{access.Read}).Call("GET", "/metrics", "", 200, nil)
	n.As([]access.Scope{access.Read}, "acme").Call("GET", "/metrics", "", 403, nil)
	n.As([]access.Scope{access.Submit}).Call("GET", "/metrics", "", 403, nil)
}

func TestHealth(t *testing.T) {
	s := memstore.New(memstore.Options{})
	n := nodetest.Start(t, nodetest.Options{Store: s})
	var h api.Health
	n.Eventually("it is ready", func() bool {
		resp := n.Request(t.Context(), "GET", "/readyz", "", nil)
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	n.Call("GET", "/healthz", "", 200, &h)
	if h.Status != "ok" {
		t.Errorf("health %+v", h)
	}
	n.Server().Drain()
	n.Call("GET", "/readyz", "", 503, &h)
	if h.Status != "stopping" || len(h.Problems) == 0 {
		t.Errorf("while it stops: %+v", h)
	}
	n.Call("GET", "/healthz", "", 200, &h)
}

func TestConnectionsKeepTheirSecrets(t *testing.T) {
	var token string
	url := downstream(t, func(r *http.Request, _ []byte) (int, string) {
		token = r.Header.Get("Authorization")
		if token != "Bearer s3cret" {
			return 401, ""
		}
		return 200, `{"items":[{"id":"a"},{"id":"b"}]}`
	})
	n := nodetest.Start(t, nodetest.Options{})
	var c api.Connection
	tag := n.Call("PUT", "/v1/connections/crm", fmt.Sprintf(`{"kind":"http","url":%q,"tenants":["acme"],"secret":{"token":"s3cret"}}`, url), 200, &c).Get("ETag")
	if c.Secret["token"] != "[secret]" || c.Origin != "api" {
		t.Errorf("made %+v", c)
	}
	n.CallWith("PUT", "/v1/connections/crm", fmt.Sprintf(`{"kind":"http","url":%q,"tenants":["acme"],"secret":{"token":"[secret]"},"option":{"user":"u"}}`, url), ifMatch(tag), 200, nil)
	n.CallWith("PUT", "/v1/connections/crm", fmt.Sprintf(`{"kind":"http","url":%q}`, url), ifMatch(tag), 412, nil)
	var r api.ConnectionResult
	n.Call("POST", "/v1/connections/crm/test", `{}`, 200, &r)
	if !r.OK {
		t.Errorf("the secret that was sent back hidden is not the old one: %+v", r)
	}
	n.Call("POST", "/v1/connections/crm/test", fmt.Sprintf(`{"source":{"segment":{"connection":"crm","url":%q}}}`, url+"/users"), 200, &r)
	if !r.OK || len(r.Items) != 2 || r.Items[0].ID != "a" {
		t.Errorf("read %+v", r)
	}
	n.Call("POST", "/v1/connections/crm/test", `{"source":{"segment":{"connection":"other","url":"https://example.com/"}}}`, 422, nil)
	for _, body := range []string{
		`{"kind":"http","url":"https://10.0.0.5/"}`, `{"kind":"postgres","url":"u:p@db:5432"}`, `{"kind":"http","url":"https://example.com/","secret":{"pass":"x"}}`,
		`{"kind":"http","url":"https://example.com/","option":{"x":"y"}}`, `{"kind":"ldap","url":"x"}`, `{"kind":"http","url":"://"}`, `{"kind":"postgres","url":"://"}`, `{"kind":"postgres","url":"postgres://db:5432/crm"}`, `{"kind":"kafka","url":"a:9092,://"}`, `{"kind":"kafka","url":"a:99999"}`, `{"kind":"http"}`, `{"kind":"http","url":"https://example.com/","secret":{"token":"[secret]"}}`,
	} {
		n.Call("PUT", "/v1/connections/bad", body, 422, nil)
	}
	acme, bolt := n.As([]access.Scope{access.Admin}, "acme"), n.As([]access.Scope{access.Admin}, "bolt")
	acme.Call("GET", "/v1/connections/crm", "", 200, nil)
	bolt.Call("GET", "/v1/connections/crm", "", 404, nil)
	bolt.Call("POST", "/v1/connections/crm/test", `{}`, 404, nil)
	bolt.Call("PUT", "/v1/connections/crm", fmt.Sprintf(`{"kind":"http","url":%q}`, url), 404, nil)
	bolt.Call("DELETE", "/v1/connections/crm", "", 404, nil)
	bolt.Call("PUT", "/v1/connections/mine", fmt.Sprintf(`{"kind":"http","url":%q,"tenants":["acme"]}`, url), 422, nil)
	var page api.Page[api.Connection]
	bolt.Call("GET", "/v1/connections", "", 200, &page)
	if len(page.Data) != 0 {
		t.Errorf("bolt sees %+v", page.Data)
	}
	n.Call("DELETE", "/v1/connections/crm", "", 204, nil)
	n.Call("GET", "/v1/connections/crm", "", 404, nil)
}
