package partition

import (
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/chain"
	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/core/sched"
)

// Task is up to a chunk of items of one block at one step. One slot runs it.
type Task struct {
	Bulk      weir.BulkID
	Tenant    string
	Block     uint32
	StoredAs  weir.BulkID // name under which the block is stored, mostly Bulk
	StoredNo  uint32      // and its number there
	StepNo    int
	Step      *weir.Step
	FirstStep int         // where the bulk action's items started
	Attempt   int         // 1 for the first
	Base      int64       // position of the block's first item in the bulk action
	Items     []uint16    // positions in the block, ascending
	Previous  [][]byte    // answers of the step before, by position in Items; nil: none, or see Reload
	Reload    bool        // answers missing in Previous may be in the store
	Names     []string    // of all steps
	KeysOf    weir.BulkID // whose idempotency keys the items have; empty: Bulk's
	Shards    []int       // partitions that share the bulk action, the home first; nil: not shared
	Trace     string      // traceparent of the submit; empty: none
	Total     int64       // items of the bulk action
	Filter    bool        // no call: the step's filter checks the items, of which there may be a whole block

	at      *step
	l       *live
	pick    sched.Pick
	awaited uint64     // the number of the commit that waits for its result; 0: none does, see firstFor
	retry   *retryTask // the retry it was cut from; nil: a first attempt
	started int64
}

// Start returns when limits count a task as started: now, or later if the loop of another
// partition has already passed a later time to them.
func (t *Task) Start(now int64) int64 { return max(now, t.pick.Start) }

// Home returns the partition that holds the task's items. own is the partition that cut it.
func (t *Task) Home(own int) int {
	if len(t.Shards) > 1 {
		return t.Shards[0]
	}
	return own
}

// resizeEvery is how often the sizes of tasks are adapted to their resource.
const resizeEvery = int64(100 * time.Millisecond)

// resize updates what determines the size of tasks on each resource.
func (m *Machine) resize(now int64) {
	if now < m.resized+resizeEvery {
		return
	}
	m.resized = now
	for _, r := range m.lanes.all {
		r.setSize(m.queue.Size(r.resource))
	}
	m.widen()
}

func (on *lane) setSize(s limit.Size) { on.size, on.chunk = s, s.Items(on.batch) }

// setChunk sets the largest number of items in a task of the step: as many as keep the slower
// of the resource's rate and the step's own.
func (s *step) setChunk() {
	s.chunk = s.lane.size.Under(s.pace.Rate(), s.def.BatchSize)
}

// cut cuts the task that the queue picked. If the offered size has grown since, the task has as
// many items as were picked.
func (m *Machine) cut(now int64, pick sched.Pick) *Task {
	s := pick.Entry.Data.(*step)
	t := m.newTask()
	t.at, t.pick, t.started, t.Attempt = s, pick, now, 1
	switch {
	case s.marked != nil:
		m.cutMarked(s, t)
	case s.retryNext():
		m.useRetry(s, t, s.popRetry(pick.Cost))
	default:
		t.l = m.readyBlock(now, s)
		t.Items = m.takeReady(now, s, t.l, t.Items, pick.Cost)
		m.handOver(s, t)
	}
	s.queued -= int64(len(t.Items))
	m.launch(now, t)
	return t
}

// launch counts a task that has its items.
func (m *Machine) launch(now int64, t *Task) {
	s, n, b := t.at, len(t.Items), t.at.bulk
	must(n == t.pick.Cost, "cut %d items where %d were picked", n, t.pick.Cost)
	t.describe()
	s.lane.counts.started++
	s.lane.counts.sent += int64(n)
	b.inFlight += int64(n)
	m.showSoon(now, b)
	s.spend(now, n)
	m.used(now, s)
	m.feed(now, b)
	t.l.steps[s.no].flying += n
	m.inFlight++
	if b.born == m.number+1 && b.spec.Inline {
		t.awaited = b.born
		m.gen.firsts++
	}
	m.offer(now, s)
	if s.no > 0 {
		m.offer(now, b.steps[s.no-1]) // room in this step lets the one before continue
	}
}

