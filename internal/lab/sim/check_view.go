package sim

import (
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/store"
)

// shown judges what an owner publishes.
func (w *World) shown(o *owner, views []weir.Progress) {
	newest := o.token == w.ledger.parts[o.partition].newest
	for i := range views {
		v := &views[i]
		b := w.byID[v.ID]
		w.trace.add(event{what: evView, node: o.node.no, partition: o.partition, bulk: b, a: v.Counts.Ended(), b: int64(v.State)})
		w.checkView(b, v)
		if newest { // what a zombie shows is behind, and its clients know it by its lease
			w.checkRising(b, v)
			b.seen, b.viewed = *v, true
		}
	}
}

// checkView: the counts add up, and nothing is shown that is not durable.
func (w *World) checkView(b *truth, v *weir.Progress) {
	c := &v.Counts
	w.must(c.Total == b.spec.Items && c.Ready+c.Waiting+c.InFlight+c.Ended() == c.Total, "I1", b, -1,
		"%s: the counts %+v do not add up", v.ID, *c)
	w.must(min(c.Ready, c.Waiting, c.InFlight, c.Done, c.Failed, c.Cancelled) >= 0, "I1", b, -1,
		"%s: the counts %+v have a negative one", v.ID, *c)
	w.must(c.Done <= b.passed[len(b.steps)-1] && c.Failed <= b.failed, "I16", b, -1,
		"%s shows %+v, of which not all is durable", v.ID, *c)
	for k, s := range v.Steps {
		w.must(s.Done <= b.passed[k] && s.Pending >= 0 && s.Attempts >= 0, "I16", b, -1,
			"%s shows %+v at step %d, of which not all is durable", v.ID, s, k)
	}
	w.must(!v.State.Final() || c.Ended() == c.Total, "I1", b, -1, "%s has ended as %v, and its counts %+v have not", v.ID, v.State, *c)
}

// checkRising: what a client reads never goes back.
func (w *World) checkRising(b *truth, v *weir.Progress) {
	if !b.viewed {
		return
	}
	old, c := &b.seen.Counts, &v.Counts
	w.must(c.Done >= old.Done && c.Failed >= old.Failed && c.Cancelled >= old.Cancelled, "I16", b, -1,
		"%s: the counts went back from %+v to %+v", v.ID, *old, *c)
	w.must(!b.seen.State.Final() || v.State == b.seen.State, "I16", b, -1, "%s went from %v to %v", v.ID, b.seen.State, v.State)
	for k := range v.Steps {
		w.must(v.Steps[k].Done >= b.seen.Steps[k].Done && v.Steps[k].Attempts >= b.seen.Steps[k].Attempts, "I16", b, -1,
			"%s step %d: the counts went back from %+v to %+v", v.ID, k, b.seen.Steps[k], v.Steps[k])
	}
}

// checkEnd reads everything back from the store and compares it with the truth.
func (w *World) checkEnd() {
	for _, b := range w.bulks {
		w.must(b.acked && b.finished == 1, "I1", b, -1, "%s: accepted %t, ended %d times", b.spec.ID, b.acked, b.finished)
		w.checkReport(b)
	}
	for p := range w.ledger.parts {
		last, err := w.mem.Last(w.ctx, p)
		w.checkForgotten(p)
		w.must(err == nil && last.Number == w.ledger.parts[p].number, "I9", nil, -1,
			"partition %d ends at commit %d, want %d", p, last.Number, w.ledger.parts[p].number)
	}
}

// checkReport: what a report would be made from is what was done (I5).
func (w *World) checkReport(b *truth) {
	from := w.rows(b.partition)
	spec, status, err := partition.ReadStatus(from, b.spec.ID)
	w.must(err == nil, "I5", b, -1, "status: %v", err)
	w.checkInline(b)
	w.checkRules(b, spec)
	c := status.Counts(spec.Items)
	w.must(c.Ended() == c.Total && c.Done == b.passed[len(b.steps)-1] && c.Failed == b.failed, "I5", b, -1,
		"%s: the report counts %+v", spec.ID, c)
	w.checkSkipped(b, status)
	var done, failed int64
	for _, p := range b.places() {
		from := w.rows(p)
		err = partition.ReadBlocks(from, spec, func(no uint32, s *block.State) error {
			done += int64(s.Passed[len(s.Passed)-1].Len())
			failed += int64(s.Failed.Len())
			return w.checkResults(from, b, no, s)
		})
		w.must(err == nil, "I5", b, -1, "blocks: %v", err)
	}
	w.must(done == c.Done && failed == c.Failed, "I5", b, -1, "%s: the rows have %d done and %d failed, the report %+v",
		spec.ID, done, failed, c)
}

// checkResults: every failed item has its failure once, every output is the committed one.
func (w *World) checkResults(from partition.Rows, b *truth, no uint32, s *block.State) error {
	failures := 0
	err := partition.ReadResults(from, w.codec, b.spec.ID, no, func(r block.Result) error {
		at := b.index(no, r.Item)
		switch r.Kind {
		case block.Failure:
			failures++
			w.must(s.Failed.Has(int(r.Item)), "I5", b, at, "%s item %d has a failure and has not failed", b.spec.ID, at)
		case block.Output:
			want := ""
			if n := b.items[at].steps[r.Step].output; n != 0 {
				want = string(b.output(int(r.Step), at, n))
			}
			w.must(string(r.Output) == want, "I5", b, at, "%s item %d has output %s, want %s", b.spec.ID, at, r.Output, want)
		default: // left out: nothing more is known
		}
		return nil
	})
	w.must(failures == s.Failed.Len(), "I5", b, -1, "%s block %d: %d failures for %d failed items", b.spec.ID, no,
		failures, s.Failed.Len())
	return err
}

// confirmed notes what an owner was told of its commit.
func (w *World) confirmed(o *owner, b *store.Batch) {
	a := &w.ledger.parts[o.partition]
	w.must(a.number >= b.Number, "P13", nil, -1, "partition %d: commit %d was taken for written, the store is at %d",
		o.partition, b.Number, a.number)
	w.must(a.by[b.Number-1] == o.id, "P13", nil, -1,
		"partition %d: n%d took commit %d for its own, but another owner had made it", o.partition, o.node.no, b.Number)
}
