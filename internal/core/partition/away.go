package partition

import (
	"fmt"
	"time"

	"github.com/weirhq/weir"
)

const (
	tallyEvery = int64(100 * time.Millisecond) // the least time between tallies that are not urgent
	ruledEvery = tallyEvery / 5                // the same while a failure rule needs them
)

// Tally reports a shard's progress, as of a commit of its partition. It holds all counters
// since the start, so of several only the newest counts.
type Tally struct {
	ID       weir.BulkID       `json:"id"`
	Shard    int               `json:"shard"`
	From     int               `json:"from"`   // the shard's partition
	Number   uint64            `json:"number"` // of the commit
	Seen     uint64            `json:"seen"`   // number of the newest orders
	State    weir.BulkState    `json:"state"`
	Have     int               `json:"have"`               // ranges given to the shard
	Begun    int               `json:"begun"`              // ranges begun
	RunsOut  bool              `json:"runs_out,omitempty"` // of items to start
	Done     int64             `json:"done"`
	Failed   int64             `json:"failed"`
	LeftOut  int64             `json:"left_out"`
	InFlight int64             `json:"in_flight"`
	Waiting  int64             `json:"waiting"`
	Due      int64             `json:"due,omitempty"`
	AtRisk   int64             `json:"at_risk,omitempty"`
	Steps    []weir.StepCounts `json:"steps"`
	WaitsOn  []string          `json:"waits_on,omitempty"`
	Calls    []calls           `json:"calls,omitempty"`
	Cause    *Cause            `json:"cause,omitempty"`
	Held     []int64           `json:"held,omitempty"` // of each of the bulk action's own bounds, in force; -1: not certain yet
	Want     []int64           `json:"want,omitempty"` // of each, what it would use; -1: all that it gets
}

func (t *Tally) ended() int64 { return t.Done + t.Failed + t.LeftOut }

// away holds what a shard knows about its home.
type away struct {
	seen    uint64         // number of the newest orders
	state   weir.BulkState // the state they ask for
	unsaved bool           // orders came that are not in the rows yet
	told    Tally          // the newest
	quiet   bool           // what the last tally said about being at rest
	at      int64          // when the last tally was made
	alarm   int64          // when the next tally is due; 0: no time is set
}

// shardRow is the stored form of a shard's orders.
type shardRow struct {
	Shard  int            `json:"shard"`
	Seen   uint64         `json:"seen"`
	State  weir.BulkState `json:"state"`
	Rest   int64          `json:"rest,omitempty"`
	Ranges []uint32       `json:"ranges,omitempty"`
	Part   []int64        `json:"part,omitempty"`
}

// obey applies the home's orders to one of its shards. Orders that assume more than this
// partition knows are not an error: an owner that was replaced and has not noticed misses what
// its successor has read. The answer is the shard's known state, which only the true owner's
// commit sends.
func (m *Machine) obey(now int64, o *Orders) error {
	b := m.bulks[o.ID]
	switch {
	case b == nil && (m.over[o.ID] || o.State.Final()):
		return nil // it is late: the shard has ended
	case b == nil && o.Spec == nil:
		m.plead(o)
		return nil
	case b == nil:
		b = m.addBulk(now, o.Spec, &shard{no: o.Shard, away: &away{}, part: o.Part})
		m.writeSpec(b)
		m.confirmFirst(now, b)
		m.mind(now, b)
	}
	if !b.away() || o.Number <= b.shard.away.seen {
		return nil
	}
	if err := b.spec.checkRanges(o.Ranges); err != nil {
		return fmt.Errorf("orders %d of %s: %w", o.Number, o.ID, err)
	}
	if have := len(b.shard.ranges); have >= o.From {
		more := o.Ranges[min(have-o.From, len(o.Ranges)):]
		if len(more) > 0 {
			b.shard.last = len(more)
		}
		for _, r := range more {
			b.give(r)
		}
	}
	m.adopt(now, b, o.Rules)
	if len(o.Part) == len(b.bounds) {
		m.setPart(now, b, o.Part)
	}
	b.shard.rest = o.Rest
	b.shard.away.seen, b.shard.away.state, b.shard.away.unsaved = o.Number, o.State, true
	m.touch(b)
	m.offerAll(now, b)
	m.follow(now, b, o)
	return nil
}