// describe sets the step, block and bulk action of the task.
func (t *Task) describe() {
	s, b := t.at, t.at.bulk
	t.Bulk, t.Tenant, t.Block, t.StepNo, t.Step, t.FirstStep = b.spec.ID, b.spec.Tenant, t.l.no, s.no, &s.def, b.spec.FirstStep
	if t.l.name == "" {
		t.l.name, t.l.at = b.spec.BlockAt(t.l.no)
	}
	t.StoredAs, t.StoredNo = t.l.name, t.l.at
	t.Base, t.Shards, t.KeysOf, t.Names = t.l.base, b.spec.Shards, b.spec.KeysOf, b.spec.Steps
	t.Trace, t.Total = b.spec.Trace, b.spec.Items
}

// popRetry removes the first due retry from the step, or n items of it.
func (s *step) popRetry(n int) *retryTask {
	s.turn.Granted = false
	r := s.retries.Pop()
	if rest := r.split(n); rest != nil {
		s.retries.Push(rest)
	}
	s.join()
	return r
}

// split keeps at most n items, and returns the rest: the limits are tighter than when it first
// ran.
func (r *retryTask) split(n int) *retryTask {
	if len(r.items) <= n {
		return nil
	}
	rest := *r
	rest.items = r.items[n:]
	r.items = r.items[:n:n]
	r.l.retries = append(r.l.retries, &rest)
	return &rest
}

// useRetry fills the task from a retry.
func (m *Machine) useRetry(s *step, t *Task, r *retryTask) {
	t.retry, t.l, t.Attempt = r, r.l, r.attempt
	t.Items = append(t.Items, r.items...)
	m.handOver(s, t)
}

// readyBlock returns the block from which the step is cut next.
func (m *Machine) readyBlock(now int64, s *step) *live {
	if s.blocks.Len() == 0 {
		l := m.openNext(now, s)
		s.blocks.Push(l, &l.steps[s.no].queued)
	}
	return s.blocks.First()
}

// openNext opens the next block at the first step.
func (m *Machine) openNext(now int64, s *step) *live {
	l := m.open(s.bulk)
	s.queued += int64(l.left)
	if s.bulk.shard != nil {
		m.openedOf(now, s.bulk)
	}
	return l
}

// takeReady appends up to n items for a task to dst, and removes the block from the step's
// queue if it has no more.
func (m *Machine) takeReady(now int64, s *step, l *live, dst []uint16, n int) []uint16 {
	at := &l.steps[s.no]
	dst = at.ready.Take(dst, n)
	left := at.ready.Len()
	m.awaitLinger(s, s.blocks.Took(now, &at.queued, left == 0, left < s.chunk && l.upstream(s.no)))
	return dst
}

// handOver gives the task the answers of the step before.
func (m *Machine) handOver(s *step, t *Task) {
	if s.no == 0 {
		return
	}
	t.Reload = t.retry != nil || t.l.restored || s.first()
	for _, i := range t.Items {
		t.Previous = append(t.Previous, m.take(t.l, i))
	}
}

// offer updates the queue with what the step would run next.
func (m *Machine) offer(now int64, s *step) {
	if s.bulk.state == weir.BulkCancelling || s.bulk.state.Final() {
		return
	}
	s.setChunk()
	backlog := s.queued
	if s.first() {
		backlog += s.bulk.unopened()
	}
	s.lane.ready += backlog - s.offered
	s.offered = backlog
	if s.first() && s.bulk.shard != nil {
		backlog += s.bulk.shard.rest // small work goes first, and this is not small; these items are not ready here
	}
	m.grant(now, s)
	m.look(now, s)
	head := s.head()
	if head == 0 && s.marking == nil && s.next() > 0 {
		m.wantMark(s)
	}
	m.queue.Update(now, s.entry, head, backlog-int64(head))
	m.press(now, s.bulk)
	m.wantFilter(s)
	m.noteFresh(now, s, head > 0 && s.fresh() && s.bulk.state == weir.BulkRunning)
}

