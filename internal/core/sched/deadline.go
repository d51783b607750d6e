package sched

import (
	"cmp"
	"math"
	"slices"

	"github.com/weirhq/weir/internal/core/heap"
)

// Deadlines order the work inside a flow, and nothing else: which flow is next, and what
// it is charged, does not depend on them. See DESIGN.md.

const (
	// urgentFrom is the load up to a deadline, as a part of what the tenant can do by then,
	// from which on the work due goes first. Below relaxedFrom it no longer does.
	urgentFrom, relaxedFrom = 0.8, 0.5
	// lastMoment is how many seconds before a deadline work should be done: plans are made only
	// now and then.
	lastMoment = 1.0
	// othersEvery is how often a pick goes by the usual order while there is urgent work.
	othersEvery = 16
	// promised is the part of a flow's rate that deadlines can count on.
	promised = 1 - 1.0/othersEvery
	// planEvery is the least time between two plans of a flow, and planCost what more
	// each entry with a deadline adds to it.
	planEvery, planCost = int64(250e6), int64(20e3)
	// mostLook is the longest time between two checks of a deadline, lookPart the inverse of the part of the
	// remaining time after which it is checked again, and firstLooks the number of checks that come at once.
	mostLook, lookPart, firstLooks = int64(5e9), 64, 8
	// surelyLate is for how long plans have to find that a deadline cannot be met before Look
	// reports it as late, and surelyBeside the same where other nodes have work: nodes have to
	// hear of each other first.
	surelyLate, surelyBeside = int64(500e6), int64(2e9)
	// returns is the factor of spare room needed before a deadline that was given up is taken
	// up again.
	returns = 1.1
	// mostLooked bounds how many urgent entries are checked for a task.
	mostLooked = 64
)

// pledge is the deadline of a bulk action.
type pledge struct {
	at    int64
	no    uint64    // breaks ties
	looks int       // number of checks so far
	left  []int64   // by step: items that have yet to start there
	own   []float64 // by step: the most items per second that the bulk action's own settings allow; 0: no bound
	since int64     // since when it cannot be met; 0: it can be met
	tight int32     // entries that are urgent
	over  int32     // entries with too much left
}

// Rest is the remaining work of a bulk action.
type Rest struct {
	Pending  []int64   // by step: items at it, or on their way to the first
	InFlight int64     // of all pending items
	Own      []float64 // by step: the most items per second that the bulk action's own settings allow; 0: no bound
}

// Outlook is the forecast for a bulk action's deadline.
type Outlook struct {
	Urgent bool  // the bulk action goes before others of its tenant
	Late   bool  // the deadline cannot be met: the bulk action goes in the usual order
	Again  int64 // when to look again
}

// agenda holds the deadlines of a flow, and its progress.
type agenda struct {
	entries []*Entry // of bulk actions with a deadline, the earliest first
	urgent  []*Entry // those of them that go before others
	kept    heap.Heap[duty]
	chosen  *Entry // the urgent entry, if it is picked next
	picks   int    // urgent picks since one in the usual order
	planned int64

	need   Need    // for the deadlines that can be met
	rate   float64 // items per second while it had something to run, of all nodes if its tenant had as much of each
	wanted int64   // for how long it had something to run, since the last plan
	since  int64   // since when it has something to run; 0: it has nothing
	share  float64 // by the limit, since measuring started
	sure   int64   // for how long the rate was measured
	taken  int64   // flow.taken at the last plan
}

// duty is an entry's part of the work that is due, the largest first.
type duty struct {
	e    *Entry
	left float64
}

// Before orders duties. Of equal ones the later is given up first.
func (a duty) Before(b duty) bool {
	return a.left > b.left || a.left == b.left && dueBefore(b.e, a.e) < 0
}