// plead tells the home that this partition does not know the shard.
func (m *Machine) plead(o *Orders) {
	t := Tally{ID: o.ID, Shard: o.Shard, From: o.To, Number: m.number + 1, Seen: o.Number}
	m.gen.send(o.Home, o.ID, &envelope{Tally: &t})
}

// follow puts the shard into the state of its home.
func (m *Machine) follow(now int64, b *bulk, o *Orders) {
	switch {
	case b.stopping():
		m.settle(now, b)
	case o.State == weir.BulkRunning:
		m.release(now, b)
	case o.State == weir.BulkPaused || o.State == weir.BulkStopped:
		m.hold(now, b, o.State, o.Reason)
	default:
		m.cancel(now, b, o.Cause, o.Reason)
	}
}

// quiet reports whether the shard can end no more items until it hears from its home.
func (b *bulk) quiet() bool {
	return b.inFlight == 0 && (b.stopping() || b.ended() == b.shard.given)
}

// sendTally adds a tally for the home to the commit being cut, if one is due or the home waits
// for it.
func (m *Machine) sendTally(now int64, g *generation, b *bulk) {
	a, every := b.shard.away, tallyEvery
	if b.spec.StopOn != (weir.StopRule{}) {
		every = ruledEvery
	}
	if m.partsMoved(now, b) {
		every = partsEvery / 5
	}
	if !b.anxious(now) && now < a.at+every {
		m.ring(b, a.at+every)
		return
	}
	a.told, a.quiet, a.at = m.tallyOf(now, b), b.quiet(), now
	g.send(b.spec.Shards[0], b.spec.ID, &envelope{Tally: &a.told})
	if !b.state.Final() {
		m.ring(b, now+repeatEvery)
		m.askLess(now, b)
	}
}

// anxious reports whether the home should hear at once: the shard runs short of ranges, has
// come to rest, or has followed an order.
func (b *bulk) anxious(now int64) bool {
	a := b.shard.away
	moved := len(b.shard.ranges) != a.told.Have || b.shard.begun != a.told.Begun
	return a.told.Number == 0 || b.state != a.told.State || b.quiet() && !a.quiet || moved && b.shard.short() ||
		b.shard.rest > 0 && !b.asked() && b.runsOut(now)
}

func (m *Machine) tallyOf(now int64, b *bulk) Tally {
	s := &b.status
	return Tally{
		ID: b.spec.ID, Shard: b.shard.no, From: b.spec.Shards[b.shard.no], Number: m.number,
		Seen: b.shard.away.seen, State: b.state, Have: len(b.shard.ranges), Begun: b.shard.begun, RunsOut: b.runsOut(now),
		Done: s.Done, Failed: s.Failed, LeftOut: s.LeftOut, InFlight: b.inFlight, Waiting: b.waiting, Due: b.dueLast(), AtRisk: b.doubtful(),
		Steps: s.Steps, WaitsOn: m.words(b), Calls: b.ownCalls(), Cause: b.lastCause(),
		Held: m.inForce(now, b), Want: m.asks(now, b),
	}
}

// ring schedules the shard's next alarm for at, or keeps an earlier one.
func (m *Machine) ring(b *bulk, at int64) {
	if a := b.shard.away; a.alarm == 0 || at < a.alarm {
		a.alarm = at
		m.waits.push(wait{due: at, bulk: b.spec.ID})
	}
}

// awayAlarm lets the next commit make a tally.
func (m *Machine) awayAlarm(now int64, b *bulk) {
	a := b.shard.away
	if a.alarm == 0 || now < a.alarm {
		return
	}
	a.alarm = 0
	m.touch(b)
}
