package partition

import (
	"cmp"
	"slices"
	"time"

	"github.com/weirhq/weir"
)

// CodeCrashedNode is the code of an item that fails because it ends its process.
const CodeCrashedNode = "crashed_node"

const crashedMessage = "the process ended each time this item ran, at last with nothing else running"

// Trials lets one suspect at a time run on a node, of any partition: if the process dies then,
// no other suspect can be blamed.
type Trials interface {
	// Take requests the node's turn. If it returns false, the machine is advanced again when
	// asking makes sense.
	Take() bool
	// Quiet stops the rest of the node from starting tasks, and reports whether nothing else
	// runs. Only the machine with the turn may call it.
	Quiet() bool
	// Give ends the turn, and lets the rest of the node continue.
	Give()
}

// How a suspect is run, by the number of crashes it is suspected of. Each crash under a mark
// leads to the next level; a suspect leaves only by surviving.
const (
	suspectTask  = 1 // a whole task, beside whatever is not suspect
	suspectItem  = 2 // one item, beside whatever is not suspect
	suspectAlone = 3 // one item, and nothing else on the node
	suspectAgain = 4 // the same once more: a process can also be killed from outside
	guilty       = 5 // it ran alone twice, and the process died both times
)

const (
	limitsFor  = int64(5 * time.Second)        // waiting for limits, without a mark
	markedFor  = int64(50 * time.Millisecond)  // a mark without a start; twice as long each time
	calmFor    = int64(2 * time.Second)        // from a takeover to a suspect that runs alone; see holdBack
	quietFor   = int64(time.Minute)            // waiting for the rest of the node to be quiet
	quietAgain = int64(30 * time.Second)       // between two such waits
	trialLook  = int64(100 * time.Millisecond) // between checks of a suspect that cannot start
)

// trial is the suspect that runs, or is about to.
type trial struct {
	task  *retryTask // nil: none
	stage trialStage
	until int64 // when to stop waiting
	wake  int64 // when to check again
}

type trialStage uint8

const (
	trialAsking  trialStage = iota // for the node's turn
	trialQuiet                     // for the rest of the node to be quiet
	trialOpen                      // for its lane to be open
	trialMarking                   // until its mark is durable
	trialMarked                    // for a permit
	trialRunning
)

// alone reports whether nothing but the suspect may start.
func (t *trial) alone() bool {
	return t.task != nil && t.task.crashes >= suspectAlone && t.stage > trialAsking
}

// examine sets the suspicion level of a loaded task. A process that died after its mark was
// written raises the level by one.
func (m *Machine) examine(r *retryTask, started bool) []*retryTask {
	if !started || !m.tenure.lost(r.at.bulk.spec.ID) {
		return []*retryTask{r}
	}
	was := r.crashes
	switch {
	case was == 0:
		r.crashes = suspectTask
	case len(r.items) > 1:
		r.crashes = suspectItem
		return r.singles()
	case was < suspectAlone:
		r.crashes = suspectAlone
	case was < suspectAgain:
		r.crashes = suspectAgain
	default:
		r.crashes = guilty
		m.condemned = append(m.condemned, r)
		return nil
	}
	return []*retryTask{r}
}

// singles splits a retry into one task per item.
func (r *retryTask) singles() (all []*retryTask) {
	for i := range r.items {
		one := *r
		one.items = r.items[i : i+1 : i+1]
		all = append(all, &one)
	}
	return all
}

// condemn fails the items that were found guilty, and lets the strongest suspects run first.
func (m *Machine) condemn(now int64) {
	for _, r := range m.condemned {
		b := r.at.bulk
		if b.state.Final() { // it was being cancelled, and the item with it
			continue
		}
		t := &Task{at: r.at, l: r.l, Items: r.items, Attempt: r.attempt}
		for _, item := range r.items {
			m.itemFailed(t, item, attempts(t, false), CodeCrashedNode, crashedMessage)
			m.guilty = append(m.guilty, Guilty{b.spec.ID, r.at.def.Name, r.l.base + int64(item)})
		}
		r.l.survived(r.items)
		m.dirty(r.l)
		m.touch(b)
		m.judge(now, b)
		m.settle(now, b)
	}
	m.condemned = nil
	slices.SortStableFunc(m.suspects, func(a, b *retryTask) int { return cmp.Compare(b.crashes, a.crashes) })
}

// tryTrial advances the trial of the next suspect, and appends its task if it starts.
func (m *Machine) tryTrial(now int64, tasks []*Task) []*Task {
	t := &m.trial
	t.wake = Never
	if len(m.suspects) == 0 && t.task == nil || t.stage == trialRunning || m.stopped || m.behind() || !m.mayStart() {
		return tasks
	}
	if t.task != nil && t.task.at.bulk.state != weir.BulkRunning {
		m.putBack(now, 0)
	}
	if t.task == nil && !m.nextSuspect(now) {
		return tasks
	}
	if t.stage == trialAsking {
		m.askTrial(now)
	}
	if t.stage == trialQuiet {
		m.awaitQuiet(now)
	}
	if t.stage == trialOpen {
		m.awaitOpen(now)
	}
	if t.stage == trialMarked {
		tasks = m.startTrial(now, tasks)
	}
	return tasks
}

