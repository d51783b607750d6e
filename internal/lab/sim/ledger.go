package sim

import (
	"errors"

	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/store"
)

// errBroken is a store that answers with an error before it has done anything.
var errBroken = errors.New("simulated store error")

// fault is what goes wrong with one call to the store.
type fault uint8

const (
	noFault fault = iota
	failsBefore
	appliedUnknown // done, and the answer does not come
	lost           // not done, and the answer does not come
)

// ledger is what the simulation knows of the store by itself: who was granted
// what, and what was written in which order.
type ledger struct{ parts []account }

// account is one partition in the ledger.
type account struct {
	newest   store.Token // granted last
	number   uint64      // of the last commit applied
	acked    uint64
	by       []int     // owner of each commit, by number - 1
	bereaved bool      // its last owner left calls behind
	closed   bool      // its last owner handed it over
	unjudged []*truth  // what a death before is still to be judged for: later owners did not know the actions
	inbox    []inboxed // every message ever, by sequence number - 1
	lanes    orders    // that were acknowledged
}

type inboxed struct {
	bulk *truth
	verb partition.Verb // empty: created; posted: by another partition; scaled: to a lane

	scale   *partition.Scale   // what a lane is told
	command *partition.Command // what a bulk action is told
	sent    int64              // when
}

// draw chooses what goes wrong with a call.
func (l *ledger) draw(w *World) fault {
	f, u := w.faults.Float64(), w.faults.Float64()
	s := &w.plan.store
	switch {
	case f < s.fail:
		return failsBefore
	case u < s.unknown/2:
		return appliedUnknown
	case u < s.unknown:
		return lost
	}
	return noFault
}

// delay draws how long the way to the store or back takes.
func (l *ledger) delay(w *World) int64 {
	d := between(w.faults, 100_000, 4*millis)
	if chance(w.faults, w.plan.store.slow) {
		d += between(w.faults, 0, 5*second)
	}
	return d
}

// acquire asks for the lease of a partition.
func (l *ledger) acquire(w *World, p int, name string) (store.Token, error) {
	fault := l.draw(w)
	if fault == failsBefore || fault == lost {
		return store.Token{}, errBroken
	}
	tok, err := w.mem.Acquire(w.ctx, p, name, w.lease())
	if err != nil {
		return tok, err
	}
	a := &l.parts[p]
	w.must(tok.Epoch > a.newest.Epoch || tok.Epoch == a.newest.Epoch && tok.Nonce != a.newest.Nonce, "I9", nil, -1,
		"partition %d: token %v was granted after %v", p, tok, a.newest)
	a.newest = tok
	if fault == appliedUnknown {
		return store.Token{}, store.ErrUnknown
	}
	return tok, nil
}

// renew extends the lease of an owner.
func (l *ledger) renew(w *World, o *owner) error {
	fault := l.draw(w)
	if fault == failsBefore || fault == lost {
		return errBroken
	}
	_, err := w.mem.Renew(w.ctx, o.partition, o.token, w.lease())
	if err == nil && fault == appliedUnknown {
		return store.ErrUnknown
	}
	return err
}

// commit takes a batch to the store. The owner is told what came of it, if it still listens.
func (l *ledger) commit(w *World, o *owner, b *store.Batch) {
	fault := l.draw(w)
	there, back := l.delay(w), l.delay(w)
	w.trace.add(event{what: evCommit, node: o.node.no, partition: o.partition, a: int64(b.Number), b: int64(fault)})
	switch fault {
	case failsBefore:
		o.node.after(there, func() { o.answer(b, errBroken) })
		return
	case lost:
		w.met[UnknownLost]++
		o.node.after(there, func() { o.answer(b, store.ErrUnknown) })
		return
	default: // it gets there
	}
	early := fault == appliedUnknown && chance(w.faults, 0.3) // the answer is given up before the effect
	if early {
		o.node.after(there/2, func() { o.answer(b, store.ErrUnknown) })
	}
	life := o.node.life
	w.After(there, func() {
		err := w.mem.Commit(w.ctx, o.partition, o.token, b)
		w.arrived(o, b, err)
		if fault == appliedUnknown {
			if err == nil {
				w.met[UnknownApplied]++
			}
			err = store.ErrUnknown
		}
		if !early {
			w.After(back, func() { o.node.deliver(life, func() { o.answer(b, err) }) })
		}
	})
}

// arrived judges a commit that reached the store.
func (w *World) arrived(o *owner, b *store.Batch, err error) {
	a := &w.ledger.parts[o.partition]
	if err != nil {
		w.trace.add(event{what: evRefused, node: o.node.no, partition: o.partition, a: int64(b.Number)})
		if errors.Is(err, store.ErrFenced) && o.token != a.newest {
			w.met[ZombieRefused]++
		}
		return
	}
	w.trace.add(event{what: evApplied, node: o.node.no, partition: o.partition, a: int64(b.Number), b: int64(len(b.Set))})
	w.must(o.token == a.newest, "I9", nil, -1, "partition %d: commit %d of n%d with token %v was applied, the newest is %v",
		o.partition, b.Number, o.node.no, o.token, a.newest)
	w.must(b.Number == a.number+1, "I9", nil, -1, "partition %d: commit %d was applied after %d", o.partition, b.Number, a.number)
	a.number, a.by = b.Number, append(a.by, o.id)
	w.applied(o, b)
}
