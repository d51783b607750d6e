package redisstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store/redisstore"
)

// pair is two nodes on one Redis, which call the same downstream.
type pair struct {
	nodes [2]*nodetest.Node
	calls [2]atomic.Int64 // items that each node has brought there
}

func startPair(t *testing.T) *pair {
	t.Helper()
	r, p := testenv.Redis(t), &pair{}
	for i := range p.nodes {
		s := open(t, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
		t.Cleanup(func() { _ = s.Close() })
		send := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
			Name: "send", BatchSize: 5, Resource: weir.Resource{Name: "mail", Rate: 100},
			Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
				p.calls[i].Add(int64(b.Len()))
				b.DoneRest()
				return nil
			},
		})
		p.nodes[i] = nodetest.Start(t, nodetest.Options{Store: s, Steps: []weir.Step{send}, Partitions: 4})
	}
	return p
}

// during returns what each node sent downstream in a time.
func (p *pair) during(d time.Duration) (n [2]float64) {
	before := [2]int64{p.calls[0].Load(), p.calls[1].Load()}
	<-time.After(d)
	for i := range n {
		n[i] = float64(p.calls[i].Load() - before[i])
	}
	return n
}

// TestLimitsChangedOnOneNodeHoldOnBoth compares what the downstream has counted
// in equal times, the first of which begins when every node has to know: how
// fast the machine is does not matter as long as it can do more than that.
func TestLimitsChangedOnOneNodeHoldOnBoth(t *testing.T) {
	t.Parallel()
	p := startPair(t)
	const window = time.Second
	var items strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&items, "{\"id\":\"u%d\"}\n", i)
	}
	for i := range 8 { // of tenants that live in all partitions
		p.nodes[i%2].Make(fmt.Sprintf(`{"tenant":"t%d","steps":[{"action":"send"}],"start":true}`, i), items.String())
	}
	p.nodes[0].Eventually("both nodes work", func() bool { return p.calls[0].Load() > 50 && p.calls[1].Load() > 50 })
	slow := p.during(window)
	p.nodes[0].Call("PUT", "/v1/resources/mail", `{"rate":"1000/s"}`, 200, nil)
	<-time.After(engine.LimitsWithin)
	quick := p.during(window)
	p.nodes[1].Call("PUT", "/v1/resources/mail", `{"rate":"100/s"}`, 200, nil)
	<-time.After(engine.LimitsWithin)
	again := p.during(window)
	t.Logf("in %v at 100/s: %v, at 1,000/s: %v, at 100/s: %v", window, slow, quick, again)
	for i := range p.nodes {
		if quick[i] < 3*slow[i] || quick[i] < 3*again[i] {
			t.Errorf("node %d: %v at 100/s, %v at 1,000/s, %v at 100/s again; want three times as much at ten times the rate", i, slow[i], quick[i], again[i])
		}
	}
	if total := again[0] + again[1]; total > 1.5*100*(window+time.Second).Seconds() {
		t.Errorf("%v items in %v at 100/s", total, window)
	}
	p.refuse(t)
}

// refuse has one node be told how much of a tenant may wait, and asks the other.
func (p *pair) refuse(t *testing.T) {
	t.Helper()
	const body = `{"tenant":"t0","steps":[{"action":"send"}],"items":[{"id":"a"}]}`
	p.nodes[0].Call("PUT", "/v1/tenants/t0", `{"max_pending":1}`, 200, nil)
	for i, n := range p.nodes {
		n.Eventually(fmt.Sprintf("node %d refuses more of the tenant", i), func() bool {
			resp := n.Request(t.Context(), http.MethodPost, "/v1/bulk-actions", body, nil)
			return resp.Body.Close() == nil && resp.StatusCode == http.StatusTooManyRequests
		})
	}
	http.DefaultClient.CloseIdleConnections()
}