// nextSuspect chooses the first suspect that may run. It drops those that have ended or are
// being cancelled.
func (m *Machine) nextSuspect(now int64) bool {
	m.suspects = slices.DeleteFunc(m.suspects, func(r *retryTask) bool { return r.at.bulk.stopping() })
	i := slices.IndexFunc(m.suspects, func(r *retryTask) bool { return r.due <= now && r.at.bulk.state == weir.BulkRunning })
	if i < 0 {
		m.trial.wake = now + trialLook
		return false
	}
	r := m.suspects[i]
	m.suspects = slices.Delete(m.suspects, i, i+1)
	if rest := r.split(r.at.chunk); rest != nil {
		m.suspects = append(m.suspects, rest)
	}
	m.trial = trial{task: r, wake: Never}
	return true
}

func (m *Machine) askTrial(now int64) {
	t := &m.trial
	if m.cfg.Trials != nil && !m.cfg.Trials.Take() {
		return // it is woken
	}
	if t.task.crashes >= suspectAlone {
		t.stage, t.until = trialQuiet, now+quietFor
		return
	}
	t.stage, t.until = trialOpen, now+limitsFor
}

// awaitQuiet continues a suspect that has to run alone once nothing else runs. After waiting
// too long it runs beside the tasks that are still running.
func (m *Machine) awaitQuiet(now int64) {
	t := &m.trial
	switch {
	case m.inFlight == 0 && (m.cfg.Trials == nil || m.cfg.Trials.Quiet()):
		t.stage, t.until = trialOpen, now+limitsFor
	case now >= t.until:
		if t.task.unquiet++; t.task.unquiet%3 == 0 {
			t.task.crashes = suspectItem
		}
		m.putBack(now, quietAgain)
	default:
		t.wake = now + trialLook
	}
}

// awaitOpen marks the suspect when its lane is open, and not earlier: a process that is killed
// while a mark waits counts against an item that did not run.
func (m *Machine) awaitOpen(now int64) {
	t, r := &m.trial, m.trial.task
	s := r.at
	at, open := m.queue.CanTake(now, s.entry)
	switch {
	case open && s.mayTry(now, len(r.items)):
		t.stage, t.until = trialMarking, now+markedFor<<min(r.waited, 7)
		m.noteStart(r)
	case now >= t.until:
		m.putBack(now, int64(time.Second))
		m.trial.wake = now
	default:
		t.wake = min(at, now+trialLook)
	}
}

// startTrial starts the suspect as soon as it gets a permit. A suspect that waits too long
// gives its mark back, and waits longer the next time.
func (m *Machine) startTrial(now int64, tasks []*Task) []*Task {
	t, r := &m.trial, m.trial.task
	s := r.at
	at := now + trialLook
	if s.mayTry(now, len(r.items)) {
		pick, next, ok := m.queue.Take(now, s.entry, len(r.items))
		if ok {
			k := m.newTask()
			k.at, k.pick, k.started = s, pick, now
			m.useRetry(s, k, r)
			m.leaveWait(r)
			m.launch(now, k)
			t.stage = trialRunning
			return append(tasks, k)
		}
		at = min(at, next)
	}
	if t.wake = min(at, t.until); now >= t.until {
		r.waited++
		m.putBack(now, at-now)
		m.trial.wake = now
	}
	return tasks
}

// putBack removes the mark of a suspect that did not start, and lets others go first. It drops
// a suspect whose bulk action is being cancelled, or has ended.
func (m *Machine) putBack(now, after int64) {
	if r := m.trial.task; !r.at.bulk.stopping() {
		r.started, r.due = false, now+after
		m.dirty(r.l)
		m.suspects = append(m.suspects, r)
	}
	m.giveTurn()
}

// endTrial lets the next suspect run, after this one ended without ending the process.
func (m *Machine) endTrial(r *retryTask) {
	if r != nil && r == m.trial.task {
		m.giveTurn()
	}
}

func (m *Machine) giveTurn() {
	had := m.trial.stage > trialAsking
	m.trial = trial{wake: Never}
	if had && m.cfg.Trials != nil {
		m.cfg.Trials.Give()
	}
}

// Suspects returns the number of items that may have ended a process and have not been tried
// since.
func (m *Machine) Suspects() (items int) {
	for _, r := range m.suspects {
		items += len(r.items)
	}
	if r := m.trial.task; r != nil {
		items += len(r.items)
	}
	return items
}

// Trying reports whether a suspect runs.
func (m *Machine) Trying() bool { return m.trial.stage == trialRunning }

// Guilty identifies an item that was found to end its process.
type Guilty struct {
	Bulk weir.BulkID
	Step string
	Item int64 // its position in the bulk action
}

// Guilty lists the items that failed when the partition was loaded.
func (m *Machine) Guilty() []Guilty { return m.guilty }

// Crashed reports whether the owner before died.
func (m *Machine) Crashed() bool { return m.tenure.crashed }
