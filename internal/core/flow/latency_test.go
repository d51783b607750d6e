package flow

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/core/heap"
)

const (
	us = int64(time.Microsecond)
	ms = int64(time.Millisecond)
	s  = int64(time.Second)
)

// loop is a node with more work than workers before a downstream: as many tasks
// are in flight as workers and bound allow.
type loop struct {
	l        *Latency // nil: no bound
	workers  int
	rng      *rand.Rand
	service  func(w *loop) int64 // run time of a task that starts now
	every    func() int64        // time to the next arrival; nil: there is always work
	now      int64
	start    int64
	ends     heap.Heap[end]
	inFlight int
	queued   int
	arriveAt int64
	done     int
	least    int // smallest bound seen, 0: none
	most     int // in flight, since it was last reset
}

type end struct{ at, began int64 }

func (e end) Before(o end) bool { return e.at < o.at }

func newLoop(workers int, seed uint64, service func(*loop) int64) *loop {
	return &loop{l: NewLatency(0, seed), workers: workers, rng: rand.New(rand.NewPCG(seed, 1)), service: service, now: 1000 * s, start: 1000 * s}
}

// since is the time since the beginning.
func (w *loop) since() int64 { return w.now - w.start }

func (w *loop) run(until int64) {
	for w.since() < until {
		w.fill()
		next := w.start + until
		if len(w.ends) > 0 {
			next = min(next, w.ends[0].at)
		}
		if w.every != nil {
			next = min(next, max(w.arriveAt, w.now))
		}
		w.now = next
		if w.every != nil && w.arriveAt <= w.now {
			w.queued++
			w.arriveAt = w.now + w.every()
			continue
		}
		if len(w.ends) > 0 && w.ends[0].at <= w.now {
			w.end(w.ends.Pop())
		}
	}
}

func (w *loop) end(e end) {
	if w.l != nil {
		w.l.Ended(w.now, w.now-e.began, w.inFlight)
	}
	w.inFlight--
	w.done++
}

func (w *loop) fill() {
	room := w.workers
	if w.l != nil {
		if b := w.l.Bound(w.now); b > 0 {
			room = min(room, b)
			if w.least == 0 || b < w.least {
				w.least = b
			}
		}
	}
	for w.inFlight < room && (w.every == nil || w.queued > 0) {
		w.queued--
		w.inFlight++
		w.most = max(w.most, w.inFlight)
		w.ends.Push(end{w.now + w.service(w), w.now})
	}
}

// servers is a downstream that works on n tasks at a time, first come, first served.
type servers struct {
	n    func(since int64) int
	each int64
	free heap.Heap[at]
}

type at int64

func (a at) Before(o at) bool { return a < o }

func (d *servers) service(w *loop) int64 {
	n := d.n(w.since())
	for len(d.free) > n {
		d.free.Pop() // a server that is gone takes no more
	}
	for len(d.free) < n {
		d.free.Push(at(w.now))
	}
	begin := max(int64(d.free.Pop()), w.now)
	done := begin + d.each*int64(80+w.rng.IntN(41))/100
	d.free.Push(at(done))
	return done - w.now
}

