package alerttest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/store"
)

// downstream is all that a weir calls here: endpoints of actions, and receivers of events.
type downstream struct {
	*httptest.Server
	slow    atomic.Bool   // normal takes a second
	calls   atomic.Int64  // of mixed
	busy    atomic.Int64  // calls of busy, of which all but the first are held
	release chan struct{} // ends the calls of held
}

func newDownstream(t *testing.T) *downstream {
	t.Helper()
	d := &downstream{release: make(chan struct{})}
	d.Server = httptest.NewServer(d)
	t.Cleanup(func() { d.CloseClientConnections(); d.Close() })
	return d
}

// ServeHTTP answers as the path says.
func (d *downstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	wait := time.Duration(0)
	switch r.URL.Path {
	case "/failing":
		_, _ = io.WriteString(w, `{"default":"failed"}`)
		return
	case "/away": // a receiver of events
		w.WriteHeader(http.StatusInternalServerError)
		return
	case "/gone":
		w.WriteHeader(http.StatusGone)
		return
	case "/busy":
		if d.busy.Add(1) > 1 {
			d.hold(r)
		}
	case "/held":
		d.hold(r)
	case "/mixed": // every tenth item fails, and every seventh call does
		n := d.calls.Add(1)
		if n%7 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if n%10 == 0 {
			_, _ = io.WriteString(w, `{"default":"failed"}`)
			return
		}
		wait = 50 * time.Millisecond
	case "/steep":
		wait = 300 * time.Millisecond
	case "/normal":
		if d.slow.Load() {
			wait = time.Second
		}
	}
	select {
	case <-time.After(wait):
	case <-r.Context().Done():
	}
	_, _ = io.WriteString(w, `{"default":"done"}`)
}

// hold waits until calls are released, or until the caller gives up.
func (d *downstream) hold(r *http.Request) {
	select {
	case <-d.release:
	case <-r.Context().Done():
	}
}

// lazy is a store whose commits can be made to take long.
type lazy struct {
	store.Store
	slow atomic.Bool
}

// Commit implements store.Store.
func (l *lazy) Commit(ctx context.Context, partition int, tok store.Token, b *store.Batch) error {
	if l.slow.Load() {
		<-time.After(200 * time.Millisecond)
	}
	return l.Store.Commit(ctx, partition, tok, b)
}

// fed is an exporter of series that no healthy weir on a healthy machine has above 0.
type fed struct {
	*httptest.Server
	mu     sync.Mutex
	series map[string]float64
}

func feed(t *testing.T, series map[string]float64) *fed {
	t.Helper()
	f := &fed{series: series}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for name, v := range f.series {
			fmt.Fprintln(w, name, v)
		}
	}))
	t.Cleanup(func() { f.CloseClientConnections(); f.Close() })
	return f
}

func (f *fed) set(series map[string]float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.Copy(f.series, series)
}

// weir starts a node that shows its metrics.
func weirNode(t *testing.T, s store.Store) *nodetest.Node {
	t.Helper()
	return nodetest.Start(t, nodetest.Options{Store: s, Partitions: 1, Metrics: prometheus.NewRegistry()})
}

// action makes an HTTP action of a path of the downstream, with a batch of one.
func action(n *nodetest.Node, d *downstream, name, path, limits string) {
	n.Call("PUT", "/v1/actions/"+name, fmt.Sprintf(`{"url":%q,"batch":1,"timeout":"10m"}`, d.URL+path), 200, nil)
	if limits != "" {
		n.Call("PUT", "/v1/resources/"+name, limits, 200, nil)
	}
}

// submit starts a bulk action of so many items.
func submit(n *nodetest.Node, tenant, name string, items int, more string) api.BulkAction {
	var rows strings.Builder
	for i := range items {
		fmt.Fprintf(&rows, "{\"id\":\"u%d\"}\n", i)
	}
	return n.Make(fmt.Sprintf(`{"tenant":%q,"steps":[{"action":%q}]%s}`, tenant, name, more), rows.String())
}

// pin sets the workers of a lane by hand, once there is one.
func pin(n *nodetest.Node, lane string, workers int) {
	var found *api.Lane
	n.Eventually("there is a lane "+lane, func() bool {
		var lanes api.Page[api.Lane]
		n.Call("GET", "/v1/lanes", "", 200, &lanes)
		for i := range lanes.Data {
			if lanes.Data[i].Lane == lane {
				found = &lanes.Data[i]
			}
		}
		return found != nil
	})
	until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	n.Call("PUT", "/v1/lanes/"+found.Partition+"/"+lane+"/pin", fmt.Sprintf(`{"workers":%d,"until":%q,"reason":"test"}`, workers, until), 200, nil)
}
