package sim

import (
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/store"
)

// The kinds of row, by the first byte of their keys; package partition says what they are.
const (
	rowActive  = 'a'
	rowSpec    = 'b'
	rowStatus  = 'n'
	rowBlock   = 'k'
	rowResults = 'c'
	rowGroup   = 'f'
)

// sum is the length of the checksum that ends a row.
const sum = 4

// applied judges what a commit has written, row by row and as a whole.
func (w *World) applied(o *owner, batch *store.Batch) {
	var touched []*truth
	for _, k := range batch.Delete { // before what is set, as stores do it
		if k[0] == rowEvent {
			w.removedEvent(k)
		}
		if b := w.byID[weir.BulkID(k[1:])]; b != nil && k[0] == rowActive && o.partition == b.partition {
			b.active = false
		}
	}
	w.appliedIndex(o, batch)
	was := map[*truth]weir.BulkState{}
	for _, kind := range [...]byte{rowSpec, rowActive, rowResults, rowBlock, rowGroup, rowEvent, rowStatus} {
		for _, r := range batch.Set {
			if r.Key[0] != kind {
				continue
			}
			b := w.byID[weir.BulkID(r.Key[1:1+idLen])]
			w.must(b != nil && b.worksIn(o.partition), "I1", nil, -1, "row %q has no owner here", r.Key)
			if !slices.Contains(touched, b) {
				touched, was[b] = append(touched, b), b.state()
				if o.partition == b.partition {
					b.was, b.wasAt, b.fromStart = b.state(), batch.Number, !b.created
				}
			}
			w.appliedRow(o, b, r, batch.Number)
		}
	}
	for _, b := range touched {
		if o.partition == b.partition {
			w.checkTold(b, was[b], batch.Number)
			w.checkBulk(b, was[b])
			w.checkIndex(b)
		}
		w.checkGroups(b)
		w.checkWaits(o, b, batch)
	}
	w.checkAck(o.partition, batch.Ack, batch.Number)
	o.told = slices.DeleteFunc(o.told, func(t told) bool { return t.commit <= batch.Number })
}

func (w *World) appliedRow(o *owner, b *truth, r store.Row, number uint64) {
	away := o.partition != b.partition
	switch kind := r.Key[0]; {
	case kind == rowSpec:
		w.appliedSpec(o, b, r)
	case kind == rowResults:
		w.appliedResults(b, r)
	case kind == rowBlock:
		w.appliedBlock(o, b, r, number)
	case kind == rowGroup:
		w.appliedGroup(o, b, r)
	case away: // what its home says of a shard is judged there
	case kind == rowActive:
		b.active = true
	case kind == rowEvent:
		w.appliedEvent(b, r, number)
	case kind == rowStatus:
		w.appliedStatus(b, r.Value[:len(r.Value)-sum], number)
	}
}

// appliedStatus reads the status if its state changed, and else every third
// time: reading JSON is what a simulation takes longest for.
func (w *World) appliedStatus(b *truth, raw []byte, number uint64) {
	head := string(raw[:min(len(raw), len(`{"state":0`))])
	w.appliedPhase(b, raw)
	b.fresh = head != b.head || number%3 == 0 || head == `{"state":7` // which has a time
	if !b.fresh {
		return
	}
	b.head, b.status = head, partition.Status{}
	err := json.Unmarshal(raw, &b.status)
	w.must(err == nil, "sim", b, -1, "%v", err)
}

// appliedResults: every output and every failure is one that the downstream gave.
func (w *World) appliedResults(b *truth, r store.Row) {
	no := binary.BigEndian.Uint32(r.Key[1+idLen:])
	err := w.codec.EachResult(r.Value, func(x block.Result) error {
		at := b.index(no, x.Item)
		st := &b.items[at].steps[x.Step]
		switch x.Kind {
		case block.Output:
			if len(x.Output) == 0 { // only its attempts are told
				w.must(!b.saysNothing(at, &x), "I5", b, at, "%s item %d step %d: a result says nothing", b.spec.ID, at, x.Step)
				return nil
			}
			n, mine := b.callOf(int(x.Step), at, x.Output)
			w.must(mine, "I2", b, at, "%s item %d step %d: output %q is not what the downstream answered", b.spec.ID, at, x.Step, x.Output)
			w.must(st.output == 0, "P4", b, at, "%s item %d step %d: a second output was committed", b.spec.ID, at, x.Step)
			st.output = n
		case block.Failure:
			if x.Code == partition.CodeCrashedNode {
				w.checkCrashed(b, at)
				return nil
			}
			w.must(st.codes&codeBit(x.Code) != 0, "I2", b, at, "%s item %d step %d: failed as %q, which no call returned",
				b.spec.ID, at, x.Step, x.Code)
			w.must(x.Code != "poison" || at == b.poison || b.steps[x.Step].Retry.MaxAttempts == 1, "P11", b, at,
				"%s item %d: failed because of item %d", b.spec.ID, at, b.poison)
			if x.Code == "poison" && b.steps[x.Step].Retry.MaxAttempts > 1 && b.steps[x.Step].BatchSize > 1 {
				w.met[PoisonIsolated]++
			}
		default: // left out: the row of the block tells
		}
		return nil
	})
	w.must(err == nil, "sim", b, -1, "%v", err)
}

