package partition

import (
	"fmt"
	"math"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/chain"
	"github.com/weirhq/weir/internal/core/fault"
	"github.com/weirhq/weir/internal/core/heap"
	"github.com/weirhq/weir/internal/core/retry"
	"github.com/weirhq/weir/internal/core/sched"
)

// Status is the stored progress of a bulk action.
type Status struct {
	State         weir.BulkState    `json:"state"`
	Reason        string            `json:"reason,omitempty"`
	CancelCause   string            `json:"cancel_cause,omitempty"` // user, rule or deadline
	Started       int64             `json:"started,omitempty"`      // or the time of submit, until it starts; 0: it ended before its start
	Finished      int64             `json:"finished,omitempty"`
	Done          int64             `json:"done"`
	Failed        int64             `json:"failed"`
	LeftOut       int64             `json:"left_out"`
	InFlight      int64             `json:"in_flight,omitempty"`      // items that may still end with another outcome than cancelled; set while cancelling
	Forgiven      int64             `json:"forgiven,omitempty"`       // failures before the last resume after a stop
	ForgivenEnded int64             `json:"forgiven_ended,omitempty"` // items ended before the last resume after a stop
	Resumes       int64             `json:"resumes,omitempty"`        // resume commands that were read
	Answers       Answers           `json:"answers,omitzero"`         // to the last commands
	Sent          Sent              `json:"sent,omitzero"`            // when the newest commands were sent
	Steps         []weir.StepCounts `json:"steps"`
	Waited        map[string]int64  `json:"waited,omitempty"` // nanoseconds by reason
	StartAt       int64             `json:"start_at,omitempty"`
	Due           int64             `json:"due,omitempty"` // when the last waiting item is due; 0: none waits
	Phase         phase             `json:"phase,omitempty"`
	Flying        int64             `json:"flying,omitempty"`  // items in flight while it runs, over all shards
	Waiting       int64             `json:"waiting,omitempty"` // items with a due time, over all shards
	Calls         []calls           `json:"calls,omitempty"`   // results of the calls of each step, in this partition
	Cause         *Cause            `json:"cause,omitempty"`   // why calls last failed
	Lately        Lately            `json:"lately,omitzero"`
	Late          bool              `json:"late,omitempty"`    // the late event was sent
	Behind        bool              `json:"behind,omitempty"`  // at present the deadline will not be met
	AtRisk        int64             `json:"at_risk,omitempty"` // items that a cancel would call unclear, besides those of the steps, over all shards
	Turns         []Turn            `json:"turns,omitempty"`   // oldest first, at most mostTurns
}

// bulk is one bulk action in memory.
type bulk struct {
	spec       *Created
	state      weir.BulkState
	status     Status
	queued     *sched.Bulk
	steps      []*step
	shard      *shard        // nil: this partition has all of its blocks
	cursor     uint32        // next block that has not been opened
	opened     int64         // items of the opened blocks
	inFlight   int64         // items
	waiting    int64         // items with a due time
	lastDue    int64         // the latest of those times
	risk       int64         // items that an earlier owner may have opened, of those not open here
	risky      int           // items of open blocks that may have been in flight when a process died
	endangered []*live       // blocks that had such items
	latency    []latency     // run times by step; nil: none yet
	groups     *fault.Groups // counts failures that commits carry; nil: none yet
	causes     []Cause       // why calls failed, the newest last

	opens      *generation // carries what must be durable before more may run: see runRest, confirmFirst; nil: none
	index      inIndex     // what the index has after the commit being gathered
	specIn     *generation // the generation that already writes its spec
	born       uint64      // the number of the commit that creates it; 0: it was loaded
	tells      *generation // the generation that already carries an event of it
	tellsAt    int         // the index of that event
	latencyDue int64       // when the histograms are written again
	shown      int64       // items ended when a commit last published its progress
	touched    *generation // the generation that already writes its status
	problem    string      // why nothing can run, for display: unknown chain
	waits      string      // what it last waited on
	sampled    int64       // when waits was set
	showAt     int64       // when its items in flight are published; 0: it has none
	lookAgain  int64       // when its deadline is checked again; 0: it is not
	loaded     int64       // when it was taken over; 0: it was created here
	bounds     []int64     // its own; see Created.bounds
	uses       []use       // of those here; nil: it has none
	shareAt    int64       // when it is checked whether more nodes should work on it; 0: no time is set
}

