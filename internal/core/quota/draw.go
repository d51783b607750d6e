package quota

import (
	"math"
	"time"

	"github.com/weirhq/weir/store"
)

const never = math.MaxInt64

// The least time between two permits of a node that has a quota, as a part of the average in
// the last window: evenly while permits are scarce, and sooner while more are available. With a
// longer time, a rate that becomes free takes longer to be used.
const evenly, sooner = 0.8, 0.3

// politeFor is longer than a call of the store usually takes.
const politeFor = int64(20 * time.Millisecond)

// drawNow returns how much to draw now, or lowers wake to the time of the next check.
func (k *Keeper) drawNow(now int64, v View, wake *int64) int64 {
	if k.permit.units > 0 && (v.Permit == 0 || now >= k.permit.until) {
		even := k.draw.sent + k.spacing(now)
		k.resize(v)
		k.draw.at = max(now+k.politeness(v), even)
	}
	switch {
	case k.limit.Window == 0, k.draw.out, v.Short == 0:
		return 0
	case k.quota >= k.limit.Units && now < k.until: // it holds the whole limit
		return 0
	case v.Permit > 0 && now < k.permit.until:
		*wake = min(*wake, k.permit.until)
		return 0
	case k.draw.refused:
		k.draw.refused = false
		k.draw.at += k.politeness(v)
		fallthrough
	case now < k.draw.at:
		*wake = min(*wake, k.draw.at)
		return 0
	}
	return min(max(k.draw.units, v.Cost, 1), max(v.Cost, k.limit.Units/100, 1))
}

// politeness returns how long a node that has had something lets others go first while permits
// are scarce.
func (k *Keeper) politeness(v View) int64 {
	if k.draw.scarce && v.Used+k.sumDrawn() >= sparseBelow*k.chunk {
		return politeFor
	}
	return 0
}

// spacing returns the time that a node with a quota leaves between two permits, so that it
// draws them evenly. Otherwise it takes all there are at once, and a node that has just started
// to work waits until they have left the window.
func (k *Keeper) spacing(now int64) int64 {
	drawn := k.sumDrawn()
	if drawn == 0 || k.quota == 0 || now >= k.until {
		return 0
	}
	mean := float64(k.limit.Window) * float64(k.permit.units) / float64(drawn)
	if k.draw.scarce {
		return int64(evenly * mean)
	}
	return int64(sooner * mean)
}

// resize asks for twice as much next time if all of a permit was used and more is wanted, and
// for as little as possible if some was left over.
func (k *Keeper) resize(v View) {
	if v.Permit > 0 || v.Short == 0 {
		k.draw.units = 0
	} else {
		k.draw.units = min(2*k.permit.units, k.limit.Units)
	}
	k.permit.units = 0
}

// Drew takes the answer to Draw. If it is a permit that may be used, ok is true and from and
// until bound its use.
//
// The permit's time is after from the moment at which the store was asked, which lies between
// call and answer: so it may be used no sooner than after from now, and no later than after and
// DrawFor from the call.
func (k *Keeper) Drew(now int64, after time.Duration, granted bool, err error) (units, from, until int64, ok bool) {
	k.draw.out = false
	k.draw.scarce = !granted || int64(after) > politeFor
	switch {
	case err != nil:
		k.draw.at = now + reportSoon
		return 0, 0, 0, false
	case !granted:
		k.draw.at, k.draw.refused = now+int64(after), true
		return 0, 0, 0, false
	}
	from, until = now+int64(after), k.draw.sent+int64(after+store.DrawFor)
	if from >= until {
		k.draw.at = now + voidWait<<min(k.draw.voids, 5)
		k.draw.voids++
		return 0, 0, 0, false
	}
	k.draw.voids = 0
	k.permit.units, k.permit.until = k.draw.units, until
	k.drawn = append(k.drawn, permit{from, k.draw.units})
	return k.draw.units, from, until, true
}

// forget drops the permits that have left the window.
func (k *Keeper) forget(now int64) {
	n := 0
	for n < len(k.drawn) && k.drawn[n].time <= now-int64(k.limit.Window) {
		n++
	}
	if n > 0 {
		k.drawn = append(k.drawn[:0], k.drawn[n:]...)
	}
}

func (k *Keeper) sumDrawn() (sum int64) {
	for _, p := range k.drawn {
		sum += p.units
	}
	return sum
}
