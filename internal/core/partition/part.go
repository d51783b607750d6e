package partition

import (
	"slices"
	"time"

	"github.com/weirhq/weir"
)

// peakFor is the least time for which a shard counts as using what it has used at most.
const peakFor = int64(250 * time.Millisecond)

// use is how much of a bound was used lately, at most.
type use struct {
	peak, before int64 // in this span of peakFor, and in the one before
	since        int64 // when this span began
}

// note counts that n are in use.
func (u *use) note(now, n int64) {
	switch {
	case now-u.since >= 2*peakFor:
		u.peak, u.before, u.since = 0, 0, now
	case now-u.since >= peakFor:
		u.peak, u.before, u.since = 0, u.peak, now
	}
	u.peak = max(u.peak, n)
}

// recent returns the most that was in use lately.
func (u *use) recent(now int64) int64 {
	switch {
	case now-u.since >= 2*peakFor:
		return 0
	case now-u.since >= peakFor:
		return u.peak
	}
	return max(u.peak, u.before)
}

// setBounds reads the bulk action's own bounds from its rules.
func (b *bulk) setBounds() {
	b.bounds = b.spec.bounds()
	if b.bounds == nil {
		b.uses = nil
	} else if b.uses == nil {
		b.uses = make([]use, len(b.bounds))
	}
}

// bound returns one of the bulk action's own bounds; 0: it has none there.
func (b *bulk) bound(k int) int64 {
	if b.bounds == nil {
		return 0
	}
	return b.bounds[k]
}

// part returns how much of a bound may be used here.
func (b *bulk) part(k int) int64 {
	switch {
	case b.shard == nil:
		return b.bound(k)
	case b.shard.part == nil:
		return 0
	}
	return b.shard.part[k]
}

// cap returns how many tasks may be in flight here, for the queue: 0: no bound; below 0: none may.
func (b *bulk) cap() int {
	if n := b.part(0); n > 0 || b.bound(0) == 0 {
		return int(n)
	}
	return -1
}

// rate returns the step's own rate here, and whether nothing may start at it.
func (b *bulk) rate(no int) (rate float64, shut bool) {
	rate = b.spec.Rates[b.spec.Steps[no]]
	whole, part := b.bound(1+no), b.part(1+no)
	if rate == 0 || part == whole {
		return rate, false
	}
	return rate * float64(max(part, 1)) / float64(whole), part == 0
}

// used notes how much of a bound is in use after a start.
func (m *Machine) used(now int64, s *step) {
	b := s.bulk
	if b.uses == nil {
		return
	}
	b.uses[0].note(now, m.tasks(b))
	if s.pace.Own == nil {
		return
	}
	n := s.pace.Own.Used(now)
	b.uses[1+s.no].note(now, n)
	if b.shard != nil && n > b.part(1+s.no) { // it was picked before the part became smaller
		m.settleLater(now, b, 1+s.no)
	}
}

// tasks returns how many tasks are in flight here, those included that are picked and not cut yet.
func (m *Machine) tasks(b *bulk) int64 { return int64(m.queue.Tasks(b.queued)) }

// setPart sets how much of each bound may be used here. Of a lower rate the earlier part counts
// until the starts at it have left the window.
func (m *Machine) setPart(now int64, b *bulk, part []int64) {
	s := b.shard
	if slices.Equal(s.part, part) {
		return
	}
	for k := 1; k < min(len(part), len(s.part)); k++ {
		if part[k] < s.part[k] {
			m.settleLater(now, b, k)
		}
	}
	s.part = part
	m.queue.SetBulk(now, b.queued, b.queueing())
	for _, st := range b.steps {
		st.setPace(now, b)
	}
	m.offerAll(now, b)
}

// settleLater has more than the part of a rate count until what has started has left its window.
func (m *Machine) settleLater(now int64, b *bulk, k int) {
	s := b.shard
	if len(s.settles) != len(b.bounds) {
		s.settles = make([]int64, len(b.bounds))
	}
	if s.settles[k] = now + b.spec.windowOf(k); b.away() {
		m.ring(b, s.settles[k])
	} else {
		m.lookAtParts(b, s.settles[k])
	}
}

// settleAll does so for all rates.
func (m *Machine) settleAll(now int64, b *bulk) {
	for k, n := range b.bounds {
		if k > 0 && n > 0 && b.shard != nil {
			m.settleLater(now, b, k)
		}
	}
}

// settled reports whether no more than the part of a bound counts.
func (s *shard) settled(now int64, k int) bool { return k >= len(s.settles) || now >= s.settles[k] }

