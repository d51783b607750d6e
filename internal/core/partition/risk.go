package partition

import (
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
)

// An item can end its process: by os.Exit, by a fault that Go cannot recover from, or by taking
// all memory. Starting a task writes nothing, so after a crash any item that was in flight may
// be the cause. The following finds the item without a write per task as long as no process
// dies.
//
//  1. An owner that takes over from one that died knows which items may have
//     been in flight: those of blocks that were opened and have not ended. They
//     are at risk. A task with an item at risk is marked: its items are written to
//     the row of their block before it starts. Everything else runs as always.
//  2. Marks that the next owner finds after another death are suspects. Suspects
//     run one task at a time on their node; see trial.go.
//
// Any result takes an item off the risk: its process has survived it.

// skew is how far the clocks of submitters may be ahead.
const skew = int64(10 * time.Second)

// riskOf returns how many items of a bulk action, beyond those of blocks with rows, an earlier
// owner may have opened. In flight and uncommitted are at most three windows; its limits may
// have been different.
func (m *Machine) riskOf(c *Created) int64 {
	if !m.tenure.risky || c.Submitted > m.tenure.since+skew {
		return 0
	}
	return int64(4 * m.window)
}

// endanger puts the items of a block at risk.
func (l *live) endanger(items *block.Set) {
	if l.risk == nil {
		l.risk = &block.Set{}
		l.bulk.endangered = append(l.bulk.endangered, l)
	}
	l.bulk.risky -= l.risk.Len()
	l.risk.Or(items)
	l.bulk.risky += l.risk.Len()
}

// survived removes items whose task has ended from those at risk.
func (l *live) survived(items []uint16) {
	if l.risk == nil {
		return
	}
	l.bulk.risky -= l.risk.Len()
	for _, i := range items {
		l.risk.Remove(int(i))
	}
	if l.bulk.risky += l.risk.Len(); l.risk.Empty() {
		l.risk = nil
	}
}

// endangerOpened puts a block that was opened at the cursor at risk, if an earlier owner may
// have opened it.
func (b *bulk) endangerOpened(l *live) {
	if b.risk <= 0 {
		return
	}
	b.risk -= int64(l.state.Size)
	l.endanger(&l.steps[b.spec.FirstStep].ready)
}

// endangerLoaded puts the ready and due items of a loaded block at risk.
func (m *Machine) endangerLoaded(l *live) {
	if !m.tenure.risky {
		return
	}
	for i := range l.steps {
		l.endanger(&l.steps[i].ready)
	}
	for _, r := range l.state.Retries {
		if r.Due <= m.tenure.since+skew {
			l.endanger(&r.Items)
		}
	}
}

// atRisk reports whether any item is at risk, or runs on beyond the owner.
func (m *Machine) atRisk() bool {
	if m.inFlight > 0 {
		return true
	}
	for _, b := range m.bulks { // any of them: order does not reach the output
		unseen := b.problem != "" && m.tenure.risky
		if unseen || b.risk > 0 && b.unopened() > 0 || b.risky > 0 {
			return true
		}
	}
	return false
}

// endangered reports whether the next task of the step has to be marked.
func (s *step) endangered() bool {
	switch {
	case s.retryNext():
		r := s.retries[0]
		return r.l.risk != nil && slices.ContainsFunc(r.items, func(i uint16) bool { return r.l.risk.Has(int(i)) })
	case s.blocks.Len() > 0:
		l := s.blocks.First()
		return l.risk != nil && l.risk.Meets(&l.steps[s.no].ready)
	}
	return s.first() && s.bulk.risk > 0 && s.bulk.unopened() > 0
}

// wantMark schedules the mark of the step's next task, before it is offered.
func (m *Machine) wantMark(s *step) {
	if !s.wants {
		s.wants = true
		m.wants = append(m.wants, s)
	}
}

// markAll marks a task of each step that waits for it.
func (m *Machine) markAll(now int64) {
	if m.stopped || m.behind() || !m.mayStart() {
		return
	}
	m.wants = slices.DeleteFunc(m.wants, func(s *step) bool {
		if b := s.bulk; b.state != weir.BulkRunning && !b.stopping() {
			return false // held: it is offered again when it continues
		}
		s.wants = false
		if s.bulk.state == weir.BulkRunning && s.marking == nil && s.next() > 0 && s.endangered() {
			m.mark(now, s)
		}
		return true
	})
}

// mark writes the mark of the step's next task. The task can be cut once the mark is durable.
func (m *Machine) mark(now int64, s *step) {
	var r *retryTask
	if s.retryNext() {
		r = s.popRetry(s.chunk)
	} else {
		r = &retryTask{at: s, attempt: 1, due: now}
		r.l = m.readyBlock(now, s)
		r.items = m.takeReady(now, s, r.l, nil, s.chunk)
		r.l.retries = append(r.l.retries, r)
	}
	s.marking = r
	m.noteStart(r)
}

// noteStart lets the next commit record that the task may be running.
func (m *Machine) noteStart(r *retryTask) {
	r.started, r.mark = true, m.gen
	m.dirty(r.l)
	m.gen.marks = append(m.gen.marks, r)
}

// markDurable lets tasks with durable marks start.
func (m *Machine) markDurable(now int64, g *generation) {
	for _, r := range g.marks {
		switch s := r.at; {
		case r.mark != g: // removed, and set again since
		case s.marking == r:
			s.marking, s.marked = nil, r
			m.offer(now, s)
		case m.trial.task == r && m.trial.stage == trialMarking:
			m.trial.stage = trialMarked
		}
	}
}

// cutMarked cuts the task that was marked.
func (m *Machine) cutMarked(s *step, t *Task) {
	r := s.marked
	s.marked = nil
	if rest := r.split(t.pick.Cost); rest != nil {
		s.marked = rest
	}
	m.useRetry(s, t, r)
}
