package model

import (
	"time"

	"github.com/weirhq/weir/internal/core/block"
)

// linger is how long items of a block wait at a later step for more of them to fill a task.
const linger = time.Second

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
	where where
}

// where is the queue of a step that a block is in.
type where uint8

const (
	nowhere where = iota
	inReady
	inLinger
)

// lingering is a block that waits for more of its items.
type lingering struct {
	lot *lot
	due int64
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
	for s.rest > 0 && (len(s.blocks) == 0 || skips && s.ready <= s.room()) && !(skips && s.crowded()) {
		n := min(s.rest, block.Size)
		s.rest -= n
		s.enter(m, s.newLot(), n)
	}
	if s.done+s.bulk.failed == s.items { // all of it was skipped
		m.later(m.now, func() { m.close(s.bulk) })
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
	switch {
	case at.where == inReady || at.ready == 0:
	case at.ready >= int64(s.chunk) || !l.upstream(s.no):
		at.where = inReady
		s.blocks = append(s.blocks, l)
	case at.where == nowhere:
		s.lingerAt(m, l)
	}
}

func (s *step) lingerAt(m *machine, l *lot) {
	l.steps[s.no].where = inLinger
	s.lingers = append(s.lingers, lingering{l, m.now + int64(linger)})
	if len(s.lingers) == 1 {
		m.later(s.lingers[0].due, func() { s.lingerDue(m) })
	}
}

// lingerDue sends on blocks that have waited long enough.
func (s *step) lingerDue(m *machine) {
	for len(s.lingers) > 0 && s.lingers[0].due <= m.now {
		l := s.lingers[0].lot
		s.lingers = s.lingers[1:]
		if at := &l.steps[s.no]; at.where == inLinger {
			at.where = inReady
			s.blocks = append(s.blocks, l)
		}
	}
	if len(s.lingers) > 0 {
		m.later(s.lingers[0].due, func() { s.lingerDue(m) })
	}
	if s.end < 0 {
		s.offer(s)
	}
}

// take takes up to so many items off the first block that is ready.
func (s *step) take(m *machine, items int) (l *lot, n int) {
	l = s.blocks[0]
	at := &l.steps[s.no]
	n = int(min(int64(items), at.ready))
	at.ready, s.ready = at.ready-int64(n), s.ready-int64(n)
	switch {
	case at.ready == 0:
		at.where = nowhere
		s.blocks = s.blocks[1:]
	case at.ready < int64(s.chunk) && l.upstream(s.no):
		s.blocks = s.blocks[1:]
		s.lingerAt(m, l)
	}
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
	m.seq++
	t := &task{step: s, begun: true, again: again{seq: m.seq, lot: s.newLot(), items: items, attempt: 1}}
	s.come(t.lot, int64(items))
	s.flying += int64(items)
	t.took, t.how, t.rejected, t.once = s.lane.res.down.call(m.now, items)
	m.later(m.now+int64(s.skips.Float64()*float64(t.took)), func() { m.finish(t) })
}
