package sched

import (
	"math"
	"slices"

	"github.com/weirhq/weir/internal/core/limit"
)

// Party is a client of a shared queue: the partitions of a node have one each. A party adds its
// own bulk actions and runs their tasks. A party that asks for its next task also picks the tasks of
// others that come before it. Those become grants, which wait until their parties ask;
// [Queue.Calls] names these parties.
type Party struct {
	// Data is the caller's.
	Data any

	q      *Queue
	sides  []*Side
	grants []Pick   // its picks that other parties made, oldest first
	parked []*Entry // not picked before the party opens, or asks again
	shut   bool
	asks   bool // has started to ask for tasks
	called bool // is on the queue's list of calls
}

const (
	// deafAfter is the age of a grant from which on nothing more is picked for its party: its
	// loop is blocked, and capacity must not wait for it.
	deafAfter = int64(5e6)
	// staleAfter is the age from which on a grant is given back: other tasks can use its
	// capacity.
	staleAfter = int64(20e6)
	// relief is how long after the party that promised to wake up the others do.
	relief = int64(20e6)
)

// Join adds a party. It is closed until [Party.Open].
func (q *Queue) Join() *Party {
	p := &Party{q: q, shut: true}
	q.parties = append(q.parties, p)
	return p
}

// Open lets entries of p be picked.
func (p *Party) Open(now int64) {
	if p.shut {
		p.shut = false
		p.unpark(now)
	}
}

// Shut stops picking entries of p until it opens again, and gives back what others picked for
// it.
func (p *Party) Shut(now int64) {
	if p.shut {
		return
	}
	p.shut = true
	p.giveBack(now)
}

// Leave removes p from the queue. The caller has removed its bulk actions, and still reports tasks in
// flight to [Queue.Done].
func (p *Party) Leave(now int64) {
	q := p.q
	p.Shut(now)
	for _, s := range p.sides {
		q.dropSide(now, s)
	}
	p.sides = nil
	q.parties = slices.DeleteFunc(q.parties, func(o *Party) bool { return o == p })
	q.calls = slices.DeleteFunc(q.calls, func(o *Party) bool { return o == p })
	if q.sentry == p {
		q.sentry = nil
		q.Call()
	}
}

// Next returns a task of p that may run now, with all that it needs reserved. Before it asks
// again, the caller reports with [Queue.Update] what is left of the entry. Tasks of other
// parties that come before it are picked as well, and wait for their parties.
func (p *Party) Next(now int64) (pick Pick, ok bool) {
	q := p.q
	now = q.at(now)
	p.asks, p.called = true, false
	if !p.shut && len(p.parked) > 0 {
		p.unpark(now)
	}
	for len(p.grants) > 0 {
		if pick, ok = p.takeUp(now); ok {
			return pick, true
		}
	}
	for q.next(now, &pick) {
		if pick.Entry.bulk.party == p {
			return pick, true
		}
		q.grant(now, &pick)
	}
	return Pick{}, false
}

// takeUp takes the oldest grant. The task may be smaller than granted, if the entry has less to
// run by now.
func (p *Party) takeUp(now int64) (Pick, bool) {
	g := p.grants[0]
	if p.grants = p.grants[1:]; len(p.grants) == 0 {
		p.grants = nil
	}
	e := g.Entry
	e.granted = false
	if now-g.At > staleAfter || now > g.until || !e.holds(now) {
		p.q.Return(now, g)
		return Pick{}, false
	}
	if g.until == limit.Never {
		e.Resource().gate.Late(g.At, now, g.Cost)
	}
	g.Start = now
	if less := g.Cost - int(e.head); less > 0 {
		p.q.refund(Pick{Entry: e, Cost: less})
		g.Cost = int(e.head)
	}
	return g, true
}

// holds reports whether a granted task of e may still run: e may have been blocked since.
func (e *Entry) holds(now int64) bool {
	g, f := e.bulk, e.flow
	t := g.tenant
	return e.head > 0 && g.state == bulkRunning && (g.cap == 0 || g.inFlight <= g.cap) &&
		!t.paused && (t.cap == 0 || t.inFlight <= t.cap) && !f.shut(now)
}

// Wake returns when p should ask again without other input, as [Queue.Wake] does. One party
// promises to ask at that time; the others ask a little later, in case it is blocked.
func (p *Party) Wake() int64 {
	q := p.q
	if len(p.grants) > 0 {
		return math.MinInt64
	}
	at := q.Wake()
	switch {
	case at == math.MaxInt64:
		return at
	case q.sentry == nil || q.sentry == p || at < q.watch:
		q.sentry, q.watch = p, at
		return at
	}
	return max(at, 0) + relief
}

// Call makes one of the parties ask again, after a change from outside. It skips parties that
// have not started to ask.
func (q *Queue) Call() {
	if q.sentry != nil {
		q.call(q.sentry)
		return
	}
	if i := slices.IndexFunc(q.parties, func(p *Party) bool { return p.asks }); i >= 0 {
		q.call(q.parties[i])
	}
}

func (q *Queue) call(p *Party) {
	if !p.called {
		p.called = true
		q.calls = append(q.calls, p)
	}
}

// Calls appends to dst the parties that should ask for their next task, and clears the list.
func (q *Queue) Calls(dst []*Party) []*Party {
	dst = append(dst, q.calls...)
	clear(q.calls)
	q.calls = q.calls[:0]
	return dst
}

// Called reports whether any party should ask.
func (q *Queue) Called() bool { return len(q.calls) > 0 }

// grant keeps a pick for the party that it belongs to.
func (q *Queue) grant(now int64, pick *Pick) {
	e := pick.Entry
	p := e.bulk.party
	e.granted = true
	q.setAside(now, e)
	p.grants = append(p.grants, *pick)
	q.call(p)
}

// setAside takes e out of its flow until its party has reported what is left. The flow stays in
// the tree, with its place and its weight.
func (q *Queue) setAside(now int64, e *Entry) {
	f := e.flow
	e.away = true
	f.away++
	if !e.queued() {
		return
	}
	if len(f.heaps[byScore]) == 1 {
		q.ask(f)
	}
	q.dequeue(now, e)
}

// back ends the state that setAside began.
func (q *Queue) back(e *Entry) {
	if e.away {
		e.away = false
		e.flow.away--
	}
}

// Return gives back a pick that will not be run. Its part of a rate stays used.
func (q *Queue) Return(now int64, p Pick) {
	now = q.at(now)
	e := p.Entry
	e.granted = false
	q.refund(p)
	q.release(now, p)
	q.back(e)
	q.enqueue(now, e)
	q.settle(now, e.flow)
}

// giveBack returns all grants.
func (p *Party) giveBack(now int64) {
	grants := p.grants
	p.grants = nil
	for i := range grants {
		p.q.Return(now, grants[i])
	}
}

// Recall gives back all grants that their parties have not taken: the limits they were picked
// under have changed.
func (q *Queue) Recall(now int64) {
	now = q.at(now)
	for _, p := range q.parties {
		p.giveBack(now)
	}
	q.Call()
}

// absent reports whether nothing may be picked for p now.
func (p *Party) absent(now int64) bool {
	return p.shut || len(p.grants) > 0 && now-p.grants[0].At > deafAfter
}

// park keeps e until its party is back.
func (p *Party) park(e *Entry) {
	if !e.parked {
		e.parked = true
		p.parked = append(p.parked, e)
	}
}

func (p *Party) unpark(now int64) {
	parked := p.parked
	p.parked = nil
	for _, e := range parked {
		e.parked = false
		p.q.enqueue(now, e)
	}
}