func TestLatencyLeavesAloneWhatConcurrencyDoesNotSlow(t *testing.T) {
	lognormal := func(w *loop, median int64, sigma float64) int64 {
		return int64(float64(median) * math.Exp(sigma*w.rng.NormFloat64()))
	}
	for _, tt := range []struct {
		name    string
		workers int
		span    int64
		service func(w *loop) int64
		every   func(r *rand.Rand) int64
	}{
		{"steady", 64, 1200 * s, func(*loop) int64 { return 50 * ms }, nil},
		{"noisy", 64, 1200 * s, func(w *loop) int64 { return lognormal(w, 50*ms, 1) }, nil},
		{"very noisy with a heavy tail", 64, 1200 * s, func(w *loop) int64 { return lognormal(w, 30*ms, 2) }, nil},
		{"of two kinds", 64, 1200 * s, func(w *loop) int64 {
			if w.rng.IntN(2) == 0 {
				return 20 * ms
			}
			return 400 * ms
		}, nil},
		{"of two kinds in turn", 64, 1200 * s, func(w *loop) int64 {
			if w.since()/(45*s)%2 == 0 {
				return lognormal(w, 50*ms, 0.3)
			}
			return lognormal(w, 250*ms, 0.3)
		}, nil},
		{"slower and slower", 64, 1200 * s, func(w *loop) int64 { return lognormal(w, 20*ms+w.since()/5000, 0.3) }, nil},
		{"few workers", 10, 1200 * s, func(w *loop) int64 { return lognormal(w, 100*ms, 0.5) }, nil},
		{"arrivals by chance, slower for a while", 500, 1200 * s, func(w *loop) int64 {
			if w.since()/(120*s)%3 == 1 {
				return lognormal(w, 400*ms, 0.5)
			}
			return lognormal(w, 80*ms, 0.5)
		}, func(r *rand.Rand) int64 { return int64(r.ExpFloat64() * float64(2*ms)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			done := func(seed uint64, bounded bool) int {
				w := newLoop(tt.workers, seed, tt.service)
				if tt.every != nil {
					w.every = func() int64 { return tt.every(w.rng) }
				}
				if !bounded {
					w.l = nil
				}
				w.run(tt.span)
				return w.done
			}
			for seed := uint64(20); seed < 22; seed++ {
				with, without := done(seed, true), done(seed, false)
				if float64(with) < 0.99*float64(without) {
					t.Errorf("seed %d: %d tasks ended, %d without a bound: want at least 99 %%", seed, with, without)
				}
			}
		})
	}
}

func TestLatencyNeverBoundsShortTasks(t *testing.T) {
	w := newLoop(8, 1, func(w *loop) int64 {
		run := 2*us + w.rng.Int64N(48*us)
		if w.rng.IntN(20) == 0 {
			run *= 100 // the scheduler was busy elsewhere
		}
		if w.since()/(2*s)%2 == 1 {
			run *= 5
		}
		return run
	})
	w.run(40 * s)
	if w.least != 0 {
		t.Errorf("a bound of %d was set on tasks of microseconds, want none ever", w.least)
	}
}

func TestLatencyFindsWhatADownstreamCanUse(t *testing.T) {
	for _, tt := range []struct {
		name    string
		workers int
		servers func(since int64) int
		from    int64 // when it should be bounded
		most    int   // bound then
	}{
		{"too few servers from one day to the next", 200, func(t int64) int {
			if t > 60*s {
				return 10
			}
			return 400
		}, 180 * s, 40},
		{"too few servers from the start", 200, func(int64) int { return 20 }, 900 * s, 60},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for seed := uint64(20); seed < 24; seed++ {
				d := &servers{n: tt.servers, each: 100 * ms}
				w := newLoop(tt.workers, seed, d.service)
				w.run(tt.from)
				before := w.done
				w.most = 0
				w.run(tt.from + 60*s)
				want := 60 * tt.servers(tt.from) * 10
				if w.most > tt.most {
					t.Errorf("seed %d: %d in flight, want at most %d", seed, w.most, tt.most)
				}
				if got := w.done - before; float64(got) < 0.93*float64(want) {
					t.Errorf("seed %d: %d tasks ended in a minute, want 93 %% of %d", seed, got, want)
				}
			}
		})
	}
}

func TestLatencyComesBackWithTheDownstream(t *testing.T) {
	for seed := uint64(20); seed < 24; seed++ {
		d := &servers{n: func(t int64) int {
			if t > 60*s && t < 240*s {
				return 10
			}
			return 400
		}, each: 100 * ms}
		w := newLoop(200, seed, d.service)
		w.run(239 * s)
		bound := w.l.Bound(w.now)
		w.run(270 * s)
		before := w.done
		w.run(280 * s)
		if got, want := w.done-before, 10*200*10; float64(got) < 0.95*float64(want) {
			t.Errorf("seed %d: %d tasks in 10 s half a minute after the downstream was well, want 95 %% of %d; the bound was %d", seed, got, want, bound)
		}
	}
}
