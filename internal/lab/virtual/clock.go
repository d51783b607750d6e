package virtual

import (
	"math"

	"github.com/weirhq/weir/internal/core/heap"
)

// Never is a time that does not come.
const Never = int64(math.MaxInt64)

// Clock is the time of a world, in nanoseconds, and what is to happen in it. The zero
// value is at time 0.
type Clock struct {
	now    int64
	events heap.Heap[event]
	number uint64
}

// event is something that happens at a time.
type event struct {
	at     int64
	number uint64 // order of equal times
	do     func()
}

// Before orders events by time, and equal times by when they were set.
func (e event) Before(f event) bool { return e.at < f.at || e.at == f.at && e.number < f.number }

// NewClock returns a clock at a time.
func NewClock(now int64) *Clock { return &Clock{now: now} }

// Now returns the time.
func (c *Clock) Now() int64 { return c.now }

// At has do called at a time; if that has passed, as soon as the clock goes on.
func (c *Clock) At(at int64, do func()) {
	c.number++
	c.events.Push(event{max(at, c.now), c.number, do})
}

// After has do called when d has passed.
func (c *Clock) After(d int64, do func()) { c.At(c.now+d, do) }

// Next returns when the next event happens, [Never] if there is none.
func (c *Clock) Next() int64 {
	if len(c.events) == 0 {
		return Never
	}
	return c.events[0].at
}

// Step moves the time to the next event and lets it happen. There has to be one.
func (c *Clock) Step() {
	e := c.events.Pop()
	c.now = max(c.now, e.at)
	e.do()
}

// Advance moves the time on, and lets nothing happen. It never goes back.
func (c *Clock) Advance(to int64) { c.now = max(c.now, to) }

// Due lets everything happen whose time has come.
func (c *Clock) Due() {
	for c.Next() <= c.now {
		c.Step()
	}
}

// Run lets everything happen until a time, and moves there.
func (c *Clock) Run(until int64) {
	for c.Next() <= until {
		c.Step()
	}
	c.Advance(until)
}

// Play is the loop of a world whose machines wake by themselves, beside the events: what is due
// happens, the world takes its turn, and the time moves to what comes next. It ends when that is
// after until or [Never], or, and then it reports true, when a turn says that it was the last.
func (c *Clock) Play(until int64, next func() int64, turn func() (last bool)) (ended bool) {
	for {
		c.Due()
		if turn() {
			return true
		}
		at := next()
		if at > until || at == Never {
			return false
		}
		c.Advance(at)
	}
}
