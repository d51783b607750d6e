package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/draft"
	"golang.org/x/sync/errgroup"
)

const (
	// pagesItems is how many items are kept while pages are asked for, in bulk actions of pageBulk items.
	pagesItems = 10 * million
	pageBulk   = 500
	// pagesRunning is how many bulk actions run meanwhile, slowly.
	pagesRunning = 20
	// viewers is how many browsers look at pages.
	viewers = 200
)

// pages is how fast the pages answer, and what it costs to keep them live, with a long past behind them.
func pages(b *bench) {
	dir, remove := b.newDir()
	defer remove()
	p := params{Items: pagesItems}
	other(b.ctx, "past", p, "-dir", dir)
	f := other(b.ctx, "pages", p, "-dir", dir)
	what := "20,000 bulk actions, 10,000 tenants, 10,000,000 items: "
	for _, page := range []string{"overview", "list", "list of a tenant", "list by state", "list by name", "list by label", "list of a state without any",
		"bulk action, running", "bulk action, completed"} {
		b.judge(claim{what: what + page + ", p99", unit: "ms", atMost: 50}, f[page])
	}
	b.judge(claim{what: what + "200 viewers of few pages", unit: "% of core", atMost: 5}, f["same"])
	b.judge(claim{what: what + "200 viewers of 200 pages", unit: "% of core", atMost: 5}, f["different"])
}

// measurePast runs many bulk actions to their ends, and leaves some behind that run slowly or wait.
func measurePast(ctx context.Context, dir string, p params) figures {
	r := openServer(ctx, dir, "http://127.0.0.1:1", pageSteps()...)
	var g errgroup.Group
	g.SetLimit(8)
	for i := range p.Items / pageBulk {
		g.Go(func() error {
			_, err := r.Service().Bulks.Create(ctx, pageSpec(i, "quick"), draft.Made{Items: rewards(pageBulk)})
			return err
		})
	}
	must(g.Wait())
	for i := range pagesRunning {
		spec := pageSpec(i, "slow")
		if i%4 == 0 {
			spec.Canary = &api.Canary{Items: 1}
		}
		sure(r.Service().Bulks.Create(ctx, spec, draft.Made{Items: rewards(20 * pageBulk)}))
	}
	for b, err := range r.engine.List(ctx) {
		must(err)
		if b.Info().Steps[0] == "quick" {
			sure(b.Wait(ctx))
		}
	}
	must(r.stop())
	return figures{}
}

// pageSpec describes one of many bulk actions.
func pageSpec(i int, action string) api.NewBulkAction {
	return api.NewBulkAction{
		Name: fmt.Sprintf("campaign-%d", i), Tenant: fmt.Sprintf("tenant-%d", i%(pagesItems/pageBulk/2)), Labels: map[string]string{"team": strconv.Itoa(i % 1000)},
		Steps: []api.Step{{Action: action}}, Duplicates: "keep_all", Start: true,
	}
}

// pageSteps returns an action that ends items at once, some of them failed, and one that takes its time.
func pageSteps() []weir.Step {
	quick := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: "quick", BatchSize: 500})
	quick.Handle = func(_ context.Context, t *weir.Task) error {
		for i := range t.Items {
			t.Outcomes[i].Kind = weir.OutcomeDone
			if id := t.Items[i].ID; strings.HasSuffix(id, "99") {
				t.Outcomes[i] = weir.Outcome{Kind: weir.OutcomeFailed, Code: "rejected", Message: "account " + id + " is closed"}
			}
		}
		return nil
	}
	slow := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: "slow", BatchSize: 10, Resource: weir.Resource{Name: "slow", Rate: weir.PerSecond(100)}})
	slow.Handle = quick.Handle
	return []weir.Step{quick, slow}
}

