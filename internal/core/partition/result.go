package partition

import (
	"cmp"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/chain"
	"github.com/weirhq/weir/internal/core/fault"
	"github.com/weirhq/weir/internal/core/retry"
)

// Result is the end of a task. Exactly one comes for every task that was started; afterwards
// the task belongs to the machine again.
type Result struct {
	Task     *Task
	Outcomes []weir.Outcome // one per item; not read if Failure is set
	Failure  *Failure       // the whole task failed: nothing was done
	Service  int64          // how long it ran, in nanoseconds
	Lost     bool           // a caller may still hold the task: it is not reused
	Rejected bool           // the endpoint rejected the call as a whole, and all outcomes say so
}

// Failure is a task that failed as a whole.
type Failure struct {
	Code    string
	Message string
	// Refused: the downstream was too busy. No attempt is counted.
	Refused bool
	// OfTenant: it refused this tenant alone, by a limit of the tenant.
	OfTenant bool
	// Ours: the fault is on our side, or no downstream was called.
	Ours bool
	// BadAnswer: the endpoint answered, but not with a valid answer. That is not an outage.
	BadAnswer bool
	// Uncalled: the endpoint was not called, or the call was cut off from this side.
	Uncalled bool
	// Undone: it is known that nothing was done, as without a connection.
	Undone bool
	// Misconfigured: no task can succeed until the endpoint is fixed. No attempt is counted.
	Misconfigured bool
	After         time.Duration // least delay of the next attempt
}

const (
	refusedFor       = time.Second      // delay after a refusal without a time
	misconfiguredFor = 10 * time.Second // between calls of a misconfigured endpoint
)

// Result applies the result of a task.
func (m *Machine) Result(now int64, r *Result) {
	t := r.Task
	if t.Filter {
		m.filtered(now, r)
		return
	}
	s, l, b := t.at, t.l, t.at.bulk
	n := len(t.Items)
	ending := r.ending()
	if t.unlike() && ending.Failed {
		ending.Silent = true // that it fails again says nothing about the downstream
	}
	ending.OfItems = t.blamed() || n > 1 && t.fails() >= chain.HalveFrom
	broken := m.queue.Done(now, t.pick, &ending)
	s.lane.well = max(s.lane.well, broken.Well) // in other partitions, too
	m.inFlight--
	if t.awaited == m.number+1 {
		m.gen.firsts--
	}
	b.inFlight -= int64(n)
	l.steps[s.no].flying -= n
	if t.retry != nil {
		l.retries = slices.DeleteFunc(l.retries, func(x *retryTask) bool { return x == t.retry })
	}
	v := r.verdict()
	if r.Failure == nil && !v.uncalled {
		m.proveHealthy(now, s.lane)
		s.room.passed(now, n, s.chunk)
	}
	t.doubtRisk()
	l.survived(t.Items)
	m.endTrial(t.retry)
	m.gen.results += n
	m.uncommitted += n
	m.dirty(l)
	m.touch(b)
	if !v.uncalled {
		b.status.Steps[s.no].Calls++
		b.record(s.no, r.Service)
	}
	if !v.uncalled && !v.failed {
		s.well, s.lane.well = max(s.well, t.started), max(s.lane.well, t.started)
	}
	failed := b.status.Failed
	m.noteCall(now, t, &v)
	if r.Failure != nil {
		m.taskFailed(now, t, r.Failure, broken)
	} else {
		m.itemsEnded(now, t, r.Outcomes)
	}
	s.lane.counts.note(now, t, &ending)
	if b.status.Failed > failed || s.calls.Streak > 0 {
		m.judge(now, b)
		m.judgeCalls(now, b)
	}
	m.flush(now, l, s.no+1)
	if !r.Lost {
		m.recycle(t)
	}
	m.settle(now, b)
}

// itemsEnded applies an answer per item.
func (m *Machine) itemsEnded(now int64, t *Task, outcomes []weir.Outcome) {
	must(len(outcomes) == len(t.Items), "%d outcomes for %d items", len(outcomes), len(t.Items))
	counts := &t.at.bulk.status.Steps[t.at.no]
	var again []*retryTask
	for i := range outcomes {
		o, item := &outcomes[i], t.Items[i]
		t.at.lane.counts.answers.note(o)
		if !o.Uncalled {
			counts.Attempts++
			if o.Kind != weir.OutcomeRefused && t.first() {
				counts.Called++
			}
		}
		switch o.Kind {
		case weir.OutcomeDone:
			m.itemPassed(t, item, o)
		case weir.OutcomeFailed:
			m.itemFailed(t, item, attempts(t, o.Uncalled), o.Code, o.Message)
		case weir.OutcomeLeftOut:
			m.itemLeftOut(t, item, o)
		default:
			again = m.itemAgain(t, item, o, again)
		}
	}
	for _, r := range again {
		delay := r.after
		if !r.refused {
			delay = max(delay, m.delay(t.at, t.Attempt))
		}
		m.schedule(now, r, delay)
	}
}

