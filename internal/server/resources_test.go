package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/store/memstore"
)

// meter is a downstream that notes when items came, and how many calls there were at once.
type meter struct {
	mu     sync.Mutex
	items  []time.Time
	atOnce int
	most   int
}

func (m *meter) answer(_ *http.Request, body []byte) (int, string) {
	var in struct{ Items []json.RawMessage }
	_ = json.Unmarshal(body, &in)
	m.mu.Lock()
	now := time.Now()
	for range in.Items {
		m.items = append(m.items, now)
	}
	m.atOnce++
	m.most = max(m.most, m.atOnce)
	m.mu.Unlock()
	<-time.After(20 * time.Millisecond)
	m.mu.Lock()
	m.atOnce--
	m.mu.Unlock()
	return 200, `{"default":"done"}`
}

// since waits until a time has passed and returns how many items came from then on, in a span, and how many calls were at once.
func (m *meter) since(from time.Time, span time.Duration) (items, most int) {
	<-time.After(time.Until(from))
	m.mu.Lock()
	m.most = m.atOnce
	m.mu.Unlock()
	<-time.After(time.Until(from.Add(span)))
	m.mu.Lock()
	defer m.mu.Unlock()
	first, _ := slices.BinarySearchFunc(m.items, from, time.Time.Compare)
	last, _ := slices.BinarySearchFunc(m.items, from.Add(span), time.Time.Compare)
	return last - first, m.most
}