// step is the state of one bulk action at one step: what may be cut next, and what is on its
// way.
type step struct {
	bulk    *bulk
	no      int
	def     weir.Step
	lane    *lane
	entry   *sched.Entry
	chunk   int                   // most items in a task
	blocks  chain.Queue[*live]    // with items to cut now, or too few of them to be worth a task yet
	retries heap.Heap[*retryTask] // that are due
	queued  int64                 // items in blocks and retries
	coming  int64                 // items that passed the step before, in a commit not yet confirmed
	offered int64                 // items last offered to the queue
	pace    chain.Pace            // the bulk action's own rate here
	shut    bool                  // it has no part of that rate here
	held    int64                 // no call before this time: the endpoint is wrong; 0: not held
	wants   bool                  // its next task waits to be marked
	marking *retryTask            // its mark is being written; nil: none
	marked  *retryTask            // marked, and cut next; nil: none
	calls   calls                 // results of the calls, in this partition
	well    int64                 // when the newest successful call started
	turn    retry.Turn            // of first attempts and retries
	room    room                  // how many items at once the downstream takes
	filter  *filter               // nil: no filter
}

func (m *Machine) addBulk(now int64, c *Created, s *shard) *bulk {
	b := &bulk{spec: c, shard: s, sampled: now, latencyDue: now + latencyEvery}
	b.setBounds()
	if b.away() && len(s.part) != len(b.bounds) {
		s.part = evenParts(b.bounds, s.no, len(c.Shards))
	}
	b.status.Steps = make([]weir.StepCounts, len(c.Steps))
	b.status.Started = now
	if !b.away() { // the home counts all items; a shard only what it takes from them
		b.status.Steps[c.FirstStep].Pending = c.Items
	}
	m.bulks[c.ID] = b
	m.enlist(now, b)
	if c.Deadline != 0 && !b.away() {
		m.waits.push(wait{due: c.Deadline, bulk: c.ID})
	}
	m.enter(b)
	if m.cfg.Tenant != nil {
		m.limitTenant(now, c.Tenant)
	}
	if b.atHome() {
		m.homeAlarm(now, b)
	}
	return b
}

// queueing returns how the queue has to treat the bulk action.
func (b *bulk) queueing() sched.BulkConfig {
	c := b.spec
	q := sched.BulkConfig{
		Submit: c.Submitted, Priority: c.Priority, Tier: c.Tier.Rank(), Cap: b.cap(), Deadline: c.Deadline, Data: b,
	}
	q.Shard = b.shard != nil
	return q
}

// leastWindow lets small tasks keep a slow store busy.
const leastWindow = 4096

// enlist adds a bulk action to the queue, with one entry per step.
func (m *Machine) enlist(now int64, b *bulk) {
	c := b.spec
	b.queued = m.queue.AddBulk(c.Tenant, b.queueing())
	defs := m.steps(c)
	if len(defs) != len(c.Steps) {
		b.problem = "unknown_action"
		return
	}
	for i, def := range defs {
		lane := m.laneOf(now, &def)
		s := &step{bulk: b, no: i, def: def, lane: lane}
		if def.Filter != nil {
			s.filter = &filter{}
		}
		s.setPace(now, b)
		s.entry = m.queue.AddEntry(b.queued, lane.resource, i, s)
		s.setChunk()
		lane.batch = max(lane.batch, def.BatchSize)
		lane.setSize(lane.size)
		b.steps = append(b.steps, s)
	}
	m.widen()
	b.risk = m.riskOf(c)
	m.offerAll(now, b)
}

// widen sets how many items may have uncommitted results: as many as can be in flight.
func (m *Machine) widen() {
	items, tasks := 0, 0
	for _, r := range m.lanes.all {
		n := m.workers(r.limits.Name)
		if n < 0 {
			n = m.queue.Slots()
		}
		items, tasks = max(items, r.chunk), tasks+n
	}
	m.window = max(leastWindow, items*min(tasks, m.queue.Slots()))
}

func (b *bulk) ended() int64 { return b.status.Done + b.status.Failed + b.status.LeftOut }