// appliedBlock: what was passed, failed or left out stays so, and each of it happened.
func (w *World) appliedBlock(o *owner, b *truth, r store.Row, number uint64) {
	no := binary.BigEndian.Uint32(r.Key[1+idLen:])
	var s block.State
	err := s.Decode(r.Value[:len(r.Value)-sum], len(b.steps))
	w.must(err == nil, "sim", b, -1, "%v", err)
	w.checkPlace(o, b, no)
	old := &b.blocks[no]
	for k := range s.Passed {
		b.passed[k] += w.gained(b, no, "passed", &old.Passed[k], &s.Passed[k], func(at int) {
			w.must(b.mayPass(k, at), "I2", b, at, "%s item %d passed step %d, which the downstream never did", b.spec.ID, at, k)
			b.items[at].steps[k].loose = 0
		})
		if k > 0 {
			early := s.Passed[k]
			early.AndNot(&s.Passed[k-1])
			w.must(early.Empty(), "I3", b, -1, "%s block %d: items passed step %d and not step %d", b.spec.ID, no, k, k-1)
		}
	}
	end := func(at int) {
		for k := range b.steps {
			b.items[at].steps[k].loose = 0
		}
	}
	b.failed += w.gained(b, no, "failed", &old.Failed, &s.Failed, end)
	b.leftOut += w.gained(b, no, "left out", &old.LeftOut, &s.LeftOut, end)
	w.checkApart(b, no, &s)
	for i := range s.Retries {
		s.Retries[i].Items.Each(func(item int) {
			w.checkDue(o, b, b.index(no, uint16(item)), &s.Retries[i], number)
			w.checkBlame(o, b, no, item, &s.Retries[i])
		})
	}
	b.blocks[no] = s
}

// gained counts what came new into a set, from which nothing may be lost.
func (w *World) gained(b *truth, no uint32, name string, old, now *block.Set, each func(at int)) (n int64) {
	missing := *old
	missing.AndNot(now)
	w.must(missing.Empty(), "I16", b, -1, "%s block %d: %d items were %s and are not any more", b.spec.ID, no, missing.Len(), name)
	fresh := *now
	fresh.AndNot(old)
	fresh.Each(func(i int) {
		n++
		each(b.index(no, uint16(i)))
	})
	return n
}

// checkApart: no item is in two states.
func (w *World) checkApart(b *truth, no uint32, s *block.State) {
	seen := s.Passed[len(s.Passed)-1]
	total := seen.Len() + s.Failed.Len() + s.LeftOut.Len()
	seen.Or(&s.Failed)
	seen.Or(&s.LeftOut)
	for i := range s.Retries {
		total += s.Retries[i].Items.Len()
		seen.Or(&s.Retries[i].Items)
	}
	w.must(seen.Len() == total, "I1", b, -1, "%s block %d: items are in two states at once", b.spec.ID, no)
}

// checkDue: a wait is as long as the rule for retries says.
func (w *World) checkDue(o *owner, b *truth, at int, r *block.Retry, number uint64) {
	it := &b.items[at]
	k := &it.known
	if k.owner != o.id || k.step != int(r.Step) || k.commit > number {
		return
	}
	st := &it.steps[r.Step]
	st.loose = 0
	if st.last != k.call { // the row still has the retry, and its call is under way
		st.loose = 1
	}
	w.must(k.waits, "I18", b, at, "%s item %d step %d waits for attempt %d, and should not", b.spec.ID, at, r.Step, r.Attempt)
	w.must(int(r.Attempt) >= k.low && int(r.Attempt) <= k.high, "I18", b, at, "%s item %d step %d waits for attempt %d, want %d to %d",
		b.spec.ID, at, r.Step, r.Attempt, k.low, k.high)
	// Retries that are due are joined, and share one time that is past: only what
	// still has to wait, or ought to, is measured.
	late := r.Due > k.notAfter && r.Due > w.Now()
	early := r.Due < k.notBefore && w.Now() < k.notBefore
	w.must(!early, "I18", b, at, "%s item %d step %d is due %d ms too early", b.spec.ID, at, r.Step, (k.notBefore-r.Due)/millis)
	spread := b.steps[r.Step].Resource.Rate > 0
	w.must(spread || !late, "I18", b, at, "%s item %d step %d is due %d ms too late", b.spec.ID, at, r.Step, (r.Due-k.notAfter)/millis)
}

// checkWaits: whatever is to be tried again is in the rows of the commit that carries the result.
func (w *World) checkWaits(o *owner, b *truth, batch *store.Batch) {
	if s := b.state(); s == weir.BulkCancelling || s.Final() {
		return
	}
	for _, r := range batch.Set {
		if r.Key[0] != rowBlock || string(r.Key[1:1+idLen]) != string(b.spec.ID) {
			continue
		}
		no := binary.BigEndian.Uint32(r.Key[1+idLen:])
		for item := range b.blocks[no].Size {
			at := b.index(no, uint16(item))
			k := &b.items[at].known
			if k.owner == o.id && k.waits && k.commit <= batch.Number {
				w.must(b.retry(no, uint16(item), k.step) != nil, "I18", b, at, "%s item %d step %d: its retry is not in commit %d",
					b.spec.ID, at, k.step, batch.Number)
			}
		}
	}
}

