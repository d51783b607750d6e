package partition

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/store"
)

// Rows reads a partition's stored state.
type Rows interface {
	Get(key []byte) ([]byte, error)
	Scan(prefix []byte, yield func(key, value []byte) error) error
}

// ManyRows is Rows that can read many rows at once, as [store.State] describes.
type ManyRows interface {
	Rows
	GetMany(keys [][]byte) (values [][]byte, err error)
}

// PagedRows is ManyRows that can read a part of many rows, as [store.State] describes.
type PagedRows interface {
	ManyRows
	Page(r store.Range, limit int) ([]store.Row, error)
}

// Load fills an empty machine with the bulk actions that have not ended. Items that were in
// flight when the last owner died are ready again.
func (m *Machine) Load(now int64, rows ManyRows) error {
	if err := m.loadTenure(now, rows); err != nil {
		return err
	}
	if err := m.loadLanes(rows); err != nil {
		return err
	}
	if err := m.loadAnswers(rows); err != nil {
		return err
	}
	var ids []weir.BulkID
	err := rows.Scan([]byte{kindActive}, func(key, _ []byte) error {
		ids = append(ids, weir.BulkID(key[1:]))
		return nil
	})
	if err != nil {
		return err
	}
	for some := range slices.Chunk(ids, loadAtOnce) {
		if err := m.loadBulks(now, rows, some); err != nil {
			return err
		}
	}
	if err := m.loadOver(rows); err != nil {
		return err
	}
	if err := m.loadEvents(rows); err != nil {
		return err
	}
	m.condemn(now)
	return m.loadTenants(rows)
}

// loadBulks loads several bulk actions, whose rows are read together.
func (m *Machine) loadBulks(now int64, rows ManyRows, ids []weir.BulkID) error {
	read, err := readAhead(rows, ids)
	if err != nil {
		return err
	}
	for i, id := range ids {
		if err := m.loadBulk(now, read, &read.bulks[i]); err != nil {
			return fmt.Errorf("load %s: %w", id, err)
		}
	}
	return nil
}

func (m *Machine) loadBulk(now int64, rows Rows, of *stored) error {
	spec, status, id := of.spec, &of.status, of.spec.ID
	s, err := loadShard(rows, spec)
	if err != nil {
		return err
	}
	b := m.addBulk(now, spec, s)
	b.status, b.state, b.index = *status, status.State, indexedAs(status)
	b.status.Lately.GoOn(now)
	b.regainCalls()
	m.offerAll(now, b) // a canary has fewer items to offer than it seemed
	if s != nil {
		b.regain()
	}
	b.shown = b.status.Counts(spec.Items).Ended()
	if err := b.loadGroups(rows); err != nil {
		return err
	}
	b.latency = make([]latency, len(spec.Steps))
	for i := range b.latency {
		if b.latency[i], err = readLatency(rows, id, i); err != nil {
			return err
		}
	}
	if b.steps != nil { // else its chain is not registered: it waits, and shows that reason
		err = rows.Scan(rowKey(kindBlock, id), func(key, row []byte) error {
			return m.loadBlock(now, b, key, row)
		})
		if err != nil {
			return err
		}
		b.risk = m.riskOf(spec) // what was opened by now does not count
		if b.doubtful() > 0 {
			m.touch(b) // the preview of a cancel counts them
		}
		m.offerAll(now, b)
	}
	if b.shard != nil {
		m.goOn(now, b)
	}
	m.restate(now, b)
	return nil
}

// restate brings the queue in line with the stored state.
func (m *Machine) restate(now int64, b *bulk) {
	switch b.state {
	case weir.BulkSealed, weir.BulkScheduled, weir.BulkAwaiting:
		m.queue.PauseBulk(now, b.queued)
		m.startDue(b)
	case weir.BulkPaused, weir.BulkStopped:
		m.queue.PauseBulk(now, b.queued)
	case weir.BulkCancelling:
		m.doubtRisk(b)
		m.withdraw(now, b)
		m.settle(now, b)
	default: // it runs; bulk actions that ended are not loaded
		m.mind(now, b)
	}
	m.slowDown(now, b)
}

