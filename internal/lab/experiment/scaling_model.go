package experiment

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weirhq/weir/internal/core/scale"
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

// laneTrace is what happened, by second.
type laneTrace struct {
	workers  []int
	loads    []int     // tasks that arrived
	done     []int     // tasks that ended well
	failed   []int     // tasks that failed
	backlogs []int     // tasks that wait at the end of the second
	needs    []float64 // as the policy sees it
	slotWait []float64 // 99th percentile of each second
	waits    []float64 // of every task that started
	waitedAt []float64 // when it started
	reasons  map[scale.Reason]int
	idleAt   float64 // when all work was done
}

type laneEvent struct {
	at   float64
	kind int
	took float64
	bad  bool
}

const (
	taskEnded = iota
	workerStarted
	tokenDue
)

type laneEvents []laneEvent

func (e *laneEvents) Len() int           { return len(*e) }
func (e *laneEvents) Less(i, j int) bool { return (*e)[i].at < (*e)[j].at }
func (e *laneEvents) Swap(i, j int)      { (*e)[i], (*e)[j] = (*e)[j], (*e)[i] }
func (e *laneEvents) Push(x any)         { *e = append(*e, x.(laneEvent)) }
func (e *laneEvents) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// playedLane is the model while it runs.
type playedLane struct {
	laneModel
	rng                    *rand.Rand
	now                    float64
	queue                  []float64 // when each task became ready
	events                 laneEvents
	target, up, coming     int // workers told, there, starting
	running                int
	nextToken              float64
	tokenAsked             bool
	arrived, ended, failed int // in this cycle
	took, busySeconds      float64
	waits                  []float64
	out                    laneTrace
}

// run plays the lane with the chance of one seed.
func (m laneModel) run(seed uint64) laneTrace {
	l := &playedLane{laneModel: m, rng: rand.New(rand.NewPCG(seed, 7)), target: m.workers, up: m.workers}
	l.out.reasons = map[scale.Reason]int{}
	var st scale.State
	for cycle := 1; float64(cycle) <= m.length; cycle++ {
		l.submit(cycle - 1)
		l.until(float64(cycle))
		if m.newLeader > 0 && float64(cycle) == m.newLeader {
			st = scale.State{}
		}
		var d scale.Decision
		now := scalingEpoch + int64((m.begin+float64(cycle))*1e9)
		d, st = m.policy(now, l.observe(now), st, m.config)
		l.scale(d.Workers)
		l.out.reasons[d.Reason]++
		l.out.workers, l.out.needs = append(l.out.workers, d.Workers), append(l.out.needs, d.Need)
		if l.idle() {
			l.out.idleAt = l.now
			break
		}
	}
	return l.out
}

// idle reports whether the run is over before its time.
func (l *playedLane) idle() bool {
	return l.untilIdle && l.now > l.notBefore && len(l.queue)+l.running == 0
}

// submit puts what arrives at once into the queue.
func (l *playedLane) submit(second int) {
	if l.bulk == nil {
		return
	}
	for range l.bulk(second) {
		l.queue, l.arrived = append(l.queue, l.now), l.arrived+1
	}
}

// until plays everything that happens before end.
func (l *playedLane) until(end float64) {
	next := l.arrival(l.now)
	for {
		l.dispatch()
		t := min(next, end)
		if len(l.events) > 0 {
			t = min(t, l.events[0].at)
		}
		l.busySeconds += (t - l.now) * float64(l.running)
		l.now = t
		switch {
		case len(l.events) > 0 && l.events[0].at == t:
			l.happen(heap.Pop(&l.events).(laneEvent))
			if l.idle() {
				return
			}
		case t == end:
			return
		default:
			l.queue, l.arrived = append(l.queue, t), l.arrived+1
			next = l.arrival(t)
		}
	}
}

// arrival is when the next task comes. Chance has no memory, so it may be drawn anew each cycle.
func (l *playedLane) arrival(t float64) float64 {
	if l.rate == nil {
		return math.Inf(1)
	}
	if r := l.rate(t); r > 0 {
		return t + l.rng.ExpFloat64()/r
	}
	return math.Inf(1)
}

func (l *playedLane) happen(e laneEvent) {
	switch e.kind {
	case workerStarted:
		l.coming--
		if l.up < l.target {
			l.up++
		}
	case taskEnded:
		l.running--
		l.ended, l.took = l.ended+1, l.took+e.took
		if e.bad {
			l.failed++
		}
	case tokenDue:
		l.tokenAsked = false
	}
}

// dispatch starts tasks while there are workers and the limit allows it.
func (l *playedLane) dispatch() {
	for len(l.queue) > 0 && l.running < l.up {
		if l.limit > 0 && l.now < l.nextToken {
			if !l.tokenAsked {
				heap.Push(&l.events, laneEvent{at: l.nextToken, kind: tokenDue})
				l.tokenAsked = true
			}
			return
		}
		ready := max(l.queue[0], l.nextToken)
		l.queue = l.queue[1:]
		if l.limit > 0 {
			l.nextToken = max(l.nextToken, l.now-1/l.limit) + 1/l.limit
		}
		wait := max(l.now-ready, 0)
		l.waits, l.out.waits, l.out.waitedAt = append(l.waits, wait), append(l.out.waits, wait), append(l.out.waitedAt, l.now)
		mean, errors := l.service(l.now, l.running)
		took := mean * (0.5 + l.rng.Float64())
		l.running++
		heap.Push(&l.events, laneEvent{at: l.now + took, kind: taskEnded, took: took, bad: l.rng.Float64() < errors})
	}
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
		heap.Push(&l.events, laneEvent{at: l.now + l.startup, kind: workerStarted})
		l.coming++
	}
}

// observe takes the signals of the cycle that ends and begins another.
func (l *playedLane) observe(now int64) scale.Signals {
	load := scale.Load{
		Resource: "r", Arrivals: float64(l.arrived), Backlog: len(l.queue), Usable: l.limit, Samples: l.ended, Failed: l.failed,
		Service: time.Duration(l.took / float64(max(l.ended, 1)) * 1e9),
	}
	s := scale.Signals{
		Workers: l.target, Busy: min(l.busySeconds/float64(max(l.target, 1)), 1),
		SlotWait: time.Duration(quantileOf(l.waits, 0.99) * 1e9), Loads: []scale.Load{load},
	}
	if l.strain != nil {
		s.Strained = l.strain(l.now)
	}
	if l.nodes != nil {
		s.CPU, s.Memory = l.nodes(l.now)
	}
	if l.floor != nil {
		s.Floor = l.floor(now)
	}
	if len(l.queue) > 0 && l.limit == 0 { // who still waits has waited, too
		s.SlotWait = max(s.SlotWait, time.Duration((l.now-l.queue[0])*1e9))
	}
	t := &l.out
	t.loads, t.done, t.failed = append(t.loads, l.arrived), append(t.done, l.ended-l.failed), append(t.failed, l.failed)
	t.backlogs, t.slotWait = append(t.backlogs, len(l.queue)), append(t.slotWait, s.SlotWait.Seconds())
	l.arrived, l.ended, l.failed, l.took, l.busySeconds, l.waits = 0, 0, 0, 0, 0, l.waits[:0]
	return s
}

// quantileOf is the value that a share q of xs lies below, 0 if there are none.
func quantileOf(xs []float64, q float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(xs))
	return s[min(int(q*float64(len(s))), len(s)-1)]
}
