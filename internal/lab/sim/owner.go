package sim

import (
	"errors"

	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/store"
)

// retryEvery is how long the engine waits before it asks a store again.
const retryEvery = 200 * millis

// owner is a partition in the hands of a node: the engine's loop, its inbox
// reader, its lease keeper and its committer, as events.
type owner struct {
	w         *World
	node      *node
	id        int // over all owners there ever were
	partition int
	token     store.Token
	machine   *partition.Machine
	mail      []func()
	spare     []func()
	turning   bool
	read      uint64 // last message taken
	committed uint64 // number of the last commit that was confirmed
	flying    *store.Batch
	unknown   bool // the commit under way has been without an answer
	renewed   int64
	wakeAt    int64
	running   int
	stopped   bool
	doubted   bool // the lease may be lost
	inherited bool // the owner before handed the partition over
	unjudged  []*truth
	hushed    bool // another's suspect is to run alone on the node
	abandoned bool
	joining   bool // a joint filter waits for its commit
	gone      bool
	clean     bool   // handed over with nothing in flight
	told      []told // messages whose effect no commit has shown yet
	orders    orders // to its lanes
}

func newOwner(n *node, p int, tok store.Token) *owner {
	w := n.w
	w.owners++
	return &owner{
		w: w, node: n, id: w.owners, partition: p, token: tok, renewed: w.Now(), wakeAt: partition.Never,
		orders: orders{},
	}
}

// load makes the machine from what is stored.
func (o *owner) load() error {
	w := o.w
	if w.ledger.draw(w) == failsBefore {
		return errBroken
	}
	last, err := w.mem.Last(o.w.ctx, o.partition)
	if err != nil {
		return err
	}
	cfg := partition.Config{Capacity: o.node.capacity.Join(o), Seed: o.node.random.Uint64(), Chain: o.node.steps,
		Codec: w.codec, Node: o.node.name(), Trials: turns{o}}
	if w.plan.starts {
		cfg.Tenant = o.node.tenant
	}
	o.committed = last.Number
	o.machine = partition.New(cfg, last.Number)
	o.orders.load(w.ledger.parts[o.partition].lanes)
	if err := o.machine.Load(w.Now(), w.rows(o.partition)); err != nil {
		o.machine.Leave(w.Now())
		return err
	}
	o.machine.Relimit(w.Now())
	return nil
}

// begin starts what runs beside the loop.
func (o *owner) begin() {
	o.w.trace.add(event{what: evOwn, node: o.node.no, partition: o.partition, a: int64(o.id), b: int64(o.token.Epoch)})
	o.w.tookOver(o)
	a := &o.w.ledger.parts[o.partition]
	o.inherited, a.closed = a.closed, false
	o.unjudged, a.unjudged = a.unjudged, nil
	o.put(func() {})
	o.readInbox()
	o.survey()
	o.node.after(o.w.plan.lease/3, o.keepLease)
}

// put gives the loop an input. It takes a moment until the loop gets to it, and
// then it takes all there are.
func (o *owner) put(f func()) {
	if o.gone {
		return
	}
	o.mail = append(o.mail, f)
	if !o.turning {
		o.turning = true
		o.node.after(between(o.node.random, 0, 2*millis), o.turn)
	}
}

// turn is one turn of the loop: inputs -> machine -> commit -> effects.
func (o *owner) turn() {
	o.turning = false
	mail := o.mail
	o.mail = o.spare[:0] // inputs that come meanwhile are for the next turn
	for _, f := range mail {
		f()
	}
	clear(mail)
	o.spare = mail
	if o.gone {
		return
	}
	o.hush()
	do := o.machine.Advance(o.w.Now())
	o.joining = o.joining && do.Removed == 0
	o.node.deliverCalls()
	o.w.shown(o, do.Views)
	o.tell(do.Events)
	if do.Commit != nil {
		o.flying, o.unknown = do.Commit, false
		o.w.ledger.commit(o.w, o, do.Commit)
	}
	for _, m := range do.Send {
		o.post(m)
	}
	for _, t := range do.Start {
		o.start(t)
	}
	if o.stopped && (o.machine.Settled() || o.abandoned && o.machine.Written()) {
		if o.machine.Close() {
			o.handOver()
			return
		}
		o.wake(o.w.Now() + millis)
	}
	o.wake(do.Wake)
}

// wake has the loop turn at the given time. An earlier wish stands.
func (o *owner) wake(at int64) {
	if at == partition.Never || at >= o.wakeAt && o.wakeAt > o.w.Now() {
		return
	}
	at = max(at, o.w.Now())
	o.wakeAt = at
	o.node.after(at-o.w.Now(), func() {
		if o.wakeAt == at {
			o.wakeAt = partition.Never
			o.put(func() {})
		}
	})
}

// answer is what the committer does when the store has answered, or has not.
func (o *owner) answer(b *store.Batch, err error) {
	if o.gone || o.flying != b {
		return
	}
	o.w.trace.add(event{what: evAnswer, node: o.node.no, partition: o.partition, a: int64(b.Number),
		b: int64(partition.AfterCommit(err))})
	if errors.Is(err, store.ErrUnknown) {
		o.unknown = true
	}
	o.judged(b, partition.AfterCommit(err))
}

