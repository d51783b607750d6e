package experiment

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/flow"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/lab/forecast"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// foretellSlots is how many tasks a node runs at once here, as it ships.
const foretellSlots = 64

// foretoldWorld is a drawn system.
type foretoldWorld struct {
	*node
	rng    *rand.Rand // luck
	luck   *rand.PCG  // where that comes from
	does   []does     // by step
	items  int64
	floods []flood
	seen   map[string]*partition.LaneLoad
}

// flood is a bulk action of another tenant.
type flood struct {
	items int64
	tier  weir.Tier
}

// does is what the downstream of a step does.
type does struct {
	latency, spread  float64 // seconds, and sigma of its logarithm
	retries, rejects float64
	skips            float64
}

// between draws evenly on a logarithmic scale.
func between(rng *rand.Rand, low, high float64) float64 {
	return low * math.Exp(rng.Float64()*math.Log(high/low))
}

// drawWorld draws a system whose bulk action takes from seconds to minutes.
func drawWorld(seed uint64, partitions int, luck uint64) *foretoldWorld {
	rng := virtual.Chance(seed, uint64(partitions))
	source := rand.NewPCG(seed, luck)
	w := &foretoldWorld{rng: rand.New(source), luck: source, seen: map[string]*partition.LaneLoad{}}
	var chain []weir.Step
	slowest := math.Inf(1)
	for i := range 1 + rng.IntN(3) {
		d := does{latency: between(rng, 0.02, 1), spread: 0.1 + 0.6*rng.Float64()}
		st := step(fmt.Sprintf("s%d", i), 0)
		st.BatchSize = []int{10, 50, 100}[rng.IntN(3)]
		speed := 0.0
		if rng.IntN(3) > 0 {
			st.Resource.Rate = weir.Rate(math.Round(between(rng, 50, 2000)))
			speed = float64(st.Resource.Rate)
		} else {
			st.Resource.Concurrency = 2 + rng.IntN(15)
			speed = float64(st.Resource.Concurrency*st.BatchSize) / d.latency
		}
		if rng.IntN(2) == 0 {
			d.retries = 0.2 * rng.Float64()
		}
		if rng.IntN(2) == 0 {
			d.rejects = 0.1 * rng.Float64()
		}
		if i > 0 && rng.IntN(3) == 0 {
			d.skips = 0.9 * rng.Float64()
			st.Filter = func(context.Context, *weir.Task) error { return nil } // the node answers itself
		}
		slowest = min(slowest, speed)
		chain, w.does = append(chain, st), append(w.does, d)
	}
	w.items = max(200, int64(slowest*between(rng, 8, 120)))
	for range rng.IntN(3) {
		tier := []weir.Tier{weir.TierDefault, weir.TierDefault, weir.TierHigh, weir.TierLow}[rng.IntN(4)]
		w.floods = append(w.floods, flood{max(100, int64(float64(w.items)*between(rng, 0.1, 3))), tier})
	}
	w.node = newNodeOn(virtual.NewClock(epoch), capacity.Config{Slots: foretellSlots, Seed: seed}, partitions, chain...)
	rng = w.rng // from here on it is luck
	w.service = func(t *partition.Task) int64 {
		d := &w.does[t.StepNo]
		return max(ms, int64(d.latency*1e9*math.Exp(d.spread*rng.NormFloat64()-d.spread*d.spread/2)))
	}
	w.answer = func(t *partition.Task, r *partition.Result) { w.outcomes(t, r) }
	w.filter = func(t *partition.Task) []weir.Outcome {
		out := make([]weir.Outcome, len(t.Items))
		for i := range out {
			if rng.Float64() < w.does[t.StepNo].skips {
				out[i].Kind = weir.OutcomeDone
			}
		}
		return out
	}
	w.steer()
	return w
}

