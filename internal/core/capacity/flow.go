package capacity

import (
	"cmp"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/flow"
	"github.com/weirhq/weir/internal/core/sched"
)

// othersFirst is how much longer than others the tenant waits whose call failed last.
const othersFirst = int64(time.Second)

// control is what this node has learned of one resource's downstream: how fast it
// takes items, how many tasks at once it bears, whether it works at all. Each
// node learns from its own calls. The rules are in package flow; here is what
// they see and what follows from it.
type control struct {
	windows  flow.Windows
	latency  *flow.Latency
	breaker  *flow.Breaker
	parallel flow.Parallel
	closure  flow.Closure
	circuits circuits
	rule     flow.RateRule
	ruleName string
	rate     flow.RateState
	counted  flow.RateState // the rate when parallel began to count
	before   flow.RateState // the rate before a bound was tried
	left     int64          // start of the trial
	bearable int            // as last set
	blocked  int64          // end of the pause that the downstream asked for
	failing  string         // code of the last call that failed; empty: one has succeeded since
	wrong    bool           // every call will fail until the configuration is fixed
	byHand   *weir.Circuit  // an operator's override; nil: none
	tried    int64          // the newest request for a probe
	told     holds          // last reported by [Node.Steer]
}

func newControl(concurrency int, latency, breaker uint64) *control {
	return &control{
		rule: flow.Estimate, told: holds{circuit: flow.Closed},
		latency: flow.NewLatency(concurrency, latency), breaker: flow.NewBreaker(breaker),
	}
}

// troubled reports whether the downstream is not called for now.
func (c *control) troubled() bool {
	return c.breaker.State().Phase != flow.Closed || c.blocked != 0 || c.closure.Closed()
}

// freely reports whether tasks start without asking the breaker.
func (c *control) freely() bool {
	return c.breaker.State().Phase == flow.Closed && !c.breaker.Unproven()
}

// Ending describes what the end of a task shows about its downstream.
type Ending struct {
	// Service is the run time in nanoseconds.
	Service int64
	// Silent: the end says nothing about the downstream.
	Silent bool
	// Refused is the number of items refused for exceeding a limit, and After the Retry-After
	// time; 0 if there was none.
	Refused int
	After   time.Duration
	// Failed: the task failed as a whole, or most of its items got no answer.
	Failed bool
	// Rejected: the endpoint rejected a call of several items as a whole. That counts as a
	// failure only of an endpoint that has not succeeded yet.
	Rejected bool
	// OfItems: a failure may be due to the items: it says nothing about the tenant.
	OfItems bool
	// Misconfigured: the call failed, and every call will until the configuration is fixed.
	Misconfigured bool
	// Code of the failure, if it failed or was rejected.
	Code string
}

// learn applies the end of a task to all controllers.
func (r *Resource) learn(now int64, pick sched.Pick, x *Ending) (broken Broken) {
	c, sent, items := r.control, pick.At, pick.Cost
	if c == nil {
		return broken
	}
	apart, free := r.sideline(now, pick, x)
	silent := x.Silent || apart
	until := int64(0)
	if x.After > 0 {
		until = now + int64(x.After)
	}
	if silent {
		c.windows.Ended(now, sent, items, 0, 0)
	} else {
		r.refused(now, pick, x.Refused, until)
	}
	if x.Refused == 0 && !silent { // a refusal says nothing about the run time of a call
		c.latency.Ended(now, x.Service, r.gate.InFlight())
	}
	before := c.freely()
	if x.Refused < items && !silent {
		failed := x.Failed || c.breaker.Unproven() && x.Rejected
		open := c.breaker.State().Phase == flow.Open
		c.breaker.Ended(now, sent, failed)
		if c.failing, c.wrong = "", x.Misconfigured; failed {
			c.failing = x.Code
			if b := c.breaker.State(); b.Phase == flow.Open && !open {
				r.letOthersTry(now, pick, b.Until)
			}
		}
	}
	if !before || !c.freely() {
		r.wake()
	}
	return Broken{Downstream: !c.freely(), Tenant: free, Well: c.circuits.well}
}

// letOthersTry pauses the tenant whose call opened the circuit for a little longer than the circuit is
// open, if other tenants wait. So the next call is another tenant's: if only this tenant's calls fail,
// the others wait no longer than until then.
func (r *Resource) letOthersTry(now int64, pick sched.Pick, opens int64) {
	if tenant := pick.Entry.Bulk().Tenant(); r.entry.Rivals(tenant) {
		r.node.queue.CloseTenant(now, tenant, r.entry, opens+othersFirst, sched.CauseCircuit)
	}
}

