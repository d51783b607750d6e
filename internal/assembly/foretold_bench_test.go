package assembly_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// wallCase is a system that is run by the clock on the wall.
type wallCase struct {
	name  string
	steps []wallStep
	items int
	flood int  // items of another tenant that begin a second before
	cold  bool // nothing was called before
	put   string
}

// wallStep is an action whose downstream sleeps.
type wallStep struct {
	rate        float64
	concurrency int
	batch       int
	latency     time.Duration
	sigma       float64 // of the logarithm of the latency
	retries     float64
	when        int // percent of the items that it is called for; 0: all
}

// BenchmarkForecastsComeTrue holds forecasts and ETAs of the API against the clock: drawn
// systems of eight partitions, and those that were once seen to be wrong. It takes minutes.
//
//	go test ./internal/assembly -run '^$' -bench ForecastsComeTrue -benchtime 1x -timeout 30m
func BenchmarkForecastsComeTrue(b *testing.B) {
	cases := []wallCase{
		{name: "a rate set by PUT before the first use", cold: true, put: "100/s", items: 800, steps: []wallStep{{batch: 100, latency: 50 * time.Millisecond}}},
		{name: "a tenth is tried again", items: 1500, steps: []wallStep{{rate: 150, batch: 100, latency: 50 * time.Millisecond, retries: 0.1}}},
		{name: "beside a flood that is about to end", items: 800, flood: 300, steps: []wallStep{{rate: 100, batch: 100, latency: 50 * time.Millisecond}}},
		{name: "a chain", items: 1500, steps: []wallStep{{rate: 1000, batch: 100, latency: 50 * time.Millisecond}, {rate: 150, batch: 50, latency: 100 * time.Millisecond}}},
	}
	for seed := range uint64(12) {
		cases = append(cases, drawWall(3101+seed))
	}
	for b.Loop() {
		near := map[string]int{}
		for _, c := range cases {
			c.run(b, near)
		}
		for what, n := range near {
			b.ReportMetric(float64(n), what)
		}
	}
}

func drawWall(seed uint64) wallCase {
	rng := rand.New(rand.NewPCG(seed, 31))
	c := wallCase{name: fmt.Sprint("drawn ", seed)}
	slowest := math.Inf(1)
	for i := range 1 + rng.IntN(2) {
		s := wallStep{batch: []int{10, 50, 100}[rng.IntN(3)], latency: time.Duration(20+rng.IntN(280)) * time.Millisecond, sigma: 0.1 + 0.4*rng.Float64()}
		speed := 0.0
		if rng.IntN(3) > 0 {
			s.rate = math.Round(50 * math.Exp(rng.Float64()*2.5))
			speed = s.rate
		} else {
			s.concurrency = 2 + rng.IntN(5)
			speed = float64(s.concurrency*s.batch) / s.latency.Seconds()
		}
		if rng.IntN(3) == 0 {
			s.retries = 0.1 * rng.Float64()
		}
		if i > 0 && rng.IntN(2) == 0 {
			s.when = 10 + rng.IntN(80)
			speed *= 100 / float64(s.when)
		}
		slowest = min(slowest, speed)
		c.steps = append(c.steps, s)
	}
	c.items = int(slowest * (6 + 8*rng.Float64()))
	if rng.IntN(2) == 0 {
		c.flood = int(float64(c.items) * (0.2 + 0.6*rng.Float64()))
	}
	return c
}

