package sim

import (
	"context"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/partition"
)

// noFilter stands for the filter of a step: [truth.ends] says what it finds.
func noFilter(context.Context, *weir.Task) error { return nil }

// ends returns how an item ends at a step without a call, by the step's filter; no outcome: it is called.
func (b *truth) ends(step, at int) weir.OutcomeKind {
	if b.steps[step].Filter == nil {
		return weir.OutcomeNone
	}
	h := uint32(b.no*maxSteps+step)*2654435761 ^ uint32(at)*2246822519
	h ^= h >> 15
	switch h % 8 {
	case 0, 1, 2:
		return weir.OutcomeDone
	case 3:
		return weir.OutcomeLeftOut
	}
	return weir.OutcomeNone
}

// filter runs the filter of a step, which takes a moment and fails now and then: all
// items are called then, and the call knows better.
func (o *owner) filter(t *partition.Task) {
	w, r := o.w, o.node.random
	b, valid := w.byID[t.Bulk], o.token == w.ledger.parts[o.partition].newest
	result := &partition.Result{Task: t, Outcomes: make([]weir.Outcome, len(t.Items)), Service: between(r, 0, 30*millis)}
	u := r.Float64()
	for i, item := range t.Items {
		at := b.index(t.Block, item)
		w.checkOrder(&call{owner: o, task: t, bulk: b}, item, at)
		w.must(!valid || b.retry(t.Block, item, t.StepNo) == nil, "I18", b, at,
			"%s item %d step %d: its filter is asked again after a call", b.spec.ID, at, t.StepNo)
		result.Outcomes[i].Kind = b.ends(t.StepNo, at)
		st := &b.items[at].steps[t.StepNo]
		st.unfiltered = st.unfiltered || u < 0.05 // also for those who own it later: it may be tried again
	}
	switch {
	case u < 0.05:
		result.Failure = &partition.Failure{Code: "panic", Ours: true}
	case u < 0.05+w.plan.store.fail:
		result.Failure = &partition.Failure{Code: "store", Refused: true, Ours: true, Uncalled: true}
	}
	w.met[Filtered]++
	o.node.after(result.Service, func() {
		o.put(func() {
			if !o.gone {
				o.machine.Result(w.Now(), result)
			}
		})
	})
}

// checkFilter: no item is called that its step's filter ends, unless that failed.
func (w *World) checkFilter(c *call, at int) {
	t, b := c.task, c.bulk
	w.must(b.ends(t.StepNo, at) == weir.OutcomeNone || b.items[at].steps[t.StepNo].unfiltered, "I4", b, at,
		"%s item %d: step %d was called, and its filter says that no call is needed", b.spec.ID, at, t.StepNo)
}

// checkSkipped: what passed without a call is counted as skipped.
func (w *World) checkSkipped(b *truth, status *partition.Status) {
	for k := range b.steps {
		skipped := int64(0)
		for no := range b.blocks {
			b.blocks[no].Passed[k].Each(func(item int) {
				if k >= b.spec.FirstStep && b.ends(k, b.index(uint32(no), uint16(item))) == weir.OutcomeDone {
					skipped++
				}
			})
		}
		w.must(status.Steps[k].Skipped == skipped, "I5", b, -1, "%s counts %d skipped at step %d, want %d", b.spec.ID,
			status.Steps[k].Skipped, k, skipped)
	}
}

// mayPass reports whether an item can have passed a step: the downstream did it, or the filter let it.
func (b *truth) mayPass(step, at int) bool {
	switch b.ends(step, at) {
	case weir.OutcomeDone:
		return true
	case weir.OutcomeLeftOut:
		return false
	default: // it goes
	}
	return b.items[at].steps[step].successes > 0
}

// saysNothing reports whether a result tells no more than what is assumed without it.
func (b *truth) saysNothing(at int, r *block.Result) bool {
	skipped := r.Attempts == 0 && b.ends(int(r.Step), at) == weir.OutcomeDone
	return len(r.Output) == 0 && r.Attempts <= 1 && !skipped
}
