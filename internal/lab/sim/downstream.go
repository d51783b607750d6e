package sim

import (
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/partition"
)

// call is one task at the downstream.
type call struct {
	owner  *owner
	task   *partition.Task
	bulk   *truth
	number uint32
	began  int64
	result partition.Result
	meter  *meter
}

// start runs a task: what the engine prepares, and the call.
func (o *owner) start(t *partition.Task) {
	w, b := o.w, o.w.byID[t.Bulk]
	w.must(b != nil, "I1", nil, -1, "a task of %s was started, which was never submitted", t.Bulk)
	if t.Filter {
		o.filter(t)
		return
	}
	o.node.checkWorkers(t.Step.Resource.Name)
	w.calls++
	c := &call{owner: o, task: t, bulk: b, number: w.calls, began: w.Now(), meter: o.node.meter(t.Step.Resource)}
	w.trace.add(event{
		what: evCall, node: o.node.no, partition: o.partition, bulk: b, step: t.StepNo, block: int(t.Block), items: t.Items,
		a: int64(t.Attempt), b: int64(c.number),
	})
	o.running++
	o.node.running++
	b.underWay[c] = true
	o.node.ofTenant[t.Tenant]++
	w.dispatched(c, o.previous(t))
	took := w.respond(c)
	if c.deadly() {
		o.node.after(took/2, func() { w.dies(c) })
		return
	}
	o.node.after(took, func() { o.ended(c) })
}

// previous returns what the engine hands over from the step before: from memory, and
// where that does not know, from the store.
func (o *owner) previous(t *partition.Task) [][]byte {
	if t.StepNo == 0 {
		return nil
	}
	prev := make([][]byte, len(t.Items))
	missing := false
	for i := range t.Items {
		prev[i] = t.Previous[i]
		missing = missing || prev[i] == nil
	}
	if !missing {
		return prev
	}
	err := partition.ReadResults(o.w.rows(o.partition), o.w.codec, t.Bulk, t.Block, func(r block.Result) error {
		for i, item := range t.Items {
			if item == r.Item && t.Previous[i] == nil && r.Kind == block.Output && int(r.Step) == t.StepNo-1 {
				prev[i] = r.Output
			}
		}
		return nil
	})
	o.w.must(err == nil, "sim", nil, -1, "%v", err)
	return prev
}

// respond lets the downstream decide how a call ends, and returns how long it takes.
func (w *World) respond(c *call) int64 {
	r, d, t := w.down, &w.plan.down, c.task
	took := between(r, d.low, d.high)
	c.result = partition.Result{Task: t, Service: took}
	u := r.Float64()
	switch {
	case c.poisoned():
		c.result.Failure = &partition.Failure{Code: "poison", Message: "cannot"}
	case u < d.taskFails:
		c.result.Failure = &partition.Failure{Code: "boom", Message: "fell over"}
	case u < d.taskFails+d.taskRefused:
		c.result.Failure = &partition.Failure{Code: "refused", Refused: true, After: time.Duration(r.IntN(3)) * 300 * time.Millisecond}
	case u < d.taskFails+d.taskRefused+d.wrong:
		c.result.Failure = &partition.Failure{Code: "endpoint", Misconfigured: true}
	default:
		w.respondEach(c)
		if chance(r, d.timeout) { // after the effect
			took = int64(t.Step.Timeout)
			c.result = partition.Result{Task: t, Service: took, Failure: &partition.Failure{Code: "timeout", Message: "no answer"}}
		}
	}
	return took
}

func (c *call) poisoned() bool {
	for _, i := range c.task.Items {
		if c.bulk.index(c.task.Block, i) == c.bulk.poison {
			return true
		}
	}
	return false
}

// respondEach answers for every item, and keeps what it said.
func (w *World) respondEach(c *call) {
	r, d, t := w.down, &w.plan.down, c.task
	for _, i := range t.Items {
		at := c.bulk.index(t.Block, i)
		u := r.Float64()
		var o weir.Outcome
		switch ends := c.bulk.ends(t.StepNo, at); {
		case ends != weir.OutcomeNone:
			o = weir.Outcome{Kind: ends, Code: "condition", Uncalled: true}
		case u < d.fail:
			o = weir.Outcome{Kind: weir.OutcomeFailed, Code: "no", Message: "never"}
		case u < d.fail+d.retry:
			o = weir.Outcome{Kind: weir.OutcomeRetry, After: time.Duration(r.IntN(2)) * 700 * time.Millisecond}
		case u < d.fail+d.retry+d.leaveOut:
			o = weir.Outcome{Kind: weir.OutcomeLeftOut, Code: "skip"}
		case u < d.fail+d.retry+d.leaveOut+d.silent:
		case u < d.fail+d.retry+d.leaveOut+d.silent+d.refused:
			o = weir.Outcome{Kind: weir.OutcomeRefused}
		default:
			o = weir.Outcome{Kind: weir.OutcomeDone}
			if chance(r, d.out) {
				o.Output = c.bulk.output(t.StepNo, at, c.number)
			}
			c.bulk.items[at].steps[t.StepNo].successes++
		}
		c.result.Outcomes = append(c.result.Outcomes, o)
	}
}

