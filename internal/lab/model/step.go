package model

import (
	"github.com/weirhq/weir/internal/core/chain"
	"github.com/weirhq/weir/internal/core/heap"
	"github.com/weirhq/weir/internal/core/retry"
	"github.com/weirhq/weir/internal/core/sched"
)

// step is one step of a piece.
type step struct {
	*piece
	no       int
	lane     *lane
	entry    *sched.Entry
	share    *share
	chunk    int
	pace     chain.Pace        // what the bulk action itself allows here
	blocks   chain.Queue[*lot] // with items that may run, or that wait for company to fill a task
	ready    int64             // items of them
	here     int64             // items that have come and have not left
	flying   int64             // of them: in flight
	retries  heap.Heap[again]
	retried  int64 // items in retries
	turn     retry.Turn
	offered  int // tasks that the lane counts for it
	eligible bool
}

// again is items that are tried again together.
type again struct {
	seq     uint64 // order of their first failure
	lot     *lot
	items   int
	attempt int   // the one to come
	fails   int   // times that the whole task failed
	failed  int64 // when it did last
}

// Before orders retries: what may be poisonous comes last.
func (a again) Before(b again) bool {
	if a.fails != b.fails {
		return a.fails < b.fails
	}
	return a.lot.no < b.lot.no || a.lot.no == b.lot.no && a.seq < b.seq
}

func (s *step) tasksOf(items int64) int { return int((items + int64(s.chunk) - 1) / int64(s.chunk)) }

// head returns the size of the next task, or 0 if none can start now.
func (s *step) head() int {
	if s.pace.Waits {
		return 0
	}
	return s.size()
}

// size returns the size of the next task if its own rate lets it start.
func (s *step) size() int {
	switch {
	case s.cancelled, s.crowded():
		return 0
	case s.turn.Granted:
		return min(s.most(), s.retries[0].items)
	case s.blocks.Len() > 0:
		return int(min(int64(s.most()), s.blocks.First().steps[s.no].ready))
	}
	return 0
}

// most returns the most items in a task of the step.
func (s *step) most() int {
	if s.pace.Part > 0 {
		return min(s.chunk, s.pace.Part)
	}
	return s.chunk
}

// grant asks whether the next task is a retry.
func (s *step) grant(m *machine) {
	if len(s.retries) == 0 {
		return
	}
	l := s.lane
	l.turns.Ask(m.clock(), s, &s.turn, s.blocks.Len() > 0, min(s.chunk, s.retries[0].items), float64(l.res.Rate))
	l.awaitShare()
}

// awaitShare has retries that wait ask again when the next of them has its turn.
func (l *lane) awaitShare() {
	at, any := l.turns.Next()
	if !any || l.alarm {
		return
	}
	l.alarm = true
	l.m.At(at-epoch, func() {
		l.alarm = false
		for s, ok := l.turns.Due(l.m.clock()); ok; s, ok = l.turns.Due(l.m.clock()) {
			s.askAgain()
		}
		l.awaitShare()
	})
}

// askAgain lets a step ask again for its next retry.
func (s *step) askAgain() {
	if s.end < 0 {
		s.offer(s)
	}
}

// noteFresh takes note whether first attempts of the step wait. If those of no step of
// the lane do any more, all retries have their turn.
func (s *step) noteFresh(fresh bool) {
	for _, again := range s.lane.turns.NoteFresh(&s.turn, fresh) {
		again.askAgain()
	}
}

// crowded reports whether the next step has so much to do that more would only
// fill memory.
func (s *step) crowded() bool {
	if s.no+1 == len(s.steps) {
		return false
	}
	next := s.steps[s.no+1]
	return next.ready+next.retried > next.room()
}

// room returns how many items the step is to have ready at most.
func (s *step) room() int64 {
	return chain.Room(float64(s.lane.res.Rate), s.chunk, s.batch(s.no))
}

// offer tells the queue, the lane and the books of fairness what a step could run.
func (p *piece) offer(s *step) {
	now := p.part.m.clock()
	s.setChunk()
	s.fill(p.part.m)
	s.grant(p.part.m)
	s.look(p.part.m)
	head := s.head()
	backlog := s.ready
	if s.no == 0 {
		backlog += s.rest / int64(len(p.pieces))
	}
	backlog = max(backlog+s.retried, int64(head))
	p.part.queue.Update(now, s.entry, head, backlog-int64(head))
	tasks := 0
	if head > 0 {
		tasks = max(s.tasksOf(backlog), len(s.retries))
	}
	s.lane.tasks += tasks - s.offered
	s.offered = tasks
	if s.eligible != (head > 0) {
		s.eligible = head > 0
		s.share.want(p.part.m, s.eligible)
	}
	p.part.stirred = true
	s.noteFresh(head > 0 && s.blocks.Len() > 0)
}
