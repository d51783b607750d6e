package limit

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// world drives a pool like the partitions of a node would: a lane asks when it has
// work and was served last time, when it is woken, or when its time has come.
type world struct {
	p       *Pool
	now     int64
	lanes   []*worker
	running []task
	log     map[*PoolResource][]taken
	deaf    *worker // hears no wakes and keeps no times
}

type worker struct {
	l       *Lane
	work    int // tasks left
	done    int
	cost    int
	weight  int64
	express bool
	service int64
	askAt   int64
}

type task struct {
	w    *worker
	ends int64
}

func newWorld(slots int) *world {
	return &world{p: NewPool(slots), now: 1e18, log: make(map[*PoolResource][]taken)}
}

func (w *world) add(r *PoolResource, x worker) *worker {
	x.l = w.p.Lane(r, len(w.lanes))
	x.askAt = w.now
	w.lanes = append(w.lanes, &x)
	return &x
}

// ask lets one lane start what it may.
func (w *world) ask(x *worker) {
	for x.work > 0 {
		at, ok := w.p.Take(w.now, x.l, x.cost, x.weight, x.express)
		if !ok {
			x.askAt = at
			return
		}
		x.work--
		x.done++
		w.log[x.l.r] = append(w.log[x.l.r], taken{w.now, int64(x.cost)})
		w.running = append(w.running, task{x, w.now + x.service})
	}
	x.askAt = Never
	w.p.Idle(w.now, x.l)
}

func (w *world) deliver() {
	for {
		wakes := w.p.Wakes(nil)
		if len(wakes) == 0 {
			return
		}
		for _, l := range wakes {
			if x := w.lanes[l.partition]; x != w.deaf {
				w.ask(x)
			}
		}
	}
}

// step goes to the next event; false if there is none.
func (w *world) step() bool {
	next := int64(Never)
	for _, x := range w.lanes {
		if x != w.deaf {
			next = min(next, x.askAt)
		}
	}
	for _, t := range w.running {
		next = min(next, t.ends)
	}
	if next == Never {
		return false
	}
	w.now = max(w.now, next)
	for i := 0; i < len(w.running); {
		if t := w.running[i]; t.ends <= w.now {
			w.running = append(w.running[:i], w.running[i+1:]...)
			w.p.Release(w.now, t.w.l)
			if t.w != w.deaf {
				w.ask(t.w)
			}
			w.deliver()
			continue
		}
		i++
	}
	for _, x := range w.lanes {
		if x != w.deaf && x.askAt <= w.now {
			w.ask(x)
			w.deliver()
		}
	}
	return true
}

func (w *world) runUntil(t int64) {
	for w.now < t && w.step() {
	}
}

func TestEveryLaneEndsItsWork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.IntRange(0, 4).Draw(t, "slots"))
		var rs []*PoolResource
		for i := range rapid.IntRange(1, 3).Draw(t, "resources") {
			rs = append(rs, w.p.Resource(ResourceConfig{
				Name:        string(rune('a' + i)),
				Rate:        rapid.SampledFrom([]float64{0, 5, 100, 2000}).Draw(t, "rate"),
				Concurrency: rapid.IntRange(0, 3).Draw(t, "concurrency"),
			}))
		}
		for range rapid.IntRange(1, 6).Draw(t, "lanes") {
			w.add(rapid.SampledFrom(rs).Draw(t, "resource"), worker{
				work:    rapid.IntRange(1, 30).Draw(t, "work"),
				cost:    rapid.IntRange(1, 5).Draw(t, "cost"),
				weight:  rapid.Int64Range(1, 5000).Draw(t, "weight"),
				express: rapid.Bool().Draw(t, "express"),
				service: rapid.Int64Range(0, 300*ms).Draw(t, "service"),
			})
		}
		for w.step() {
			w.check(t)
			w.disturb(t, rs)
		}
		for _, x := range w.lanes {
			if x.work > 0 {
				t.Fatalf("lane %d sleeps with %d tasks left, cause %v", x.l.partition, x.work, x.l.cause)
			}
		}
		if w.p.used != 0 || w.p.waiting != 0 {
			t.Fatalf("%d slots used and %d lanes waiting at the end, want 0", w.p.used, w.p.waiting)
		}
	})
}

