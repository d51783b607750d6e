package experiment

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir/internal/core/flow"
	"github.com/weirhq/weir/internal/core/heap"
	"github.com/weirhq/weir/internal/core/limit"
)

// The sickness of a downstream lasts from sickFrom to sickTo.
const (
	sickFrom, sickTo, sickEnd = time.Minute, 3 * time.Minute, 5 * time.Minute

	sickRate    = 1000.0 // tasks a second, of one item each
	sickWorkers = 256
	sickTimeout = 5 * time.Second
	fewServers  = 4 // of forty that would be busy
)

// answer is what became of a task and how long it took; beyond the timeout it
// is a failure at the timeout.
type answer struct {
	after  time.Duration
	failed bool
}

// sickness is what a downstream does to tasks while it is not well. Well, it takes
// about 40 ms, 50 ms at most.
type sickness struct {
	name string
	// fate is the answer to a task that starts at a time.
	fate func(w *patient) answer
	// breaks tells that the breaker has to open.
	breaks bool
}

func sicknesses() []sickness {
	hung := answer{after: time.Hour}
	return []sickness{
		{name: "50 ms become 5 s, 60 % fail", breaks: true, fate: func(w *patient) answer {
			return answer{time.Duration(w.rng.Float64() * float64(sickTimeout)), w.rng.Float64() < 0.6}
		}},
		{name: "nine of ten fail at once", breaks: true, fate: func(w *patient) answer {
			return answer{5 * time.Millisecond, w.rng.Float64() < 0.9}
		}},
		{name: "all hang", breaks: true, fate: func(*patient) answer { return hung }},
		{name: "a tenth of the servers is left", fate: func(w *patient) answer { return w.queue(fewServers) }},
	}
}

// patient is a node with endless work before a downstream that falls sick: the
// real limiter, breaker, bound by run times and rate rule.
type patient struct {
	ill     sickness
	rng     *rand.Rand
	now     time.Duration
	lim     *limit.Limiter
	breaker *flow.Breaker
	latency *flow.Latency
	state   flow.RateState
	events  heap.Heap[call]
	number  int
	free    []time.Duration // servers of the downstream, when they are free

	inFlight int
	waits    bool // dispatch will be called
	done     []int
	flights  []int // most in flight, by second
	opened   time.Duration
	calls    int // while it was sick, after the breaker first opened
}

func newPatient(ill sickness, seed uint64) *patient {
	return &patient{
		ill: ill, rng: rand.New(rand.NewPCG(seed, 15)),
		lim: limit.New(limit.Config{Rate: sickRate}), breaker: flow.NewBreaker(seed), latency: flow.NewLatency(0, seed),
		done: make([]int, int(sickEnd.Seconds())+1), flights: make([]int, int(sickEnd.Seconds())+1),
	}
}

func (w *patient) unix() int64 { return flowStart + int64(w.now) }

func (w *patient) at(t time.Duration, do func()) {
	w.number++
	w.events.Push(call{t, w.number, do})
}

func (w *patient) run() {
	w.lim.Busy(w.unix())
	w.at(0, w.control)
	w.wake(0)
	for len(w.events) > 0 && w.events[0].at < sickEnd {
		e := w.events.Pop()
		w.now = e.at
		e.do()
	}
}

func (w *patient) sick() bool { return w.now >= sickFrom && w.now < sickTo }

// queue is the answer of n servers that take 40 ms each, first come, first served.
func (w *patient) queue(n int) answer {
	for len(w.free) < n {
		w.free = append(w.free, 0)
	}
	first := 0
	for i, at := range w.free {
		if at < w.free[first] {
			first = i
		}
	}
	w.free[first] = max(w.free[first], w.now) + w.well()
	return answer{after: w.free[first] - w.now}
}

func (w *patient) well() time.Duration {
	return 30*time.Millisecond + time.Duration(w.rng.Int64N(int64(20*time.Millisecond)))
}

// wake lets dispatch be called at a time, once.
func (w *patient) wake(t time.Duration) {
	if !w.waits {
		w.waits = true
		w.at(max(t, w.now), func() { w.waits = false; w.dispatch() })
	}
}

// dispatch starts what limiter, breaker and bound allow.
func (w *patient) dispatch() {
	for {
		room := sickWorkers
		if b := w.latency.Bound(w.unix()); b > 0 {
			room = min(room, b)
		}
		if w.inFlight >= room {
			return // an end will tell
		}
		if at := w.lim.Ready(w.unix(), 1); at > w.unix() {
			w.wake(time.Duration(at - flowStart))
			return
		}
		if ok, at := w.breaker.Allow(w.unix(), w.inFlight); !ok {
			if at != flow.Never {
				w.wake(time.Duration(at - flowStart))
			}
			return
		}
		w.start()
	}
}

func (w *patient) start() {
	w.lim.Take(w.unix(), 1)
	w.inFlight++
	w.note()
	a := answer{after: w.well()}
	if w.sick() {
		a = w.ill.fate(w)
		if w.opened > 0 {
			w.calls++
		}
	}
	if a.after >= sickTimeout {
		a = answer{sickTimeout, true}
	}
	sentAt := w.now
	w.at(w.now+a.after, func() { w.end(sentAt, a) })
}

// note remembers how many are in flight.
func (w *patient) note() {
	now := int(w.now.Seconds())
	w.flights[now] = max(w.flights[now], w.inFlight)
}

func (w *patient) end(sentAt time.Duration, a answer) {
	w.latency.Ended(w.unix(), int64(a.after), w.inFlight)
	w.inFlight--
	if !a.failed {
		w.done[int(w.now.Seconds())]++
	}
	w.breaker.Ended(w.unix(), flowStart+int64(sentAt), a.failed)
	if w.breaker.State().Phase == flow.Open && w.opened == 0 && w.now > sickFrom {
		w.opened = w.now
	}
	w.wake(w.now)
}

// control is called every window, as the rule wants.
func (w *patient) control() {
	w.note()
	c := flow.RateConfig{Rate: sickRate}
	w.state = flow.Estimate(w.unix(), nil, w.state, c)
	if w.breaker.Reopened() {
		w.state = flow.Restart(w.unix(), w.state, c)
	}
	pace := 0.0
	if w.state.Limited {
		pace = w.state.Rate
	}
	w.lim.SetPace(w.unix(), pace)
	w.wake(w.now)
	w.at(w.now+flow.Window, w.control)
}

// recovery is the time from the end of the sickness to the first second at full rate.
func (w *patient) recovery() time.Duration {
	for i := int(sickTo.Seconds()); i < len(w.done); i++ {
		if float64(w.done[i]) >= 0.95*sickRate {
			return time.Duration(i+1)*time.Second - sickTo
		}
	}
	return math.MaxInt64
}

// between returns how many tasks succeeded from one time to another.
func (w *patient) between(from, to time.Duration) (n int) {
	for _, done := range w.done[int(from.Seconds()):int(to.Seconds())] {
		n += done
	}
	return n
}

// mean returns the tasks in flight from one time to another: the most of each
// second, on average.
func (w *patient) mean(from, to time.Duration) (n float64) {
	seconds := w.flights[int(from.Seconds()):int(to.Seconds())]
	for _, most := range seconds {
		n += float64(most) / float64(len(seconds))
	}
	return n
}
