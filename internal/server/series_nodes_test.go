package server_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store/redisstore"
)

// Two nodes share the work of several bulk actions. Each writes what it counted; whichever is asked
// answers with the sum.
func TestASeriesIsOfAllNodes(t *testing.T) {
	redis := testenv.Redis(t)
	v, err := vault.New(vault.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	start := func() *nodetest.Node {
		s, err := redisstore.Open(context.WithoutCancel(t.Context()),
			redisstore.Options{Addresses: []string{redis.Addr}, Mode: redisstore.Memory})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return nodetest.Start(t, nodetest.Options{Store: s, Vault: v, Partitions: 4, SeriesEvery: 500 * time.Millisecond})
	}
	a, b := start(), start()
	a.Eventually("both nodes own partitions", func() bool {
		var nodes api.Page[api.Node]
		a.Call("GET", "/v1/nodes", "", 200, &nodes)
		return len(nodes.Data) == 2 && nodes.Data[0].Partitions == 2 && nodes.Data[1].Partitions == 2
	})
	a.Call("PUT", "/v1/actions/push", fmt.Sprintf(`{"url":%q,"batch":5}`, downstream(t, oddFails)), 200, nil)
	var ids []string
	for range 8 {
		ids = append(ids, a.Make(`{"steps":[{"action":"push"}],"item_id":"id"}`, rowsOf(100)).ID)
	}
	for _, id := range ids {
		b.Until(id, api.Completed)
	}
	for _, n := range []*nodetest.Node{a, b} {
		n.Eventually("the series has the items of all nodes", func() bool {
			s := seriesOf(n, "?resource=push")
			return s.Done.Sum() == 400 && s.Failed.Sum() == 400
		})
		var s api.BulkSeries
		n.Call("GET", "/v1/bulk-actions/"+ids[0]+"/series", "", 200, &s)
		if s.Done.Sum() != 50 || s.Failed.Sum() != 50 {
			t.Errorf("the series of a bulk action: %v done, %v failed", s.Done.Sum(), s.Failed.Sum())
		}
	}
}
