package quota

import (
	"slices"
	"time"

	"github.com/weirhq/weir/store"
)

// The soonest and the latest time after which asking again makes sense.
const (
	askSoonest = 10 * time.Millisecond
	askLatest  = 250 * time.Millisecond
)

func again(in int64) time.Duration { return min(max(time.Duration(in), askSoonest), askLatest) }

// permits is the log of drawn permits, in order of time.
//
// A permit for time t may be used until t+DrawFor, and counts for a window longer. Permits of
// the same grain are one entry, so the log stays short at any rate. An entry has the end of its
// grain as its time, so its permits count for up to a grain too long, never too short.
type permits struct {
	grain, keep int64
	log         []permit
	sum         int64 // of the log
	last        int64 // when the newest is to be used
}

type permit struct{ time, units int64 }

func newPermits(window time.Duration) permits {
	return permits{grain: int64(max(time.Millisecond, window/256)), keep: int64(window + store.DrawFor)}
}

// earliest returns the first moment from now on, not before any other permit, at which the log
// leaves room for n. ok is false if room is too small in itself.
func (p *permits) earliest(now, n, room int64) (at int64, ok bool) {
	at = max(now, p.last)
	left := p.sum // all have begun by then
	for i := 0; left+n > room; i++ {
		if i == len(p.log) {
			return 0, false
		}
		at = max(at, p.log[i].time+p.keep)
		left -= p.log[i].units
	}
	return at, true
}

// add records a permit. at must not be before any other permit.
func (p *permits) add(at, n int64) {
	p.last = at
	p.sum += n
	end := (at + p.grain - 1) / p.grain * p.grain
	if i := len(p.log) - 1; i >= 0 && p.log[i].time == end {
		p.log[i].units += n
		return
	}
	p.log = append(p.log, permit{end, n})
}

// peak returns the most that the log takes of the limit at any moment from now on: some permits
// are yet to start, but not before others have ended.
func (p *permits) peak() int64 {
	var sum, most int64
	gone := 0
	for _, in := range p.log {
		for ; p.log[gone].time+p.keep <= in.time-p.grain; gone++ {
			sum -= p.log[gone].units
		}
		sum += in.units
		most = max(most, sum)
	}
	return most
}

// forget drops entries that have left every window.
func (p *permits) forget(now int64) {
	gone := 0
	for gone < len(p.log) && p.log[gone].time+p.keep <= now {
		p.sum -= p.log[gone].units
		gone++
	}
	p.log = slices.Delete(p.log, 0, gone)
}
