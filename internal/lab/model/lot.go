package model

import (
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/chain"
)

// lot is a block: how many of its items are at each step. A task has items of one
// block only, as in a partition.
type lot struct {
	no    int
	steps []lotStep
}

// lotStep is what a block has at a step.
type lotStep struct {
	here  int64 // items that have come and have not left
	ready int64 // of them: may run
	where chain.Where
}

func (p *piece) newLot() *lot {
	p.lots++
	return &lot{no: p.lots, steps: make([]lotStep, len(p.steps))}
}

// fill opens the next block when the first step has nothing else to run. One that
// some items skip looks ahead, as far as there is room for those that go on.
func (s *step) fill(m *machine) {
	if s.no > 0 || s.end >= 0 || s.cancelled {
		return
	}
	skips := at(s.Skips, 0)+at(s.LeftOut, 0) > 0
	for s.rest > 0 && (s.blocks.Len() == 0 || skips && s.ready <= s.room()) && !(skips && s.crowded()) {
		n := min(s.rest, block.Size)
		s.rest -= n
		s.enter(m, s.newLot(), n)
	}
	if s.done+s.bulk.failed == s.items { // all of it was skipped
		m.At(m.Now(), func() { m.close(s.bulk) })
	}
}

// enter brings items of a block to a step. Those that skip it go on at once, and those
// that it leaves out have ended.
func (s *step) enter(m *machine, l *lot, items int64) {
	skips, leaves := float64(at(s.Skips, s.no)), float64(at(s.LeftOut, s.no))
	gone := int64(some(s.skips, int(items), skips+leaves))
	skipped := gone
	if leaves > 0 {
		skipped = int64(some(s.skips, int(gone), skips/(skips+leaves)))
	}
	s.bulk.done += gone - skipped
	s.add(m, l, items-gone)
	if skipped > 0 {
		s.pass(m, l, skipped)
	}
}

// add makes items of a block ready at a step.
func (s *step) add(m *machine, l *lot, items int64) {
	if items == 0 {
		return
	}
	at := &l.steps[s.no]
	s.come(l, items)
	at.ready, s.ready = at.ready+items, s.ready+items
	if s.no > 0 {
		s.lane.became(s.tasksOf(items), false)
	}
	s.place(m, l)
}

// come counts items of a block that have come to a step, or have left it.
func (s *step) come(l *lot, items int64) {
	l.steps[s.no].here += items
	s.here += items
}

// pass brings items to the next step, or to their end.
func (s *step) pass(m *machine, l *lot, items int64) {
	if s.no+1 == len(s.steps) {
		s.bulk.done += items
		return
	}
	next := s.steps[s.no+1]
	next.enter(m, l, items)
	next.offer(next)
}

// upstream reports whether more items of the block may come to a step.
func (l *lot) upstream(no int) bool {
	for i := range l.steps[:no] {
		if l.steps[i].here > 0 {
			return true
		}
	}
	return false
}

// place puts a block with ready items into the right queue of a step.
func (s *step) place(m *machine, l *lot) {
	at := &l.steps[s.no]
	if at.ready > 0 {
		s.awaitLinger(m, s.blocks.Place(m.Now(), l, &at.where, at.ready < int64(s.chunk) && l.upstream(s.no)))
	}
}

// awaitLinger lets blocks be cut that have waited long enough, at a time; 0: no time has to be set.
func (s *step) awaitLinger(m *machine, at int64) {
	if at == 0 {
		return
	}
	m.At(at, func() {
		s.awaitLinger(m, s.blocks.Due(m.Now(), func(l *lot) *chain.Where { return &l.steps[s.no].where }))
		if s.end < 0 {
			s.offer(s)
		}
	})
}

// take takes up to so many items off the first block that is ready.
func (s *step) take(m *machine, items int) (l *lot, n int) {
	l = s.blocks.First()
	at := &l.steps[s.no]
	n = int(min(int64(items), at.ready))
	at.ready, s.ready = at.ready-int64(n), s.ready-int64(n)
	few := at.ready < int64(s.chunk) && l.upstream(s.no)
	s.awaitLinger(m, s.blocks.Took(m.Now(), &at.where, at.ready == 0, few))
	return l, n
}

// resume puts those items where they are that had begun before the world did.
func (b *bulk) resume() {
	m, next, last := b.m, 0, b.longestWait()
	for i := range b.Steps {
		for n := at(b.Standing, i); n > 0; n -= block.Size {
			p := b.pieces[next%len(b.pieces)]
			next++
			b.rest -= min(n, block.Size)
			p.steps[i].add(m, p.newLot(), min(n, block.Size))
		}
		for n := at(b.Flying, i); n > 0; {
			s := b.pieces[next%len(b.pieces)].steps[i]
			next++
			items := min(n, int64(s.chunk))
			n -= items
			b.rest -= items
			s.fly(m, int(items))
		}
		for n := at(b.Waiting, i); n > 0; n -= block.Size {
			s := b.pieces[next%len(b.pieces)].steps[i]
			next++
			b.rest -= min(n, block.Size)
			s.await(m, int(min(n, block.Size)), i == last)
			last = -1
		}
	}
}

// fly is a call that began before the world did, at any time of its length. It
// takes nothing of the limits any more.
func (s *step) fly(m *machine, items int) {
	m.made++
	t := &task{step: s, begun: true, again: again{seq: m.made, lot: s.newLot(), items: items, attempt: 1}}
	s.come(t.lot, int64(items))
	s.flying += int64(items)
	t.took, t.how, t.rejected, t.once = s.lane.res.down.call(m.Now(), items)
	m.After(int64(s.skips.Float64()*float64(t.took)), func() { m.finish(t) })
}
