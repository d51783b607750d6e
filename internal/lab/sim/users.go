package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/lab/virtual"
	"github.com/weirhq/weir/store"
)

// idLen is the length of every bulk action's id, so that row keys can be cut.
const idLen = 8

// planUsers draws the bulk actions, when they come, and what is commanded when.
func (w *World) planUsers() {
	r, left := w.users, w.plan.items
	for left > 0 {
		n := min(left, 1+r.IntN(90))
		left -= n
		b := w.drawBulk(n)
		at := between(r, 0, faultTime*3/4)
		b.spec.Submitted = epoch + at
		if chance(r, 0.1) {
			b.spec.Deadline = epoch + at + between(r, second, 30*second)
		}
		w.planStart(b, at)
		w.After(at, func() { w.submit(b) })
		w.planCommands(b, at)
	}
	w.open = len(w.bulks)
}

func (w *World) drawBulk(items int) *truth {
	r, no := w.users, len(w.bulks)
	chain := w.plan.names[r.IntN(len(w.plan.names))]
	c := partition.Created{
		ID: weir.BulkID(fmt.Sprintf("ba_%05d", no)), Tenant: fmt.Sprintf("t%d", r.IntN(3)), Tier: weir.Tier(r.IntN(4)),
		Priority: r.IntN(5) - 2, Chain: chain, Items: int64(items),
	}
	for _, s := range w.plan.chains[chain] {
		c.Steps = append(c.Steps, s.Name)
	}
	for left := items; left > 0; { // small blocks: the edges between them are where it is interesting
		n := min(left, 1+r.IntN(24))
		c.Sizes = append(c.Sizes, uint16(n))
		left -= n
	}
	if chance(r, 0.2) {
		c.FirstStep = r.IntN(len(c.Steps))
	}
	if chance(r, 0.2) {
		c.Concurrency = 1 + r.IntN(3)
	}
	if chance(r, 0.2) {
		c.StopOn = weir.StopRule{FailureRate: r.Float64() * 0.3, MinItems: 1 + r.Int64N(10), Cancel: chance(r, 0.3)}
	} else if chance(r, 0.1) {
		c.StopOn = weir.StopRule{MaxFailures: r.Int64N(5) - 1}
	}
	if c.Inline = len(c.Sizes) == 1; c.Inline {
		c.Block = []byte("the items of " + c.ID)
	}
	if no%2 == 0 {
		c.Terms = partition.AppendHash(nil, partition.TextTerm("even"))
		c.KeepFor = second
	}
	if c.Inline && items <= partition.MostListed {
		for i := range items {
			c.Listed = partition.AppendHash(c.Listed, partition.ItemTerm(uint64(i)))
		}
	}
	b := newTruth(no, r.IntN(w.plan.partitions), c, w.plan.chains[chain])
	poisoned := chance(r, w.plan.down.poison)
	w.share(b)
	w.lay(b)
	if poisoned {
		b.poison = r.IntN(items)
	}
	if r := virtual.Named(w.seed, "deadly", no); w.plan.deadly > 0 && chance(r, 0.5) {
		w.plan.deadly--
		b.deadly = r.IntN(items)
	}
	w.bulks = append(w.bulks, b)
	w.byID[c.ID] = b
	return b
}

// planCommands draws pauses, resumes and cancels of a bulk action.
func (w *World) planCommands(b *truth, from int64) {
	r := w.users
	for range r.IntN(4) {
		verb := [...]partition.Verb{partition.Pause, partition.Resume, partition.Pause, partition.Resume, partition.Cancel}[r.IntN(5)]
		at := from + between(r, 0, 15*second)
		if verb == partition.Cancel && chance(r, 0.5) {
			continue
		}
		w.After(at, func() { w.command(b, partition.Command{Verb: verb}) })
	}
}

