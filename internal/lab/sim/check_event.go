package sim

import (
	"encoding/binary"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/store"
)

// rowEvent is the kind of row that holds an event.
const rowEvent = 'e'

// notice is an event as a commit wrote it, and who heard of it.
type notice struct {
	event partition.Event
	last  int  // the owner that told of it last
	taken bool // a receiver has it
	noted bool // and its row is gone
}

// appliedEvent: an event is written once, with the number of its commit. That a deadline will
// not be met is told once, and while there is one.
func (w *World) appliedEvent(b *truth, r store.Row, number uint64) {
	var e partition.Event
	err := partition.UnsealJSON(r.Key, r.Value, &e)
	w.must(err == nil, "sim", b, -1, "%v", err)
	w.must(e.ID == b.spec.ID && e.Number == number && b.spec.Notify, "I6", b, -1, "%s: the event %+v is in commit %d",
		b.spec.ID, e, number)
	w.must(b.notices[number] == nil, "I6", b, -1, "%s: two events have the number %d", b.spec.ID, number)
	if b.notices == nil {
		b.notices = map[uint64]*notice{}
	}
	b.notices[number] = &notice{event: e}
	if e.Late {
		w.must(!b.tooLate && b.spec.Deadline > e.At, "I6", b, -1,
			"%s: event %+v says that it will be late; said before: %t, deadline %d", b.spec.ID, e, b.tooLate, b.spec.Deadline)
		b.tooLate = true
		w.met[LateTold]++
	}
	w.untold++
}

// removedEvent: an event is removed after a receiver has taken it, and not before.
func (w *World) removedEvent(key []byte) {
	b := w.byID[weir.BulkID(key[1:1+idLen])]
	number := binary.BigEndian.Uint64(key[1+idLen:])
	n := b.notices[number]
	w.must(n != nil && n.taken, "I6", b, -1, "%s: event %d was removed before a receiver had taken it", b.spec.ID, number)
	if !n.noted {
		n.noted = true
		w.untold--
	}
}

// checkTold: what others have to hear of is told by the commit that shows it.
func (w *World) checkTold(b *truth, was weir.BulkState, number uint64) {
	s := b.state()
	tells := s.Final() || s == weir.BulkStopped || s == weir.BulkAwaiting
	if !b.spec.Notify || !tells || s == was {
		return
	}
	n := b.notices[number]
	w.must(n != nil && n.event.State == s, "I6", b, -1, "%s is %v by commit %d, which has no event of that", b.spec.ID, s, number)
}

// tell delivers events to their receiver: each after its commit, with the number of that
// commit, once by each owner, and not again after it was noted.
func (o *owner) tell(events []partition.Event) {
	w := o.w
	for _, e := range events {
		b := w.byID[e.ID]
		n := b.notices[e.Number]
		w.trace.add(event{what: evTell, node: o.node.no, partition: o.partition, bulk: b, a: int64(e.Number), b: int64(e.State)})
		w.must(n != nil, "I6", b, -1, "%s: event %+v was told, and no commit has it", b.spec.ID, e)
		w.must(e.Of == nil || e.Of.ID == e.ID && e.Of.Tenant == b.spec.Tenant, "I6", b, -1, "%s: event %d was told as one of %+v",
			b.spec.ID, e.Number, e.Of)
		e.Of = nil // it is not stored
		w.must(n.event == e, "I6", b, -1, "%s: event %+v was told as %+v", b.spec.ID, n.event, e)
		w.must(n.last != o.id, "I6", b, -1, "%s: event %d was told twice by one owner", b.spec.ID, e.Number)
		w.must(!n.noted || o.token != w.ledger.parts[o.partition].newest, "I6", b, -1,
			"%s: event %d was told after it was noted", b.spec.ID, e.Number)
		if n.last != 0 {
			w.met[EventRetold]++
		}
		n.last = o.id
		o.deliver(b, n)
	}
}

// deliver tries until the event is taken and that is noted, as long as its owner lives.
func (o *owner) deliver(b *truth, n *notice) {
	o.node.after(between(b.users, 0, 50*millis), func() {
		if o.gone {
			return
		}
		if chance(b.users, 0.8) || o.w.healed {
			n.taken = true
			o.put(func() { o.machine.Noted(o.w.Now(), n.event) })
			return
		}
		o.node.after(retryEvery, func() { o.deliver(b, n) })
	})
}

// checkForgotten: no event is left.
func (w *World) checkForgotten(p int) {
	err := w.rows(p).Scan([]byte{rowEvent}, func(key, _ []byte) error {
		w.must(false, "I20", nil, -1, "partition %d: the row of event %q is left", p, key)
		return nil
	})
	w.must(err == nil, "sim", nil, -1, "%v", err)
}

// unheard reports an event that was not noted in time.
func (w *World) unheard() {
	for _, b := range w.bulks {
		for number, n := range b.notices {
			w.must(n.noted, "I17", b, -1, "%s: event %d is not noted; taken: %t", b.spec.ID, number, n.taken)
		}
	}
}
