package scale

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// epoch is the midnight that begins a Friday; the model's clock starts there.
const epoch = int64(20_000*24) * int64(time.Hour)

// model is a lane in front of a downstream: tasks arrive by chance, wait in a
// queue, and run on workers that take a while to start. All times in seconds.
type model struct {
	seed      uint64
	policy    Policy
	config    Config
	length    float64
	workers   int                                                 // at first
	startup   float64                                             // of a new worker
	limit     float64                                             // tasks per second downstream takes, 0 for any
	backlog   int                                                 // at first
	rate      func(t float64) float64                             // of arrivals
	service   func(t float64, running int) (mean, errors float64) // of a task that starts at t
	strain    func(t float64) bool                                // what flow control would say
	untilIdle bool
}

// trace is what happened, by second.
type trace struct {
	workers []int
	waits   []float64 // slot waits of all tasks
	reasons map[Reason]int
	idleAt  float64 // when all work was done
	busy    float64 // worker-seconds paid for
}

type event struct {
	at   float64
	kind int
	took float64
	bad  bool
}

const (
	ended = iota
	started
	token
)

type events []event

func (e *events) Len() int           { return len(*e) }
func (e *events) Less(i, j int) bool { return (*e)[i].at < (*e)[j].at }
func (e *events) Swap(i, j int)      { (*e)[i], (*e)[j] = (*e)[j], (*e)[i] }
func (e *events) Push(x any)         { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// lane is the model while it runs.
type lane struct {
	model
	rng                    *rand.Rand
	now                    float64
	queue                  []float64 // when each task became ready
	events                 events
	target, up, coming     int // workers told, there, starting
	running                int
	nextToken              float64
	tokenAsked             bool
	arrived, ended, failed int // in this cycle
	took, busySeconds      float64
	waits                  []float64
	out                    trace
}

func (m model) run() trace {
	l := &lane{model: m, rng: rand.New(rand.NewPCG(m.seed, 7)), target: m.workers, up: m.workers}
	l.out.reasons = map[Reason]int{}
	l.queue = make([]float64, m.backlog)
	var st State
	for cycle := 1.0; cycle <= m.length; cycle++ {
		l.until(cycle)
		var d Decision
		d, st = m.policy(epoch+int64(cycle*1e9), l.signals(), st, m.config)
		l.out.reasons[d.Reason]++
		l.scale(d.Workers)
		l.out.workers = append(l.out.workers, d.Workers)
		l.out.busy += float64(d.Workers)
		if m.untilIdle && len(l.queue) == 0 && l.running == 0 {
			l.out.idleAt = cycle
			break
		}
	}
	return l.out
}

// until plays everything that happens before end.
func (l *lane) until(end float64) {
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
			l.happen(heap.Pop(&l.events).(event))
		case t == end:
			return
		default:
			l.queue, l.arrived = append(l.queue, t), l.arrived+1
			next = l.arrival(t)
		}
	}
}

// arrival is when the next task comes. Chance has no memory, so it may be drawn anew each cycle.
func (l *lane) arrival(t float64) float64 {
	if r := l.rate(t); r > 0 {
		return t + l.rng.ExpFloat64()/r
	}
	return math.Inf(1)
}

func (l *lane) happen(e event) {
	switch e.kind {
	case started:
		l.coming--
		if l.up < l.target {
			l.up++
		}
	case ended:
		l.running--
		l.ended, l.took = l.ended+1, l.took+e.took
		if e.bad {
			l.failed++
		}
	case token:
		l.tokenAsked = false
	}
}

func (l *lane) dispatch() {
	for len(l.queue) > 0 && l.running < l.up {
		if l.limit > 0 && l.now < l.nextToken {
			if !l.tokenAsked {
				heap.Push(&l.events, event{at: l.nextToken, kind: token})
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
		l.waits, l.out.waits = append(l.waits, wait), append(l.out.waits, wait)
		mean, errors := l.service(l.now, l.running)
		took := mean * (0.5 + l.rng.Float64())
		l.running++
		heap.Push(&l.events, event{at: l.now + took, kind: ended, took: took, bad: l.rng.Float64() < errors})
	}
}

func (l *lane) scale(n int) {
	l.target = n
	if l.up > n {
		l.up = n // idle ones go now, busy ones after their task
	}
	for l.up+l.coming < n {
		if l.startup == 0 {
			l.up++
			continue
		}
		heap.Push(&l.events, event{at: l.now + l.startup, kind: started})
		l.coming++
	}
}

func (l *lane) signals() Signals {
	s := Signals{
		Workers: l.target, Busy: min(l.busySeconds/float64(max(l.target, 1)), 1),
		SlotWait: time.Duration(percentile(l.waits, 0.99) * 1e9),
		Loads:    []Load{{Resource: "r", Arrivals: float64(l.arrived), Backlog: len(l.queue), Usable: l.limit, Samples: l.ended, Failed: l.failed}},
	}
	if l.ended > 0 {
		s.Loads[0].Service = time.Duration(l.took / float64(l.ended) * 1e9)
	}
	if l.strain != nil {
		s.Strained = l.strain(l.now)
	}
	if len(l.queue) > 0 && l.limit == 0 { // who still waits has waited, too
		s.SlotWait = max(s.SlotWait, time.Duration((l.now-l.queue[0])*1e9))
	}
	l.arrived, l.ended, l.failed, l.took, l.busySeconds, l.waits = 0, 0, 0, 0, 0, l.waits[:0]
	return s
}

func percentile(xs []float64, q float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(xs))
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

// reversals counts changes of direction.
func (t trace) reversals() int {
	n, last := 0, 0
	for i := 1; i < len(t.workers); i++ {
		dir := sign(t.workers[i] - t.workers[i-1])
		if dir != 0 && last != 0 && dir != last {
			n++
		}
		if dir != 0 {
			last = dir
		}
	}
	return n
}

func sign(n int) int { return min(max(n, -1), 1) }

// reach is how many seconds after from there were so many workers, or infinite.
func (t trace) reach(from int, workers float64) float64 {
	for i := from; i < len(t.workers); i++ {
		if float64(t.workers[i]) >= workers {
			return float64(i + 1 - from)
		}
	}
	return math.Inf(1)
}
