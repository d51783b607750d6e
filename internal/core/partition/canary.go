package partition

import (
	"fmt"

	"github.com/weirhq/weir"
)

// Canary is the part of a bulk action that runs first. It ends with the last item of a block.
type Canary struct {
	Items   int64   `json:"items"`
	Auto    bool    `json:"auto,omitempty"`
	Success float64 `json:"success,omitempty"` // auto: the share of items that must succeed
	P95     int64   `json:"p95,omitempty"`     // auto: upper bound on the 95th percentile of task times, nanoseconds; 0: no bound
}

// phase says which items of a bulk action may run. 0: all, without a canary.
type phase uint8

const (
	canaryPhase phase = iota + 1 // only the canary
	mainPhase                    // all, after the canary
)

// InCanary reports whether only the canary may run.
func (s *Status) InCanary() bool { return s.Phase == canaryPhase }

// steps returns the steps of a bulk action's chain; nil if they are not known here.
func (m *Machine) steps(c *Created) []weir.Step {
	if c.Text == nil {
		return m.cfg.Chain(c.Chain)
	}
	if m.cfg.Describe == nil {
		return nil
	}
	return m.cfg.Describe(c.Text)
}

// held reports whether a bulk action waits for a command to continue.
func (b *bulk) held() bool {
	return b.state == weir.BulkSealed || b.state == weir.BulkScheduled || b.state == weir.BulkAwaiting
}

// await makes a new bulk action wait for its start, if it has to, and holds all but its canary
// back.
func (m *Machine) await(now int64, b *bulk) {
	c := b.spec
	if c.Canary != nil && c.Canary.Items < c.Items && b.shard == nil {
		b.status.Phase = canaryPhase
		m.offerAll(now, b)
	}
	switch {
	case c.Hold:
		b.state, b.status.StartAt = weir.BulkSealed, 0
	case c.StartAt > now:
		b.state, b.status.StartAt = weir.BulkScheduled, c.StartAt
	default:
		return
	}
	b.status.State = b.state
	m.queue.PauseBulk(now, b.queued)
	m.startDue(b)
}

// startDue schedules the start of the bulk action.
func (m *Machine) startDue(b *bulk) {
	if b.state == weir.BulkScheduled {
		m.waits.push(wait{due: b.status.StartAt, bulk: b.spec.ID})
	}
}

// startAt starts a held bulk action, or sets its start time.
func (m *Machine) startAt(now int64, b *bulk, at int64) {
	if b.state != weir.BulkSealed && b.state != weir.BulkScheduled {
		return
	}
	if at <= now {
		m.begin(now, b)
		return
	}
	if b.state == weir.BulkSealed {
		b.move(weir.BulkScheduled, "")
	}
	b.status.StartAt = at
	m.startDue(b)
	m.touch(b)
}

// unset holds a bulk action again that had a start time.
func (m *Machine) unset(b *bulk) {
	if b.state == weir.BulkScheduled {
		b.move(weir.BulkSealed, "")
		b.status.StartAt = 0
		m.touch(b)
	}
}

// begin starts a held bulk action.
func (m *Machine) begin(now int64, b *bulk) {
	b.move(weir.BulkRunning, "")
	b.status.Started = now
	b.status.Waited, b.sampled, b.waits = nil, now, "" // waits are counted from here
	m.goAhead(now, b)
}

// goAhead lets tasks of the bulk action start.
func (m *Machine) goAhead(now int64, b *bulk) {
	m.account(now, b)
	m.queue.ResumeBulk(now, b.queued)
	m.mind(now, b)
	if b.atHome() {
		m.grantParts(now, b)
		m.topUp(now, b)
	}
	m.offerAll(now, b)
	m.touch(b)
}

// approve runs the rest after the canary.
func (m *Machine) approve(now int64, b *bulk) {
	if b.state != weir.BulkAwaiting {
		return
	}
	b.move(weir.BulkRunning, "")
	m.runRest(now, b)
}

// runRest lets more than the canary run, once the commit that says so is confirmed: until then
// a takeover could undo it, and judge the canary differently.
func (m *Machine) runRest(now int64, b *bulk) {
	b.status.Phase = mainPhase
	b.opens = m.gen
	m.goAhead(now, b)
}

// openConfirmed runs what waited for the commit that has now been confirmed.
func (m *Machine) openConfirmed(now int64, g *generation) {
	for _, b := range g.touched {
		if b.opens == g {
			b.opens = nil
			for _, s := range b.steps {
				m.stepDue(now, s)
			}
			m.offerAll(now, b)
			m.spread(now, b)
		}
	}
}

// judgeCanary decides on the rest when all of the canary has ended.
func (m *Machine) judgeCanary(now int64, b *bulk) {
	if b.status.Phase != canaryPhase || b.state != weir.BulkRunning || b.ended() < b.spec.Canary.Items {
		return
	}
	reason := b.doubt()
	if reason == "" {
		b.turn(now, TurnRest, "")
		m.runRest(now, b)
		return
	}
	b.move(weir.BulkAwaiting, reason)
	b.turn(now, TurnCanary, reason)
	m.queue.PauseBulk(now, b.queued)
	m.event(now, b)
	m.touch(b)
}

// doubt returns why the rest does not start by itself after the canary; empty: it does.
func (b *bulk) doubt() string {
	c := b.spec.Canary
	if !c.Auto || float64(b.status.Done) < c.Success*float64(c.Items) || !b.fastEnough() {
		return "canary"
	}
	for i := b.spec.FirstStep; i < len(b.spec.Steps); i++ {
		n := b.status.Steps[i]
		done := n.Done - n.Skipped
		called := done + n.Failed + n.LeftOut
		switch {
		case called == 0:
			return fmt.Sprintf("canary: step %s called nothing, because every item of the canary skipped it; approve the rest "+
				"by hand, or choose a larger canary", b.spec.Steps[i])
		case done == 0 || float64(done) < c.Success*float64(called):
			return fmt.Sprintf("canary: of %d items that did not skip step %s, %d were done", called, b.spec.Steps[i], done)
		}
	}
	return ""
}

// fastEnough reports whether tasks of the canary were within their bound.
func (b *bulk) fastEnough() bool {
	if b.spec.Canary.P95 == 0 {
		return true
	}
	for i := range b.latency {
		if h := b.latency[i].histogram(); h != nil && h.ValueAtQuantile(95)*latencyUnit > b.spec.Canary.P95 {
			return false
		}
	}
	return true
}
