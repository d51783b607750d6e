package partition

import (
	"slices"
	"time"

	"github.com/weirhq/weir"
)

// repeatEvery is how often a message is repeated that shows no effect.
const repeatEvery = int64(5 * time.Second)

// home holds what the home of a shared bulk action knows about its shards.
type home struct {
	owners  []byte     // by range, as far as given out: the shard that has it
	lists   [][]uint32 // by shard: its ranges, ascending
	items   []int64    // by shard: the items of those
	last    []int      // by shard: how many it was given last; 0: none by this owner
	moved   []int64    // by shard: when items of it last ended
	tallies []Tally    // by shard: the newest; that of the home itself stays empty
	fresh   []bool     // by shard: the tally is not in the rows yet
	told    []told     // by shard: the newest orders
	written int        // how many owners are in the row
	own     []uint32   // ranges for the home, not yet in a commit
	sealed  []uint32   // ranges for the home, in the commit under way
	alarm   int64      // when to check whether orders show their effect
	parts   parts      // of the bulk action's own bounds
}

// told is the content of the newest orders to a shard.
type told struct {
	number uint64 // 0: none by this owner
	at     int64
	ranges int
	state  weir.BulkState
	rules  uint64
	part   uint64 // number of the commit that decided it
}

// Orders is a message from the home to a shard. Each holds all that the shard may not know, so
// of several only the newest counts.
type Orders struct {
	ID     weir.BulkID    `json:"id"`
	Number uint64         `json:"number"` // of the home's commit that decided it
	Shard  int            `json:"shard"`
	Home   int            `json:"home"`           // the sending partition
	To     int            `json:"to"`             // the receiving partition
	Spec   *Created       `json:"spec,omitempty"` // until the shard has shown that it has it
	From   int            `json:"from"`           // number of ranges in the shard's newest tally
	Ranges []uint32       `json:"ranges,omitempty"`
	State  weir.BulkState `json:"state"` // for the shard to follow; a final one ends it
	Cause  string         `json:"cause,omitempty"`
	Reason string         `json:"reason,omitempty"`
	Rest   int64          `json:"rest,omitempty"`  // items not given to any shard
	Rules  *ruleSet       `json:"rules,omitempty"` // current rules, if they were ever changed
	Part   []int64        `json:"part,omitempty"`  // of each of the bulk action's own bounds, by those rules
}

// Outgoing is a message to the inbox of another partition. It is superseded by a later one with
// the same partition and bulk action.
type Outgoing struct {
	Partition int
	Bulk      weir.BulkID
	Body      []byte
}

func newHome(c *Created) *home {
	n := len(c.Shards)
	return &home{
		lists: make([][]uint32, n), items: make([]int64, n), last: make([]int, n), moved: make([]int64, n),
		tallies: make([]Tally, n), fresh: make([]bool, n), told: make([]told, n), parts: newParts(c.bounds(), n),
	}
}

// grant gives the next range to a shard.
func (h *home) grant(c *Created, to int) uint32 {
	r := uint32(len(h.owners))
	h.owners = append(h.owners, byte(to))
	h.lists[to] = append(h.lists[to], r)
	h.items[to] += c.itemsOf(r)
	return r
}

// grantNext gives the next range to a shard.
func (m *Machine) grantNext(b *bulk, to int) {
	r := b.shard.home.grant(b.spec, to)
	if to == 0 {
		b.shard.home.own = append(b.shard.home.own, r)
	}
	b.shard.rest -= b.spec.itemsOf(r)
}

// stopping reports whether the bulk action starts nothing more.
func (b *bulk) stopping() bool { return b.state == weir.BulkCancelling || b.state.Final() }

func (b *bulk) begunBy(shard int) int {
	if shard == 0 {
		return b.shard.begun
	}
	return b.shard.home.tallies[shard].Begun
}

// tally adds a shard's tally to the counters of the bulk action.
func (m *Machine) tally(now int64, t *Tally) {
	b := m.bulks[t.ID]
	if b == nil {
		m.dismiss(t)
		return
	}
	if !b.atHome() || t.Shard <= 0 || t.Shard >= len(b.spec.Shards) {
		return
	}
	h := b.shard.home
	if t.Number <= h.tallies[t.Shard].Number {
		return
	}
	old := h.tallies[t.Shard]
	b.count(&old, -1)
	b.count(t, 1)
	h.tallies[t.Shard], h.fresh[t.Shard] = *t, true
	h.parts.confirm(t)
	if said := &h.told[t.Shard]; t.Seen >= said.number && t.Have < said.ranges {
		said.number = 0 // it has lost the orders it had confirmed: send them again
	}
	if t.ended() > old.ended() || t.Have > old.Have {
		h.moved[t.Shard] = now
	}
	m.touch(b)
	m.grantParts(now, b)
	m.topUp(now, b)
	m.judge(now, b)
	m.judgeCalls(now, b)
	m.settle(now, b)
}

