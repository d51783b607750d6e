package limit

import (
	"math"
	"time"
)

const (
	// window is the span in which at most a rate times the span starts. It is widened to the least
	// span in which a whole number of items fits: 2s for 0.5 items/s, 4/3s for 1.5 items/s. Whole
	// rates keep a window of one second.
	window = int64(time.Second)
	// catchUp is how much of a stall inside a busy period may be caught up at once.
	catchUp = int64(100 * time.Millisecond)
	// burst is how much may start at once after idleness, as time at full rate.
	burst = int64(20 * time.Millisecond)

	// pacedSlack is both catch-up and burst while a pace is set. For large tasks the catch-up
	// is pacedPart of the time that one of them takes. A downstream that refuses must see an
	// even stream, or its refusals are due to our bursts.
	pacedSlack = int64(5 * time.Millisecond)
	pacedPart  = 0.25

	// slowest is the lowest supported rate, one item in eleven days: it keeps every computed
	// time far inside an int64.
	slowest = 1e-6
)

// Limiter keeps a rate: no half-open window of its length ever sees more items
// than the window's quota, and work that was held up by a stall is caught up
// inside that same window, so nothing of the rate is lost.
//
// A cost above the quota of a whole window is let in when the window is empty,
// and the next one after it waits until the rate has paid for all of it. [Chunk]
// cuts tasks so that this does not happen.
type Limiter struct {
	rate    float64
	perItem float64 // nanoseconds
	window  int64   // widened to a whole quota
	quota   int64   // items per window

	pace float64 // items per second, 0: the rate is the pace
	even float64 // nanoseconds per item at the pace
	last int     // cost that was taken last

	tat    int64 // when pacing will have paid for all that was taken
	closed int64 // nothing before this time
	log    ring
}

// New returns a limiter that has taken nothing yet. The rate is in items per second. 0 means
// unlimited; anything below 1e-6 counts as 1e-6.
func New(rate float64) *Limiter {
	l := &Limiter{tat: math.MinInt64, closed: math.MinInt64}
	l.setRate(rate)
	return l
}

func (l *Limiter) setRate(rate float64) {
	l.rate = rate
	if rate == 0 {
		return
	}
	l.rate = max(rate, slowest)
	l.perItem = 1e9 / l.rate
	l.quota, l.window = quota(l.rate)
	l.log.coalesce = 0
	if l.quota > ringSpan {
		l.log.coalesce = l.window / ringSpan
	}
}

// quota returns the least whole number of items that takes at least a window at
// the given rate, and the window that it takes exactly.
func quota(rate float64) (items, span int64) {
	want := rate * float64(window) / 1e9
	whole := math.Round(want)
	if math.Abs(want-whole) > 1e-6*want || whole < 1 {
		whole = math.Ceil(want)
	} else {
		return int64(whole), window
	}
	return int64(whole), int64(math.Ceil(whole * 1e9 / rate))
}

// PerWindow returns what a rate lets start, and in which span: the least whole
// number of items that takes at least a second.
func PerWindow(rate float64) (items int64, window time.Duration) {
	items, span := quota(max(rate, slowest))
	return items, time.Duration(span)
}

// Rate returns the rate in force, 0 for unlimited.
func (l *Limiter) Rate() float64 { return l.rate }

// Pace returns the pace set by [Limiter.SetPace], 0 for none.
func (l *Limiter) Pace() float64 { return l.pace }

// Ready returns the time at which cost may be taken; a time not after now means now.
func (l *Limiter) Ready(now int64, cost int) int64 {
	at := l.closed
	if l.tat != math.MinInt64 {
		at = max(at, l.tat-l.slack())
	}
	if l.rate == 0 {
		return at
	}
	need := int64(cost)
	if need > l.quota {
		need = l.quota
		at = max(at, l.tat) // an oversized task gets no advance
	}
	return max(at, l.log.room(now-l.window, l.quota-need, l.window))
}

// Take records that cost starts now. The caller has asked Ready with the same
// arguments before and got a time not after now.
func (l *Limiter) Take(now int64, cost int) {
	l.last = cost
	if gap := l.gap(); gap > 0 {
		l.tat = max(l.tat, now) + int64(float64(cost)*gap)
	}
	if l.rate != 0 {
		l.log.add(now, int64(cost), now-l.window)
	}
}

// Late records that what was taken a moment ago starts now: the window counts it from now on.
func (l *Limiter) Late(taken, now int64, cost int) {
	if l.rate != 0 && now > taken {
		l.log.move(taken, now, int64(cost), now-l.window)
	}
}