// run runs one case and counts what was near.
func (c *wallCase) run(b *testing.B, near map[string]int) {
	var actions []weir.Step
	for i := range c.steps {
		actions = append(actions, c.steps[i].action(fmt.Sprint("s", i)))
	}
	r := nodetest.Start(b, nodetest.Options{Steps: actions, Partitions: 8})
	if c.put != "" {
		r.Call("PUT", "/v1/resources/s0", fmt.Sprintf(`{"rate":%q}`, c.put), 200, nil)
	}
	x := c.submit(r, "x", c.items, false)
	var f api.Forecast
	foretell := func() { f = api.Forecast{}; r.Call("POST", "/v1/bulk-actions/"+x.ID+"/forecast", `{}`, 200, &f) }
	if !c.cold {
		warm := c.submit(r, "warm", max(c.items/4, 300), true)
		r.Until(warm.ID, api.Completed)
		r.Eventually("forecasts know of its calls", func() bool {
			foretell()
			return !strings.Contains(strings.Join(f.Assumptions, " "), "has called")
		})
	}
	if c.flood > 0 {
		flood := c.submit(r, "flood", c.flood, true)
		r.Eventually("the flood runs", func() bool {
			var p api.Progress
			r.Call("GET", "/v1/bulk-actions/"+flood.ID+"/progress", "", 200, &p)
			return p.Rate > 0
		})
	}
	foretell()
	r.Call("POST", "/v1/bulk-actions/"+x.ID+"/start", `{}`, 200, nil)
	type look struct {
		at  time.Time
		eta time.Duration
	}
	began := time.Now()
	var looks []look
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		var p api.Progress
		r.Call("GET", "/v1/bulk-actions/"+x.ID+"/progress", "", 200, &p)
		if p.State.Final() {
			break
		}
		looks = append(looks, look{time.Now(), time.Duration(p.ETA)})
	}
	took := time.Since(began)
	p50, p90 := time.Duration(f.Takes.P50), time.Duration(f.Takes.P90)
	count := func(what string, ok bool) {
		if ok {
			near[what]++
		}
	}
	off := func(got, want time.Duration) float64 { return float64(got)/float64(want) - 1 }
	count("forecasts", math.Abs(off(p50, took)) <= 0.1)
	count("in-band", took >= p50*9/10 && took <= p90)
	line := fmt.Sprintf("%-40s took %6.2fs, p50 %6.2fs (%+.0f%%), p90 %6.2fs", c.name, took.Seconds(), p50.Seconds(), 100*off(p50, took), p90.Seconds())
	for _, part := range []struct {
		name string
		of   float64
	}{{"eta10", 0.1}, {"eta50", 0.5}} {
		for _, l := range looks {
			if float64(l.at.Sub(began)) < part.of*float64(took) {
				continue
			}
			left := took - l.at.Sub(began)
			// The API rounds to seconds.
			count(part.name, math.Abs((l.eta-left).Seconds()) <= max(0.1*left.Seconds(), 0.5))
			line += fmt.Sprintf(", %s %v of %.1fs", part.name, l.eta, left.Seconds())
			break
		}
	}
	near["cases"]++
	fmt.Fprintln(os.Stderr, line) // the log of a benchmark has ten lines
}

func (s *wallStep) action(name string) weir.Step {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(1, 1))
	return weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
		Name: name, BatchSize: s.batch, Resource: weir.Resource{Name: name, Rate: weir.PerSecond(s.rate), Concurrency: s.concurrency},
		Retry: weir.Backoff{Base: 300 * time.Millisecond},
		Handle: func(ctx context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			mu.Lock()
			takes := time.Duration(float64(s.latency) * math.Exp(s.sigma*rng.NormFloat64()-s.sigma*s.sigma/2))
			again := make([]bool, b.Len())
			for i := range again {
				again[i] = rng.Float64() < s.retries
			}
			mu.Unlock()
			select {
			case <-time.After(takes):
			case <-ctx.Done():
				return ctx.Err()
			}
			for i := range b.Len() {
				if again[i] {
					b.Retry(i, errors.New("not yet"), 0)
				} else {
					b.Done(i, nil)
				}
			}
			return nil
		},
	})
}

// submit makes a bulk action of the case's chain.
func (c *wallCase) submit(r *nodetest.Node, tenant string, items int, start bool) (b api.BulkAction) {
	var steps []string
	for i, s := range c.steps {
		when := ""
		if s.when > 0 {
			when = fmt.Sprintf(`,"when":"item.of100 < %d","otherwise":"skip"`, s.when)
		}
		steps = append(steps, fmt.Sprintf(`{"action":"s%d"%s}`, i, when))
	}
	list := make([]string, items)
	rng := rand.New(rand.NewPCG(uint64(items), 7))
	for i := range list {
		list[i] = fmt.Sprintf(`{"id":"%d","data":{"of100":%d}}`, i, rng.IntN(100))
	}
	r.Call("POST", "/v1/bulk-actions", fmt.Sprintf(`{"tenant":%q,"steps":[%s],"items":[%s],"start":%t}`, tenant, strings.Join(steps, ","), strings.Join(list, ","), start), 201, &b)
	return b
}