// count adds a tally to the counters, or subtracts it.
func (b *bulk) count(t *Tally, sign int64) {
	s := &b.status
	s.Done += sign * t.Done
	s.Failed += sign * t.Failed
	s.LeftOut += sign * t.LeftOut
	for i := range min(len(t.Steps), len(s.Steps)) {
		to, from := &s.Steps[i], &t.Steps[i]
		to.Done += sign * from.Done
		to.Failed += sign * from.Failed
		to.LeftOut += sign * from.LeftOut
		to.Attempts += sign * from.Attempts
		to.Retries += sign * from.Retries
		to.Refused += sign * from.Refused
		to.Pending += sign * from.Pending
		to.Skipped += sign * from.Skipped
		to.Unclear += sign * from.Unclear
		to.Calls += sign * from.Calls
		to.Called += sign * from.Called
	}
}

// dismiss answers a shard of a bulk action that has ended: the shard does not know yet.
func (m *Machine) dismiss(t *Tally) {
	o := Orders{ID: t.ID, Number: m.number + 1, Shard: t.Shard, From: t.Have, State: weir.BulkCompleted}
	m.gen.send(t.From, o.ID, &envelope{Orders: &o})
}

// atRest reports whether no other shard can end an item with another outcome than cancelled.
func (b *bulk) atRest() bool {
	return !b.atHome() || b.flying() == b.inFlight
}

// flying returns the number of items that may still end with another outcome than cancelled,
// once a cancel is under way. Until a shard has confirmed the cancel, these are all its items.
func (b *bulk) flying() int64 {
	n := b.inFlight
	if !b.atHome() {
		return n
	}
	h := b.shard.home
	for i := 1; i < len(h.tallies); i++ {
		if t := &h.tallies[i]; t.State == weir.BulkCancelling || t.State.Final() {
			n += t.InFlight
		} else {
			n += h.items[i] - t.ended()
		}
	}
	return n
}

// sendOrders adds orders for every shard to the commit being cut, with all that the shard does
// not know.
func (m *Machine) sendOrders(now int64, g *generation, b *bulk) {
	h := b.shard.home
	for i := 1; i < len(h.lists); i++ {
		want := told{ranges: len(h.lists[i]), state: b.state, rules: b.spec.Rules}
		if h.parts.by != nil {
			want.part = h.parts.by[i].At
		}
		have := h.told[i]
		have.number, have.at = 0, 0
		if want.ranges == 0 || want == have && h.told[i].number != 0 {
			continue
		}
		want.number, want.at = m.number, now
		h.told[i] = want
		g.send(b.spec.Shards[i], b.spec.ID, &envelope{Orders: b.orders(i, m.number)})
	}
}

func (b *bulk) orders(to int, number uint64) *Orders {
	h, t := b.shard.home, &b.shard.home.tallies[to]
	o := &Orders{
		ID: b.spec.ID, Number: number, Shard: to, Home: b.spec.Shards[0], To: b.spec.Shards[to], From: t.Have,
		State: b.state, Cause: b.status.CancelCause,
		Reason: b.status.Reason, Rest: b.shard.rest,
	}
	if t.Have == 0 {
		o.Spec = b.spec
	}
	if b.spec.Rules > 0 {
		o.Rules = b.spec.rules()
	}
	if h.parts.by != nil {
		o.Part = slices.Clone(h.parts.by[to].Part)
	}
	o.Ranges = h.lists[to][min(t.Have, len(h.lists[to])):]
	return o
}

// homeAlarm repeats orders that a shard has not confirmed for long.
func (m *Machine) homeAlarm(now int64, b *bulk) {
	h := b.shard.home
	if now < h.alarm {
		return
	}
	for i := range h.told {
		if t := &h.told[i]; t.number > h.tallies[i].Seen && now >= t.at+repeatEvery {
			t.number = 0
			m.touch(b)
		}
	}
	h.alarm = now + repeatEvery
	m.waits.push(wait{due: h.alarm, bulk: b.spec.ID})
}

// takeOwn lets the home open the ranges that the confirmed commit gave it.
func (m *Machine) takeOwn(now int64, b *bulk) {
	h := b.shard.home
	m.useMore(now, b)
	if len(h.sealed) == 0 || b.stopping() {
		return
	}
	b.shard.last = len(h.sealed)
	for _, r := range h.sealed {
		b.give(r)
	}
	h.sealed = h.sealed[:0]
	m.topUp(now, b)
	m.offerAll(now, b)
}

// words adds what other shards wait on.
func (h *home) words(words []string) []string {
	for i := range h.tallies {
		for _, w := range h.tallies[i].WaitsOn {
			if !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
	}
	return words
}
