package partition

import (
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/fault"
)

// A bulk action whose calls never succeed is stopped: see [calls.dead].
const (
	// deadCalls is the number of calls in a row that must have failed before they count.
	deadCalls = 3
	// deadAfter bounds how long an endpoint that has never answered may fail.
	deadAfter = int64(30 * time.Second)
	// wrongAfter is the bound if no call can succeed until the setup changes: 401, 404 and the
	// like.
	wrongAfter = int64(5 * time.Second)
	// outageAfter is the bound if other bulk actions have had answers: a restart of the
	// downstream must not stop work that began during it.
	outageAfter = int64(2 * time.Minute)
	// rejectedItems is the number of items that may be rejected in calls of one item.
	rejectedItems = 100
	// countsAfter is how long calls must have failed after successes before a failure rule
	// counts the items that wait because of it.
	countsAfter = int64(time.Minute)
)

// calls records the results of a bulk action's calls at one step.
type calls struct {
	Succeeded bool  `json:"succeeded,omitempty"`
	Streak    int64 `json:"streak,omitempty"`   // calls that failed since the last success, takeover or resume
	Wrong     int64 `json:"wrong,omitempty"`    // of them: no call can succeed until the setup changes
	Refused   int64 `json:"refused,omitempty"`  // of them: the downstream was too busy
	Rejected  int64 `json:"rejected,omitempty"` // items of them that were rejected one by one
	Since     int64 `json:"since,omitempty"`    // when the first of them ended
	Failing   int64 `json:"failing,omitempty"`  // items whose newest call failed, and that are to be tried again
	Known     bool  `json:"known,omitempty"`    // the action, or its resource on this node, has answered other bulk actions
}

// failed counts a call that failed.
func (c *calls) failed(now int64, v *verdict, items int) {
	if c.Streak == 0 {
		c.Since = now
	}
	c.Streak++
	switch {
	case v.wrong:
		c.Wrong++
	case v.refused:
		c.Refused++
	case v.rejected && items == 1:
		c.Rejected++
	}
}

// restart clears the failed calls: counting starts again.
func (c *calls) restart() {
	c.Streak, c.Wrong, c.Refused, c.Rejected, c.Since = 0, 0, 0, 0, 0
}

// add merges the record of another shard for the same step.
func (c *calls) add(o *calls) {
	if o.Since != 0 && (c.Since == 0 || o.Since < c.Since) {
		c.Since = o.Since
	}
	c.Succeeded, c.Known = c.Succeeded || o.Succeeded, c.Known || o.Known
	c.Streak += o.Streak
	c.Wrong += o.Wrong
	c.Refused += o.Refused
	c.Rejected += o.Rejected
	c.Failing += o.Failing
}

// patience returns how long the calls may fail.
func (c *calls) patience() int64 {
	switch {
	case c.Known:
		return outageAfter
	case c.Wrong == c.Streak-c.Refused:
		return wrongAfter
	}
	return deadAfter
}

// dead reports whether no call has succeeded for so long, or so often, that more of them are
// pointless. Refusals do not count: a downstream that asks for a pause is alive. Items that are
// rejected one by one may themselves be wrong, so it takes many.
func (c *calls) dead(now int64) bool {
	switch {
	case c.Succeeded || c.Streak-c.Refused < deadCalls:
		return false
	case c.Rejected == c.Streak-c.Refused:
		return c.Rejected >= rejectedItems
	}
	return now-c.Since >= c.patience()
}

// word returns what a bulk action with failing calls waits on; empty if they do not fail.
func (c *calls) word() string {
	switch c.Streak {
	case 0:
		return ""
	case c.Refused:
		return "refused"
	}
	return "failing"
}

// lookAgain returns the delay before the next call of a wrong endpoint: the first calls decide
// whether the bulk action is stopped.
func (c *calls) lookAgain() time.Duration {
	if !c.Succeeded && c.Streak <= deadCalls {
		return time.Duration(wrongAfter) / deadCalls
	}
	return misconfiguredFor
}

// held returns how many waiting items a failure rule counts as failed: those of an endpoint
// that never answered, or has not for a while.
func (c *calls) held(now int64) int64 {
	if c.Streak-c.Refused < deadCalls || c.Succeeded && now-c.Since < countsAfter {
		return 0
	}
	return c.Failing
}

// verdict is what the end of a task says about its endpoint.
type verdict struct {
	uncalled      bool // it was not called
	failed        bool // the call failed
	wrong         bool // no call can succeed until the setup changes
	refused       bool // it was too busy
	rejected      bool // it rejected all items as wrong
	code, message string
}