func (m *Machine) itemPassed(t *Task, item uint16, o *weir.Outcome) {
	s, l, b := t.at, t.l, t.at.bulk
	if l.state.Passed[s.no].Has(int(item)) { // must alone would allocate its arguments for every item
		must(false, "%s item %d passed step %d twice", b.spec.ID, item, s.no)
	}
	l.state.Passed[s.no].Add(int(item))
	l.clarified(s.no, item)
	b.status.Steps[s.no].Done++
	b.status.Steps[s.no].Pending--
	if o.Uncalled {
		b.status.Steps[s.no].Skipped++
	}
	if len(o.Output) > 0 || t.Attempt > 1 || o.Uncalled { // no answer and one attempt are the default
		l.results = append(l.results, block.Result{Item: item, Step: uint8(s.no), Kind: block.Output,
			Attempts: attempts(t, o.Uncalled), Output: o.Output})
	}
	if s.no == len(b.steps)-1 {
		b.status.Done++
		l.left--
		return
	}
	b.status.Steps[s.no+1].Pending++
	l.steps[s.no+1].coming.Add(int(item))
	b.steps[s.no+1].coming++
	if len(o.Output) > 0 {
		m.keep(l, item, o.Output)
	}
}

func (m *Machine) itemFailed(t *Task, item uint16, attempts uint8, code, message string) {
	s, l, b := t.at, t.l, t.at.bulk
	l.state.Failed.Add(int(item))
	l.clarified(s.no, item)
	l.left--
	l.results = append(l.results, block.Result{
		Item: item, Step: uint8(s.no), Kind: block.Failure, Attempts: attempts, Code: code, Message: message,
	})
	b.status.Failed++
	b.status.Steps[s.no].Failed++
	b.status.Steps[s.no].Pending--
}

func (m *Machine) itemLeftOut(t *Task, item uint16, o *weir.Outcome) {
	s, l, b := t.at, t.l, t.at.bulk
	l.state.LeftOut.Add(int(item))
	l.clarified(s.no, item)
	l.left--
	l.results = append(l.results, block.Result{
		Item: item, Step: uint8(s.no), Kind: block.LeftOut, Attempts: attempts(t, o.Uncalled), Code: o.Code, Message: o.Message,
	})
	b.status.LeftOut++
	b.status.Steps[s.no].LeftOut++
	b.status.Steps[s.no].Pending--
}

// itemAgain collects an item for another attempt, or fails it if it was its last. Items with
// the same delay stay together.
func (m *Machine) itemAgain(t *Task, item uint16, o *weir.Outcome, again []*retryTask) []*retryTask {
	s := t.at
	counts := &s.bulk.status.Steps[s.no]
	next := retryTask{at: s, l: t.l, attempt: t.Attempt, after: o.After, refused: o.Kind == weir.OutcomeRefused}
	switch {
	case next.refused:
		counts.Refused++
		counts.Attempts--
		next.after = max(next.after, refusedFor)
	case t.Attempt >= s.def.Retry.MaxAttempts:
		m.itemFailed(t, item, attempts(t, o.Uncalled), exhausted(o), o.Message)
		return again
	default:
		counts.Retries++
		next.attempt++
		if o.Kind == weir.OutcomeNone {
			t.l.unclear(s.no, item)
		} else {
			t.l.clarified(s.no, item)
		}
	}
	for _, r := range again {
		if r.after == next.after && r.refused == next.refused {
			r.items = append(r.items, item)
			return again
		}
	}
	next.items = []uint16{item}
	return append(again, &next)
}

// exhausted returns the code of an item that had its last attempt.
func exhausted(o *weir.Outcome) string {
	if o.Kind == weir.OutcomeNone {
		return o.Kind.String()
	}
	return cmp.Or(o.Code, "gave_up")
}

// delay returns the backoff after an attempt, with its jitter.
func (m *Machine) delay(s *step, attempt int) time.Duration {
	u := m.random.Float64()
	return retry.Delay(s.def.Retry, attempt, u)
}