// checkBulk: counters are those of the rows, states move as the table says, and
// a bulk action is ended by the commit of its last result.
func (w *World) checkBulk(b *truth, was weir.BulkState) {
	s := &b.status
	w.must(b.created, "I1", b, -1, "%s has rows and was never created", b.spec.ID)
	if b.fresh {
		w.checkCounts(b)
	}
	w.must(!was.Final(), "I6", b, -1, "%s was written after it had ended", b.spec.ID)
	w.must(b.ended() < b.spec.Items || s.State.Final() || b.spec.Shared(), "P7", b, -1,
		"%s is %v, and all its items have ended", b.spec.ID, s.State)
	w.must(b.active == !s.State.Final(), "P7", b, -1, "%s is %v, and its marker says %t", b.spec.ID, s.State, b.active)
	w.must(was == s.State || was.CanMove(s.State) || was.CanMove(weir.BulkRunning) || was == weir.BulkRunning, "I15", b, -1,
		"%s went from %v to %v", b.spec.ID, was, s.State)
	w.situationsOfStart(b, was)
	if !s.State.Final() {
		return
	}
	b.finished++
	w.open--
	w.trace.add(event{what: evEnded, node: -1, partition: b.partition, bulk: b, a: int64(s.State), b: b.ended()})
	w.must(s.State != weir.BulkCompleted || b.ended() == b.spec.Items || s.CancelCause == "deadline", "I1", b, -1,
		"%s is completed with %d of %d items", b.spec.ID, b.ended(), b.spec.Items)
	w.situationsOfEnd(b)
}

// checkCounts: the counters are those of the rows.
func (w *World) checkCounts(b *truth) {
	s, last := &b.status, len(b.steps)-1
	behind := b.spec.Shared() && !s.State.Final() // it learns from its shards what their rows have already
	is := func(counted, rows int64) bool { return counted == rows || behind && counted < rows }
	w.must(is(s.Done, b.passed[last]) && is(s.Failed, b.failed) && is(s.LeftOut, b.leftOut), "I5", b, -1,
		"%s counts %d done, %d failed, %d left out; its rows %d, %d, %d", b.spec.ID, s.Done, s.Failed, s.LeftOut,
		b.passed[last], b.failed, b.leftOut)
	c, seen := s.Counts(b.spec.Items), &b.seen.Counts
	w.must(c.Ready+c.InFlight+c.Ended() == c.Total && min(c.Ready, c.InFlight, c.Cancelled) >= 0, "I1", b, -1,
		"%s: what is read, %+v, does not add up", b.spec.ID, c)
	w.must(c.Done >= seen.Done && c.Failed >= seen.Failed && c.Cancelled >= seen.Cancelled, "I16", b, -1,
		"%s: %+v was seen, and %+v is read", b.spec.ID, *seen, c)
	for k := b.spec.FirstStep; k <= last; k++ {
		w.must(is(s.Steps[k].Done, b.passed[k]), "I5", b, -1, "%s counts %d done at step %d; its rows %d", b.spec.ID,
			s.Steps[k].Done, k, b.passed[k])
	}
}

// checkAck: a message is acknowledged by the commit that has its effect.
func (w *World) checkAck(p int, ack, number uint64) {
	a, told := &w.ledger.parts[p], false
	for a.acked < ack {
		m := a.inbox[a.acked]
		a.acked++
		if m.scale != nil {
			w.checkScaled(p, m.scale)
			told = true
			continue
		}
		w.must(m.bulk.created, "P1", m.bulk, -1, "the created message of %s was acknowledged, and it is not there", m.bulk.spec.ID)
		s := m.bulk.state()
		was := s
		if m.bulk.wasAt == number && p == m.bulk.partition {
			was = m.bulk.was
		}
		done := true
		switch m.verb {
		case "", posted:
		case partition.Cancel:
			done = s == weir.BulkCancelling || s.Final()
		case partition.Approve:
			done = was != weir.BulkAwaiting || s != weir.BulkAwaiting
		case partition.Change:
			w.checkChanged(m.bulk)
		default:
			done = a.lastOf(m.bulk, ack) != int(a.acked) || checkCommanded(&m, was)
		}
		w.must(done, "I15", m.bulk, -1, "the %s of %s was acknowledged, and it is %v", m.verb, m.bulk.spec.ID, s)
	}
	if told {
		w.checkLanes(p)
	}
}

// lastOf returns the number of the last message to a bulk action, up to ack.
func (a *account) lastOf(b *truth, ack uint64) int {
	for i := int(ack); i > 0; i-- {
		if a.inbox[i-1].bulk == b && a.inbox[i-1].verb != posted {
			return i
		}
	}
	return 0
}