// ended takes the result of a call to the loop, or only frees its slot if the
// partition has gone elsewhere.
func (o *owner) ended(c *call) {
	c.meter.inFlight--
	o.running--
	o.node.running--
	delete(c.bulk.underWay, c)
	if o.gone {
		o.free(c)
		return
	}
	o.put(func() {
		if o.gone {
			o.free(c)
			return
		}
		o.result(c)
	})
}

// free releases the slot of a call whose caller no longer waits.
func (o *owner) free(c *call) {
	o.forget(c)
	o.machine.Abandon(o.w.Now(), c.task)
	o.node.deliverCalls()
}

// result gives the machine a result, and notes what it makes due.
func (o *owner) result(c *call) {
	t := c.task
	kind := int64(0)
	if c.result.Failure != nil {
		kind = 1
	}
	o.w.trace.add(event{
		what: evResult, node: o.node.no, partition: o.partition, bulk: c.bulk, step: t.StepNo, block: int(t.Block), items: t.Items,
		a: kind, b: int64(c.number),
	})
	o.w.learned(o, c)
	o.forget(c)
	o.machine.Result(o.w.Now(), &c.result)
}

// forget takes a call off the counts of what is in flight, as the machine does.
func (o *owner) forget(c *call) {
	lane := o.node.inLane[c.task.Step.Resource.Name]
	i := slices.Index(lane, c.began)
	o.node.inLane[c.task.Step.Resource.Name] = slices.Delete(lane, i, i+1)
	o.node.ofTenant[c.task.Tenant]--
}

// learned notes what an owner knows of the items of a call from now on.
func (w *World) learned(o *owner, c *call) {
	t, f := c.task, c.result.Failure
	valid := o.token == w.ledger.parts[o.partition].newest
	for i, item := range t.Items {
		it := &c.bulk.items[c.bulk.index(t.Block, item)]
		st := &it.steps[t.StepNo]
		before := it.known
		it.known = again{owner: o.id, commit: o.carries(), call: c.number, step: t.StepNo, low: t.Attempt, high: t.Attempt, waits: true}
		switch {
		case f != nil && f.Misconfigured:
			st.refused++
			it.known.wait(w.Now(), 5*time.Second/3, 0)                   // the first calls decide whether it is stopped,
			it.known.notAfter += int64(10*time.Second - 5*time.Second/3) // later ones are made less often
		case f != nil && f.Refused:
			st.refused++
			it.known.wait(w.Now(), minRefused(f.After), 0)
		case f != nil:
			st.codes |= codeBit(f.Code)
			it.known.high++
			it.known.wait(w.Now(), 0, backoff(t.Step.Retry, t.Attempt))
			it.known.notAfter = w.Now() + int64(t.Step.Retry.Cap) // doubled by halvings too
			if len(t.Items) > 1 {
				it.known.notBefore = w.Now() + int64(t.Step.Retry.Base)/16 // halves are hastened where others get through
			}
			if most := t.Step.Retry.MaxAttempts; t.Attempt >= most && (len(t.Items) == 1 || most == 1) {
				it.known.waits = false
			}
		default:
			w.learnedItem(it, st, t, &c.result.Outcomes[i])
		}
		if !valid { // the result of a zombie is lost
			it.known = before
		}
	}
}

func (w *World) learnedItem(it *itemTruth, st *stepTruth, t *partition.Task, o *weir.Outcome) {
	switch o.Kind {
	case weir.OutcomeRetry, weir.OutcomeNone:
		st.codes |= codeBit("gave_up") | codeBit("no_result")
		it.known.low++
		it.known.high++
		it.known.wait(w.Now(), o.After, backoff(t.Step.Retry, t.Attempt))
		if t.Attempt >= t.Step.Retry.MaxAttempts {
			it.known.waits = false
		}
	case weir.OutcomeRefused:
		st.refused++
		it.known.wait(w.Now(), max(o.After, time.Second), 0)
	default:
		if o.Kind == weir.OutcomeFailed {
			st.codes |= codeBit(o.Code)
		}
		it.known.waits = false
	}
}

// wait sets the earliest time, and the latest where no resource's rate spreads retries.
func (a *again) wait(now int64, after, backoff time.Duration) {
	a.notBefore = now + int64(max(after, backoff/2))
	a.notAfter = now + int64(max(after, backoff))
}

func minRefused(after time.Duration) time.Duration {
	if after <= 0 {
		return time.Second
	}
	return after
}

// backoff returns the longest wait after an attempt: base, doubled each time up to the cap.
func backoff(b weir.Backoff, attempt int) time.Duration {
	d := b.Base
	for range attempt - 1 {
		d = min(2*d, b.Cap)
	}
	return min(d, b.Cap)
}