// gap returns the time that an item has to pay for at the slower of rate and pace, in
// nanoseconds; 0 if there is neither.
func (l *Limiter) gap() float64 {
	switch {
	case l.pace == 0 && l.rate == 0:
		return 0
	case l.pace == 0:
		return l.perItem
	case l.rate == 0:
		return l.even
	}
	return max(l.perItem, l.even)
}

// slack returns how much of a stall may be caught up at once.
func (l *Limiter) slack() int64 {
	if l.pace != 0 {
		return min(catchUp, max(pacedSlack, int64(min(pacedPart*float64(l.last)*l.even, float64(catchUp)))))
	}
	return catchUp
}

// Busy records that work arrived after a time without any. Idleness earns the burst and no
// more.
func (l *Limiter) Busy(now int64) {
	switch {
	case l.pace != 0:
		l.tat = max(l.tat, now+l.slack()-min(burst, pacedSlack))
	case l.rate != 0:
		l.tat = max(l.tat, now+catchUp-burst)
	}
}

// SetPace spreads the starts at a rate below the limiter's own, in items per second, with a
// burst of 5ms and a catch-up of a quarter of a task, at least 5ms; 0 removes the pace. The
// window still holds what the rate allows: a pace is for a downstream that takes less at
// present, and the slower of rate and pace counts. What pacing has yet to pay for is paid at
// the new pace.
func (l *Limiter) SetPace(now int64, rate float64) {
	if rate == l.pace {
		return
	}
	gap, slack := l.gap(), l.slack()
	l.pace, l.even = 0, 0
	if rate > 0 {
		l.pace = max(rate, slowest)
		l.even = 1e9 / l.pace
	}
	l.repace(now, gap, slack)
}

// repace keeps the time until the next start in proportion when the pace changes,
// and grants no credit that the new catch-up would not have.
func (l *Limiter) repace(now int64, gap float64, slack int64) {
	if l.tat == math.MinInt64 {
		return
	}
	if l.gap() == 0 {
		l.tat = math.MinInt64
		return
	}
	wait := max(l.tat-slack-now, -l.slack())
	if wait > 0 && gap > 0 {
		wait = int64(float64(wait) * l.gap() / gap)
	}
	l.tat = now + l.slack() + wait
}

// SetRate changes the rate at once. What was taken before still counts: a window
// that ends after the change holds no more than the new rate allows from its
// next start on, and a lower rate waits until the window has drained to it.
func (l *Limiter) SetRate(now int64, rate float64) {
	if rate == l.rate {
		return
	}
	old, oldWindow, gap := l.rate, l.window, l.gap()
	l.setRate(rate)
	switch {
	case rate == 0 || old == 0:
		l.log.reset()
		if l.pace != 0 {
			l.repace(now, gap, l.slack())
			return
		}
		l.tat = math.MinInt64
		return
	case l.window > oldWindow:
		l.log.widen(now - l.window)
	}
	l.rescale(now, old, gap)
}

// rescale lets pacing go on at a changed rate, which was old and took gap per item.
func (l *Limiter) rescale(now int64, old, gap float64) {
	if l.pace != 0 {
		l.repace(now, gap, l.slack())
		return
	}
	l.scaleDebt(now, old)
}

// scaleDebt lets what pacing has yet to pay for be paid at the new rate.
func (l *Limiter) scaleDebt(now int64, old float64) {
	if debt := l.tat - now; l.tat != math.MinInt64 && debt > 0 {
		l.tat = now + int64(float64(debt)*old/l.rate)
	}
}

// CloseUntil lets nothing start before t. A t in the past opens the limiter.
func (l *Limiter) CloseUntil(t int64) { l.closed = t }

// Used returns the items started inside the window that ends now.
func (l *Limiter) Used(now int64) int64 {
	l.log.evict(now - l.window)
	return l.log.used()
}

// Fits returns how many of cost items may be taken now.
func (l *Limiter) Fits(now int64, cost int) int {
	switch {
	case l.closed > now || l.tat != math.MinInt64 && l.tat-l.slack() > now:
		return 0
	case l.rate == 0:
		return cost
	}
	return int(min(int64(cost), l.quota-l.Used(now)))
}

// Part returns how many of cost items may start now: all of them, or a part that is worth a call.
// If it is none, at is when there will be such a part.
func (l *Limiter) Part(now int64, cost int) (n int, at int64) {
	if l.Ready(now, cost) <= now {
		return cost, now
	}
	least := LeastPart(cost)
	if n = l.Fits(now, cost); n >= least {
		return n, now
	}
	return 0, l.Ready(now, least)
}