// loadBlock opens the block of a row, and before it those that had been opened but had no
// result yet when the last owner died.
func (m *Machine) loadBlock(now int64, b *bulk, key, row []byte) error {
	no := binary.BigEndian.Uint32(key[len(key)-4:])
	raw, err := unseal(key, row)
	if err != nil {
		return err
	}
	if no >= b.spec.Blocks() {
		return fmt.Errorf("block %d: %w: there are only %d", no, store.ErrCorrupt, b.spec.Blocks())
	}
	for b.cursor < no && b.unopened() > 0 {
		l := m.open(b)
		m.endangerLoaded(l)
		m.readyAgain(now, l)
	}
	if b.cursor != no || b.unopened() == 0 {
		return fmt.Errorf("block %d: %w: it belongs to another partition", no, store.ErrCorrupt)
	}
	l := m.newLive(b)
	size := l.state.Size
	if err := l.state.Decode(raw, len(b.steps)); err != nil {
		return fmt.Errorf("block %d: %w: %w", no, store.ErrCorrupt, err)
	}
	if l.state.Size != size {
		return fmt.Errorf("block %d: %w: row has %d items, the block %d", no, store.ErrCorrupt, l.state.Size, size)
	}
	l.restored = true
	l.restore()
	m.endangerLoaded(l)
	m.readyAgain(now, l)
	m.loadRetries(now, l)
	return nil
}

// restore works out which items are ready at which step.
func (l *live) restore() {
	var ended block.Set
	ended.Or(&l.state.Failed)
	ended.Or(&l.state.LeftOut)
	last := len(l.steps) - 1
	l.left = l.state.Size - ended.Len() - l.state.Passed[last].Len()
	for _, r := range l.state.Retries {
		ended.Or(&r.Items) // not ended, but not ready either
	}
	here := block.Set{}
	here.Fill(l.state.Size)
	for no := range l.steps {
		l.steps[no].ready = here
		l.steps[no].ready.AndNot(&ended)
		l.steps[no].ready.AndNot(&l.state.Passed[no])
		here = l.state.Passed[no]
	}
}

func (m *Machine) readyAgain(now int64, l *live) {
	for no := range l.steps {
		if n := l.steps[no].ready.Len(); n > 0 {
			l.lookFirst(no)
			m.arrive(now, l.bulk.steps[no], l, n)
		}
	}
}

func (m *Machine) loadRetries(now int64, l *live) {
	for _, row := range l.state.Retries {
		items := row.Items
		r := &retryTask{
			at: l.bulk.steps[row.Step], l: l, attempt: int(row.Attempt), fails: int(row.Fails), failing: row.Fails > 0,
			unlike: row.Blamed, blamed: row.Blamed, due: row.Due,
		}
		r.items = items.Take(nil, block.Size)
		r.crashes = int(row.Crashes)
		if row.Started {
			m.dirty(l) // its mark is removed
		}
		for _, r := range m.examine(r, row.Started) {
			m.holdBack(l, r)
		}
	}
}

// holdBack makes a loaded retry wait until it is due, or for its trial. A suspect that has to
// run alone does so once its process has lived for a while: where processes are killed from
// outside again and again, they die before, and the suspect is not blamed.
func (m *Machine) holdBack(l *live, r *retryTask) {
	l.retries = append(l.retries, r)
	m.enterWait(r)
	if r.crashes >= suspectAlone {
		r.due = max(r.due, m.tenure.since+calmFor<<(r.crashes-suspectAlone))
	}
	if r.crashes > 0 {
		m.suspects = append(m.suspects, r)
		return
	}
	m.waits.push(wait{due: r.due, retry: r})
}