// dueBefore orders entries by deadline; of one bulk action the later step comes first.
func dueBefore(a, b *Entry) int {
	if a.bulk == b.bulk {
		return cmp.Compare(b.step, a.step)
	}
	return cmp.Or(cmp.Compare(a.bulk.pledge.at, b.bulk.pledge.at), cmp.Compare(a.bulk.pledge.no, b.bulk.pledge.no))
}

// pledged adds e to the deadlines of its flow, if its bulk action has one.
func (f *flow) pledged(e *Entry) {
	if e.bulk.pledge == nil {
		return
	}
	if f.agenda == nil {
		f.agenda = &agenda{planned: math.MinInt64 / 2, taken: f.taken}
		f.tier.r.pledged[f] = true
	}
	a := f.agenda
	i, _ := slices.BinarySearchFunc(a.entries, e, dueBefore)
	a.entries = slices.Insert(a.entries, i, e)
}

// unpledged removes e from the deadlines of its flow.
func (f *flow) unpledged(e *Entry) {
	a := f.agenda
	if a == nil || e.bulk.pledge == nil {
		return
	}
	e.setUrgent(false)
	e.setOver(false)
	if i, found := slices.BinarySearchFunc(a.entries, e, dueBefore); found {
		a.entries = slices.Delete(a.entries, i, i+1)
	}
	a.urgent = slices.DeleteFunc(a.urgent, func(o *Entry) bool { return o == e })
	if len(a.entries) == 0 {
		f.agenda = nil
		delete(f.tier.r.pledged, f)
	}
}

// wants records whether f has anything to run.
func (f *flow) wants(now int64, some bool) {
	switch a := f.agenda; {
	case a == nil:
	case some && a.since == 0:
		a.since = now
	case !some && a.since != 0:
		a.wanted += now - a.since
		a.since = 0
	}
}

// Look takes the remaining work of g and returns the forecast for its deadline. The caller asks
// when g begins to run, and again at Outlook.Again.
func (q *Queue) Look(now int64, g *Bulk, r Rest) Outlook {
	p := g.pledge
	if p == nil || g.state == bulkRemoved {
		return Outlook{Again: math.MaxInt64}
	}
	now = q.at(now)
	p.take(r)
	sure := surelyLate
	for e := g.first; e != nil; e = e.next {
		q.plan(now, e.flow)
		if e.Resource().beside != [Tiers]int64{} {
			sure = surelyBeside
		}
	}
	switch {
	case p.over == 0:
		p.since = 0
	case p.since == 0:
		p.since = now
	}
	o := Outlook{Urgent: p.tight > 0 && p.over == 0, Late: p.since != 0 && now-p.since >= sure}
	every := min(max((p.at-now)/lookPart, planEvery), mostLook)
	if p.looks++; p.looks < firstLooks || p.since != 0 && !o.Late {
		every = planEvery
	}
	o.Again = now + every
	return o
}

// take records the remaining work: an item at a step has the later steps still to do.
func (p *pledge) take(r Rest) {
	p.left, p.own = p.left[:0], append(p.own[:0], r.Own...)
	sum := -r.InFlight
	for _, n := range r.Pending {
		sum += n
		p.left = append(p.left, max(0, sum))
	}
}

// plan finds out which deadlines of f can be met if the earliest goes first, and which of them
// are urgent. If not all can be met, those with the most left are given up, which keeps as many
// as possible (Moore and Hodgson's rule).
func (q *Queue) plan(now int64, f *flow) {
	a := f.agenda
	if now-a.planned < planEvery+planCost*int64(len(a.entries)) {
		return
	}
	q.measure(now, f)
	even, best := f.rates()
	a.kept = a.kept[:0]
	sum := 0.0
	for _, e := range a.entries {
		left, time := e.due(now)
		if e.over {
			left *= returns
		}
		e.setOver(left > 0 && (time == 0 || left > e.bulk.pledge.ownRate(e)*time)) // whatever other bulk actions do
		if left == 0 || e.over {
			continue
		}
		a.kept.Push(duty{e, left})
		for sum += left; len(a.kept) > 0 && sum > best*promised*time; { // a sum of fractions may leave something of nothing
			d := a.kept.Pop()
			d.e.setOver(true)
			sum -= d.left
		}
	}
	clear(a.kept)
	q.hurry(now, f, even)
}

