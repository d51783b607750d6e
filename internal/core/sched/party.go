package sched

import (
	"math"
	"slices"

	"github.com/weirhq/weir/internal/core/limit"
)

// Party is one of those who share a queue, as the partitions of a node do. Each
// makes groups of its own and runs their tasks. Whoever asks for its next task picks
// for all on the way: what is picked of others waits until they ask, and
// [Queue.Calls] tells who should.
type Party struct {
	// Data is the caller's.
	Data any

	q      *Queue
	sides  []*Side
	grants []Pick   // picks of its own that others made, oldest first
	parked []*Entry // not to be picked before it opens, or asks again
	shut   bool
	asks   bool // has begun to ask for tasks
	called bool // is on the queue's list of calls
}

const (
	// deafAfter is how old a grant gets before nothing more is picked for its party:
	// its loop is held up, and capacity must not wait with it.
	deafAfter = int64(5e6)
	// staleAfter is from which age on a grant is given back: what a task waits for
	// so long is better used by another.
	staleAfter = int64(20e6)
	// relief is how long after the one that promised it the others wake up.
	relief = int64(20e6)
)

// Join adds a party. It is shut until [Party.Open].
func (q *Queue) Join() *Party {
	p := &Party{q: q, shut: true}
	q.parties = append(q.parties, p)
	return p
}

// Open has entries of p picked.
func (p *Party) Open(now int64) {
	if p.shut {
		p.shut = false
		p.unpark(now)
	}
}

// Shut has nothing of p picked before it opens again. What others picked for it is given back.
func (p *Party) Shut(now int64) {
	if p.shut {
		return
	}
	p.shut = true
	p.giveBack(now)
}

// Leave takes p out of the queue. Its groups have been removed; tasks in flight are
// still given to [Queue.Done].
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

// Next returns a task of p that may run now, with all that it needs reserved. After
// it the caller says with [Queue.Update] what is left of the entry before it asks
// again. Tasks of others that come before it are picked, too, and wait for them.
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
		if pick.Entry.group.party == p {
			return pick, true
		}
		q.grant(now, &pick)
	}
	return Pick{}, false
}

// takeUp takes the oldest grant. It may be smaller than it was granted, if the entry has less to run by now.
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

// holds reports whether a task of e that was granted may still run: what forbids it may have come since.
func (e *Entry) holds(now int64) bool {
	g, f := e.group, e.flow
	t := g.tenant
	return e.head > 0 && g.state == groupRunning && (g.cap == 0 || g.inFlight <= g.cap) &&
		!t.paused && (t.cap == 0 || t.inFlight <= t.cap) && !f.shut(now)
}

// Wake returns when p should ask again without other input, as [Queue.Wake] does.
// One party promises to be there at that time; the others come a little later, in case
// it is held up.
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

// Call has one of the parties ask again, after a change from outside. One that has
// not begun to ask does not hear it.
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

// Calls appends to dst the parties that should ask for their next task, and forgets them.
func (q *Queue) Calls(dst []*Party) []*Party {
	dst = append(dst, q.calls...)
	clear(q.calls)
	q.calls = q.calls[:0]
	return dst
}

// Called reports whether there are any.
func (q *Queue) Called() bool { return len(q.calls) > 0 }

// grant keeps a pick for the party that it belongs to.
func (q *Queue) grant(now int64, pick *Pick) {
	e := pick.Entry
	p := e.group.party
	e.granted = true
	q.setAside(now, e)
	p.grants = append(p.grants, *pick)
	q.call(p)
}

// setAside takes e out of its flow until its party has said what is left of it. The
// flow stays in the tree, with its place and its weight.
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

// back ends that e is set aside.
func (q *Queue) back(e *Entry) {
	if e.away {
		e.away = false
		e.flow.away--
	}
}

// Return gives back a pick that will not be run. What it took of a rate is lost.
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

// Recall gives back what was picked for parties that do not know of it yet: what it
// was picked by does not hold any more.
func (q *Queue) Recall(now int64) {
	now = q.at(now)
	for _, p := range q.parties {
		p.giveBack(now)
	}
	q.Call()
}

// absent reports whether nothing is to be picked for p now.
func (p *Party) absent(now int64) bool {
	return p.shut || len(p.grants) > 0 && now-p.grants[0].At > deafAfter
}

// park keeps e until its party is there again.
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
