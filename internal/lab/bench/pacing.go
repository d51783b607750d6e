package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"golang.org/x/sync/errgroup"
)

// pacingFor is how long each case of pacing runs.
const pacingFor = 40 * time.Second

// pacingCase is a slow downstream with a low rate, in batches of 100.
type pacingCase struct {
	rate        float64
	service     time.Duration
	concurrency int
}

var pacingCases = []pacingCase{{300, 2 * time.Second, 0}, {100, 5 * time.Second, 0}, {300, 500 * time.Millisecond, 10}}

func (c pacingCase) String() string {
	text := fmt.Sprintf("%g/s, calls of %v", c.rate, c.service)
	if c.concurrency > 0 {
		text += fmt.Sprintf(", %d at once", c.concurrency)
	}
	return text
}

// pacing is low rates and slow calls, smooth and full.
func pacing(b *bench) {
	all := b.times(1, "pacing", params{}) // the better part of a minute
	for _, c := range pacingCases {
		for _, p := range []weir.Pacing{weir.PacingSmooth, weir.PacingFull} {
			what, at := fmt.Sprintf("%v, %s: ", c, p), func(figure string) float64 { return all[c.figure(p, figure)][0] }
			b.judge(claim{what: what + "rate once running", unit: "items/s", atLeast: 0.99 * c.rate}, at("rate"))
			b.judge(claim{what: what + "most in any 1 s, by time of dispatch", unit: "items", atMost: c.rate}, at("window"))
			b.judge(claim{what: what + "calls", unit: "calls"}, at("calls"))
			b.judge(claim{what: what + "longest time between two calls", unit: "s"}, at("gap"))
			b.judge(claim{what: what + "most workers once running", unit: "workers", atMost: c.mostWorkers()}, at("workers"))
		}
	}
}

// mostWorkers is how many are asked for at most. A lane starts with 8, before anything is known, and the work is in two partitions.
func (c pacingCase) mostWorkers() float64 { return max(cmp.Or(float64(c.concurrency), 64), 2*8) }

func (c pacingCase) figure(p weir.Pacing, name string) string { return fmt.Sprint(c, p, name) }

// measurePacing runs all cases beside each other, each on an engine of its own:
// they wait most of the time.
func measurePacing(ctx context.Context, dir string, _ params) figures {
	all := figures{}
	var mu sync.Mutex
	var g errgroup.Group
	for i, c := range pacingCases {
		for _, p := range []weir.Pacing{weir.PacingSmooth, weir.PacingFull} {
			g.Go(func() error {
				return until(func() {
					f := c.measure(ctx, filepath.Join(dir, fmt.Sprint(i, p)), p)
					mu.Lock()
					defer mu.Unlock()
					for name, v := range f {
						all[c.figure(p, name)] = v
					}
				})
			})
		}
	}
	must(g.Wait())
	return all
}

func (c pacingCase) measure(ctx context.Context, dir string, p weir.Pacing) figures {
	var got arrivals
	chain := got.noting(weir.Resource{Name: "api", Rate: weir.PerSecond(c.rate), Concurrency: c.concurrency, Pacing: p}, c.service)
	r := start(ctx, dir, engine.Options{}, chain)
	stop := make(chan struct{})
	workers := make(chan int)
	warm := 2*c.service + 2*time.Second // until then the size of calls and the workers settle
	go func() { workers <- mostWorkers(ctx, r, warm, stop) }()
	sentBack := runTenants(ctx, r.Engine, chain, 1, int(c.rate*pacingFor.Seconds()))
	close(stop)
	most1s, peak := most(got.sent), <-workers
	r.close()
	if sentBack > 0 {
		must(fmt.Errorf("%v, %s: %d items were not done at once", c, p, sentBack))
	}
	rate, gap := got.steady(warm)
	return figures{"rate": rate, "gap": gap.Seconds(), "calls": float64(len(got.seen)), "window": float64(most1s),
		"workers": float64(peak)}
}

// mostWorkers returns the most workers of all lanes after a while, until stop is closed.
func mostWorkers(ctx context.Context, r *rig, after time.Duration, stop <-chan struct{}) (peak int) {
	time.Sleep(after)
	for look := time.NewTicker(500 * time.Millisecond); ; {
		select {
		case <-stop:
			look.Stop()
			return peak
		case <-look.C:
		}
		nodes, err := r.Operator().Nodes(ctx)
		if err != nil {
			continue // it tells more the next time
		}
		sum := 0
		for _, n := range nodes {
			for _, l := range n.Lanes {
				sum += l.Workers
			}
		}
		peak = max(peak, sum)
	}
}

// steady returns the rate of the calls that began after a while, and the longest time between two of them.
func (a *arrivals) steady(after time.Duration) (rate float64, gap time.Duration) {
	all := slices.SortedFunc(slices.Values(a.seen), func(x, y arrival) int { return x.at.Compare(y.at) })
	from := slices.IndexFunc(all, func(x arrival) bool { return x.at.Sub(all[0].at) >= after })
	all = all[from:]
	items := 0
	for i, x := range all[1:] {
		gap = max(gap, x.at.Sub(all[i].at))
		items += all[i].items
	}
	return float64(items) / all[len(all)-1].at.Sub(all[0].at).Seconds(), gap
}