// check tests what must hold after every event.
func (w *world) check(t *rapid.T) {
	p := w.p
	for _, r := range p.resources {
		asleep, awake := 0, 0
		for _, l := range r.lanes {
			switch {
			case l.state != laneWaiting, l.full():
			case l.woken || l.at != Never:
				awake++
			default:
				asleep++
			}
		}
		if asleep > 0 && awake == 0 && r.free() > 0 && p.free() > 0 && r.closed <= w.now && !p.anyAwake() {
			t.Fatalf("%s has room, %d lanes sleep, and nobody was woken", r.name, asleep)
		}
	}
}

func (p *Pool) anyAwake() bool {
	for _, r := range p.resources {
		for _, l := range r.lanes {
			if l.state == laneWaiting && l.woken {
				return true
			}
		}
	}
	return false
}

// disturb changes settings now and then.
func (w *world) disturb(t *rapid.T, rs []*PoolResource) {
	r := rapid.SampledFrom(rs).Draw(t, "of")
	switch rapid.IntRange(0, 40).Draw(t, "disturb") {
	case 0:
		w.p.SetRate(w.now, r, rapid.SampledFrom([]float64{0, 10, 1000}).Draw(t, "rate"))
	case 1:
		w.p.SetConcurrency(w.now, r, rapid.IntRange(0, 3).Draw(t, "concurrency"))
	case 2:
		w.p.CloseUntil(w.now, r, w.now+rapid.Int64Range(0, sec).Draw(t, "closed"))
	case 4:
		x := rapid.SampledFrom(w.lanes).Draw(t, "scaled")
		w.p.SetWorkers(w.now, x.l, rapid.SampledFrom([]int{-1, 1, 2, 4}).Draw(t, "workers"))
	case 5:
		w.p.SetBearable(w.now, r, rapid.IntRange(0, 3).Draw(t, "bearable"))
	case 6:
		w.p.SetPace(w.now, r, rapid.SampledFrom([]float64{0, 3, 500}).Draw(t, "pace"))
	case 7:
		x := rapid.SampledFrom(w.lanes).Draw(t, "held")
		if x.l.state != laneIdle {
			x.askAt = w.p.Hold(w.now, x.l, x.cost, x.express, w.now+rapid.Int64Range(1, sec).Draw(t, "for"))
		}
	case 8:
		x := rapid.SampledFrom(w.lanes).Draw(t, "peeking")
		if at := w.p.Peek(w.now, x.l); at > w.now {
			x.askAt = at
		}
	}
	w.deliver()
}

func TestLimitsOfThePoolHold(t *testing.T) {
	w := newWorld(5)
	a := w.p.Resource(ResourceConfig{Name: "a", Rate: 100, Concurrency: 3})
	b := w.p.Resource(ResourceConfig{Name: "b"})
	for i := range 6 {
		w.add([]*PoolResource{a, b}[i%2], worker{work: 1e6, cost: 1 + i/2, weight: 1, service: int64(1+i) * 7 * ms})
	}
	end := w.now + 20*sec
	for w.now < end && w.step() {
		if w.p.used > 5 || a.inFlight > 3 {
			t.Fatalf("%d slots used, %d in flight on a; want <= 5 and <= 3", w.p.used, a.inFlight)
		}
	}
	if got := peak(w.log[a], sec); got > 100 {
		t.Errorf("a second saw %d items, want <= 100", got)
	}
	var got int64
	for _, x := range w.log[a] {
		got += x.cost
	}
	if got < 1950 {
		t.Errorf("items in 20 s at 100/s = %d, want >= 1950", got)
	}
}

