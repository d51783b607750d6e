package sched

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/weirhq/weir/internal/core/limit"
	"pgregory.net/rapid"
)

// op is one input of the random test: what to do, to which thing, with what number.
type op struct{ what, who, n int }

// model drives a queue, and keeps an independent account of what must hold.
type model struct {
	q       *Queue
	parties []*Party
	shut    []bool // by party
	now     int64
	slots   int
	rs      []*modelResource
	tenants []*modelTenant
	bulks   []*modelGroup
	running []Pick
	log     []string
	fail    func(format string, args ...any)
}

type modelResource struct {
	r           *Resource
	concurrency int
	inFlight    int
	closed      int64
	rate        int64
	starts      []taken
}

type modelTenant struct {
	name          string
	cap, inFlight int
	paused        bool
}

type modelGroup struct {
	g                    *Bulk
	party                int
	t                    *modelTenant
	cap, inFlight        int
	paused, removed      bool
	entries              []*modelEntry
	items, done, dropped int
}

type modelEntry struct {
	e           *Entry
	g           *modelGroup
	r           *modelResource
	head, queue int // items of the next task, and all that are queued
}

type taken struct{ at, cost int64 }

// newModel makes a queue that so many share.
func newModel(parties int, fail func(string, ...any)) *model {
	m := &model{q: New(Options{Slots: 8}), now: 1e18, slots: 8, shut: make([]bool, parties), fail: fail}
	for range parties {
		m.parties = append(m.parties, m.q.Join())
	}
	for _, p := range m.parties {
		p.Open(m.now)
	}
	for i, c := range []ResourceConfig{{Rate: 40}, {Concurrency: 3}, {Rate: 300, Concurrency: 4}} {
		c.Name = string(rune('x' + i))
		m.rs = append(m.rs, &modelResource{r: m.q.AddResource(c), concurrency: c.Concurrency, rate: int64(c.Rate)})
	}
	for i := range 4 {
		m.tenants = append(m.tenants, &modelTenant{name: fmt.Sprint("t", i)})
	}
	return m
}

func (m *model) submit(o op) {
	t := m.tenants[o.who%len(m.tenants)]
	cap := 0
	if o.n%5 == 0 {
		cap = 1 + o.n%3
	}
	g := &modelGroup{t: t, cap: cap, party: (o.who + o.n) % len(m.parties)}
	g.g = m.parties[g.party].AddBulk(m.q.Tenant(t.name), BulkConfig{Submit: m.now, Tier: o.n % Tiers, Cap: cap, Priority: o.n % 3, Data: g})
	for step := range 1 + o.n%2 {
		r := m.rs[(o.who+step*(o.n%3))%len(m.rs)]
		e := &modelEntry{e: m.q.AddEntry(g.g, r.r, step), g: g, r: r}
		e.e.Data = e
		g.entries = append(g.entries, e)
	}
	m.bulks = append(m.bulks, g)
	e := g.entries[0]
	g.items = 1 + o.n%60
	e.queue = g.items
	m.update(e, 1+o.n%4)
}

func (m *model) update(e *modelEntry, head int) {
	e.head = min(head, e.queue)
	m.q.Update(m.now, e.e, e.head, int64(e.queue-e.head))
}

// next lets a party ask, and then those that are called.
func (m *model) next(party int) {
	m.ask(party)
	if m.deliver() {
		m.conserves()
	}
}

// deliver lets parties that are called ask, until none is. It reports whether the last ones got nothing.
func (m *model) deliver() (idle bool) {
	for calls := m.q.Calls(nil); len(calls) > 0; calls = m.q.Calls(nil) {
		for _, p := range calls {
			for m.ask(slices.Index(m.parties, p)) {
			}
		}
	}
	for i := range m.parties {
		if m.ask(i) {
			return false
		}
	}
	return !m.q.Called()
}

// ask lets a party ask for one task, and reports whether it got one.
func (m *model) ask(party int) bool {
	p, ok := m.parties[party].Next(m.now)
	if !ok {
		m.log = append(m.log, "-")
		return false
	}
	e := p.Entry.Data.(*modelEntry)
	if e.g.party != party {
		m.fail("party %d got a task of party %d", party, e.g.party)
	}
	if why := m.ineligible(e); why != "" {
		m.fail("picked an entry that may not run: %s", why)
	}
	if p.Cost > e.head || p.Cost == 0 || len(m.parties) == 1 && p.Cost < limit.LeastPart(e.head) {
		m.fail("cost of the pick = %d, want its head %d or a good part of it", p.Cost, e.head)
	}
	m.log = append(m.log, fmt.Sprint(e.g.t.name, e.r.r.name, p.Cost, p.Path))
	e.queue -= p.Cost
	e.g.inFlight++
	e.g.t.inFlight++
	e.r.inFlight++
	e.r.starts = append(e.r.starts, taken{m.now, int64(p.Cost)})
	m.running = append(m.running, p)
	m.update(e, e.head)
	return true
}

