package partition

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// groupFor is the least time between commits that are not urgent.
const groupFor = int64(time.Millisecond)

// firstFor is how long the commit with a new small bulk action waits for the results of its first tasks. Most handlers
// answer within it, and then one commit has what would take two or three: the creation, the results, the end. Nobody
// waits for a creation alone: its submit was acknowledged before, and its tasks run already.
const firstFor = int64(time.Millisecond)

// generation collects everything that one commit writes and then publishes.
type generation struct {
	created []*bulk
	touched []*bulk
	ended   []*bulk
	blocks  []*live
	ack     uint64
	command bool  // one of the messages that it acknowledges does not create a bulk action
	since   int64 // when the first bulk action of it was created
	firsts  int   // tasks in flight of small bulk actions that were created in it
	views   []weir.Progress
	sends   []Outgoing
	events  []Event      // for the owner to deliver
	noted   [][]byte     // rows of events that were delivered
	forget  int64        // when these are removed at the latest, if there are any
	scaled  []string     // lanes that got a number of workers
	answers []string     // actions that answered for the first time
	tenants []string     // that got their first bulk action here, or lost their last
	items   int64        // that end with it
	results int          // items whose results it carries
	retries []*retryTask // that were due before it was durable

	removals []*Removal
	marks    []*retryTask // tasks that may start once it is durable
	failing  []string     // starts of the ids of bulk actions whose failed items change
	tenure   *Tenure      // nil: nothing to record
}

// urgent reports whether a caller waits for it: for a command, or for the end of a bulk action.
func (g *generation) urgent() bool { return g.ack != 0 || len(g.ended) > 0 || g.tenure != nil }

// expects reports whether results may come soon that belong into the same commit.
func (g *generation) expects() bool { return g.firsts > 0 && !g.command && g.tenure == nil }

func (g *generation) empty() bool { return g.bare() && g.tenure == nil }

// bare reports whether it carries nothing except a tenure.
func (g *generation) bare() bool {
	return len(g.touched) == 0 && len(g.blocks) == 0 && g.ack == 0 && len(g.removals) == 0
}

// forgetAt returns when it has to be written although it has nothing but rows to remove.
func (g *generation) forgetAt() int64 {
	if len(g.noted) == 0 {
		return Never
	}
	return g.forget
}

// touch adds the bulk action's status to the next commit.
func (m *Machine) touch(b *bulk) {
	if b.touched != m.gen {
		b.touched = m.gen
		m.gen.touched = append(m.gen.touched, b)
	}
}

// writeSpec adds the bulk action's spec to the next commit.
func (m *Machine) writeSpec(b *bulk) {
	if b.specIn != m.gen {
		b.specIn = m.gen
		m.gen.created = append(m.gen.created, b)
	}
}

// dirty adds the block's row to the next commit.
func (m *Machine) dirty(l *live) {
	if l.dirty != m.gen {
		l.dirty = m.gen
		m.gen.blocks = append(m.gen.blocks, l)
	}
}

// cutAt returns when the open generation is to be written, unless a commit is under way. A fast store gets no more than
// one commit a millisecond while tasks run and none is urgent: ten thousand small commits a second make small tasks a
// tenth more expensive.
func (m *Machine) cutAt() int64 {
	g := m.gen
	switch {
	case g.empty():
		return g.forgetAt()
	case m.inFlight == 0 || m.behind():
		return 0
	case g.expects():
		return g.since + firstFor
	case g.urgent():
		return 0
	}
	return m.lastCut + groupFor
}

// cutCommit closes the open generation and returns its batch, unless one is under way or there
// is nothing to write yet. While one is under way all changes collect in the next: the slower the
// store, the larger the groups.
func (m *Machine) cutCommit(now int64) *store.Batch {
	if m.flying != nil || now < m.cutAt() {
		return nil
	}
	g := m.gen
	m.number++
	m.lastCut = now
	b := &store.Batch{Number: m.number, Ack: g.ack}
	b.Set = append(b.Set, seal(timeKey(), binary.BigEndian.AppendUint64(nil, uint64(now))))
	for _, x := range g.created {
		id := x.spec.ID
		b.Set = append(b.Set, SealJSON(specKey(id), x.spec))
		if x.spec.Block != nil {
			b.Set = append(b.Set, seal(inlineKey(id), x.spec.Block))
			x.spec.Block = nil
		}
		if !x.state.Final() { // one that ended in this same commit is never marked
			b.Set = append(b.Set, store.Row{Key: activeKey(id)})
		}
	}
	for _, l := range g.blocks {
		m.writeBlock(now, b, l)
	}
	for _, x := range g.touched {
		m.writeStatus(now, b, x)
		if x.shard != nil {
			m.writeShard(now, b, g, x)
		}
		if !x.away() { // its home publishes it
			v := m.view(x)
			g.views = append(g.views, v)
			g.items += v.Counts.Ended() - x.shown
			x.shown = v.Counts.Ended()
		}
	}
	m.writeTenants(b, g)
	m.writeLanes(b, g)
	for _, action := range g.answers {
		b.Set = append(b.Set, store.Row{Key: actionKey(action)})
	}
	m.writeEvents(b, g)
	m.writeRemovals(b, g)
	g.writeMarks(now, b)
	m.writeTenure(b, g)
	for _, x := range g.ended {
		if x.born != m.number { // else it was never marked
			b.Delete = append(b.Delete, activeKey(x.spec.ID))
		}
	}
	m.flying, m.gen = g, &generation{}
	return b
}