// outcomes rejects some items and has some tried again.
func (w *foretoldWorld) outcomes(t *partition.Task, r *partition.Result) {
	d := &w.does[t.StepNo]
	if d.retries+d.rejects == 0 {
		return
	}
	r.Outcomes = slices.Clone(r.Outcomes)
	for i := range r.Outcomes {
		switch u := w.rng.Float64(); {
		case u < d.rejects:
			r.Outcomes[i] = weir.Outcome{Kind: weir.OutcomeFailed, Code: "bad"}
		case u < d.rejects+(1-d.rejects)*d.retries:
			r.Outcomes[i] = weir.Outcome{Kind: weir.OutcomeRetry, Code: "not_yet"}
		}
	}
}

func (w *foretoldWorld) steer() {
	w.can.Steer(w.Now())
	w.After(int64(flow.Window), w.steer)
}

// until goes on until a bulk action has ended, and looks once a second.
func (w *foretoldWorld) until(id weir.BulkID, look func()) weir.Progress {
	for {
		if v, ok := w.ended[id]; ok {
			return v
		}
		next := w.Now() + sec
		w.run(next)
		w.Advance(next)
		if look != nil {
			look()
		}
	}
}

// load returns the system as the server would tell it to a forecast.
func (w *foretoldWorld) load() (l forecast.Load) {
	l = forecast.Load{Slots: foretellSlots, Partitions: len(w.parts), Workers: foretellSlots, MaxWorkers: foretellSlots}
	for _, p := range w.parts {
		for _, x := range p.m.Observe(w.Now(), nil) {
			sum := w.seen[x.Resource]
			if sum == nil {
				sum = &partition.LaneLoad{}
				w.seen[x.Resource] = sum
			}
			sum.Ended, sum.Failed, sum.Took = sum.Ended+x.Ended, sum.Failed+x.Failed, sum.Took+x.Took
			sum.Items, sum.Again, sum.Gone = sum.Items+x.Items, sum.Again+x.Again, sum.Gone+x.Gone
		}
	}
	for _, st := range w.chain {
		r := forecast.Resource{Name: st.Resource.Name, Rate: st.Resource.Rate, Concurrency: st.Resource.Concurrency, Backoff: st.Retry}
		if s := w.seen[r.Name]; s != nil && s.Ended > 0 {
			r.Samples, r.Service = int64(s.Ended), time.Duration(s.Took/int64(s.Ended))
			r.Failures = float64(s.Failed) / float64(s.Ended)
			r.Retries, r.Rejects = float64(s.Again)/float64(max(s.Items, 1)), float64(s.Gone)/float64(max(s.Items, 1))
		}
		l.Resources = append(l.Resources, r)
	}
	for i := range w.floods {
		id := floodID(i)
		p, ok := w.shown[id]
		if !ok || p.State.Final() {
			continue
		}
		o := forecast.Work{Name: string(id), Tenant: string(id), Tier: w.floods[i].tier, Items: p.Counts.Total - p.Counts.Ended()}
		for k, st := range w.chain {
			skips, left := forecast.Uncalled(&p.Steps[k], st.Resource.Rate, st.BatchSize)
			o.Steps = append(o.Steps, forecast.Step{Resource: st.Resource.Name, Batch: st.BatchSize, Skips: skips, LeftOut: left})
			o.Standing = append(o.Standing, forecast.Standing(&p, k))
		}
		l.Others = append(l.Others, o)
	}
	return l
}

func floodID(i int) weir.BulkID { return weir.BulkID(fmt.Sprintf("ba_flood%d", i)) }

// work returns the bulk action before its start. The share that skips a step is what a look
// at a few hundred items tells.
func (w *foretoldWorld) work() forecast.Work {
	out := forecast.Work{Tenant: "t", Items: w.items}
	rng := virtual.Chance(uint64(w.items), 5) // what happens to items does not depend on who looks
	for k, st := range w.chain {
		s := forecast.Step{Resource: st.Resource.Name, Batch: st.BatchSize, Conditional: st.Filter != nil}
		for range 500 {
			if rng.Float64() < w.does[k].skips {
				s.Skips += 1.0 / 500
			}
		}
		out.Steps = append(out.Steps, s)
	}
	return out
}