// measurePages asks for pages, and keeps them open, from another process.
func measurePages(ctx context.Context, dir string, p params) figures {
	r := openServer(ctx, dir, "http://127.0.0.1:1", pageSteps()...)
	p.URL = r.url
	out := other(ctx, "browse", p)
	delete(out, "peak_mib") // the client's
	pause(ctx, settled)
	alone := burned(ctx)
	for _, name := range []string{"same", "different"} {
		p.Flood = name == "different"
		watching, end := context.WithCancel(ctx)
		cmd := child(watching, "viewers", p)
		must(cmd.Start())
		burned(ctx) // the first looks
		out[name] = 100 * (burned(ctx) - alone)
		end()
		_ = cmd.Wait() // it was ended
	}
	out["alone"] = 100 * alone
	must(r.stop())
	return out
}

// settled is when a node that has just started has made the joint filters of what it found.
const settled = 90 * time.Second

// burned measures for some seconds how much of a core this process takes.
func burned(ctx context.Context) float64 {
	const span = 20 * time.Second
	before, began := spent(), time.Now()
	select {
	case <-ctx.Done():
		must(ctx.Err())
	case <-time.After(span):
	}
	return float64(spent()-before) / float64(time.Since(began))
}

// spent returns the processor time of this process so far; 0 where the system does not tell.
func spent() time.Duration {
	raw, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(raw), ") ") // the name of the program may have spaces
	fields := strings.Fields(after)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond // ticks of a hundredth of a second
}

// measureBrowse is a browser that asks for one page after the other.
func measureBrowse(ctx context.Context, _ string, p params) figures {
	var list, running api.Page[api.BulkAction]
	ask(ctx, http.MethodGet, p.URL+"/v1/bulk-actions?state=completed&limit=50", "", http.NoBody, &list)
	ask(ctx, http.MethodGet, p.URL+"/v1/bulk-actions?state=running&limit=50", "", http.NoBody, &running)
	out := figures{}
	for name, path := range map[string]string{
		"overview": "/ui/", "list": "/ui/bulk-actions", "list of a tenant": "/ui/bulk-actions?tenant=tenant-77", "list by state": "/ui/bulk-actions?state=running",
		"list by name": "/ui/bulk-actions?name=campaign-123", "list by label": "/ui/bulk-actions?label=team%3D12", "list of a state without any": "/ui/bulk-actions?state=paused",
		"bulk action, running": "/ui/bulk-actions/" + running.Data[0].ID, "bulk action, completed": "/ui/bulk-actions/" + list.Data[0].ID,
	} {
		took := make([]time.Duration, 200)
		for i := range took {
			begin := time.Now()
			ask(ctx, http.MethodGet, p.URL+path, "", http.NoBody, nil)
			took[i] = time.Since(begin)
		}
		slices.Sort(took)
		out[name], out[name+" p50"] = took[len(took)*99/100].Seconds()*1000, took[len(took)/2].Seconds()*1000
	}
	return out
}

// measureViewers keeps pages open: of few pages, or, with Flood, each of another one.
func measureViewers(ctx context.Context, _ string, p params) figures {
	var list api.Page[api.BulkAction]
	ask(ctx, http.MethodGet, p.URL+"/v1/bulk-actions?limit=200", "", http.NoBody, &list)
	same := []string{"/ui/", "/ui/bulk-actions", "/ui/bulk-actions?state=running", "/ui/resources", "/ui/bulk-actions/" + list.Data[0].ID}
	var all sync.WaitGroup
	for i := range viewers {
		of := same[i%len(same)]
		if p.Flood {
			of = "/ui/bulk-actions/" + list.Data[i%len(list.Data)].ID
		}
		all.Go(func() {
			req := sure(http.NewRequestWithContext(ctx, http.MethodGet, p.URL+"/ui/live?of="+url.QueryEscape(of), http.NoBody))
			resp := sure(http.DefaultClient.Do(req))
			defer resp.Body.Close()
			lines := bufio.NewScanner(resp.Body)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() { //nolint:revive // what it says does not matter here
			}
		})
	}
	all.Wait()
	return figures{}
}