// ineligible says what keeps e from running, leaving rates aside.
func (m *model) ineligible(e *modelEntry) string {
	switch {
	case e.head == 0:
		return "nothing to run"
	case e.g.removed:
		return "removed"
	case m.shut[e.g.party]:
		return "its party is shut"
	case e.g.paused || e.g.t.paused:
		return "paused"
	case e.g.cap > 0 && e.g.inFlight >= e.g.cap:
		return "bulk action at its cap"
	case e.g.t.cap > 0 && e.g.t.inFlight >= e.g.t.cap:
		return "tenant at its cap"
	case e.r.concurrency > 0 && e.r.inFlight >= e.r.concurrency:
		return "resource at its concurrency"
	case e.r.closed > m.now:
		return "resource closed"
	case m.fresh() >= m.slots+m.slots/8 || len(m.running) >= 2*m.slots+m.slots/8:
		return "no slot"
	}
	return ""
}

// fresh counts the tasks that cannot have stalled yet.
func (m *model) fresh() (n int) {
	for _, p := range m.running {
		if m.now-p.At < stallAfter {
			n++
		}
	}
	return n
}

// conserves checks, by trying every entry, that Next had nothing to give, and that
// Wake will come in time for what waits for its rate.
func (m *model) conserves() {
	if len(m.running) >= m.slots {
		return // what is left is for some of the tenants alone
	}
	for _, r := range m.rs {
		if r.r.hangs(m.now) {
			continue // more than their share is not lent to those whose calls hang
		}
		blocked, eligible := false, false
		for _, g := range m.bulks {
			for _, e := range g.entries {
				if e.r != r || m.ineligible(e) != "" {
					continue
				}
				eligible = true
				at, _ := r.r.own.Ready(m.now, e.head)
				blocked = blocked || at > m.now
			}
		}
		if eligible && !blocked {
			m.fail("%s: Next gave nothing though every eligible task could run", r.r.name)
		}
		if eligible && m.wake() > m.now+int64(2e9) {
			m.fail("%s: waits for its rate, but Wake is %d ns away", r.r.name, m.wake()-m.now)
		}
	}
}

// wake returns when the first of the parties asks again by itself.
func (m *model) wake() int64 {
	at := int64(math.MaxInt64)
	for _, p := range m.parties {
		at = min(at, p.Wake())
	}
	return at
}

func (m *model) finish(o op) {
	if len(m.running) == 0 {
		return
	}
	i := o.who % len(m.running)
	p := m.running[i]
	m.running = slices.Delete(m.running, i, i+1)
	e := p.Entry.Data.(*modelEntry)
	e.g.inFlight--
	e.g.t.inFlight--
	e.r.inFlight--
	m.q.Done(m.now, p, int64(o.n)*1e6)
	if o.n%10 == 0 {
		m.q.Refund(p)
	}
	switch {
	case e.g.removed:
		e.g.dropped += p.Cost
	case o.n%10 == 0: // refused downstream: back into the queue
		e.queue += p.Cost
		m.update(e, max(e.head, 1))
	case len(e.g.entries) > 1 && e == e.g.entries[0]: // on to the next step
		n := e.g.entries[1]
		n.queue += p.Cost
		m.update(n, 1+o.n%4)
	default:
		e.g.done += p.Cost
	}
}

func (m *model) do(o op) {
	switch o.what {
	case 0, 1:
		m.submit(o)
	case 2, 3:
		m.finish(o)
	case 4:
		m.now += int64(o.n) * 1e6
	case 5:
		m.command(o)
	case 6:
		m.ask(o.who % len(m.parties)) // and those that it picks for hear of it later
	case 7:
		m.attend(o)
	default:
		m.next(o.who % len(m.parties))
	}
}

// attend shuts a party, opens it, or has another take its place.
func (m *model) attend(o op) {
	i := o.who % len(m.parties)
	p := m.parties[i]
	switch {
	case len(m.parties) == 1: // no other party could ask
	case o.n%10 == 0:
		for _, g := range m.bulks {
			if g.party == i && !g.removed {
				m.remove(g)
			}
		}
		p.Leave(m.now)
		m.parties[i], m.shut[i] = m.q.Join(), false
		m.parties[i].Open(m.now)
	case o.n%2 == 0:
		m.shut[i] = true
		p.Shut(m.now)
	default:
		m.shut[i] = false
		p.Open(m.now)
	}
}