// schedule makes items wait for another attempt.
func (m *Machine) schedule(now int64, r *retryTask, delay time.Duration) {
	if len(r.items) == 0 {
		return
	}
	r.due = now + int64(delay)
	r.made = m.gen
	r.l.retries = append(r.l.retries, r)
	if r.at.bulk.state == weir.BulkCancelling {
		return // items that have not ended are cancelled; the row has their attempts
	}
	m.enterWait(r)
	m.waits.push(wait{due: r.due, retry: r})
}

// taskFailed applies the failure of a whole task. While the downstream is broken failures cost
// no attempt, except for items that failed while it was not. If it is broken for the tenant
// alone, failures cost no attempt for a few minutes.
func (m *Machine) taskFailed(now int64, t *Task, f *Failure, broken capacity.Broken) {
	s := t.at
	if f.Refused || f.Misconfigured {
		m.taskRefused(now, t, f)
		return
	}
	n := len(t.Items)
	counts := &s.bulk.status.Steps[s.no]
	counts.Attempts += int64(n)
	if t.first() {
		counts.Called += int64(n)
	}
	free := (broken.Downstream && !t.unlike() || broken.Tenant && !t.blamed()) && !f.Ours && !f.BadAnswer
	after := chain.AfterFailure(n, t.Attempt, s.def.Retry.MaxAttempts, t.fails(), free)
	if after.Over {
		for _, item := range t.Items {
			message := f.Message
			if f.Undone && t.l.state.Unclear.Has(int(item)) { // an earlier attempt may have done it
				message = fault.AfterUnclear + message
			}
			m.itemFailed(t, item, attempts(t, false), f.Code, message)
		}
		return
	}
	counts.Retries += int64(n)
	if !f.Undone {
		for _, item := range t.Items {
			t.l.unclear(s.no, item)
		}
	}
	next := retryTask{at: s, l: t.l, attempt: after.Attempt, fails: after.Fails, failing: true, failed: now}
	if t.retry != nil {
		next.unlike, next.blamed = t.retry.isUnlike(), t.retry.isBlamed()
	}
	if !after.Halves {
		next.items = slices.Clone(t.Items)
		m.schedule(now, &next, max(f.After, m.delay(s, t.Attempt)))
		return
	}
	m.halve(now, t, next, f.After)
}

// taskRefused makes a whole task wait, at no cost to it. Flow control decides what refusals
// mean for other tasks. A task that is refused again, although nothing else has passed
// meanwhile, may be more than the downstream ever takes at once: tasks of the step are smaller
// from then on.
func (m *Machine) taskRefused(now int64, t *Task, f *Failure) {
	s := t.at
	delay := f.After
	if delay <= 0 {
		delay = refusedFor
	}
	if f.OfTenant && f.Refused {
		m.queue.CloseTenant(now, s.entry, now+int64(delay))
	}
	if f.Misconfigured {
		delay = s.calls.lookAgain()
	}
	s.bulk.status.Steps[s.no].Refused += int64(len(t.Items))
	m.queue.Refund(t.pick)
	if f.Misconfigured {
		m.holdStep(now, s, now+int64(delay))
	}
	next := &retryTask{at: s, l: t.l, items: slices.Clone(t.Items), attempt: t.Attempt, failing: f.Misconfigured}
	if t.retry != nil {
		next.fails, next.failed, next.unlike, next.blamed = t.retry.fails, t.retry.failed, t.retry.unlike, t.retry.blamed
	}
	if f.Refused {
		next.turned = now
		if t.refusedAlone(f.OfTenant) && s.room.shrink(now, len(t.Items)) {
			m.offer(now, s)
		}
	}
	m.schedule(now, next, delay)
}

// first reports whether no attempt of the items was counted before. Failures in an outage cost no attempt, and are one.
func (t *Task) first() bool { return t.Attempt == 1 && t.fails() == 0 }

func (t *Task) fails() int {
	if t.retry == nil {
		return 0
	}
	return t.retry.fails
}

// attempts returns the number of attempts of an item, 0 if it ended without a call: the calls
// of its task were for other items.
func attempts(t *Task, uncalled bool) uint8 {
	if uncalled {
		return 0
	}
	return uint8(min(t.Attempt, 255))
}

// flush releases partial batches at later steps that can no longer fill up.
func (m *Machine) flush(now int64, l *live, from int) {
	for no := from; no < len(l.steps); no++ {
		if l.steps[no].queued == chain.Lingering && !l.upstream(no) {
			m.place(now, l.bulk.steps[no], l)
			m.offer(now, l.bulk.steps[no])
		}
	}
}
