package sched

import "github.com/weirhq/weir/internal/limit"

// Gate stands between a resource's queue and its downstream.
type Gate interface {
	// Peek returns the earliest time at which asking makes sense; a time not after
	// now means now. With math.MaxInt64 it promises a call of WakeResource later.
	Peek(now int64) int64
	// Take reserves what a task of the given cost needs, all or nothing. If it
	// refuses, at is as for Peek. weight is the active weight behind the request.
	Take(now int64, cost int, weight int64, express bool) (at int64, ok bool)
	// Release gives back what one Take holds.
	Release(now int64)
	// Idle tells that the resource has nothing to run now.
	Idle(now int64)
}

// Explainer is a Gate that can say why it refused last.
type Explainer interface {
	Cause() limit.Cause
}

// ownGate is the gate of a resource that is not shared: a limiter and a count.
type ownGate struct {
	lim         *limit.Limiter
	concurrency int // 0: unlimited
	workers     int // below 0: unlimited
	inFlight    int
	idle        bool
	cause       limit.Cause
}

func newOwnGate(rate float64, concurrency int) *ownGate {
	return &ownGate{lim: limit.New(limit.Config{Rate: rate}), concurrency: concurrency, workers: -1, idle: true}
}

func (g *ownGate) Peek(now int64) int64 {
	if g.full() {
		return limit.Never
	}
	if g.idle {
		g.idle = false
		g.lim.Busy(now)
	}
	g.cause = limit.CauseRate
	return g.lim.Ready(now, 1)
}

func (g *ownGate) Take(now int64, cost int, _ int64, _ bool) (int64, bool) {
	if g.full() {
		return limit.Never, false
	}
	if g.idle {
		g.idle = false
		g.lim.Busy(now)
	}
	if at := g.lim.Ready(now, cost); at > now {
		g.cause = limit.CauseRate
		return at, false
	}
	g.lim.Take(now, cost)
	g.inFlight++
	return now, true
}

// full reports whether no more tasks may be in flight, and notes why.
func (g *ownGate) full() bool {
	switch {
	case g.concurrency > 0 && g.inFlight >= g.concurrency:
		g.cause = limit.CauseConcurrency
		return true
	case g.workers >= 0 && g.inFlight >= g.workers:
		g.cause = limit.CauseSlots
		return true
	}
	return false
}

func (g *ownGate) Release(int64)      { g.inFlight-- }
func (g *ownGate) Idle(int64)         { g.idle = true }
func (g *ownGate) Cause() limit.Cause { return g.cause }