// hurry lists the entries of f that go before others: those due by a time up to which nearly
// all of f's rate is needed.
func (q *Queue) hurry(now int64, f *flow, rate float64) {
	a := f.agenda
	sum, need, last := 0.0, 0.0, -1
	for i, e := range a.entries {
		left, time := e.due(now)
		if left == 0 || e.over {
			continue
		}
		sum += left
		from := urgentFrom
		if e.urgent {
			from = relaxedFrom
		}
		need = max(need, sum/promised/max(time-lastMoment, time/2))
		if sum > from*rate*promised*(time-lastMoment) {
			last = i
		}
	}
	a.need = Need{int64(math.Ceil(1000 * need)), last >= 0}
	clear(a.urgent)
	a.urgent = a.urgent[:0]
	for i, e := range a.entries {
		left, _ := e.due(now)
		e.setUrgent(i <= last && left > 0 && !e.over)
		if p := e.bulk.pledge; p.tight > 0 && p.over == 0 { // also if it is another of its steps that is short of time
			a.urgent = append(a.urgent, e)
		}
	}
}

// due returns how many items of e have yet to start, 0 if its deadline is not considered here,
// and the seconds left for them.
func (e *Entry) due(now int64) (left, time float64) {
	g := e.bulk
	p := g.pledge
	if g.state != bulkRunning || int(e.step) >= len(p.left) || p.over > 0 && !e.over {
		return 0, 0
	}
	end := p.at
	for o := g.first; o != nil; o = o.next { // the last call begins so much earlier
		if o.step >= e.step {
			end -= o.Resource().Service()
		}
	}
	return float64(p.left[e.step]), max(0, float64(end-now)*1e-9)
}

// ownRate returns the rate that the bulk action's own settings allow for a step.
func (p *pledge) ownRate(e *Entry) float64 {
	if int(e.step) < len(p.own) && p.own[e.step] > 0 {
		return p.own[e.step]
	}
	return math.Inf(1)
}

func (e *Entry) setUrgent(is bool) { count(&e.urgent, is, &e.bulk.pledge.tight) }
func (e *Entry) setOver(is bool)   { count(&e.over, is, &e.bulk.pledge.over) }

// count sets a mark and keeps the number of marks that are set.
func count(mark *bool, is bool, n *int32) {
	if *mark != is {
		*mark = is
		if *n--; is {
			*n += 2
		}
	}
}

// urgentOf returns the entry of f that goes before others, the earliest deadline first, or nil
// if the usual order holds.
func (q *Queue) urgentOf(now int64, f *flow) *Entry {
	a := f.agenda
	if a == nil {
		return nil
	}
	a.chosen = nil
	if a.picks >= othersEvery-1 {
		return nil
	}
	for _, e := range a.urgent[:min(len(a.urgent), mostLooked)] {
		best, g := a.chosen, e.bulk
		if best != nil && best.bulk.pledge.at != g.pledge.at {
			break
		}
		may := e.queued() && g.state == bulkRunning && !g.atCap() && !g.party.absent(now)
		if may && (best == nil || best.bulk != g && e.seq < best.seq) { // shards take turns
			a.chosen = e
		}
	}
	return a.chosen
}

// picked counts a pick of e for the order inside f.
func (f *flow) picked(e *Entry) {
	a := f.agenda
	if a != nil && a.chosen == e {
		a.chosen = nil
		a.picks++
		return
	}
	if a != nil {
		a.picks = 0
	}
	if f.picks++; int(f.picks) >= smallestEvery {
		f.picks = 0
	}
}
