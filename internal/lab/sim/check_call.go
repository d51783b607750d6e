package sim

import (
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
)

// dispatched judges a call at the moment it leaves the node.
func (w *World) dispatched(c *call, previous [][]byte) {
	t, b, o := c.task, c.bulk, c.owner
	valid := o.token == w.ledger.parts[o.partition].newest
	if valid {
		w.checkHolds(c)
	}
	task := weir.Task{Bulk: t.Bulk, StepNo: t.StepNo, Items: make([]weir.TaskItem, len(t.Items))}
	for i, item := range t.Items {
		at := b.index(t.Block, item)
		task.Items[i].No = int64(t.Block)*block.Size + int64(item)
		w.checkKey(b, t.StepNo, at, task.Key(i))
		w.checkOrder(c, item, at)
		if t.StepNo > 0 {
			w.checkPrevious(c, at, previous[i])
		}
		if valid {
			w.checkAgain(c, item, at)
		}
		w.checkCalls(c, at, valid)
		w.checkFilter(c, at)
	}
	w.checkCanary(c)
	w.checkTrial(c)
	w.checkTenant(c)
	w.checkLimits(c)
	w.checkOwnLimits(c)
}

// checkHolds: nothing starts after the commit of a cancel or of a hold.
func (w *World) checkHolds(c *call) {
	b := c.bulk
	s := b.state()
	if c.owner.partition != b.partition { // a shard hears of it later, and the end waits for that
		unheld := s != weir.BulkSealed && s != weir.BulkScheduled
		w.must(b.created && !s.Final() && unheld, "I4", b, -1, "a task of a shard of %s was started while it is %v", b.spec.ID, s)
		return
	}
	w.checkStarted(c)
	w.must(b.created || w.inMemory(c.owner, b), "I4", b, -1, "a task of %s was started before it was created", b.spec.ID)
	w.must(s != weir.BulkCancelling && !s.Final(), "I4", b, -1, "a task of %s was started while it is %v", b.spec.ID, s)
	held := s == weir.BulkPaused || s == weir.BulkStopped
	w.must(!held || w.inMemory(c.owner, b), "P6", b, -1, "a task of %s was started while it is %v", b.spec.ID, s)
}

// inMemory reports whether the owner has taken a message for b that no commit has shown yet.
func (w *World) inMemory(o *owner, b *truth) bool {
	for _, x := range o.told {
		if x.bulk == b {
			return true
		}
	}
	return false
}

// checkOrder: a step starts only after the commit that carries the success of the step before (I3), and
// not for an item that has ended or passed it (I4).
func (w *World) checkOrder(c *call, item uint16, at int) {
	t, b := c.task, c.bulk
	s := &b.blocks[t.Block]
	if t.StepNo > 0 {
		w.must(s.Passed[t.StepNo-1].Has(int(item)), "I3", b, at,
			"%s item %d: step %d was started, and no commit has the success of step %d",
			b.spec.ID, at, t.StepNo, t.StepNo-1)
	}
	if c.owner.token != w.ledger.parts[c.owner.partition].newest {
		return
	}
	w.must(!s.Passed[t.StepNo].Has(int(item)), "I4", b, at,
		"%s item %d: step %d was started again after its success was committed", b.spec.ID, at, t.StepNo)
	w.must(!s.Failed.Has(int(item)) && !s.LeftOut.Has(int(item)), "I4", b, at,
		"%s item %d: step %d was started after it had ended", b.spec.ID, at, t.StepNo)
}

// checkPrevious: a step receives what the step before answered for the same item, in the committed attempt.
func (w *World) checkPrevious(c *call, at int, previous []byte) {
	t, b := c.task, c.bulk
	n := b.items[at].steps[t.StepNo-1].output
	want := ""
	if n != 0 {
		want = string(b.output(t.StepNo-1, at, n))
	}
	w.must(string(previous) == want, "I5", b, at, "%s item %d: step %d was given %q from the step before, which answered %q",
		b.spec.ID, at, t.StepNo, previous, want)
}