func (m *model) command(o op) {
	r := m.rs[o.who%len(m.rs)]
	t := m.tenants[o.who%len(m.tenants)]
	switch o.n % 10 {
	case 0:
		t.paused = true
		m.q.PauseTenant(m.now, m.q.Tenant(t.name))
	case 1:
		t.paused = false
		m.q.ResumeTenant(m.now, m.q.Tenant(t.name))
	case 4:
		t.cap = o.n % 4
		m.q.SetTenant(m.now, m.q.Tenant(t.name), int64(100+o.n*50), t.cap)
	case 5:
		r.closed = m.now + int64(o.n)*1e6
		m.q.CloseUntil(m.now, r.r, r.closed)
	default:
		m.commandGroup(o)
	}
}

func (m *model) commandGroup(o op) {
	if len(m.bulks) == 0 {
		return
	}
	g := m.bulks[o.who%len(m.bulks)]
	switch o.n % 10 {
	case 6:
		g.paused = true
		m.q.PauseBulk(m.now, g.g)
	case 7, 8:
		g.paused = false
		m.q.ResumeBulk(m.now, g.g)
	case 9:
		if !g.removed {
			m.remove(g)
		}
	}
}

func (m *model) remove(g *modelGroup) {
	g.removed = true
	for _, e := range g.entries {
		g.dropped += e.queue
		e.queue, e.head = 0, 0
	}
	m.q.RemoveBulk(m.now, g.g)
}

// drain lifts all pauses and caps and runs what is left.
func (m *model) drain() {
	for _, r := range m.rs {
		r.closed = 0
		m.q.CloseUntil(m.now, r.r, 0)
	}
	for _, t := range m.tenants {
		t.paused, t.cap = false, 0
		m.q.ResumeTenant(m.now, m.q.Tenant(t.name))
		m.q.SetTenant(m.now, m.q.Tenant(t.name), Unit, 0)
	}
	for _, g := range m.bulks {
		g.paused = false
		m.q.ResumeBulk(m.now, g.g)
	}
	for i, p := range m.parties {
		m.shut[i] = false
		p.Open(m.now)
	}
	for range 100_000 {
		if m.next(0); m.log[len(m.log)-1] != "-" {
			continue
		}
		if len(m.running) > 0 {
			m.finish(op{n: 1})
		} else if w := m.wake(); w == math.MaxInt64 {
			return
		} else {
			m.now = max(m.now, w)
		}
	}
	m.fail("the queue did not drain")
}

// account checks that every item is where it should be, and that no second saw
// more than the rate.
func (m *model) account() {
	for i, g := range m.bulks {
		queued := 0
		for _, e := range g.entries {
			queued += e.queue
		}
		if queued != 0 || g.done+g.dropped != g.items {
			m.fail("bulk action %d: %d items in, %d done, %d dropped, %d queued after all was drained", i, g.items, g.done, g.dropped, queued)
		}
	}
	for _, r := range m.rs {
		if got := peak(r.starts, 1e9-staleAfter); r.rate > 0 && got > r.rate {
			m.fail("%s started %d items in a second, want <= %d", r.r.name, got, r.rate)
		}
	}
	for _, g := range m.bulks {
		m.q.RemoveBulk(m.now, g.g)
	}
	if m.q.InFlight() != 0 || m.q.presentW != 0 {
		m.fail("%d in flight and %d of weight present at the end, want 0", m.q.InFlight(), m.q.presentW)
	}
}

// peak returns the most that started in any window of the given length.
func peak(log []taken, window int64) int64 {
	var most, sum int64
	first := 0
	for _, x := range log {
		sum += x.cost
		for log[first].at <= x.at-window {
			sum -= log[first].cost
			first++
		}
		most = max(most, sum)
	}
	return most
}

func replay(parties int, ops []op, fail func(string, ...any)) []string {
	m := newModel(parties, fail)
	for _, o := range ops {
		m.do(o)
	}
	m.drain()
	m.account()
	return m.log
}

// Caps and limits hold, nothing paused or cancelled is picked, Next gives nothing
// only if nothing could run, no item is lost, and equal inputs give equal outputs: for
// one party, and for several that share the queue.
func TestQueueKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parties := rapid.IntRange(1, 4).Draw(t, "parties")
		ops := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) op {
			return op{rapid.IntRange(0, 11).Draw(t, "what"), rapid.IntRange(0, 11).Draw(t, "who"), rapid.IntRange(0, 99).Draw(t, "n")}
		}), 150, 400).Draw(t, "ops")
		first := replay(parties, ops, t.Fatalf)
		if second := replay(parties, ops, t.Fatalf); !slices.Equal(first, second) {
			t.Fatalf("two runs of the same inputs differ:\n%v\n%v", first, second)
		}
	})
}