// verdict reports whether the call succeeded. A call that answers for any item did, also if the
// item failed or will be tried again. Items that ended without a call do not count.
func (r *Result) verdict() verdict {
	if f := r.Failure; f != nil {
		return verdict{
			uncalled: f.Uncalled, failed: !f.Uncalled, wrong: f.Misconfigured, refused: f.Refused, code: f.Code, message: f.Message,
		}
	}
	var first *weir.Outcome
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		switch {
		case o.Uncalled:
			continue
		case o.Kind != weir.OutcomeNone && o.Kind != weir.OutcomeRefused && !r.Rejected:
			return verdict{}
		case first == nil:
			first = o
		}
	}
	if first == nil {
		return verdict{uncalled: true}
	}
	v := verdict{failed: true, refused: first.Kind == weir.OutcomeRefused, rejected: r.Rejected, code: first.Code,
		message: first.Message}
	if v.code == "" {
		v.code = first.Kind.String()
	}
	return v
}

// noteCall records the result of a call.
func (m *Machine) noteCall(now int64, t *Task, v *verdict) {
	s := t.at
	if t.retry != nil && t.retry.failing {
		s.calls.Failing -= int64(len(t.Items))
	}
	switch {
	case v.uncalled:
	case !v.failed:
		s.calls.restart()
		if !s.calls.Succeeded || s.held != 0 {
			s.calls.Succeeded, s.held = true, 0
			m.offer(now, s) // retries go first from now on
		}
		m.noteAnswer(s.def.Action)
	default:
		known := m.knows[s.def.Action] || s.lane.well > 0
		s.calls.Known = s.calls.Known || m.answered[s.def.Action] || known && !v.wrong
		s.calls.failed(now, v, len(t.Items))
		s.bulk.blame(now, s.no, v)
		if s.calls.Streak == 1 && !s.bulk.away() { // further calls may take long
			m.waits.push(wait{due: now + s.calls.patience(), bulk: s.bulk.spec.ID})
		}
	}
}

// noteAnswer records that an action has answered. Later owners know it too: a bulk action that
// begins after a restart, such as a retry of items that always fail, is not taken for one whose
// endpoint has never answered.
func (m *Machine) noteAnswer(action string) {
	if m.answered[action] {
		return
	}
	m.answered[action] = true
	if !m.knows[action] {
		m.knows[action] = true
		m.gen.answers = append(m.gen.answers, action)
	}
}

// loadAnswers loads the actions that have answered.
func (m *Machine) loadAnswers(rows Rows) error {
	return rows.Scan([]byte{kindAction}, func(key, _ []byte) error {
		m.knows[string(key[1:])] = true
		return nil
	})
}

// callsOf returns the record of a step's calls, over all shards.
func (b *bulk) callsOf(step int) calls {
	var c calls
	if step < len(b.steps) {
		c = b.steps[step].calls
	}
	if b.atHome() {
		for i := range b.shard.home.tallies {
			if t := &b.shard.home.tallies[i]; step < len(t.Calls) {
				of := t.Calls[step]
				if t.Seen < b.shard.home.told[i].number { // it may not have heard of a resume
					of.restart()
				}
				c.add(&of)
			}
		}
	}
	return c
}

// forgiveCalls restarts the counts that rules use.
func (b *bulk) forgiveCalls() {
	for _, s := range b.steps {
		s.calls.restart()
		s.held = 0
	}
}

// ownCalls returns the records of this partition's steps, as they are stored.
func (b *bulk) ownCalls() (list []calls) {
	for _, s := range b.steps {
		list = append(list, s.calls)
	}
	return list
}

// regainCalls restores what succeeded and why calls last failed in a loaded bulk action. The
// time for which they have failed counts from the takeover.
func (b *bulk) regainCalls() {
	for i, s := range b.steps {
		if i < len(b.status.Calls) {
			s.calls.Succeeded = b.status.Calls[i].Succeeded
		}
	}
	if c := b.status.Cause; c != nil {
		x := *c
		x.kind = string(fault.AppendNormal(nil, x.Message))
		b.causes = []Cause{x}
	}
}

// judgeCalls stops a bulk action whose calls never succeed.
func (m *Machine) judgeCalls(now int64, b *bulk) {
	if b.state != weir.BulkRunning || b.away() || b.spec.StopOn.KeepTrying {
		return
	}
	for i := range b.steps {
		if c := b.callsOf(i); c.dead(now) {
			m.stop(now, b, b.deadReason(now, i, &c))
			return
		}
	}
}

// deadReason explains in one sentence why a bulk action was stopped.
func (b *bulk) deadReason(now int64, step int, c *calls) string {
	took := time.Duration(now - c.Since).Round(time.Second)
	text := fmt.Sprintf("no call of step %s has succeeded: %d failed in %s", b.spec.Steps[step], c.Streak, took)
	if x := b.lastCause(); x != nil && x.Step == step {
		text += x.because()
	}
	return text
}
