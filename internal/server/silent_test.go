package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store/redisstore"
)

// A connection to a server that hangs is given up after 5 s, and a request needs several answers. The node
// knows after 2.5 s at most.
func TestRequestsDoNotWaitForAStoreThatDoesNotAnswer(t *testing.T) {
	r := testenv.Redis(t)
	s, err := redisstore.Open(t.Context(), redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{raw("award", award)}, Store: s})
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"items":[{"id":"u1"}]}`, 201, &b)
	n.Until(b.ID, api.Sealed)
	calls := []struct{ method, path, body string }{
		{"GET", "/v1/bulk-actions/" + b.ID, ""},
		{"GET", "/v1/bulk-actions", ""},
		{"POST", "/v1/bulk-actions/" + b.ID + "/cancel", `{}`},
		{"POST", "/v1/bulk-actions", `{"name":"once","steps":[{"action":"award"}],"items":[{"id":"u1"}]}`},
	}
	create := len(calls) - 1
	key := http.Header{"Idempotency-Key": {"k1"}}
	refused := func(within time.Duration, detail string) {
		t.Helper()
		var all sync.WaitGroup
		for i, c := range calls {
			all.Go(func() {
				header := http.Header{}
				if i == create {
					header = key.Clone()
				}
				began := time.Now()
				resp := n.Request(t.Context(), c.method, c.path, c.body, header)
				took := time.Since(began)
				defer resp.Body.Close()
				var p api.Problem
				err := json.NewDecoder(resp.Body).Decode(&p)
				if err != nil || resp.StatusCode != 503 || p.Code != "store_unavailable" || resp.Header.Get("Retry-After") == "" || took > within {
					t.Errorf("%s %s: %d %s after %v, %v; want 503 store_unavailable with Retry-After within %v", c.method, c.path, resp.StatusCode, p.Code, took, err, within)
				}
				if !strings.Contains(p.Detail, detail) {
					t.Errorf("%s %s: %q, want that %s", c.method, c.path, p.Detail, detail)
				}
			})
		}
		all.Wait()
	}
	r.Freeze()
	refused(8*time.Second, "the request may have taken effect")
	refused(time.Second, "nothing was done")
	r.Thaw()
	n.Eventually("the request is done with its key", func() bool {
		resp := n.Request(t.Context(), calls[create].method, calls[create].path, calls[create].body, key)
		defer resp.Body.Close()
		return resp.StatusCode == 201
	})
	var page api.Page[api.BulkAction]
	n.Call("GET", "/v1/bulk-actions?name=once", "", 200, &page)
	if len(page.Data) != 1 {
		t.Errorf("the repeated request made %d bulk actions", len(page.Data))
	}
}
