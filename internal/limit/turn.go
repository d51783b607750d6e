package limit

import "math"

const (
	// poolShift is the fixed point of the lanes' tags.
	poolShift = 36
	// rebaseAt is the virtual time at which tags are moved back towards zero.
	rebaseAt = int64(1) << 61
	// slackTasks is how many tasks a lane may be ahead of a waiting one before it
	// has to let it pass: lanes take turns in runs, not task by task.
	slackTasks = 4
	// grace is how long a woken lane is waited for. Its partition may be held up;
	// the capacity must not be.
	grace = int64(2e6)
	// creditShare is the part of a second of a resource that a lane may have missed
	// while it was idle and still be given first; creditUnlimited stands for it
	// where there is no rate.
	creditShare     = 0.1
	creditUnlimited = 100
)

func perWeight(cost, weight int64) int64 { return (cost << poolShift) / weight }

// ask notes that the lane is asking: it is not idle, and was not woken in vain.
func (p *Pool) ask(now int64, l *Lane) {
	r := l.r
	l.woken = false
	if l.state == laneWaiting {
		return
	}
	if l.state == laneIdle {
		l.state = laneBusy
		if r.busy++; r.busy == 1 {
			r.lim.Busy(now)
			if r.out != nil {
				p.stir(r)
			}
		}
	}
	if r.v > l.tag { // behind: it did not ask for a while
		l.tag = max(l.tag, r.v-perWeight(r.credit(), l.weight))
	}
}

// least returns the least tag among l, which is served now, and those that wait: l
// may be ahead of them by the slack, and virtual time must not be.
func (r *PoolResource) least(l *Lane) int64 {
	tag := l.tag
	if r.waiting > 0 {
		for _, o := range r.lanes {
			if o.state == laneWaiting {
				tag = min(tag, o.tag)
			}
		}
	}
	return tag
}

func (r *PoolResource) credit() int64 {
	if rate := r.lim.Rate(); rate > 0 {
		return max(int64(rate*creditShare), slackTasks)
	}
	return creditUnlimited
}

// refusal returns why a task of that cost cannot run now, whoever asks.
func (p *Pool) refusal(now int64, l *Lane, cost int) (int64, Cause) {
	r := l.r
	if r.out != nil {
		r.lapse(now)
	}
	switch {
	case r.closed > now:
		return r.closed, CauseClosed
	case r.bound <= r.inFlight:
		return Never, CauseConcurrency
	case r.bearable <= r.inFlight:
		return Never, CauseBearable
	case p.free() <= 0, l.full():
		return Never, CauseSlots
	}
	var at int64
	if r.out != nil && r.out.rated {
		at = r.readyOutside(now, cost)
	} else {
		at = r.lim.Ready(now, cost)
	}
	if at > now {
		return at, CauseRate
	}
	return now, CauseNone
}

func (p *Pool) free() int {
	if p.slots == 0 {
		return math.MaxInt32
	}
	return p.slots - p.used
}

func (r *PoolResource) free() int { return min(r.bound, r.bearable) - r.inFlight }

// refuse makes the lane wait, and sees to it that whoever may run instead knows.
func (p *Pool) refuse(now int64, l *Lane, cost int, express bool, at int64, cause Cause) int64 {
	if l.state != laneWaiting {
		l.state = laneWaiting
		p.waiting++
		l.r.waiting++
		p.asks++
		l.since = p.asks
	}
	l.cost, l.express, l.at, l.cause = cost, express, at, cause
	if l.r.out != nil {
		p.lacks(now, l, cause)
	}
	p.settle(now, false)
	return at
}

func (p *Pool) unwait(l *Lane) {
	if l.state == laneWaiting {
		l.state = laneBusy
		l.at = Never
		p.waiting--
		l.r.waiting--
	}
}

// turn returns until when the lane has to let a waiting one go first; a time
// not after now means that it may go. The one let first has been woken.
func (p *Pool) turn(now int64, l *Lane, cost int, express bool) int64 {
	r := l.r
	if r.waiting > 0 && (r.lim.Rate() > 0 || r.free() <= r.waiting || p.free() <= p.waiting) {
		slack := slackTasks * perWeight(int64(cost), l.weight)
		for _, o := range r.lanes {
			if o == l || o.state != laneWaiting || o.full() || o.express != express && express {
				continue
			}
			if (o.express && !express || o.tag+slack < l.tag) && o.claim() >= now {
				return p.yield(now, o)
			}
		}
	}
	if p.waiting > r.waiting && p.free() <= p.waiting {
		return p.slotTurn(now, l, express)
	}
	return now
}