// refused records how many of a task's items were refused.
func (r *Resource) refused(now int64, pick sched.Pick, refused int, until int64) {
	c, sent, items := r.control, pick.At, pick.Cost
	all, was := refused == items, c.closure.Opens()
	closed := c.closure.Ended(now, sent, all, until)
	if closed || c.closure.Opens() != was {
		r.wake()
	}
	if probe := c.parallel.Ended(now, sent, int(pick.Level), r.gate.InFlight()-1, all && !closed); closed || probe {
		refused, until = 0, 0 // the refusals do not concern the rate
	}
	c.windows.Ended(now, sent, items, refused, until)
	if r.bear(now) {
		r.wake()
	}
}

// SwitchOff ends flow control of a resource.
func (r *Resource) SwitchOff() { r.control = nil }

// SetRule sets the rule of a resource's rate by name; an empty name stands for the default.
func (r *Resource) SetRule(name string) error {
	if r.control == nil || r.control.ruleName == name {
		return nil
	}
	rule, err := flow.RuleByName(name)
	if err == nil {
		r.control.rule, r.control.ruleName, r.control.rate = rule, name, flow.RateState{}
	}
	return err
}

// SetCircuit opens or closes the breaker by hand; nil lets the breaker decide.
func (r *Resource) SetCircuit(now int64, want *weir.Circuit) {
	c := r.control
	switch {
	case c == nil || want == nil && c.byHand == nil:
		return
	case want == nil:
		c.byHand = nil
		c.breaker.Release(now)
	case c.byHand != nil && *c.byHand == *want:
		return
	default:
		byHand := *want
		c.byHand = &byHand
		c.breaker.Force(now, want.Open, want.Until.UnixNano(), want.Why)
	}
	r.wake()
}

// Try lets a task test the downstream of an open circuit now, once for each request, which asked
// tells apart: a later one has a greater number. Tenants whose calls wait because they failed may
// test it, too.
func (r *Resource) Try(now, asked int64) {
	c := r.control
	if c == nil || asked <= c.tried {
		return
	}
	c.tried = asked
	if c.breaker.Try(now) {
		r.node.queue.OpenTenants(now, r.entry, sched.CauseCircuit)
		r.wake()
	}
}

// Change reports that flow control started or stopped throttling a resource, in one sentence.
type Change struct{ Resource, Text string }

// Steer runs flow control for all resources. The caller must call it every [flow.Window].
func (n *Node) Steer(now int64) (changes []Change) {
	for _, r := range n.resources {
		c := r.control
		if c == nil {
			continue
		}
		n.seen = c.windows.Settled(now, n.seen[:0])
		c.steer(now, n.seen, r.gate.Limit())
		r.apply(now)
		if is := c.holds(); is != c.told {
			changes, c.told = append(changes, Change{r.limits.Name, cmp.Or(c.text(), "no longer held down.")}), is
		}
	}
	return changes
}

func (c *control) steer(now int64, seen []flow.Seen, limit float64) {
	cfg := flow.RateConfig{Rate: limit}
	if c.try(now) {
		seen = nil // these tasks say nothing about the rate
	}
	c.rate = c.rule(now, seen, c.rate, cfg)
	if c.parallel.From() == now {
		c.counted = c.rate
	}
	if c.breaker.Reopened() {
		c.rate = flow.Restart(now, c.rate, cfg)
	}
	if c.blocked <= now {
		c.blocked = 0
	}
	for _, s := range seen {
		if until, blocked := c.rate.Blocks(s); blocked && until > now {
			c.blocked = max(c.blocked, until)
		}
	}
}

// try starts and ends trials of a bound on the tasks in flight, at the rate at which tasks were
// refused. It reports whether one is on trial, or was until now: meanwhile the rate rule learns
// nothing.
func (c *control) try(now int64) bool {
	from, tried := c.parallel.From(), c.parallel.Trial()
	// After a failed trial, refusals while the rate grows count as caused by the growth.
	cut := c.rate.Limited && (c.rate.Grown == 0 || c.rate.Ahead == 0 && !c.parallel.Failed())
	changed, found := c.parallel.Look(now, cut, c.rate.Base)
	switch {
	case found:
		c.rate = c.rate.Lift()
	case changed && c.parallel.Trial(): // a trial starts
		c.before, c.left, c.rate = c.rate, now, c.counted.Skip(now-from)
	case changed:
		c.rate = c.before.Skip(now - c.left)
	case tried:
		c.rate = c.rate.Skip(int64(flow.Window))
	default:
		return false
	}
	c.windows.Forget(now)
	return true
}

// apply sets the gate to what was decided.
func (r *Resource) apply(now int64) {
	c := r.control
	pace := 0.0
	if c.rate.Limited {
		pace = c.rate.Rate
	}
	changed := r.gate.SetPace(now, pace)
	changed = r.bear(now) || changed
	if c.blocked != 0 {
		r.gate.CloseUntil(c.blocked)
	}
	if changed {
		r.wake()
	}
}