func TestALaneHasNoMoreTasksThanWorkers(t *testing.T) {
	w := newWorld(16)
	r := w.p.Resource(ResourceConfig{Name: "r"})
	held := w.add(r, worker{work: 1e6, cost: 1, weight: 1, service: 10 * ms})
	free := w.add(r, worker{work: 1e6, cost: 1, weight: 1, service: 10 * ms})
	w.p.SetWorkers(w.now, held.l, 3)
	most := 0
	for end := w.now + sec; w.now < end && w.step(); {
		if held.l.inFlight > 3 {
			t.Fatalf("%d tasks in flight on 3 workers", held.l.inFlight)
		}
		most = max(most, free.l.inFlight)
	}
	if held.l.inFlight != 3 || most != 13 {
		t.Errorf("the bounded lane has %d of its 3 workers busy, the other %d of the 13 slots left", held.l.inFlight, most)
	}
	w.p.SetWorkers(w.now, held.l, 0)
	for end := w.now + sec; w.now < end && w.step(); {
	}
	if held.l.inFlight != 0 || free.l.inFlight != 16 {
		t.Errorf("without workers %d tasks are in flight, and %d of the other lane; want 0 and 16", held.l.inFlight, free.l.inFlight)
	}
}

func TestLanesShareByWeight(t *testing.T) {
	for _, tt := range []struct {
		name  string
		c     ResourceConfig
		slots int
	}{
		{"a rate", ResourceConfig{Rate: 1000}, 0},
		{"a slow rate", ResourceConfig{Rate: 20}, 0},
		{"concurrency", ResourceConfig{Concurrency: 2}, 0},
		{"slots", ResourceConfig{}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(tt.slots)
			r := w.p.Resource(tt.c)
			for i, weight := range []int64{1024, 1024, 3 * 1024} {
				w.add(r, worker{work: 1e9, cost: 1 + i%2, weight: weight, service: 10 * ms})
			}
			w.runUntil(w.now + 60*sec)
			per := make([]float64, 3)
			total := 0.0
			for i, x := range w.lanes {
				per[i] = float64(x.done*x.cost) / float64(x.weight)
				total += float64(x.done * x.cost)
			}
			for _, got := range per {
				if want := total / (5 * 1024); math.Abs(got/want-1) > 0.05 {
					t.Errorf("items per weight = %v, want %.3f each within 5%%", per, want)
					break
				}
			}
		})
	}
}

func TestResourcesShareTheSlots(t *testing.T) {
	w := newWorld(10)
	slow := w.add(w.p.Resource(ResourceConfig{Name: "slow"}), worker{work: 1e9, cost: 1, weight: 1, service: sec})
	fast := w.add(w.p.Resource(ResourceConfig{Name: "fast"}), worker{work: 1e9, cost: 1, weight: 1, service: 5 * ms})
	w.runUntil(w.now + 30*sec)
	if slow.done < 100 || slow.done > 200 || fast.done < 20_000 {
		t.Errorf("in 30 s on 10 slots: slow ran %d of 1 s, fast %d of 5 ms; want about 150 and 30,000", slow.done, fast.done)
	}
}

func TestExpressGoesFirst(t *testing.T) {
	p := NewPool(1)
	r := p.Resource(ResourceConfig{Name: "r"})
	a, b, c := p.Lane(r, 0), p.Lane(r, 1), p.Lane(r, 2)
	mustTake(t, p, 0, a)
	for _, l := range []*Lane{b, c} {
		if at, ok := p.Take(0, l, 1, 1, l == c); ok || at != Never {
			t.Fatalf("Take without a free slot = %d, %v", at, ok)
		}
	}
	p.Release(ms, a)
	if w := p.Wakes(nil); len(w) == 0 || w[0] != c {
		t.Fatalf("woke %v, want the express lane first", w)
	}
	if _, ok := p.Take(ms, b, 1, 1, false); ok || p.Cause(b) != CauseTurn {
		t.Errorf("a normal lane went ahead of a waiting express lane, cause %v", p.Cause(b))
	}
	if _, ok := p.Take(ms, c, 1, 1, true); !ok {
		t.Errorf("the express lane was refused: %v", p.Cause(c))
	}
}

func mustTake(t *testing.T, p *Pool, now int64, l *Lane) {
	t.Helper()
	if at, ok := p.Take(now, l, 1, 1, false); !ok {
		t.Fatalf("Take = %d, refused: %v", at, p.Cause(l))
	}
}

