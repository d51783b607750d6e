package partition

import (
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/chain"
)

// live is an opened block with items that have not ended. It leaves memory when its last item
// has ended and the commit is confirmed.
type live struct {
	bulk    *bulk
	no      uint32
	name    weir.BulkID // under which it is stored, and its number there; empty: not looked up yet
	at      uint32
	base    int64 // position of its first item in the bulk action
	left    int   // items that have not ended
	state   block.State
	steps   []stepSets
	outs    [][]byte // by item: the answer of the step before, until the next one starts; nil: in the store
	outputs int      // how many outs are set

	risk     *block.Set // items that may have been in flight when a process died; nil: none
	restored bool       // by a takeover: answers of earlier steps are in the store alone
	results  []block.Result
	retries  []*retryTask // waiting or due, for the row
	dirty    *generation  // the generation that already writes this block
}

// stepSets holds the items of a block at one step, by state.
type stepSets struct {
	ready  block.Set   // may be cut
	coming block.Set   // succeeded at the step before, in a commit not yet cut
	sealed block.Set   // succeeded at the step before, in the commit under way
	flying int         // items in flight
	queued chain.Where // which queue of the step holds the block
	unseen *unseen     // by the step's filter; nil: none, or it has no filter
}

// open takes the next block under the cursor.
func (m *Machine) open(b *bulk) *live {
	l := m.newLive(b)
	l.steps[b.spec.FirstStep].ready.Fill(l.state.Size)
	b.endangerOpened(l)
	return l
}

// newLive returns the block under the cursor and advances the cursor.
func (m *Machine) newLive(b *bulk) *live {
	n := len(b.spec.Steps)
	size := b.spec.BlockSize(b.cursor)
	l := &live{bulk: b, no: b.cursor, base: b.opened, left: size, steps: make([]stepSets, n)}
	b.cursor++
	b.opened += int64(size)
	if s := b.shard; s != nil {
		l.base = s.base
		s.base += int64(size)
		b.seek()
	}
	l.state = block.State{Size: size, Passed: make([]block.Set, n)}
	for i := range b.spec.FirstStep {
		l.state.Passed[i].Fill(size)
	}
	return l
}

// keep keeps an output until the next step starts.
func (m *Machine) keep(l *live, item uint16, out []byte) {
	if l.outs == nil {
		if n := len(m.freeOuts); n > 0 {
			l.outs, m.freeOuts = m.freeOuts[n-1], m.freeOuts[:n-1]
		} else {
			l.outs = make([][]byte, block.Size)
		}
	}
	if l.outs[item] == nil {
		l.outputs++
	}
	l.outs[item] = out
}

// take returns an output to the task that needs it, and drops it.
func (m *Machine) take(l *live, item uint16) []byte {
	if l.outs == nil {
		return nil
	}
	out := l.outs[item]
	if out != nil {
		l.outs[item] = nil
		if l.outputs--; l.outputs == 0 {
			m.freeOuts, l.outs = append(m.freeOuts, l.outs), nil
		}
	}
	return out
}

// upstream reports whether more items of the block may still reach step no without waiting for
// a due time. If not, a small task is better than none.
func (l *live) upstream(no int) bool {
	for s := range l.steps[:no] {
		at := &l.steps[s]
		if at.flying > 0 || !at.ready.Empty() || !at.coming.Empty() || !at.sealed.Empty() || at.unseen.pending() {
			return true
		}
	}
	at := &l.steps[no]
	return !at.coming.Empty() || !at.sealed.Empty() || at.unseen.pending()
}
