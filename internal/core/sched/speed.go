package sched

const (
	// speedEvery is over how long the speed of a resource is measured.
	speedEvery = int64(500e6)
	// smallTasks is how many tasks are small work at least, however slow the resource is.
	smallTasks = 2
)

// speed measures how many items a resource takes per second while more wait. That tells
// what its rate does not: a downstream may bear only a few calls at once, or slots may be
// taken by other resources.
type speed struct {
	from   int64 // when this measurement began; 0: none has
	sent   int64 // items since then
	perSec float64
	cost   float64 // mean items of a task
}

// start takes a task that starts into account. It reports whether the speed has been measured anew.
func (s *speed) start(now, cost int64, more bool) bool {
	if s.cost == 0 {
		s.cost = float64(cost)
	}
	s.cost += (float64(cost) - s.cost) / 16
	if !more {
		s.from = 0 // nothing waits: what starts from now on says less than what could
		return false
	}
	if s.from == 0 {
		s.from, s.sent = now, 0
	}
	s.sent += cost
	took := now - s.from
	if took < speedEvery {
		return false
	}
	is := float64(s.sent) * 1e9 / float64(took)
	if s.perSec == 0 {
		s.perSec = is
	}
	s.perSec = (s.perSec + is) / 2
	s.from, s.sent = now, 0
	return true
}

// smallNow is what counts as small: a second of the resource's rate, or of its speed if that is far less.
func (r *Resource) smallNow() int64 {
	most := int64(smallUnlimited)
	if r.rate > 0 {
		most = int64(min(max(r.rate, 10*float64(r.chunk)), smallMost))
	}
	if r.speed.perSec == 0 || r.speed.perSec > float64(most)/2 {
		return most
	}
	return max(min(int64(max(r.speed.perSec, smallTasks*r.speed.cost)), most), 1)
}

// resize has what counts as small follow the speed. Where that becomes far less, credit and
// express places that flows have by the former size are taken back.
func (q *Queue) resize(r *Resource) {
	small := r.smallNow()
	if small >= r.small-r.small/4 && small <= r.small+r.small/4 {
		return
	}
	shrunk := small < r.small
	r.small = small
	r.setBudgets()
	for i := range r.budgets {
		r.budgets[i] = min(r.budgets[i], r.depths[i])
	}
	if !shrunk {
		return
	}
	for k := range r.tiers {
		t := &r.tiers[k]
		for f := t.turn.first; f != nil; f = f.links[inTurn].next {
			f.tag = max(f.tag, f.owed())
			if f.backlog > small {
				f.setClass(noClass)
			}
		}
	}
}