// snapshot is what an ETA is made from.
type snapshot struct {
	at   int64
	load forecast.Load
	p    weir.Progress
}

// began warms the system up, has the floods begin, and returns what a forecast knows then.
func (w *foretoldWorld) begin() (cold, warm forecast.Load) {
	cold = w.load()
	w.submit(w.home("warm"), partition.Created{ID: "ba_warm", Tenant: "t", Items: min(w.items, 3000)})
	w.until("ba_warm", nil)
	for i, f := range w.floods {
		w.submit(w.home(string(floodID(i))), partition.Created{ID: floodID(i), Tenant: string(floodID(i)), Tier: f.tier, Items: f.items})
	}
	w.run(w.Now() + 2*sec)
	warm = w.load()
	cold.Others = warm.Others
	return cold, warm
}

// home returns the partition of a bulk action.
func (w *foretoldWorld) home(name string) int { return len(name) * 5 % len(w.parts) }

// takes submits the bulk action and returns how long it took.
func (w *foretoldWorld) takes(look func()) (began, ends int64) {
	began = w.Now()
	w.submit(w.home("x"), partition.Created{ID: "ba_x", Tenant: "t", Items: w.items})
	return began, w.until("ba_x", look).Finished.UnixNano()
}

// foreseen runs one drawn system and tells how far off everything was. With known it
// tells as well how far off the best forecast would be: what the same system takes from
// the same time on with other seeds, in the middle of five.
func foreseen(seed uint64, partitions int, known bool) (t told) {
	w := drawWorld(seed, partitions, 1)
	cold, warm := w.begin()
	work := w.work()
	f := sure(forecast.Of(work, warm))
	var looks []snapshot
	began, ends := w.takes(func() { looks = append(looks, snapshot{w.Now(), w.load(), w.shown["ba_x"]}) })
	took := float64(ends-began) / 1e9
	t = before(took, f.P50.Seconds(), f.P90.Seconds())
	if w.byRate() {
		t.cold = sure(forecast.Of(work, cold)).P50.Seconds()/took - 1
	}
	at := func(part float64) snapshot {
		return looks[slices.IndexFunc(looks, func(s snapshot) bool { return float64(s.at-began) >= part*float64(ends-began) })]
	}
	t.tenth, t.half = w.eta(at(0.1), ends), w.eta(at(0.5), ends)
	if known {
		t.bestWarm = bestKnown(seed, partitions, began, ends)
		t.bestTenth, t.bestHalf = bestKnown(seed, partitions, at(0.1).at, ends), bestKnown(seed, partitions, at(0.5).at, ends)
	}
	return t
}

// eta returns how far off an ETA was, as a share of what was left.
func (w *foretoldWorld) eta(x snapshot, ends int64) float64 {
	now := w.work()
	forecast.Underway(&now, &x.load, &x.p, time.Unix(0, x.at))
	left, _, err := forecast.Left(now, x.load)
	return sure(left, err).Seconds()/(float64(ends-x.at)/1e9) - 1
}

// bestKnown returns how far off it is to know the system and its state at a time exactly.
func bestKnown(seed uint64, partitions int, from, ends int64) float64 {
	var rests []float64
	for luck := range uint64(5) {
		w := drawWorld(seed, partitions, 1)
		w.begin()
		w.At(from, func() { w.luck.Seed(seed, 2+luck) })
		_, other := w.takes(nil)
		rests = append(rests, float64(other-from))
	}
	slices.Sort(rests)
	return rests[len(rests)/2]/float64(ends-from) - 1
}

// byRate reports whether a rate alone decides how long it takes: then limits tell
// what there is to know before anything was called.
func (w *foretoldWorld) byRate() bool {
	for i, st := range w.chain {
		if st.Resource.Rate == 0 || w.does[i].retries > 0.02 || w.does[i].rejects > 0.02 {
			return false
		}
	}
	return true
}

// sure returns what a call gives that cannot fail: its arguments were made here.
func sure[T any](x T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("experiment: %v", err))
	}
	return x
}