// bear bounds the tasks in flight to what the downstream was found to take. It reports whether
// the bound changed.
func (r *Resource) bear(now int64) (changed bool) {
	c := r.control
	n := c.latency.Bound(now)
	if k := c.parallel.Bound(); k > 0 && (n == 0 || k < n) {
		n = k
	}
	if n == c.bearable {
		return false
	}
	c.bearable = n
	r.gate.SetBearable(n)
	return true
}

// holds lists the ways in which a resource is throttled. A bound that only moves is not
// reported.
type holds struct {
	circuit                          flow.Phase
	blocked, closed, paced, bearable bool
	tenants                          int // paused
}

func (c *control) holds() holds {
	return holds{c.circuit(), c.blocked != 0, c.closure.Closed(), c.rate.Limited, c.bearable != 0, c.circuits.apart}
}

// circuit returns the breaker's phase for display. While the setup is wrong, a call is made now
// and then, as with a half-open breaker, and the breaker sees too few to open.
func (c *control) circuit() flow.Phase {
	if phase := c.breaker.State().Phase; phase != flow.Closed || !c.wrong {
		return phase
	}
	return flow.HalfOpen
}

// text explains in one sentence why the resource is throttled; empty if it is not.
func (c *control) text() string {
	switch b := c.breaker.State(); {
	case b.Reason == flow.ByHand:
		return b.Text
	case b.Phase != flow.Closed && c.failing != "":
		return b.Text + " The last call failed with " + strings.TrimRight(c.failing, ".") + "."
	case b.Phase != flow.Closed:
		return b.Text
	case c.circuit() != flow.Closed:
		return "half-open: calls fail with " + c.failing + ", which only a change of the setup mends; one is made every few seconds."
	case c.blocked != 0:
		return "the downstream asked to be left alone until " + time.Unix(0, c.blocked).UTC().Format(time.TimeOnly) + "."
	case c.closure.Closed():
		return c.closure.Text()
	case c.parallel.Bound() > 0:
		return c.parallel.Text()
	case c.rate.Limited:
		return c.rate.Text
	case c.bearable != 0:
		return c.latency.State().Text
	}
	return c.circuits.text()
}

// State describes how flow control throttles a resource.
type State struct {
	// Circuit is the breaker's phase.
	Circuit flow.Phase
	// Closed: nothing starts for now, because the downstream fails or asked for a pause.
	Closed bool
	// Strained: load was found to be the cause.
	Strained bool
	// Limited: refusals hold the rate down, to Rate.
	Limited bool
	Rate    float64
	// Bearable is the number of tasks in flight that the downstream was found to take; 0: no
	// bound.
	Bearable int
}

// State returns how flow control throttles the resource.
func (r *Resource) State(now int64) State {
	c := r.control
	if c == nil {
		return State{Circuit: flow.Closed}
	}
	phase := c.circuit()
	return State{
		Circuit: phase, Closed: phase == flow.Open || c.blocked > now || c.closure.Closed(), Strained: c.rate.Limited ||
			c.bearable != 0 || phase != flow.Closed,
		Limited: c.rate.Limited, Rate: c.rate.Rate, Bearable: c.bearable,
	}
}

// Describe returns this node's view of the resource, for display.
func (r *Resource) Describe(now int64) weir.ResourceUse {
	s := r.State(now)
	u := weir.ResourceUse{
		Name: r.limits.Name, Rate: float64(r.limits.Rate), Allowed: r.gate.Rate(), Limited: s.Limited,
		Concurrency: r.limits.Concurrency, Bearable: s.Bearable, InFlight: r.gate.InFlight(), Circuit: string(s.Circuit),
		Pacing: r.limits.Pacing,
	}
	if w := r.gate.Window(); w > 0 && u.Allowed > 0 {
		u.Use = float64(r.gate.Used(now)) / (u.Allowed * float64(w) / 1e9)
	}
	if r.control == nil {
		return u
	}
	u.Text, u.Outage = r.control.text(), r.control.outage()
	if b := r.control.breaker.State(); b.Phase == flow.Open || b.Reason == flow.ByHand {
		u.CircuitUntil = time.Unix(0, b.Until).UTC()
	}
	return u
}

// outage returns since when and why the circuit is not closed, for display; nil if it is closed.
func (c *control) outage() *weir.Outage {
	b := c.breaker.State()
	if b.Outage.Since == 0 {
		return nil
	}
	return &weir.Outage{Since: time.Unix(0, b.Outage.Since).UTC(), Failed: b.Outage.Failed, Calls: b.Outage.Calls,
		Probes: b.Outage.Probes, Code: c.failing, ByHand: b.Reason == flow.ByHand}
}