func TestLimitsHoldWithinASecondForWorkThatRuns(t *testing.T) {
	var m meter
	n := nodetest.Start(t, nodetest.Options{})
	n.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q,"batch":5,"resource":"mail"}`, downstream(t, m.answer)), 200, nil)
	n.Call("PUT", "/v1/resources/mail", `{"rate":"100/s"}`, 200, nil) // before anything uses it
	var rows strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&rows, "{\"id\":\"u%d\"}\n", i)
	}
	b := n.Make(`{"steps":[{"action":"push"}],"item_id":"id"}`, rows.String())
	n.Eventually("it runs", func() bool { m.mu.Lock(); defer m.mu.Unlock(); return len(m.items) > 50 })
	const span = time.Second
	for _, tt := range []struct {
		set         string
		least, most int // items within the span; a busy machine may take some spans to reach the least
		atOnce      int
	}{
		{`{"rate":"600/s"}`, 450, 630, 1000},
		{`{"rate":"60/s"}`, 40, 70, 1000},
		{`{"rate":"unlimited","concurrency":2}`, 100, 510, 2},
		{`{"rate":"unlimited","concurrency":6}`, 511, 1600, 6},
	} {
		var r api.ResourceStatus
		before := time.Now()
		n.Call("PUT", "/v1/resources/mail", tt.set, 200, &r)
		if d := r.EffectiveAt.Sub(before); d < 0 || d > 1100*time.Millisecond {
			t.Fatalf("%s holds after %v, want within a second", tt.set, d)
		}
		from := r.EffectiveAt.Add(span) // what ran before has left every window
		n.Eventually(tt.set+" is used", func() bool {
			items, atOnce := m.since(from, span)
			if items > tt.most || atOnce > tt.atOnce {
				t.Errorf("%s: %d items within %v and %d calls at once; want at most %d, and %d", tt.set, items, span, atOnce, tt.most, tt.atOnce)
			}
			from = from.Add(span)
			return items >= tt.least
		})
	}
	var r api.ResourceStatus
	n.Call("GET", "/v1/resources/mail", "", 200, &r)
	if r.Rate != 0 || r.Concurrency != 6 || r.Origin != "api" || r.Circuit != "closed" || r.Ready == 0 {
		t.Errorf("the resource is %+v", r)
	}
	n.Call("POST", "/v1/resources/mail/circuit", `{"do":"open","for":"1h","reason":"upgrade"}`, 200, &r)
	n.Eventually("the circuit is open and named", func() bool {
		n.Call("GET", "/v1/resources/mail", "", 200, &r)
		var p api.Progress
		n.Call("GET", "/v1/bulk-actions/"+b.ID+"/progress", "", 200, &p)
		return r.Circuit == "open" && strings.Contains(r.Reason, "upgrade") && len(p.WaitingOn) > 0 && p.WaitingOn[0].Reason == "circuit_open"
	})
	n.Call("POST", "/v1/resources/mail/circuit", `{"do":"free"}`, 200, nil)
	n.Eventually("the circuit is closed", func() bool {
		n.Call("GET", "/v1/resources/mail", "", 200, &r)
		return r.Circuit == "closed"
	})
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/cancel", `{}`, 200, nil)
}

func TestAResourceHasAPacing(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{operated("award")}})
	var r api.ResourceStatus
	n.Call("PUT", "/v1/resources/award", `{"rate":"300/s"}`, 200, &r)
	if r.Pacing != "smooth" {
		t.Errorf("pacing %q, want smooth by default", r.Pacing)
	}
	n.Call("PUT", "/v1/resources/award", `{"pacing":"full"}`, 200, &r)
	if r.Pacing != "full" || r.Rate != 300 || r.Origin != "api" {
		t.Errorf("after the pacing: %+v", r)
	}
	n.Call("PUT", "/v1/resources/award", `{"concurrency":9}`, 200, nil)
	n.Call("GET", "/v1/resources/award", "", 200, &r)
	if r.Pacing != "full" || r.Concurrency != 9 {
		t.Errorf("after the concurrency: %+v", r)
	}
	var p api.Problem
	n.Call("PUT", "/v1/resources/award", `{"pacing":"fast"}`, 422, &p)
	if len(p.Errors) == 0 || p.Errors[0].Field != "pacing" || !strings.Contains(p.Errors[0].Message+p.Errors[0].Fix, "smooth") {
		t.Errorf("a pacing that is unknown: %+v", p)
	}
	n.Call("DELETE", "/v1/resources/award", "", 204, nil)
	n.Call("PUT", "/v1/resources/award", `{"concurrency":9}`, 200, &r)
	if r.Pacing != "smooth" {
		t.Errorf("pacing %q after the reset, want smooth", r.Pacing)
	}
}

func TestResourcesAreSetByThoseWhoMay(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{operated("award")}})
	for _, tt := range []struct {
		name    string
		scopes  []access.Scope
		tenants []string
		get     int
		put     int
	}{
		{"read, all tenants", []access.Scope{access.Read}, nil, 200, 403},
		{"read, one tenant", []access.Scope{access.Read}, []string{"acme"}, 403, 403},
		{"control, all tenants", []access.Scope{access.Read, access.Control}, nil, 200, 200},
		{"control, one tenant", []access.Scope{access.Read, access.Control}, []string{"acme"}, 200, 403},
		{"admin of one tenant", []access.Scope{access.Admin}, []string{"acme"}, 200, 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := n.As(tt.scopes, tt.tenants...)
			for _, path := range []string{"/v1/resources", "/v1/lanes", "/v1/lanes/p00/award/decisions", "/v1/nodes", "/v1/partitions", "/v1/scale", "/v1/scaling"} {
				k.Call("GET", path, "", tt.get, nil)
			}
			sums := http.StatusForbidden // what other tenants did is not for a tenant
			if len(tt.tenants) == 0 {
				sums = http.StatusOK
			}
			k.Call("GET", "/v1/series", "", sums, nil)
			k.Call("GET", "/v1/series?resource=award", "", sums, nil)
			k.Call("PUT", "/v1/resources/award", `{"rate":"1000/s"}`, tt.put, nil)
			k.Call("PUT", "/v1/scaling", `{}`, tt.put, nil)
			k.Call("PUT", "/v1/lanes/p00/award/pin", `{"workers":3,"until":"`+time.Now().Add(time.Hour).Format(time.RFC3339)+`","reason":"sale"}`, tt.put, nil)
			k.Call("PUT", "/v1/tenants/acme", `{"weight":2}`, tt.put, nil)
		})
	}
}

// TestALimitThatIsNotNamedStays: whoever sets the rate does not know what another set of the concurrency.
func TestALimitThatIsNotNamedStays(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	var r api.ResourceStatus
	n.Call("PUT", "/v1/resources/mail", `{"concurrency":8}`, 200, nil)
	n.Call("PUT", "/v1/resources/mail", `{"rate":"5/s"}`, 200, &r)
	if r.Rate != 5 || r.Concurrency != 8 {
		t.Errorf("after the rate: %+v", r)
	}
	for _, body := range []string{`{}`, `{"rate":null}`, `{"rate":null,"concurrency":3}`} {
		var p api.Problem
		n.Call("PUT", "/v1/resources/mail", body, 422, &p)
		if len(p.Errors) == 0 || p.Errors[0].Field != "rate" || !strings.Contains(p.Errors[0].Fix, "DELETE /v1/resources/") {
			t.Errorf("%s: %+v; want one that names DELETE", body, p)
		}
	}
	n.Call("GET", "/v1/resources/mail", "", 200, &r)
	if r.Rate != 5 || r.Concurrency != 8 {
		t.Errorf("after what was refused: %+v", r)
	}
	n.Call("PUT", "/v1/resources/mail", `{"rate":"unlimited"}`, 200, &r)
	if r.Rate != 0 || r.Concurrency != 8 {
		t.Errorf("after the rate was taken away: %+v", r)
	}
	n.Call("DELETE", "/v1/resources/mail", "", 204, nil)
	n.Call("GET", "/v1/resources/mail", "", 404, nil)
}

func TestBadLimitsAreRefused(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	for _, tt := range []struct {
		path, body string
		status     int
		field      string
	}{
		{"/v1/resources/mail", `{"rate":"-5/s"}`, 422, "rate"},
		{"/v1/resources/mail", `{"rate":"fast"}`, 422, "rate"},
		{"/v1/resources/mail", `{"rate":"300"}`, 422, "missing unit"},
		{"/v1/resources/mail", `{"rate":300}`, 422, "rate"},
		{"/v1/resources/mail", `{"concurrency":-1}`, 422, "concurrency"},
		{"/v1/resources/mail", `{"concurrency":1.5}`, 400, "concurrency"},
		{"/v1/resources/ma%2Fil", `{}`, 422, "name"},
		{"/v1/tenants/acme", `{"weight":0}`, 422, "weight"},
		{"/v1/tenants/acme", `{"weight":-1}`, 422, "weight"},
		{"/v1/tenants/acme", `{"weight":1e9}`, 422, "weight"},
		{"/v1/tenants/acme", `{"weight":"NaN"}`, 400, "weight"},
		{"/v1/tenants/acme", `{"max_pending":-1}`, 422, "max_pending"},
		{"/v1/tenants/acme", `{"max_tasks":-1}`, 422, "max_tasks"},
		{"/v1/tenants/a%07b", `{}`, 422, "name"},
		{"/v1/scaling", `{"policy":"magic"}`, 422, "scaling"},
		{"/v1/scaling", `{"min":9,"max":3}`, 422, "scaling"},
		{"/v1/lanes/p00/mail/pin", `{"workers":3,"until":"2001-01-01T00:00:00Z","reason":"x"}`, 422, "until"},
		{"/v1/lanes/p00/mail/pin", `{"workers":3,"until":"2001-01-01T00:00:00Z"}`, 422, "reason"},
	} {
		t.Run(tt.path+" "+tt.body, func(t *testing.T) {
			var p api.Problem
			n.Call("PUT", tt.path, tt.body, tt.status, &p)
			if len(p.Errors) == 0 || p.Errors[0].Field != tt.field && !strings.Contains(p.Errors[0].Message, tt.field) {
				t.Errorf("problem %+v, want one of %s", p, tt.field)
			}
		})
	}
	n.Call("PUT", "/v1/tenants/acme", `{"weight":NaN}`, 400, nil)
	n.Call("PUT", "/v1/lanes/p99/mail/pin", `{"workers":3,"until":"2001-01-01T00:00:00Z","reason":"x"}`, 404, nil)
	n.Call("GET", "/v1/resources/mail", "", 404, nil)
	n.Call("POST", "/v1/resources/mail/circuit", `{"do":"open"}`, 404, nil)
}

// TestAResetIsShownAtOnce: what nodes have told of the resource may be from before it.
func TestAResetIsShownAtOnce(t *testing.T) {
	limited := operated("award")
	limited.Resource.Rate = weir.PerSecond(300)
	m := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = m.Close() })
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{limited}, Store: m})
	n.Call("PUT", "/v1/actions/push", `{"url":"https://example.com/push"}`, 200, nil)
	for _, tt := range []struct {
		name, origin string
		rate         api.Rate
	}{{"award", "program", 300}, {"push", "default", 0}} {
		var r api.ResourceStatus
		n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"`+tt.name+`"}],"items":[{"id":"a","data":{}}],"start":true}`, 201, nil)
		n.Call("PUT", "/v1/resources/"+tt.name, `{"rate":"51/s"}`, 200, nil)
		n.Eventually("the nodes tell of the limit", func() bool {
			nodes, err := engine.NewOperator(m).Nodes(t.Context())
			return err == nil && slices.ContainsFunc(nodes, func(x weir.Node) bool {
				return slices.ContainsFunc(x.Resources, func(u weir.ResourceUse) bool { return u.Name == tt.name && u.Rate == 51 })
			})
		})
		n.Call("DELETE", "/v1/resources/"+tt.name, "", 204, nil)
		n.Call("GET", "/v1/resources/"+tt.name, "", 200, &r)
		if r.Rate != tt.rate || r.Origin != tt.origin {
			t.Errorf("%s after the reset: rate %v, origin %s; want %v, %s", tt.name, r.Rate, r.Origin, tt.rate, tt.origin)
		}
	}
}