// slotTurn is turn between resources, which share the slots equally: the one that
// holds fewer goes first, and among equals the one that has waited longer.
func (p *Pool) slotTurn(now int64, l *Lane, express bool) int64 {
	since := uint64(math.MaxUint64)
	if l.state == laneWaiting {
		since = l.since
	}
	for _, r := range p.resources {
		if r == l.r || r.waiting == 0 || r.free() <= 0 {
			continue
		}
		for _, o := range r.lanes {
			if o.state != laneWaiting || o.full() || o.cause != CauseSlots || o.claim() < now || express && !o.express {
				continue
			}
			if o.express && !express || r.inFlight < l.r.inFlight || r.inFlight == l.r.inFlight && o.since < since {
				return p.yield(now, o)
			}
		}
	}
	return now
}

// claim returns until when a waiting lane can make others wait for it.
func (l *Lane) claim() int64 {
	switch {
	case l.woken:
		return l.wokenAt + grace
	case l.at == Never:
		return Never
	}
	return l.at + grace
}

// yield wakes the lane that goes first, and returns when its claim is over.
func (p *Pool) yield(now int64, o *Lane) int64 {
	if !o.woken && (o.at == Never || o.at <= now) {
		p.wake(now, o)
	}
	return o.claim() + 1
}

func (p *Pool) wake(now int64, l *Lane) {
	l.woken, l.wokenAt = true, now
	if !l.listed {
		l.listed = true
		p.wakes = append(p.wakes, l)
	}
}

// settle wakes lanes while there is something free and somebody waits for it
// without knowing a time. One lane more than could run is woken, so that a
// partition that is held up does not hold up the others. With passed set somebody
// has used or given up a turn: one lane that had to let others go first is woken
// as well, if it is the first in order.
func (p *Pool) settle(now int64, passed bool) {
	if p.waiting == 0 {
		return
	}
	for free := p.free(); free > 0; {
		woken := 0
		var best *Lane
		for _, r := range p.resources {
			if r.waiting == 0 || r.free() <= 0 {
				continue
			}
			l, n := r.sleeper(now, passed)
			woken += n
			if l != nil && n <= r.free() && (best == nil || l.beforeOn(best)) {
				best = l
			}
		}
		if best == nil || woken > free {
			return
		}
		p.wake(now, best)
		passed = passed && best.cause != CauseTurn
	}
}

// sleeper returns the first of the lanes that wait without knowing a time, or for
// their turn if passed is set, and how many have been woken and are expected to ask.
func (r *PoolResource) sleeper(now int64, passed bool) (best *Lane, woken int) {
	for _, l := range r.lanes {
		switch {
		case l.state != laneWaiting, l.full():
		case l.woken:
			if l.claim() >= now {
				woken++
			}
		case l.at != Never && !(passed && l.cause == CauseTurn):
		case l.cause == CauseRate, l.cause == CauseClosed, l.cause == CauseCircuit: // a quota or permit, or the end of what holds it, will wake it
		case best == nil || l.before(best):
			best = l
		}
	}
	return best, woken
}

// before orders waiting lanes of one resource.
func (l *Lane) before(o *Lane) bool {
	switch {
	case l.express != o.express:
		return l.express
	case l.tag != o.tag:
		return l.tag < o.tag
	}
	return l.since < o.since
}

// beforeOn orders waiting lanes of different resources.
func (l *Lane) beforeOn(o *Lane) bool {
	switch {
	case l.express != o.express:
		return l.express
	case l.r.inFlight != o.r.inFlight:
		return l.r.inFlight < o.r.inFlight
	}
	return l.since < o.since
}

// wakeAll makes every waiting lane of r ask again: the times they know are void.
func (p *Pool) wakeAll(now int64, r *PoolResource) {
	for _, l := range r.lanes {
		if l.state == laneWaiting {
			p.wake(now, l)
		}
	}
}

func (r *PoolResource) rebase() {
	v := r.v
	r.v = 0
	for _, l := range r.lanes {
		l.tag -= v
	}
}
