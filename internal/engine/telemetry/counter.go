package telemetry

import (
	"iter"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/core/sched"
)

// Counter is what the loop of a partition counts for the metrics of its node. It
// belongs to the loop.
type Counter struct {
	actions  map[string]*actionCounts
	finished map[finish]int64
	outcomes map[string]int64
	waiting  map[string]float64
	starts   [len(targets)]starts     // by tier
	slowdown [len(sizeClasses)]spread // by size
	slots    int                      // of all nodes
	bulks    map[weir.BulkID]*counted // that have not ended
	tallies  map[string]*Tally        // by resource; of all under the empty name
	moved    map[weir.BulkID]*counted // since [Counter.TakeMoved] was called last
	begun    int64                    // when the partition was loaded
	asked    int64                    // when TakeMoved was called last; before, when the partition was loaded

	// Tasks mostly come from the same bulk action as the one before.
	lastAction string
	last       *actionCounts
	lastBulk   weir.BulkID
	lastKnown  *counted

	census Census
}

// counted is a bulk action as it was counted last.
type counted struct {
	tenant  string
	actions []string          // by step
	uses    []string          // resources, by step
	steps   []weir.StepCounts // as counted
	counts  weir.Counts       // as counted
	state   weir.BulkState    // as shown
	started int64
	ended   int64 // 0: it has not
	since   int64 // when it was last among those that moved, or was created; 0: loaded, and not told of since
	loaded  Tally // as it was loaded
	told    bool  // it was among those that moved

	awaited
	pace

	// Whether it stalls: see stalls.
	moved, refused int64 // as of the last look
	progress       int64 // when items of it last ended or finished a step
	obstructed     int64 // when its calls were last refused or its circuit was open
}

// Begin makes the counter of a partition that was loaded.
func (t *Counter) Begin(now int64, m *partition.Machine) {
	t.actions, t.finished, t.outcomes = map[string]*actionCounts{}, map[finish]int64{}, map[string]int64{}
	t.waiting, t.bulks = map[string]float64{}, map[weir.BulkID]*counted{}
	t.tallies, t.moved = map[string]*Tally{}, map[weir.BulkID]*counted{}
	t.begun, t.asked = now, now
	m.Census(func(h *partition.Held) { t.know(now, m, h) })
}

func (t *Counter) know(now int64, m *partition.Machine, h *partition.Held) {
	if h.Away {
		return // its home counts it
	}
	k := &counted{
		tenant: h.Tenant, actions: m.Actions(h.ID), uses: m.Resources(h.ID), steps: slices.Clone(h.Steps), counts: h.Counts,
		started: h.Started, progress: now, loaded: TallyOf(h.Counts, h.Steps),
	}
	k.moved, k.refused = moves(h)
	k.awaitFirst(now, h)
	k.rate, k.concurrency, k.calls = h.Rate, h.Concurrency, make([]service, len(h.Steps))
	t.bulks[h.ID] = k
	for _, action := range k.actions { // its counters begin at 0
		t.action(action)
		for _, state := range finishStates {
			t.finished[finish{action, k.tenant, state}] += 0
		}
	}
}

// Created notes a bulk action that is new here.
func (t *Counter) Created(now int64, m *partition.Machine, c *partition.Created) {
	h := &partition.Held{ID: c.ID, Tenant: c.Tenant, Tier: c.Tier, Steps: make([]weir.StepCounts, len(c.Steps)), Started: now}
	h.Rate, h.Concurrency = m.Bounds(c.ID)
	t.know(now, m, h)
	if k := t.bulks[c.ID]; k != nil {
		k.since, k.whole = now, true
		if !c.Hold && c.StartAt == 0 {
			k.inbox = max(time.Duration(now-c.Submitted), 0)
		}
	}
}

// Task counts a task that has ended, when it started and for how long it ran, in nanoseconds.
func (t *Counter) Task(cut *partition.Task, started, service int64) {
	if t.last == nil || t.lastAction != cut.Step.Action {
		t.lastAction, t.last = cut.Step.Action, t.action(cut.Step.Action)
	}
	a, n, took := t.last, len(cut.Items), float64(service)/1e9
	a.took.add(took, 1)
	a.itemsTook.add(took, n)
	a.items.add(float64(n), 1)
	k := t.known(cut.Bulk)
	if k == nil {
		return // a shard: its home counts it
	}
	k.called(cut.StepNo, time.Duration(service))
	if cut.StepNo == cut.FirstStep && cut.Attempt == 1 {
		a.wait.add(float64(started-k.started)/1e9, n)
		if k.open {
			t.judge(k, started)
		}
	}
}

func (t *Counter) action(name string) *actionCounts {
	a := t.actions[name]
	if a == nil {
		a = &actionCounts{}
		t.actions[name] = a
	}
	return a
}

func (t *Counter) known(id weir.BulkID) *counted {
	if t.lastKnown == nil || t.lastBulk != id {
		t.lastBulk, t.lastKnown = id, t.bulks[id]
	}
	return t.lastKnown
}

// Shown counts what has become durable of bulk actions. It reports how many have
// counts that do not add up, which would be a fault of ours.
func (t *Counter) Shown(now int64, views []weir.Progress) (wrong int64) {
	for i := range views {
		v := &views[i]
		c := &v.Counts
		if c.Ready+c.Waiting+c.InFlight+c.Ended() != c.Total || c.Ready < 0 || c.Waiting < 0 || c.InFlight < 0 {
			wrong++
		}
		if k := t.bulks[v.ID]; k != nil {
			t.ended(now, k, v)
		}
	}
	return wrong
}