// submit appends the created message as a careful submitter does: it is claimed
// by its id, and sent again until there is an answer.
func (w *World) submit(b *truth) {
	body, err := partition.EncodeCreated(b.spec)
	w.must(err == nil, "sim", b, -1, "%v", err)
	// An inbox that has a message twice: one of a bulk action that has not ended
	// when the second is read. Against later ones submitters claim the id.
	twice := chance(w.users, 0.1) && len(b.items) >= 40 && b.spec.Deadline == 0 && !b.spec.Shared()
	err = w.append(inboxed{bulk: b}, body, store.Claim{Key: string(b.spec.ID)})
	var taken *store.ClaimedError
	switch {
	case err == nil || errors.As(err, &taken):
		b.acked = true
		w.trace.add(event{what: evSubmit, node: -1, partition: b.partition, bulk: b, a: int64(len(b.items))})
		if taken != nil {
			w.met[ClaimRefused]++
		}
		if taken == nil && twice && w.append(inboxed{bulk: b}, body, store.Claim{}) == nil {
			w.met[CreatedTwice]++
		}
	default:
		w.After(between(w.users, 50*millis, 500*millis), func() { w.submit(b) })
	}
}

// command appends a command until it is acknowledged.
func (w *World) command(b *truth, c partition.Command) {
	if b.state().Final() {
		return
	}
	if !b.acked {
		w.After(second, func() { w.command(b, c) })
		return
	}
	c.ID, c.Reason = b.spec.ID, "why not"
	body, err := partition.EncodeCommand(c)
	w.must(err == nil, "sim", b, -1, "%v", err)
	if w.append(inboxed{bulk: b, verb: c.Verb, command: &c, sent: w.Now()}, body, store.Claim{}) != nil {
		w.After(between(w.users, 50*millis, 500*millis), func() { w.command(b, c) })
		return
	}
	w.trace.add(event{what: evCommand, node: -1, partition: b.partition, bulk: b, a: int64(c.Verb[0])})
}

// append adds to the inbox of a bulk action's home.
func (w *World) append(m inboxed, body []byte, c store.Claim) error {
	return w.appendTo(m.bulk.partition, m, body, c)
}

// appendTo adds to an inbox, by way of the store's faults, and has the owners told.
func (w *World) appendTo(p int, m inboxed, body []byte, c store.Claim) error {
	fault := w.ledger.draw(w)
	if fault == failsBefore || fault == lost {
		return errBroken
	}
	err := w.mem.Append(w.ctx, p, body, c)
	if err != nil {
		return err
	}
	a := &w.ledger.parts[p]
	a.inbox = append(a.inbox, m)
	if m.verb == partition.Change {
		m.bulk.changes = append(m.bulk.changes, m.command.Rules)
	}
	w.tellOwners(p)
	if fault == appliedUnknown {
		return store.ErrUnknown
	}
	return nil
}

// tellOwners has the owners of a partition read its inbox.
func (w *World) tellOwners(p int) {
	for _, n := range w.nodes {
		if o := n.owner(p); o != nil {
			n.after(between(n.random, 0, 5*millis), o.readInbox)
		}
	}
}

// heal ends the faults. From now on users look after bulk actions that are held.
func (w *World) heal() {
	w.healed = true
	w.plan.store = storeFaults{}
	w.trace.add(event{what: evHeal, node: -1, partition: -1})
	for i, n := range w.nodes {
		n.wakeUp()
		switch {
		case w.plan.lonely && i > 0:
			n.crash(-1)
		case !n.up:
			n.start()
		case i == w.plan.stale:
			n.crash(second / 10) // comes back with the new chain
		}
	}
	w.lookAfter()
}

// lookAfter decides on what does not go on by itself.
func (w *World) lookAfter() {
	for _, b := range w.bulks {
		if c := w.decision(b); c != nil {
			w.command(b, *c)
		}
		if w.plan.starts {
			w.hasten(b)
			w.checkHeard(b)
		}
	}
	w.After(int64(time.Second), w.lookAfter)
}