// inForce returns how much of each bound may be in use here; [all]: that is not certain yet.
func (m *Machine) inForce(now int64, b *bulk) (held []int64) {
	for k, n := range b.bounds {
		switch {
		case n == 0:
			held = append(held, 0)
		case k == 0:
			held = append(held, max(b.part(0), m.tasks(b)))
		case !b.shard.settled(now, k):
			held = append(held, all)
		default:
			held = append(held, b.part(k))
		}
	}
	return held
}

// asks returns how much of each bound would be used here: a little more than was used, so that it
// shows if that is not enough, and all if the part is used and there is more to do.
func (m *Machine) asks(now int64, b *bulk) (want []int64) {
	for k, n := range b.bounds {
		switch u := b.uses[k].recent(now); {
		case n == 0:
			want = append(want, all)
		case !b.hasWork(k):
			want = append(want, m.leastAsked(b, k))
		case max(u, m.inUse(now, b, k)) >= b.part(k):
			want = append(want, all)
		default:
			u = max(u, m.inUse(now, b, k))
			want = append(want, u+1+u/8)
		}
	}
	return want
}

// leastAsked returns how much of a bound is wanted while nothing is ready: items that wait may have to
// run alone, which no queue shows.
func (m *Machine) leastAsked(b *bulk, k int) int64 {
	n := min(b.waiting, 1)
	if k == 0 {
		n = max(n, m.tasks(b))
	}
	return n
}

// inUse returns how much of a bound is in use.
func (m *Machine) inUse(now int64, b *bulk, k int) int64 {
	switch {
	case k == 0:
		return m.tasks(b)
	case b.steps != nil && b.steps[k-1].pace.Own != nil:
		return b.steps[k-1].pace.Own.Used(now)
	}
	return 0
}

// hasWork reports whether there are items here, or may soon be, whose start a bound counts.
func (b *bulk) hasWork(k int) bool {
	last := k - 1
	if k == 0 {
		last = len(b.steps) - 1
	}
	n := b.unopened()
	if b.shard != nil {
		n += b.shard.rest
	}
	for i, s := range b.steps {
		if i <= last {
			n += s.queued + s.coming
		}
	}
	return n > 0
}

// atBound reports whether a bound of the bulk action itself is used up: more nodes would gain
// nothing.
func (m *Machine) atBound(now int64, b *bulk) bool {
	for k, n := range b.bounds {
		if n == 0 {
			continue
		}
		used := max(b.uses[k].recent(now), m.inUse(now, b, k))
		if b.atHome() {
			used = b.shard.home.usedOf(k, used)
		}
		if used >= n {
			return true
		}
	}
	return false
}

// press has a part looked at that is too small for what there is to do.
func (m *Machine) press(now int64, b *bulk) {
	switch {
	case b.uses == nil || b.shard == nil || b.state != weir.BulkRunning:
	case b.away():
		if m.presses(now, b) {
			m.touch(b) // the commit tells the home
		}
	case b.shard.home.parts.lookAt != 0 && b.shard.home.parts.lookAt <= now+partsEvery:
	case slices.Contains(m.asks(now, b), all):
		m.lookAtParts(b, max(now, b.shard.home.parts.looked+partsEvery))
	}
}

// askLess has another tally made when what was used lately counts no more, if nothing is in flight
// that would bring one about.
func (m *Machine) askLess(now int64, b *bulk) {
	for k, n := range b.bounds {
		if want := b.shard.away.told.Want[k]; n > 0 && b.inFlight == 0 && b.part(k) > 0 && (want == all || want > 1) {
			m.ring(b, now+2*peakFor)
			return
		}
	}
}

// presses reports whether a shard wants all of a bound, or anything at all, which its home has not been told.
func (m *Machine) presses(now int64, b *bulk) bool {
	told := b.shard.away.told.Want
	for k, want := range m.asks(now, b) {
		if k >= len(told) || want == all && told[k] != all || want != 0 && told[k] == 0 {
			return true
		}
	}
	return false
}

// partsMoved reports whether the home should hear soon what a shard wants of the bounds, or that
// less of them is in force there.
func (m *Machine) partsMoved(now int64, b *bulk) bool {
	told := b.shard.away.told.Held
	for k, held := range m.inForce(now, b) {
		if k < len(told) && held != all && (told[k] == all || held < told[k]) {
			return true
		}
	}
	return b.uses != nil && m.presses(now, b)
}