func TestHeldUpPartitionHoldsUpNobody(t *testing.T) {
	w := newWorld(1)
	r := w.p.Resource(ResourceConfig{Name: "r"})
	for range 3 {
		w.add(r, worker{work: 1e6, cost: 1, weight: 1, service: ms})
	}
	w.runUntil(w.now + 50*ms)
	w.deaf = w.lanes[0]
	before := w.lanes[1].done + w.lanes[2].done
	w.runUntil(w.now + sec)
	if got := w.lanes[1].done + w.lanes[2].done - before; got < 900 {
		t.Errorf("tasks of the others in 1 s = %d, want nearly 1000", got)
	}
}

func TestEachRefusalHasItsCause(t *testing.T) {
	now := int64(1e18)
	for _, tt := range []struct {
		name  string
		c     ResourceConfig
		slots int
		setup func(p *Pool, r *PoolResource)
		want  Cause
		at    int64
	}{
		{"closed", ResourceConfig{}, 0, func(p *Pool, r *PoolResource) { p.CloseUntil(now, r, now+sec) }, CauseClosed, now + sec},
		{"concurrency", ResourceConfig{Concurrency: 1}, 0, nil, CauseConcurrency, Never},
		{"slots", ResourceConfig{}, 1, nil, CauseSlots, Never},
		{"rate", ResourceConfig{Rate: 1}, 0, nil, CauseRate, now + sec},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPool(tt.slots)
			r := p.Resource(tt.c)
			l := p.Lane(r, 0)
			mustTake(t, p, now, l)
			if tt.setup != nil {
				tt.setup(p, r)
			}
			if got := p.Peek(now, l); got != tt.at {
				t.Errorf("Peek = %v from now, want %v", time.Duration(got-now), time.Duration(tt.at-now))
			}
			at, ok := p.Take(now, l, 1, 1, false)
			if ok || at != tt.at || p.Cause(l) != tt.want {
				t.Errorf("Take = %d, %v, cause %v; want %d, false, %v", at, ok, p.Cause(l), tt.at, tt.want)
			}
		})
	}
}

func TestNewSettingsVoidTheTimesThatLanesKnow(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(p *Pool, r *PoolResource)
	}{
		{"a higher rate", func(p *Pool, r *PoolResource) { p.SetRate(2, r, 1000) }},
		{"opened early", func(p *Pool, r *PoolResource) { p.CloseUntil(2, r, 0) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPool(0)
			r := p.Resource(ResourceConfig{Name: "r", Rate: 1})
			l := p.Lane(r, 0)
			mustTake(t, p, 0, l)
			p.CloseUntil(1, r, 9*sec)
			if at, ok := p.Take(1, l, 1, 1, false); ok || at != 9*sec {
				t.Fatalf("Take = %d, %v; want refused until the end of the closure", at, ok)
			}
			tt.change(p, r)
			if w := p.Wakes(nil); len(w) != 1 || w[0] != l {
				t.Errorf("woke %d lanes, want the one that waits", len(w))
			}
		})
	}
}

func TestDroppedLaneIsForgotten(t *testing.T) {
	p := NewPool(1)
	r := p.Resource(ResourceConfig{Name: "r"})
	a, b := p.Lane(r, 0), p.Lane(r, 1)
	mustTake(t, p, 0, a)
	p.Take(0, b, 1, 1, false)
	p.Drop(1, b)
	p.Release(2, a)
	if w := p.Wakes(nil); len(w) != 0 {
		t.Errorf("woke %d lanes, want none: the only one that waited is gone", len(w))
	}
	if p.Lane(r, 1) == b {
		t.Error("Lane returned a dropped lane")
	}
}

func BenchmarkPool(b *testing.B) {
	for _, bb := range []struct {
		name string
		c    ResourceConfig
	}{{"uncontended", ResourceConfig{Concurrency: 64}}, {"with a rate", ResourceConfig{Rate: 1e6, Concurrency: 64}}} {
		b.Run(bb.name, func(b *testing.B) {
			p := NewPool(64)
			l := p.Lane(p.Resource(bb.c), 0)
			now := int64(1e18)
			b.ReportAllocs()
			for b.Loop() {
				now += 110_000
				if _, ok := p.Take(now, l, 100, 1024, false); !ok {
					b.Fatal(p.Cause(l))
				}
				p.Release(now, l)
			}
		})
	}
}