func (o *owner) judged(b *store.Batch, v partition.Verdict) {
	switch v {
	case partition.Written:
		o.flying, o.committed = nil, b.Number
		o.w.confirmed(o, b)
		o.put(func() {
			if !o.gone {
				o.machine.Committed(o.w.Now())
				o.join()
			}
		})
	case partition.Again:
		o.node.after(retryEvery, func() {
			if !o.gone {
				o.w.ledger.commit(o.w, o, b)
			}
		})
	case partition.Dropped:
		o.drop()
	}
}

// readInbox hands messages to the loop, a bounded number at a time.
func (o *owner) readInbox() {
	a := &o.w.ledger.parts[o.partition]
	if o.gone || max(o.read, a.acked) >= uint64(len(a.inbox)) {
		return
	}
	msgs, err := o.w.mem.Read(o.w.ctx, o.partition, o.read, 1+o.node.random.IntN(8))
	o.w.must(err == nil, "sim", nil, -1, "%v", err)
	o.read = msgs[len(msgs)-1].Seq
	o.put(func() {
		for _, m := range msgs {
			o.message(m)
		}
	})
	o.node.after(between(o.node.random, 0, 5*millis), o.readInbox)
}

func (o *owner) message(m store.Message) {
	if o.gone {
		return
	}
	from := &o.w.ledger.parts[o.partition].inbox[m.Seq-1]
	b := from.bulk
	o.w.trace.add(event{what: evMessage, node: o.node.no, partition: o.partition, bulk: b, a: int64(m.Seq)})
	_, err := o.machine.Message(o.w.Now(), m)
	o.w.must(err == nil, "sim", b, -1, "message %d: %v", m.Seq, err)
	if from.scale != nil {
		o.orders.obey(o.w, from.scale)
	} else if from.verb != posted {
		o.told = append(o.told, told{b, from.verb, o.carries()})
		o.w.hears(from)
	}
}

// told is a message that was taken in, and the number of the commit that shows its effect.
type told struct {
	bulk   *truth
	verb   partition.Verb
	commit uint64
}

// carries returns the number of the commit that will carry what happens now.
func (o *owner) carries() uint64 {
	if o.flying != nil {
		return o.flying.Number + 1
	}
	return o.committed + 1
}

// keepLease renews. An owner that cannot be sure of its lease starts nothing more.
func (o *owner) keepLease() {
	if o.gone {
		return
	}
	every := o.w.plan.lease / 3
	err := o.w.ledger.renew(o.w, o)
	switch {
	case err == nil:
		o.renewed = o.w.Now()
		if o.doubted {
			o.doubted = false
			o.put(o.sure)
		}
	case errors.Is(err, store.ErrFenced):
		o.drop()
		return
	case !o.doubted && o.w.Now()-o.renewed >= o.w.plan.lease-every:
		o.w.met[LeaseDoubted]++
		o.doubted = true
		o.put(o.machine.Stop)
	}
	o.node.after(every, o.keepLease)
}

// sure goes on after a doubt, unless the node drains.
func (o *owner) sure() {
	if !o.gone && !o.stopped {
		o.machine.Proceed()
	}
}

// stop starts nothing more and lets running tasks end, up to the drain time.
func (o *owner) stop() {
	if o.stopped {
		return
	}
	o.stopped = true
	o.put(o.machine.Stop)
	o.node.after(o.w.plan.drain, func() { o.put(func() { o.abandoned = true }) })
}

// handOver gives the lease back.
func (o *owner) handOver() {
	o.clean = o.machine.InFlight() == 0
	a := &o.w.ledger.parts[o.partition]
	if o.token == a.newest { // a former owner that has not noticed hands nothing over
		a.closed, a.unjudged = true, o.unseen()
	}
	if !o.clean {
		o.w.outlived++
	}
	o.w.trace.add(event{what: evHandOver, node: o.node.no, partition: o.partition, a: int64(o.machine.InFlight())})
	if o.clean {
		o.w.met[HandedOver]++
	}
	o.leave()
	if o.w.ledger.draw(o.w) == noFault {
		err := o.w.mem.Release(o.w.ctx, o.partition, o.token)
		o.w.must(err == nil, "sim", nil, -1, "%v", err)
	}
}

// drop forgets a partition that another node owns.
func (o *owner) drop() {
	o.w.trace.add(event{what: evDrop, node: o.node.no, partition: o.partition})
	o.w.outlived++
	o.leave()
}

func (o *owner) leave() {
	o.gone = true
	o.w.bereave(o)
	o.node.turns.Leave(o)
	o.machine.Leave(o.w.Now())
	o.node.deliverCalls()
	o.node.parts[o.partition] = nil
	o.node.left = append(o.node.left, departed{o.w.Now(), o.orders})
	o.node.after(o.w.plan.lease/10, func() { o.node.seek(o.partition) })
}