// ended counts the items that ended since the bulk action was shown last.
func (t *Counter) ended(now int64, k *counted, v *weir.Progress) {
	k.started = v.Started.UnixNano()
	action := func(step int) string {
		if step < 0 || step >= len(k.actions) {
			return otherLabel
		}
		return k.actions[step]
	}
	count := func(step int, state string, n int64) {
		if n > 0 {
			t.finished[finish{action(step), k.tenant, state}] += n
		}
	}
	for i := range min(len(v.Steps), len(k.steps)) {
		is, was := &v.Steps[i], &k.steps[i]
		count(i, "failed", is.Failed-was.Failed)
		count(i, "cancelled", is.LeftOut+is.Cancelled-was.LeftOut-was.Cancelled)
		if *is != *was {
			t.action(action(i)).attempts(is, was)
		}
	}
	t.tally(k, v)
	copy(k.steps, v.Steps)
	count(len(k.actions)-1, "done", v.Counts.Done-k.counts.Done)
	k.counts, k.state = v.Counts, v.State
	t.moved[v.ID] = k
	if v.State.Final() {
		k.ended = v.Finished.UnixNano()
		t.endOfWait(k, v)
		t.slowed(k, v)
		t.outcomes[outcomeOf(v)]++
		delete(t.bulks, v.ID)
		if !k.told {
			delete(t.moved, v.ID) // it came and went between two samples
		}
		t.lastKnown = nil
	}
}

// outcomeOf is how a bulk action ended, in a word.
func outcomeOf(v *weir.Progress) string {
	if v.State != weir.BulkCompleted {
		return v.State.String()
	}
	return v.Counts.Outcome()
}

// attempts counts how attempts ended between two looks at a step.
func (a *actionCounts) attempts(is, was *weir.StepCounts) {
	for i, n := range [len(resultNames)]int64{
		is.Done - is.Skipped - was.Done + was.Skipped, is.Failed - was.Failed, is.LeftOut - was.LeftOut,
		is.Retries - was.Retries, is.Refused - was.Refused,
	} {
		a.results[i] += max(n, 0)
	}
}

// Census is what a partition holds, as of the last look.
type Census struct {
	states  map[string]int
	stalled int
	atRisk  int64
	tasks   map[string]int   // in flight, by action
	Pending map[string]int64 // items, of tenants that have a bound on them
	next    int64            // when it is worth looking again
	at      int64
}

// stallsAfter is how long a bulk action that should move may stand still.
const stallsAfter = int64(time.Minute)

// TakeCensus looks at everything that the partition holds. With very many bulk actions
// that is not done every time, and nil is returned: no more than a hundredth of the loop's time is for it.
// bounded has the tenants whose pending items are counted; running yields the actions of the tasks that run.
func (t *Counter) TakeCensus(now int64, m *partition.Machine, bounded map[string]bool, running iter.Seq[string]) *Census {
	c := &t.census
	if now < c.next {
		return nil
	}
	began := time.Now()
	span := time.Duration(now - c.at)
	if c.at == 0 {
		span = 0
	}
	*c = Census{states: map[string]int{}, tasks: map[string]int{}, Pending: map[string]int64{}, at: now,
		atRisk: int64(m.Uncommitted())}
	m.Census(func(h *partition.Held) {
		c.atRisk += h.InFlight
		if h.Away {
			return
		}
		c.states[h.State.String()]++
		if h.Waits != "" {
			t.waiting[h.Waits] += span.Seconds()
		}
		if bounded[h.Tenant] {
			c.Pending[h.Tenant] += h.Counts.Total - h.Counts.Ended()
		}
		k := t.bulks[h.ID]
		if k == nil {
			return
		}
		t.await(now, span, k, h)
		k.look(span, h)
		if t.stalls(now, k, h) {
			c.stalled++
		}
	})
	for action := range running {
		c.tasks[action]++
	}
	c.next = now + 100*int64(time.Since(began))
	seen := *c // its maps are made anew by the next look
	return &seen
}

// stalls reports whether a bulk action stands still that should not: it runs, and
// for a while no item has ended or finished a step. One whose calls take long, whose
// retries wait for their time or that waits for its turn stands still for a good
// reason, unless calls are refused or the circuit is open.
func (t *Counter) stalls(now int64, k *counted, h *partition.Held) bool {
	moved, refused := moves(h)
	cause := sched.CauseFor(h.Waits)
	if h.State != weir.BulkRunning || moved != k.moved {
		k.moved, k.refused, k.progress = moved, refused, now
		return false
	}
	if refused != k.refused || h.Waits == "failing" || cause.Down() {
		k.refused, k.obstructed = refused, now
	}
	excused := h.InFlight > 0 || h.Waiting > 0 || cause != sched.CauseNone && !cause.Down() // it gets its turn
	if excused && now-k.obstructed > stallsAfter {
		return false
	}
	return now-k.progress > stallsAfter
}

// moves returns how many times items have ended or finished a step, and how many were refused.
func moves(h *partition.Held) (moved, refused int64) {
	moved = h.Counts.Ended()
	for i := range h.Steps {
		moved += h.Steps[i].Done + h.Steps[i].LeftOut
		refused += h.Steps[i].Refused
	}
	return moved, refused
}