// move changes the state; illegal moves are a bug.
func (b *bulk) move(to weir.BulkState, reason string) {
	must(b.state.CanMove(to), "%s: illegal move from %v to %v", b.spec.ID, b.state, to)
	b.state, b.status.State, b.status.Reason = to, to, reason
}

// unopened returns the number of items that may still be opened.
func (b *bulk) unopened() int64 {
	switch {
	case b.shard != nil:
		return b.shard.given - b.opened
	case b.status.Phase == canaryPhase || b.status.Phase == mainPhase && b.opens != nil:
		return b.spec.Canary.Items - b.opened
	}
	return b.spec.Items - b.opened
}

// settle ends a bulk action that has nothing left to do.
func (m *Machine) settle(now int64, b *bulk) {
	switch {
	case b.state.Final():
		return
	case b.away():
		if !b.shard.away.state.Final() || b.inFlight > 0 {
			return
		}
		b.move(b.shard.away.state, b.status.Reason)
	case b.ended() == b.spec.Items:
		b.move(weir.BulkCompleted, b.status.Reason)
	case b.state == weir.BulkCancelling && b.inFlight == 0 && b.atRest():
		to := weir.BulkCancelled
		if b.status.CancelCause == "deadline" {
			to = weir.BulkCompleted // with what was done until then
		}
		b.move(to, b.status.Reason)
	default:
		m.judgeCanary(now, b)
		return
	}
	b.cancelPending()
	m.event(now, b)
	b.status.Finished = now
	m.account(now, b)
	m.withdraw(now, b)
	delete(m.bulks, b.spec.ID)
	m.leave(now, b)
	m.gen.ended = append(m.gen.ended, b)
	m.touch(b)
}

// cancelPending counts all items that have not ended as cancelled, at the step that they had
// reached.
func (b *bulk) cancelPending() {
	if b.away() { // its home counts it
		return
	}
	for i := range b.status.Steps {
		s := &b.status.Steps[i]
		s.Cancelled, s.Pending = s.Pending, 0
	}
}

// withdraw removes a bulk action from the queue: nothing of it starts any more.
func (m *Machine) withdraw(now int64, b *bulk) {
	m.queue.RemoveBulk(now, b.queued)
	for _, s := range b.steps {
		s.lane.ready -= s.offered
		s.offered = 0
		m.noteFresh(now, s, false)
	}
}

// judge applies the failure rule after something failed. Items that wait because
// their endpoint does not work count as failed.
func (m *Machine) judge(now int64, b *bulk) {
	r := b.spec.StopOn
	held := b.heldBack(now)
	failed := b.status.Failed - b.status.Forgiven + held
	ended := b.ended() - b.status.ForgivenEnded + held
	least := r.MinItems
	if least == 0 {
		least = 100
	}
	tooMany := r.MaxFailures != 0 && failed > max(r.MaxFailures, 0)
	tooOften := r.FailureRate > 0 && ended >= least && float64(failed) > r.FailureRate*float64(ended)
	if b.state != weir.BulkRunning && b.state != weir.BulkPaused || !tooMany && !tooOften || b.away() {
		return
	}
	reason := fmt.Sprintf("failure rule: %d items failed, more than %d", failed, max(r.MaxFailures, 0))
	switch {
	case held > 0:
		reason = fmt.Sprintf("failure rule: %d items wait after calls that failed%s", held, b.lastCause().because())
	case !tooMany:
		reason = fmt.Sprintf("failure rule: %d of %d ended items failed, more than %g%%", failed, ended, percent(r.FailureRate))
	}
	m.stop(now, b, reason)
}

// percent converts a fraction to a percentage, without binary rounding errors.
func percent(part float64) float64 { return math.Round(part*1e6) / 1e4 }

// heldBack returns how many waiting items count as failed, over all steps and shards.
func (b *bulk) heldBack(now int64) (n int64) {
	for i := range b.steps {
		c := b.callsOf(i)
		n += c.held(now)
	}
	return n
}

// stop ends a bulk action early as its failure rule says.
func (m *Machine) stop(now int64, b *bulk, reason string) {
	if b.spec.StopOn.Cancel {
		m.cancel(now, b, "rule", reason)
		b.turn(now, TurnCancelled, reason)
		return
	}
	m.hold(now, b, weir.BulkStopped, reason)
	b.turn(now, TurnStopped, reason)
	m.event(now, b)
}
