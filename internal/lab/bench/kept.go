package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/draft"
	"golang.org/x/sync/errgroup"
)

const (
	// keptBulks is how many bulk actions of one item are kept, of keptTenants; one in keptOpen has not ended.
	keptBulks   = million
	keptTenants = 220_000
	keptOpen    = 20
)

// kept is how fast lists, filters and lookups answer, how soon a restart works and what it takes in memory, with many
// small bulk actions kept.
func kept(b *bench) {
	dir, remove := b.newDir()
	defer remove()
	p := params{Items: keptBulks}
	other(b.ctx, "keep", p, "-dir", dir)
	b.keptClaims(other(b.ctx, "kept", p, "-dir", dir))
}

func (b *bench) keptClaims(f figures) {
	what := fmt.Sprintf("%d bulk actions of %d tenants kept: ", int(f["bulks"]), keptTenants)
	for _, page := range []string{"list", "list of a tenant", "list by state", "list of a state with few", "list of a state without any",
		"list by label", "list by name"} {
		b.judge(claim{what: what + page + ", p99", unit: "ms", atMost: 20}, f[page])
	}
	b.judge(claim{what: what + "lookup of an id, p99", unit: "ms", atMost: 50}, f["lookup"])
	b.judge(claim{what: what + "lookup of an id that is not there, p99", unit: "ms", atMost: 50}, f["lookup of none"])
	b.judge(claim{what: what + "groups of failed items, p99", unit: "ms"}, f["groups"])
	b.judge(claim{what: what + "first list after a restart", unit: "ms"}, f["first list"])
	b.judge(claim{what: what + "restart to the first task", unit: "ms", atMost: 1000}, f["first_ms"])
	b.judge(claim{what: what + "peak memory", unit: "MiB", atMost: 300}, f["peak_mib"])
}

// measureKeep runs the bulk actions, many at once, and leaves those behind that wait for a slow resource.
func measureKeep(ctx context.Context, dir string, p params) figures {
	r := openServer(ctx, dir, "http://127.0.0.1:1", keptSteps(func() {})...)
	var g errgroup.Group
	g.SetLimit(64)
	begin := time.Now()
	for i := range p.Items {
		g.Go(func() error {
			_, err := r.Service().Bulks.Create(ctx, keptSpec(i), draft.Made{Items: keptItem(i)})
			return err
		})
	}
	must(g.Wait())
	took := time.Since(begin)
	for len(sure(r.engine.Unfinished(ctx))) > (p.Items+keptOpen-1)/keptOpen {
		pause(ctx, 100*time.Millisecond)
	}
	must(r.stop())
	return figures{"us_each": float64(took.Microseconds()) / float64(p.Items)}
}

// keptSpec describes one of many bulk actions; the oldest have not ended.
func keptSpec(i int) api.NewBulkAction {
	action := "quick"
	if i%keptOpen == 0 {
		action = "held"
	}
	return api.NewBulkAction{
		Name: fmt.Sprintf("campaign-%d", i), Tenant: fmt.Sprintf("tenant-%d", i%keptTenants),
		Labels: map[string]string{"team": strconv.Itoa(i % 1000)},
		Steps:  []api.Step{{Action: action}}, Duplicates: "keep_all", Start: true,
	}
}

func keptItem(i int) func(func(weir.RawItem, error) bool) {
	return engine.Items([]weir.Item[json.RawMessage]{{ID: fmt.Sprintf("account-%d", i), Value: appendReward(nil, i)}})
}

// keptSteps returns an action that ends items at once, one in a thousand failed, and one that never ends and calls began.
func keptSteps(began func()) []weir.Step {
	quick := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: "quick", BatchSize: 100})
	quick.Handle = func(_ context.Context, t *weir.Task) error {
		for i := range t.Items {
			t.Outcomes[i].Kind = weir.OutcomeDone
			if strings.HasSuffix(t.Items[i].ID, "999") {
				t.Outcomes[i] = weir.Outcome{Kind: weir.OutcomeFailed, Code: "rejected", Message: "account is closed"}
			}
		}
		return nil
	}
	held := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: "held", BatchSize: 10})
	held.Handle = func(ctx context.Context, _ *weir.Task) error {
		began()
		<-ctx.Done()
		return ctx.Err()
	}
	return []weir.Step{quick, held}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
		must(ctx.Err())
	case <-time.After(d):
	}
}

// measureKept starts over what is kept, and asks.
func measureKept(ctx context.Context, dir string, p params) figures {
	var first atomic.Int64
	begin := time.Now()
	r := openServer(ctx, dir, "http://127.0.0.1:1", keptSteps(func() { first.CompareAndSwap(0, int64(time.Since(begin))) })...)
	for first.Load() == 0 {
		pause(ctx, time.Millisecond)
	}
	out := figures{"first_ms": time.Duration(first.Load()).Seconds() * 1000, "bulks": float64(p.Items)}
	asked := time.Now()
	ask(ctx, http.MethodGet, r.url+"/v1/bulk-actions?limit=50", "", http.NoBody, nil)
	out["first list"] = time.Since(asked).Seconds() * 1000
	p.URL = r.url
	answers := other(ctx, "asking", p)
	delete(answers, "peak_mib") // the client's
	for k, v := range answers {
		out[k] = v
	}
	must(r.stop())
	return out
}

// measureAsking is a client that lists, filters and looks up.
func measureAsking(ctx context.Context, _ string, p params) figures {
	const list = "/v1/bulk-actions?limit=50"
	out := figures{}
	get := func(path string) func(int) {
		return func(int) { ask(ctx, http.MethodGet, p.URL+path, "", http.NoBody, nil) }
	}
	lookup := func(name string) func(int) {
		return func(i int) {
			body := fmt.Sprintf(`{"id":%q}`, fmt.Sprintf(name, i*997%p.Items))
			ask(ctx, http.MethodPost, p.URL+"/v1/items/lookup", "application/json", strings.NewReader(body), nil)
		}
	}
	for name, do := range map[string]func(int){
		"list":                        get(list),
		"list of a tenant":            func(i int) { get(list + fmt.Sprintf("&tenant=tenant-%d", i*31%keptTenants))(i) },
		"list by state":               get(list + "&state=completed"),
		"list of a state with few":    get(list + "&state=running"),
		"list of a state without any": get(list + "&state=paused"),
		"list by label":               func(i int) { get(list + fmt.Sprintf("&label=team%%3D%d", i%1000))(i) },
		"list by name":                func(i int) { get(list + fmt.Sprintf("&name=campaign-%d", 1000+i))(i) },
		"groups":                      get("/v1/dlq/groups"),
		"lookup":                      lookup("account-%d"),
		"lookup of none":              lookup("nobody-%d"),
	} {
		out[name], out[name+" p50"] = patient(do)
	}
	return out
}

// patient repeats a call, 200 times or for ten seconds, and returns the slowest of a hundred and the median in milliseconds.
func patient(do func(int)) (p99, p50 float64) {
	var took []time.Duration
	for begin := time.Now(); len(took) < 200 && (len(took) < 5 || time.Since(begin) < 10*time.Second); {
		at := time.Now()
		do(len(took))
		took = append(took, time.Since(at))
	}
	slices.Sort(took)
	return took[len(took)*99/100].Seconds() * 1000, took[len(took)/2].Seconds() * 1000
}