// checkAgain: attempts are counted, and wait, as the rule for retries says (I18).
func (w *World) checkAgain(c *call, item uint16, at int) {
	t, b := c.task, c.bulk
	k := &b.items[at].known
	if k.owner == c.owner.id && k.step == t.StepNo {
		w.must(t.Attempt >= k.low && t.Attempt <= k.high, "I18", b, at, "%s item %d step %d: attempt %d, want %d to %d",
			b.spec.ID, at, t.StepNo, t.Attempt, k.low, k.high)
		w.must(w.Now() >= k.notBefore, "I18", b, at, "%s item %d step %d: tried again %d ms too early", b.spec.ID, at,
			t.StepNo, (k.notBefore-w.Now())/millis)
		w.must(!k.waits || b.retry(t.Block, item, t.StepNo) != nil, "I7", b, at,
			"%s item %d step %d: tried again before the attempt before was durable", b.spec.ID, at, t.StepNo)
		return
	}
	want, due := 1, int64(0)
	if r := b.retry(t.Block, item, t.StepNo); r != nil {
		want, due = int(r.Attempt), r.Due
		w.met[RetrySurvived]++
	}
	w.must(t.Attempt == want, "I18", b, at, "%s item %d step %d: attempt %d after a takeover, want %d", b.spec.ID, at,
		t.StepNo, t.Attempt, want)
	w.must(w.Now() >= due, "I18", b, at, "%s item %d step %d: tried again %d ms too early after a takeover", b.spec.ID, at,
		t.StepNo, (due-w.Now())/millis)
}

// checkKey: the key of an item at a step is always the same, and no other item has it.
func (w *World) checkKey(b *truth, step, at int, key string) {
	if b.keys == nil {
		b.keys = make(map[string]int32)
	}
	place := int32(at*maxSteps + step)
	first, there := b.keys[key]
	w.must(!there || first == place, "I8", b, at, "%s item %d step %d: key %s is that of another", b.spec.ID, at, step, key)
	if !there {
		st := &b.items[at].steps[step]
		w.must(st.calls == 0, "I8", b, at, "%s item %d step %d: key %s is a second one", b.spec.ID, at, step, key)
		b.keys[key] = place
	}
}

// checkCalls: calls are bounded by the attempts allowed, what was refused, and the owners lost (I7, P5).
func (w *World) checkCalls(c *call, at int, valid bool) {
	t, b := c.task, c.bulk
	st := &b.items[at].steps[t.StepNo]
	if last := st.lastOwner; valid && st.loose > 0 && last != c.owner {
		w.must(!last.clean, "P5", b, at, "%s item %d step %d: called again although its last owner left nothing behind",
			b.spec.ID, at, t.StepNo)
		st.losses += st.loose
		st.loose = 0
	}
	if valid {
		st.loose++
		st.lastOwner, st.last = c.owner, c.number
	} else {
		st.losses++ // a zombie may repeat what it had
	}
	st.calls++
	most := maxCalls(b.steps[t.StepNo]) + st.refused + st.losses
	w.must(st.calls <= most, "I7", b, at, "%s item %d step %d: %d calls, at most %d allowed", b.spec.ID, at, t.StepNo, st.calls, most)
}

// checkLimits: no second above the quota (I11), no more in flight than allowed (I12).
func (w *World) checkLimits(c *call) {
	m, t, b := c.meter, c.task, c.bulk
	m.inFlight++
	used := m.take(w.Now(), len(t.Items))
	r, most := m.limits, m.most(w.Now())
	w.must(most == 0 || used <= int(most), "I11", b, -1, "resource %s: %d items started within a second, the rate is %v",
		r.Name, used, most)
	if m.changed > 0 {
		w.met[LimitsChanged]++
	}
	w.must(r.Concurrency == 0 || m.inFlight <= r.Concurrency, "I12", b, -1,
		"resource %s: %d tasks in flight, at most %d allowed", r.Name, m.inFlight, r.Concurrency)
	n, slots := c.owner.node, w.plan.slots+w.plan.slots/8 // and the reserve
	fresh := 0
	for _, began := range n.inLane {
		fresh += young(began, w.Now())
	}
	w.must(fresh <= slots, "I12", b, -1, "%d tasks began within half a second on n%d and are in flight, with %d slots",
		fresh, n.no, slots)
	w.must(n.running <= w.plan.slots+slots, "I12", b, -1, "%d tasks in flight on n%d, at most %d allowed", n.running,
		n.no, w.plan.slots+slots)
}