// writeStatus adds the rows of a bulk action's progress.
func (m *Machine) writeStatus(now int64, b *store.Batch, x *bulk) {
	m.account(now, x)
	x.status.InFlight, x.status.Due = 0, x.dueLast()
	x.status.Flying, x.status.Waiting = x.standing()
	x.status.AtRisk = x.atRisk()
	x.status.Calls, x.status.Cause = x.ownCalls(), x.lastCause()
	if x.state == weir.BulkRunning && !m.queue.Paused(x.spec.Tenant) {
		x.status.Lately.Note(now, x.ended())
	} else {
		x.status.Lately = Lately{}
	}
	if x.state == weir.BulkCancelling {
		x.status.InFlight = x.flying()
	}
	b.Set = append(b.Set, SealJSON(statusKey(x.spec.ID), &x.status))
	x.writeGroups(b)
	x.writeIndex(b, m.gen)
	if x.state.Final() || now >= x.latencyDue || x.away() && x.quiet() && !x.shard.away.quiet {
		b.Set = append(b.Set, x.latencyRows()...)
		x.latencyDue = now + latencyEvery
	}
}

// writeBlock adds the rows of a block: the state of its items, and their actions' answers.
func (m *Machine) writeBlock(now int64, b *store.Batch, l *live) {
	l.state.Retries = l.state.Retries[:0]
	for _, r := range l.retries {
		l.state.Retries = append(l.state.Retries, r.row())
	}
	id := l.bulk.spec.ID
	key := blockKey(id, l.no)
	b.Set = append(b.Set, seal(key, l.state.Append(nil)))
	if len(l.results) > 0 {
		l.countFailures(now)
		b.Set = append(b.Set, store.Row{
			Key:   resultsKey(id, l.no, b.Number),
			Value: m.cfg.Codec.SealResults(nil, now, l.results),
		})
		clear(l.results)
		l.results = l.results[:0]
	}
	for i := range l.steps {
		l.steps[i].sealed, l.steps[i].coming = l.steps[i].coming, l.steps[i].sealed // sealed is empty here
	}
}

// Committed reports that the commit under way is durable. Its effects take place: items go to
// their next step, and progress is published.
func (m *Machine) Committed(now int64) {
	must(m.flying != nil, "a commit was confirmed that was never made")
	g := m.flying
	m.flying = nil
	m.views = append(m.views, g.views...)
	m.ended += g.items
	m.remember(g.ended)
	m.sends = append(m.sends, g.sends...)
	m.removed(g)
	m.events = append(m.events, g.events...)
	m.uncommitted -= g.results
	m.recorded(g.tenure)
	m.markDurable(now, g)
	m.arriveAll(now, g)
	m.openConfirmed(now, g)
	for _, r := range g.retries {
		m.retryDue(now, r)
	}
	for _, b := range m.shared {
		if b.atHome() {
			m.takeOwn(now, b)
		}
	}
}

func (m *Machine) arriveAll(now int64, g *generation) {
	for _, l := range g.blocks {
		m.arrivals(now, l)
	}
}

// arrivals moves the items of a block to the steps that the commit opened for them.
func (m *Machine) arrivals(now int64, l *live) {
	for no := 1; no < len(l.steps); no++ {
		at := &l.steps[no]
		n := at.sealed.Len()
		if n == 0 {
			continue
		}
		l.ready(no, &at.sealed)
		at.sealed.AndNot(&at.sealed)
		l.bulk.steps[no].coming -= int64(n)
		m.arrive(now, l.bulk.steps[no], l, n)
		m.flush(now, l, no+1)
	}
}

// Verdict says what the owner does after a commit's answer.
type Verdict int

// The verdicts.
const (
	Written Verdict = iota // call Committed
	Again                  // commit the same batch again
	Dropped                // another node owns the partition: drop it at once
)

// AfterCommit evaluates the answer to a commit. A missing answer counts neither as success nor
// as failure: the owner commits the same batch again, and a store that already has it reports
// so by its number. The store checks the token first, so a commit under that number is this
// owner's.
func AfterCommit(err error) Verdict {
	var order *store.NumberError
	switch {
	case err == nil:
		return Written
	case errors.Is(err, store.ErrFenced):
		return Dropped
	case errors.As(err, &order):
		return afterOrder(order)
	}
	return Again
}

func afterOrder(e *store.NumberError) Verdict {
	if e.Want == e.Got+1 {
		return Written // by an earlier attempt, whose answer was lost or came before it
	}
	return Dropped // the state is not the one that this owner knows
}