// TestLimitsOfAnActionThatAnotherNodeMadeHaveNoNote: this node may not have read of it yet.
func TestLimitsOfAnActionThatAnotherNodeMadeHaveNoNote(t *testing.T) {
	m := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = m.Close() })
	v, err := vault.New(vault.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	o := nodetest.Options{Store: &filling{Store: m}, Vault: v}
	one, two := nodetest.Start(t, o), nodetest.Start(t, o)
	for i := range 3 {
		var r api.ResourceStatus
		name := fmt.Sprintf("push%d", i)
		one.Call("PUT", "/v1/actions/"+name, `{"url":"https://example.com/push"}`, 200, nil)
		two.Call("PUT", "/v1/resources/"+name, `{"rate":"5/s"}`, 200, &r)
		if r.Note != "" {
			t.Errorf("the note is %q", r.Note)
		}
	}
}

func TestAProbeByHandClosesACircuitBeforeItsTime(t *testing.T) {
	var up atomic.Bool
	var good atomic.Int64 // when the first call succeeded
	url := downstream(t, func(*http.Request, []byte) (int, string) {
		if !up.Load() {
			return 500, `{}`
		}
		good.CompareAndSwap(0, time.Now().UnixNano())
		return 200, `{"default":"done"}`
	})
	n := nodetest.Start(t, nodetest.Options{})
	n.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q,"batch":1,"retry":{"max_attempts":50,"base":"100ms"}}`, url), 200, nil)
	n.Call("PUT", "/v1/resources/push", `{"concurrency":8}`, 200, nil)
	n.Make(`{"steps":[{"action":"push"}],"stop_on":{"keep_trying":true}}`, rows(500, func(i int) string { return fmt.Sprintf(`{"id":"u%d"}`, i) }))
	look := func() (r api.ResourceStatus) {
		n.Call("GET", "/v1/resources/push", "", 200, &r)
		return r
	}
	var r api.ResourceStatus
	n.Eventually("the circuit is open for several seconds", func() bool {
		r = look()
		return r.Circuit == "open" && r.Outage != nil && time.Until(r.Outage.NextProbe) > 5*time.Second
	})
	if o := r.Outage; o.Since.IsZero() || o.Failed == 0 || o.Failed > o.Calls || o.Probes == 0 || o.Code == "" || o.Nodes != 1 || o.ByHand {
		t.Errorf("outage %+v, want since when and why", r.Outage)
	}
	up.Store(true)
	n.Call("POST", "/v1/resources/push/circuit", `{"do":"probe"}`, 200, nil)
	own := r.Outage.NextProbe
	n.Eventually("the circuit is closed", func() bool {
		r = look()
		return r.Circuit == "closed" && r.Outage == nil
	})
	if at := time.Unix(0, good.Load()); !at.Before(own) {
		t.Errorf("the first call succeeded at %v, not before the circuit's own time, %v", at, own)
	}
	n.Call("POST", "/v1/resources/push/circuit", `{"do":"probe"}`, 200, &r)
	if r.Note == "" {
		t.Error("a probe of a closed circuit has no note")
	}
	n.Call("POST", "/v1/resources/push/circuit", `{"do":"open","reason":"upgrade"}`, 200, nil)
	n.Eventually("an opening by hand is told", func() bool {
		r = look()
		return r.Outage != nil && r.Outage.ByHand && r.Outage.Until.After(time.Now())
	})
	n.Call("POST", "/v1/resources/push/circuit", `{"do":"probe"}`, 409, nil)
}
