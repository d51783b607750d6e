package experiment

import (
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir/internal/core/scale"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// scalingEpoch is the midnight that begins a Friday; the clock of a lane starts there.
const scalingEpoch = int64(20_000*24) * int64(time.Hour)

// laneModel is a lane in front of a downstream: tasks arrive by chance, wait in a
// queue, and run on workers that take a while to start. All times in seconds.
// Everything but policy, length, workers, rate and service may be left out.
type laneModel struct {
	policy    scale.Policy
	config    scale.Config
	begin     float64 // time of the clock at second 0, from the epoch
	length    float64
	workers   int                                                 // at first
	startup   float64                                             // of a new worker
	limit     float64                                             // tasks per second downstream takes, 0 for any
	rate      func(t float64) float64                             // of arrivals
	bulk      func(second int) int                                // tasks that arrive at once as a second begins
	service   func(t float64, running int) (mean, errors float64) // of a task that starts at t
	needed    func(t float64) float64                             // workers that an all-knowing scaler would have
	strain    func(t float64) bool                                // what flow control would say
	nodes     func(t float64) (cpu, memory float64)
	floor     func(now int64) int // what was learned
	newLeader float64             // when a leader without memory takes over
	untilIdle bool
	notBefore float64 // second from which idleness ends the run
}

// playedLane is the model while it runs.
type playedLane struct {
	virtual.Clock // from second 0
	laneModel
	rng                    *rand.Rand
	queue                  []int64 // when each task became ready
	target, up, coming     int     // workers told, there, starting
	running                int
	nextToken              int64
	tokenAsked             bool
	arrived, ended, failed int // in this cycle
	took, busySeconds      float64
	waits                  []float64
	out                    laneTrace
}

// nanos returns a span of seconds on the clock.
func nanos(seconds float64) int64 { return int64(seconds * 1e9) }

// seconds returns the time.
func (l *playedLane) seconds() float64 { return float64(l.Now()) / 1e9 }

// run plays the lane with the chance of one seed.
func (m laneModel) run(seed uint64) laneTrace {
	l := &playedLane{laneModel: m, rng: virtual.Chance(seed, 7), target: m.workers, up: m.workers, out: laneTrace{seed: seed}}
	var st scale.State
	for cycle := 1; float64(cycle) <= m.length; cycle++ {
		if l.bulk != nil {
			l.arrive(l.bulk(cycle - 1))
		}
		l.until(int64(cycle) * sec)
		if m.newLeader > 0 && float64(cycle) == m.newLeader {
			st = scale.State{}
		}
		var d scale.Decision
		now := scalingEpoch + nanos(m.begin+float64(cycle))
		signals, point := l.observe(now)
		d, st = m.policy(now, signals, st, m.config)
		l.scale(d.Workers)
		point.Second, point.Workers, point.need = cycle, d.Workers, d.Need
		if m.needed != nil {
			point.Needed = m.needed(float64(cycle) - 0.5)
		}
		l.out.Lane = append(l.out.Lane, point)
		if l.idle() {
			l.out.idleAt = l.seconds()
			break
		}
	}
	return l.out
}

// idle reports whether the run is over before its time.
func (l *playedLane) idle() bool {
	return l.untilIdle && l.seconds() > l.notBefore && len(l.queue)+l.running == 0
}

// arrive puts tasks into the queue.
func (l *playedLane) arrive(tasks int) {
	for range tasks {
		l.queue = append(l.queue, l.Now())
	}
	l.arrived += tasks
}

// until plays everything that happens before end.
func (l *playedLane) until(end int64) {
	for next := l.arrival(); ; {
		l.dispatch()
		t := min(next, end, l.Next())
		l.busySeconds += float64(t-l.Now()) / 1e9 * float64(l.running)
		switch {
		case l.Next() == t:
			if l.Step(); l.idle() {
				return
			}
		case t == end:
			l.Advance(end)
			return
		default:
			l.Advance(t)
			l.arrive(1)
			next = l.arrival()
		}
	}
}

// arrival returns when the next task comes. Chance has no memory, so it may be drawn anew each cycle.
func (l *playedLane) arrival() int64 {
	if l.rate == nil {
		return never
	}
	if r := l.rate(l.seconds()); r > 0 {
		return l.Now() + nanos(l.rng.ExpFloat64()/r)
	}
	return never
}

// dispatch starts tasks while there are workers and the limit allows it.
func (l *playedLane) dispatch() {
	for len(l.queue) > 0 && l.running < l.up {
		now := l.Now()
		if l.limit > 0 && now < l.nextToken {
			if !l.tokenAsked {
				l.At(l.nextToken, func() { l.tokenAsked = false })
				l.tokenAsked = true
			}
			return
		}
		ready := max(l.queue[0], l.nextToken)
		l.queue = l.queue[1:]
		if l.limit > 0 {
			l.nextToken = max(l.nextToken, now-nanos(1/l.limit)) + nanos(1/l.limit)
		}
		wait := float64(max(now-ready, 0)) / 1e9
		l.waits, l.out.waits, l.out.waitedAt = append(l.waits, wait), append(l.out.waits, wait), append(l.out.waitedAt, l.seconds())
		l.start()
	}
}

// start runs a task.
func (l *playedLane) start() {
	mean, errors := l.service(l.seconds(), l.running)
	took := mean * (0.5 + l.rng.Float64())
	bad := l.rng.Float64() < errors
	l.running++
	l.After(nanos(took), func() {
		l.running--
		l.ended, l.took = l.ended+1, l.took+took
		if bad {
			l.failed++
		}
	})
}

// scale carries a decision out.
func (l *playedLane) scale(n int) {
	l.target = n
	if l.up > n {
		l.up = n // idle ones go now, busy ones after their task
	}
	for l.up+l.coming < n {
		if l.startup == 0 {
			l.up++
			continue
		}
		l.coming++
		l.After(nanos(l.startup), func() {
			l.coming--
			if l.up < l.target {
				l.up++
			}
		})
	}
}

// observe takes the signals of the cycle that ends and begins another.
func (l *playedLane) observe(now int64) (scale.Signals, Point) {
	load := scale.Load{
		Resource: "r", Arrivals: float64(l.arrived), Backlog: len(l.queue), Usable: l.limit, Samples: l.ended, Failed: l.failed,
		Service: time.Duration(l.took / float64(max(l.ended, 1)) * 1e9),
	}
	s := scale.Signals{
		Workers: l.target, Busy: min(l.busySeconds/float64(max(l.target, 1)), 1),
		SlotWait: time.Duration(virtual.Quantile(l.waits, 0.99) * 1e9), Loads: []scale.Load{load},
	}
	if l.strain != nil {
		s.Strained = l.strain(l.seconds())
	}
	if l.nodes != nil {
		s.CPU, s.Memory = l.nodes(l.seconds())
	}
	if l.floor != nil {
		s.Floor = l.floor(now)
	}
	if len(l.queue) > 0 && l.limit == 0 { // tasks that still wait count, too
		s.SlotWait = max(s.SlotWait, time.Duration(l.Now()-l.queue[0]))
	}
	p := Point{Load: l.arrived, Done: l.ended - l.failed, Failed: l.failed, Backlog: len(l.queue)}
	l.arrived, l.ended, l.failed, l.took, l.busySeconds, l.waits = 0, 0, 0, 0, 0, l.waits[:0]
	return s, p
}
