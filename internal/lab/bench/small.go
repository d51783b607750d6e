package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"golang.org/x/sync/errgroup"
)

const (
	// smallBulks is how many bulk actions of one item are submitted, by smallClients at once.
	smallBulks   = 50_000
	smallClients = 16
)

// small is many bulk actions of one item each, by the library and over HTTP.
func small(b *bench) {
	what := "50,000 bulk actions of one item each, 16 at once: "
	b.told(b.repeat, "small", params{Items: smallBulks},
		claim{key: "us_each", what: what + "library, submit to the last result, each", unit: "µs", atMost: 100},
		claim{key: "submit_us", what: what + "library, until accepted, each", unit: "µs"},
		claim{key: "peak_mib", what: what + "library, peak memory", unit: "MiB", atMost: 300})
	b.told(b.repeat, "creates", params{Items: smallBulks / 5},
		claim{key: "per_second", what: "10,000 creates of one item each over HTTP, 16 clients", unit: "creates/s", atLeast: 3000})
}

// measureSmall submits by the library.
func measureSmall(ctx context.Context, dir string, p params) figures {
	var done atomic.Int64
	all := make(chan struct{})
	chain := on(action("handle", 1), func(_ context.Context, b *batch) error {
		b.DoneRest()
		if done.Add(int64(b.Len())) == int64(p.Items) {
			close(all)
		}
		return nil
	})
	r := start(ctx, dir, engine.Options{}, chain)
	begin := time.Now()
	var g errgroup.Group
	for c := range smallClients {
		g.Go(func() error {
			for i := c; i < p.Items; i += smallClients {
				items := engine.Items([]weir.Item[json.RawMessage]{{ID: "one", Value: appendReward(nil, i)}})
				if _, err := engine.Submit(ctx, r.Engine, chain, items, weir.Spec{Tenant: fmt.Sprintf("tenant-%d", i%1000)}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	must(g.Wait())
	accepted := time.Since(begin)
	<-all
	took := time.Since(begin)
	r.close()
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(p.Items) }
	return figures{"us_each": each(took), "submit_us": each(accepted)}
}

// measureCreates is the server's side of creates over HTTP.
func measureCreates(ctx context.Context, dir string, p params) figures {
	r := openServer(ctx, dir, "http://127.0.0.1:1", pageSteps()...)
	p.URL = r.url
	f := other(ctx, "creators", p)
	delete(f, "peak_mib") // the clients'
	must(r.stop())
	return f
}

// measureCreators is the clients' side.
func measureCreators(ctx context.Context, _ string, p params) figures {
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = smallClients
	begin := time.Now()
	var g errgroup.Group
	for c := range smallClients {
		g.Go(func() error {
			for i := c; i < p.Items; i += smallClients {
				body := fmt.Sprintf(`{"tenant":"tenant-%d","steps":[{"action":"quick"}],"start":true,"items":[{"id":"one","data":%s}]}`,
					i%1000, appendReward(nil, i))
				ask(ctx, http.MethodPost, p.URL+"/v1/bulk-actions", "application/json", strings.NewReader(body), nil)
			}
			return nil
		})
	}
	must(g.Wait())
	return figures{"per_second": float64(p.Items) / time.Since(begin).Seconds()}
}
