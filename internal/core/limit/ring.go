package limit

import (
	"math"
	"sort"
)

// ringSpan is the number of steps into which a window with a larger quota is
// divided. Smaller quotas need no steps: they cannot have more starts than items.
const ringSpan = 1024

// start is the total of the items that started up to one time.
type start struct {
	at  int64
	sum int64 // all items up to and including this start
}

// ring records the starts of the last window, oldest first.
type ring struct {
	buf      []start // length is a power of two
	head, n  int
	sum      int64 // all items ever
	gone     start // the newest start that was evicted
	coalesce int64 // starts within one step of this length count as one, at its latest time
	stepEnd  int64 // end of the newest step
}

func (r *ring) at(i int) *start { return &r.buf[(r.head+i)&(len(r.buf)-1)] }

// used returns the items of the recorded starts.
func (r *ring) used() int64 { return r.sum - r.gone.sum }

func (r *ring) reset() { *r = ring{buf: r.buf, coalesce: r.coalesce, gone: start{at: math.MinInt64}} }

// evict drops the starts at or before t: they have left the window.
func (r *ring) evict(t int64) {
	for r.n > 0 && r.at(0).at <= t {
		r.gone = *r.at(0)
		r.head = (r.head + 1) & (len(r.buf) - 1)
		r.n--
	}
}

// add records a start of cost items now; starts not after left are forgotten.
func (r *ring) add(now, cost, left int64) {
	r.sum += cost
	if r.n > 0 {
		last := r.at(r.n - 1)
		if now == last.at || now < r.stepEnd {
			*last = start{now, r.sum}
			return
		}
	}
	r.evict(left)
	if r.n == len(r.buf) {
		r.grow()
	}
	*r.at(r.n) = start{now, r.sum}
	r.n++
	r.stepEnd = now + r.coalesce
}

// move has cost items that started at a time count as if they had started now.
func (r *ring) move(from, now, cost, left int64) {
	for i := r.n - 1; i >= 0 && r.at(i).at >= from; i-- {
		r.at(i).sum -= cost
	}
	r.sum -= cost
	r.add(now, cost, left)
}

func (r *ring) grow() {
	buf := make([]start, max(16, 2*len(r.buf)))
	for i := range r.n {
		buf[i] = *r.at(i)
	}
	r.buf, r.head = buf, 0
}

// room returns when the starts in the window sum up to at most max, or the
// least time if they do already. Starts not after left are outside the window.
func (r *ring) room(left, max, window int64) int64 {
	r.evict(left)
	over := r.used() - max
	if over <= 0 {
		return math.MinInt64
	}
	target := r.gone.sum + over
	i := 0
	if r.at(0).sum < target {
		i = sort.Search(r.n, func(i int) bool { return r.at(i).sum >= target })
	}
	return r.at(i).at + window
}

// widen is called when the window becomes longer than what is remembered: the
// newest forgotten start stands for all that the longer window may contain, which is
// not known any more, so that nothing runs too early, at whatever rate comes next.
func (r *ring) widen(left int64) {
	if r.gone.sum == 0 || r.gone.at <= left {
		return
	}
	if r.n == len(r.buf) {
		r.grow()
	}
	r.head = (r.head - 1) & (len(r.buf) - 1)
	r.n++
	*r.at(0) = r.gone
	r.gone = start{at: math.MinInt64}
}
