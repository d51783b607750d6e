package limit

import (
	"math"
)

// GateConfig configures a [Gate].
type GateConfig struct {
	// Rate is in items per second, 0 for unlimited.
	Rate float64
	// Concurrency bounds the tasks in flight, 0 for unbounded.
	Concurrency int
}

// Gate keeps the limits of one resource: its rate, its tasks in flight, and the lower bounds
// set by flow control. The queue asks it before each task. If it refuses, it returns when to
// ask again, or [Never] if a call that changes the gate or releases a task decides.
type Gate struct {
	lim      *Limiter
	bound    int // on the tasks in flight
	bearable int // another one, of flow control
	closed   int64
	inFlight int
	busy     bool  // tasks are waiting
	cause    Cause // why it refused last
	cost     int   // of the task that it refused last

	lack      Cause // of rate or concurrency, since it was last refused for it or ran out of work
	lackSince int64
	out       *outside // nil: its limits are not shared
}

// unbounded stands for no bound on tasks in flight.
const unbounded = math.MaxInt32

// NewGate returns a gate through which nothing has gone yet.
func NewGate(c GateConfig) *Gate {
	return &Gate{
		bound:    boundOf(c.Concurrency),
		bearable: unbounded,
		closed:   math.MinInt64,
		lim:      New(c.Rate),
	}
}

func boundOf(concurrency int) int {
	if concurrency == 0 {
		return unbounded
	}
	return concurrency
}

// Window returns the span, in nanoseconds, in which the rate holds; 0 if there is none.
func (g *Gate) Window() int64 { return g.lim.window }

// InFlight returns the number of tasks in flight.
func (g *Gate) InFlight() int { return g.inFlight }

// Cause returns the reason of the last refusal.
func (g *Gate) Cause() Cause { return g.cause }

// Take reserves a unit of concurrency and cost items of the rate, all or nothing. If ok, at is
// the time by which the task has to start; Never: any time, see Late.
func (g *Gate) Take(now int64, cost int) (at int64, ok bool) {
	g.ask(now)
	if at, cause := g.Ready(now, cost); cause != CauseNone {
		g.Refuse(now, cost, cause)
		return at, false
	}
	g.cause = CauseNone
	g.inFlight++
	if g.out != nil && g.out.rated {
		return g.takeOutside(now, cost), true
	}
	g.lim.Take(now, cost)
	return Never, true
}

// Fits returns how many of cost items could be taken now, and when at least least could; 0 and
// Never mean that only the whole task fits.
func (g *Gate) Fits(now int64, cost, least int) (n int, at int64) {
	if _, cause := g.Ready(now, 1); cause != CauseNone && cause != CauseRate {
		return 0, Never
	}
	if o := g.out; o != nil && o.rated && (now >= o.rateUntil || o.quota < int64(cost)) {
		return 0, Never
	}
	return g.lim.Fits(now, cost), g.lim.Ready(now, least)
}

// Most returns how many items a task may have at most: any number.
func (g *Gate) Most(string, int) int { return unbounded }

// Late tells that a task that was let go at a time, a moment ago, starts only now.
func (g *Gate) Late(taken, now int64, cost int) { g.lim.Late(taken, now, cost) }

// Peek returns when at least one item could go; a time not after now means now.
func (g *Gate) Peek(now int64) int64 {
	g.ask(now)
	at, cause := g.Ready(now, 1)
	if cause == CauseNone {
		return now
	}
	g.Refuse(now, max(g.cost, 1), cause)
	return at
}

// Refuse records that a task of that cost was refused: by the gate itself, or by its caller for
// a reason of its own.
func (g *Gate) Refuse(now int64, cost int, cause Cause) {
	g.cost, g.cause = cost, cause
	if g.out != nil {
		g.lacks(now, cause)
	}
}

// Release gives back the concurrency of one task.
func (g *Gate) Release(int64) { g.inFlight-- }

// Idle reports that no task is waiting.
func (g *Gate) Idle(int64) {
	if !g.busy {
		return
	}
	g.busy, g.cost, g.lack = false, 0, CauseNone
	if g.out != nil {
		g.out.stir(g)
	}
}

// ask records that a task is waiting.
func (g *Gate) ask(now int64) {
	if g.busy {
		return
	}
	g.busy = true
	g.lim.Busy(now)
	if g.out != nil {
		g.out.stir(g)
	}
}

// Ready returns when a task of that cost can go, and what it has to wait for; a time not after now means now.
func (g *Gate) Ready(now int64, cost int) (int64, Cause) {
	if g.out != nil {
		g.lapse(now)
	}
	switch {
	case g.closed > now:
		return g.closed, CauseClosed
	case g.bound <= g.inFlight:
		return Never, CauseConcurrency
	case g.bearable <= g.inFlight:
		return Never, CauseBearable
	}
	var at int64
	if g.out != nil && g.out.rated {
		at = g.readyOutside(now, cost)
	} else {
		at = g.lim.Ready(now, cost)
	}
	if at > now {
		return at, CauseRate
	}
	return now, CauseNone
}

// SetConcurrency changes the bound on the tasks in flight.
func (g *Gate) SetConcurrency(n int) {
	g.bound = boundOf(n)
	g.shareConcurrency()
}

// SetRate changes the rate, see [Limiter.SetRate].
func (g *Gate) SetRate(now int64, rate float64) {
	g.lim.SetRate(now, rate)
	g.shareRate()
}

// CloseUntil lets nothing go before t; a time in the past opens the gate.
func (g *Gate) CloseUntil(t int64) { g.closed = t }

// Flow control throttles a resource below its limits: it bounds the tasks in flight, paces the
// starts, and closes the gate. Other packages decide when.

// SetBearable bounds the tasks in flight by what the downstream was found to take; 0 means no
// bound. The configured concurrency holds as well.
func (g *Gate) SetBearable(n int) { g.bearable = boundOf(n) }

// SetPace spreads the starts at a rate below the gate's own; 0 removes the pace. See
// [Limiter.SetPace]. It reports whether the pace changed.
func (g *Gate) SetPace(now int64, rate float64) (changed bool) {
	if rate == g.lim.Pace() {
		return false
	}
	g.lim.SetPace(now, rate)
	return true
}

// Rate returns the rate at which items may start, 0 for unlimited: the slower of limit, or
// quota, and pace.
func (g *Gate) Rate() float64 {
	rate, pace := g.lim.Rate(), g.lim.Pace()
	if pace > 0 && (rate == 0 || pace < rate) {
		return pace
	}
	return rate
}

// Bound returns how many tasks may be in flight, 0 for any number.
func (g *Gate) Bound() int {
	if n := min(g.bound, g.bearable); n < unbounded {
		return max(n, 1)
	}
	return 0
}

// Limit returns the rate, or this node's quota where the rate is shared; 0: unlimited.
func (g *Gate) Limit() float64 { return g.lim.Rate() }

// Used returns the items that started inside the window that ends now, without permits.
func (g *Gate) Used(now int64) int64 {
	if g.lim.Rate() == 0 {
		return 0
	}
	return g.lim.Used(now)
}