func (m *Machine) offerAll(now int64, b *bulk) {
	for _, s := range b.steps {
		m.offer(now, s)
	}
}

// head returns the size of the task that cut would make, 0 if there is none now. A task that
// has to be marked is not offered before it is.
func (s *step) head() int {
	if s.waits() || s.marked == nil && (s.marking != nil || s.endangered()) {
		return 0
	}
	return s.size()
}

// next returns the size of the next task that is not marked, 0 if there is none now.
func (s *step) next() int {
	if s.waits() || s.marked != nil {
		return 0
	}
	return s.size()
}

// size returns the size of the next task if it may start, 0 if there is none.
func (s *step) size() int {
	switch {
	case s.crowded():
		return 0
	case s.marked != nil:
		return min(s.most(), len(s.marked.items))
	case s.retryNext():
		return min(s.most(), len(s.retries[0].items))
	case s.blocks.Len() > 0:
		return min(s.most(), s.blocks.First().steps[s.no].ready.Len())
	case s.opens():
		return min(s.most(), s.bulk.spec.BlockSize(s.bulk.cursor))
	}
	return 0
}

// retryNext reports whether the next task is a retry. Until a call of the step has succeeded,
// first attempts go first: an item that makes its batch fail must not keep others from showing
// that the endpoint works.
func (s *step) retryNext() bool {
	return len(s.retries) > 0 && s.turn.Granted && (s.calls.Succeeded || !s.fresh())
}

// opens reports whether the next task can be cut from a block that is not open yet.
func (s *step) opens() bool { return s.first() && s.filter == nil && s.bulk.unopened() > 0 }

// first reports whether the bulk action's items start at this step.
func (s *step) first() bool { return s.no == s.bulk.spec.FirstStep }

// crowded reports whether the next step has so much to do that more would only fill memory.
func (s *step) crowded() bool {
	if s.no+1 >= len(s.bulk.steps) {
		return false
	}
	next := s.bulk.steps[s.no+1]
	return next.queued+next.coming > next.bound()
}

// bound returns how many items the step should have ready at most.
func (s *step) bound() int64 {
	return chain.Room(float64(s.lane.limits.Rate), s.chunk, s.def.BatchSize)
}

// arrive makes items of a block ready at a step, once the result before is durable.
func (m *Machine) arrive(now int64, s *step, l *live, n int) {
	s.queued += int64(n)
	if s.filter != nil {
		s.queueFilter(l, n)
	} else {
		if !s.first() {
			s.arrived(int64(n))
		}
		m.place(now, s, l)
	}
	m.offer(now, s)
}

// place puts a block with ready items into the right queue of a step.
func (m *Machine) place(now int64, s *step, l *live) {
	at := &l.steps[s.no]
	if at.queued == chain.Ready || at.ready.Empty() {
		return
	}
	m.awaitLinger(s, s.blocks.Place(now, l, &at.queued, at.ready.Len() < s.chunk && l.upstream(s.no)))
}

// awaitLinger lets lingerDue be called at a time; 0: no time has to be set.
func (m *Machine) awaitLinger(s *step, at int64) {
	if at != 0 {
		m.waits.push(wait{due: at, step: s})
	}
}

// lingerDue releases blocks that have waited long enough.
func (m *Machine) lingerDue(now int64, s *step) {
	m.awaitLinger(s, s.blocks.Due(now, func(l *live) *chain.Where { return &l.steps[s.no].queued }))
	m.offer(now, s)
}

func (m *Machine) newTask() *Task {
	if n := len(m.freeTasks); n > 0 {
		t := m.freeTasks[n-1]
		m.freeTasks = m.freeTasks[:n-1]
		return t
	}
	return &Task{}
}

// recycle takes back a task whose result has been applied.
func (m *Machine) recycle(t *Task) {
	clear(t.Previous)
	*t = Task{Items: t.Items[:0], Previous: t.Previous[:0]}
	m.freeTasks = append(m.freeTasks, t)
}
