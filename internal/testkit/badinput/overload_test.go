package badinput

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/storetest"
)

// story is a case that takes more than one request.
type story struct {
	no   int
	name string
	tell func(*testing.T)
}

// stories are those cases.
func stories() []story {
	return []story{
		{76, "the same key while the first is being done", stillRunning},
		{93, "over the rate", overRate},
		{94, "the store is down", storeDown},
		{95, "the disk is low", diskLow},
		{96, "the server drains", draining},
		{97, "a tenant over its quota", overQuota},
	}
}

func TestStories(t *testing.T) {
	for _, s := range stories() {
		t.Run(fmt.Sprintf("%d %s", s.no, s.name), s.tell)
	}
}

// wantLater wants a refusal that says when to come back.
func wantLater(t *testing.T, r reply, status int, code, says string) {
	t.Helper()
	check(t, &row{status: status, code: code, says: says}, &r)
	if after := r.header.Get("Retry-After"); after == "" || after == "0" {
		t.Errorf("Retry-After is %q", after)
	}
}

func stillRunning(t *testing.T) {
	w := newWorld(t, nil)
	reached, release := make(chan struct{}, 1), make(chan struct{})
	w.faults(func(c storetest.Call) storetest.Fault {
		if c.Op == storetest.OpPutBlocks {
			select {
			case reached <- struct{}{}:
			default:
			}
			<-release
		}
		return storetest.Fault{}
	})
	const body = `{` + steps + `,"items":[{"id":"a"}]}`
	first := make(chan reply)
	go func() { first <- w.call("acme", "POST", "/v1/bulk-actions", body, "Idempotency-Key", "k") }()
	<-reached
	second := w.call("acme", "POST", "/v1/bulk-actions", body, "Idempotency-Key", "k")
	close(release)
	wantLater(t, second, 409, "in_progress", "another try of the same request is under way")
	made := <-first
	again := w.call("acme", "POST", "/v1/bulk-actions", body, "Idempotency-Key", "k")
	if made.status != 201 || again.status != 201 || again.header.Get("Idempotency-Replayed") != "true" || string(made.raw) != string(again.raw) {
		t.Errorf("first %d, again %d %v:\n%s\n%s", made.status, again.status, again.header, made.raw, again.raw)
	}
}

func overRate(t *testing.T) {
	w := newWorld(t, access.NewLimits(access.LimitOptions{Rate: 1, Burst: 2}))
	for range 2 {
		if r := w.call("acme", "GET", "/v1/bulk-actions", ""); r.status != 200 || r.header.Get("RateLimit") == "" {
			t.Fatalf("status %d, RateLimit %q", r.status, r.header.Get("RateLimit"))
		}
	}
	r := w.call("acme", "GET", "/v1/bulk-actions", "")
	wantLater(t, r, 429, "too_many_requests", "requests of this key")
	if got := r.header.Get("RateLimit-Policy"); got != `"key";q=1;w=1` || !strings.HasPrefix(r.header.Get("RateLimit"), `"key";r=0;t=`) {
		t.Errorf("RateLimit-Policy %s, RateLimit %s", got, r.header.Get("RateLimit"))
	}
	if other := w.call("other", "GET", "/v1/bulk-actions", ""); other.status != 200 {
		t.Errorf("another key gets %d", other.status)
	}
}

// failing makes all writes of users' requests fail, and reads too.
func failing(err error, ops ...storetest.Op) func(storetest.Call) storetest.Fault {
	return func(c storetest.Call) storetest.Fault {
		for _, op := range ops {
			if c.Op == op {
				return storetest.Fault{Before: err}
			}
		}
		return storetest.Fault{}
	}
}

func storeDown(t *testing.T) {
	w := newWorld(t, nil)
	w.makeBulkActions()
	before := w.dump()
	w.faults(failing(store.ErrUnavailable, storetest.OpSwap, storetest.OpLookup, storetest.OpList, storetest.OpPutBlocks, storetest.OpAppend))
	wantLater(t, w.call("acme", "POST", "/v1/bulk-actions", `{`+steps+`}`), 503, "store_unavailable", "the same Idempotency-Key")
	wantLater(t, w.call("acme", "GET", "/v1/bulk-actions", ""), 503, "store_unavailable", "the store does not respond")
	w.faults(nil)
	if after := w.dump(); after != before {
		t.Errorf("something was left behind:\n%s", difference(before, after))
	}
}

func diskLow(t *testing.T) {
	w := newWorld(t, nil)
	w.makeBulkActions()
	before := w.dump()
	w.faults(failing(store.ErrFull, storetest.OpSwap, storetest.OpPutBlocks, storetest.OpAppend))
	wantLater(t, w.call("acme", "POST", "/v1/bulk-actions", `{`+steps+`}`), 507, "storage_low", "new work is refused; accepted work continues")
	wantLater(t, w.call("acme", "POST", "/v1/bulk-actions/{draft}/items", "id\na\n", "Content-Type", "text/csv"), 507, "storage_low", "")
	if r := w.call("acme", "GET", "/v1/bulk-actions/{draft}", ""); r.status != 200 {
		t.Errorf("reading is answered with %d: %s", r.status, r.raw)
	}
	w.faults(nil)
	if after := w.dump(); after != before {
		t.Errorf("something was left behind:\n%s", difference(before, after))
	}
}

func draining(t *testing.T) {
	w := newWorld(t, nil)
	w.makeBulkActions()
	w.Server().Drain()
	wantLater(t, w.call("acme", "POST", "/v1/bulk-actions", `{`+steps+`}`), 503, "draining", "another one takes over")
	if r := w.call("acme", "GET", "/v1/bulk-actions/{draft}", ""); r.status != http.StatusOK {
		t.Errorf("reading is answered with %d", r.status)
	}
}

func overQuota(t *testing.T) {
	w := newWorld(t, nil)
	if r := w.call("admin", "PUT", "/v1/tenants/acme", `{"max_pending":2}`); r.status != 200 {
		t.Fatalf("set the quota: %s", r.raw)
	}
	before := w.dump()
	const body = `{` + steps + `,"items":[{"id":"a"},{"id":"b"}]}`
	late := time.After(10 * time.Second) // every node follows within a second
	for {
		r := w.call("acme", "POST", "/v1/bulk-actions", body)
		if r.status != 201 {
			wantLater(t, r, 429, "tenant_quota", "at most 2 items|larger max_pending")
			break
		}
		select {
		case <-late:
			t.Fatal("the quota does not hold")
		case <-time.After(100 * time.Millisecond):
		}
		before = w.dump()
	}
	if after := w.dump(); after != before {
		t.Errorf("something was left behind:\n%s", difference(before, after))
	}
	r := w.call("acme", "POST", "/v1/bulk-actions", `{`+steps+`,"items":[{"id":"a"},{"id":"b"},{"id":"c"}]}`)
	if said := `items: 3 items are more than tenant "acme" may have pending at once, which is 2`; r.status != 422 ||
		r.problem.Code != "too_many_items" || r.problem.Detail != said || !strings.Contains(r.problem.Fix, "split them") {
		t.Errorf("more than could ever be pending: %s", r.raw)
	}
	if r := w.call("other", "POST", "/v1/bulk-actions", body); r.status != 201 {
		t.Errorf("another tenant gets %d: %s", r.status, r.raw)
	}
}
