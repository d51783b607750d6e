package engine

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/flow"
	"github.com/weirhq/weir/internal/limit"
	"github.com/weirhq/weir/internal/partition"
)

// control is what this node has learned of one resource's downstream: how fast it
// takes items, how many tasks at once it bears, whether it works at all. Each
// node learns from its own calls. The rules are in package flow; here is what
// they see and what follows from it. It belongs to whoever holds the share.
type control struct {
	resource weir.Resource
	pooled   *limit.PoolResource
	windows  flow.Windows
	latency  *flow.Latency
	breaker  *flow.Breaker
	rule     flow.RateRule
	ruleName string
	rate     flow.RateState
	bearable int           // as last set
	blocked  int64         // until when the downstream asked to be left alone
	failing  string        // code of the last call that failed; empty: one has succeeded since
	wrong    bool          // every call will fail until the configuration is fixed
	byHand   *weir.Circuit // what a person has set; nil: nothing
	told     holds         // what was logged last
}

// controlOf finds the control of a resource, or makes it.
func (s *share) controlOf(r *limit.PoolResource, limits weir.Resource) *control {
	for _, c := range s.controls {
		if c.pooled == r {
			return c
		}
	}
	c := &control{
		resource: limits, pooled: r, rule: flow.Estimate,
		told: holds{circuit: flow.Closed}, latency: flow.NewLatency(limits.Concurrency, randomSeed()), breaker: flow.NewBreaker(randomSeed()),
	}
	s.controls = append(s.controls, c)
	return c
}

// knowResources has flow control watch over all registered resources, also those
// not in use yet. Nothing starts on a shared limit of theirs without a quota.
func (e *Engine) knowResources() {
	for r := range e.resources() {
		e.share.know(r)
	}
}

func (s *share) know(r weir.Resource) {
	s.mu.Lock()
	defer s.unlock()
	s.controlOf(s.resource(r), r)
}

// troubled reports whether the downstream is being left alone.
func (c *control) troubled() bool { return c.breaker.State().Phase != flow.Closed || c.blocked != 0 }

// held asks the breaker before a task starts. The caller holds the share.
func (g *gate) held(now int64, cost int, express bool) (at int64, held bool) {
	c := g.control
	if c.freely() {
		return 0, false
	}
	ok, at := c.breaker.Allow(now, c.pooled.InFlight())
	if ok {
		return 0, false
	}
	return g.share.pool.Hold(now, g.lane, cost, express, at), true
}

// ending is what the end of a task says of its downstream.
type ending struct {
	partition.Complaint
	sent    int64 // 0: there is nothing to learn
	service int64
	items   int
}

func endingOf(r *run) ending {
	return ending{Complaint: r.result.Complaint(), sent: r.started, service: r.result.Service, items: len(r.cut.Items)}
}

// learn takes the end of a task into account. The caller holds the share.
func (s *share) learn(now int64, c *control, x *ending) {
	until := int64(0)
	if x.After > 0 {
		until = now + int64(x.After)
	}
	c.windows.Ended(now, x.sent, x.items, x.Refused, until)
	if x.Refused == 0 && !x.Silent { // what was refused says nothing of how long a call takes
		c.latency.Ended(now, x.service, c.pooled.InFlight())
	}
	before := c.freely()
	if x.Refused < x.items && !x.Silent {
		failed := x.Failed || c.breaker.Unproven() && x.Rejected
		c.breaker.Ended(now, x.sent, failed)
		if c.failing, c.wrong = "", x.Misconfigured; failed {
			c.failing = x.Code
		}
	}
	if !before || !c.freely() {
		s.pool.Stir(now, c.pooled)
	}
}

// freely reports whether tasks start without asking the breaker.
func (c *control) freely() bool {
	return c.breaker.State().Phase == flow.Closed && !c.breaker.Unproven()
}

// Probe implements partition.Prober: the resource's downstream is an endpoint.
func (g *gate) Probe() {
	g.share.mu.Lock()
	defer g.share.mu.Unlock()
	g.control.breaker.Probe()
}

// steer has flow control look at all resources, four times a second, until ctx ends.
func (e *Engine) steer(ctx context.Context) {
	tick := time.NewTicker(flow.Window)
	defer tick.Stop()
	var seen []flow.Seen
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, told := range e.share.steer(time.Now().UnixNano(), &seen) {
			e.log.LogAttrs(ctx, slog.LevelInfo, "flow control", slog.String("resource", told.resource), slog.String("text", told.text))
		}
	}
}

// news is what changed at a resource, in one sentence.
type news struct{ resource, text string }

// steer takes what has settled into account, and has the pool keep to what follows.
func (s *share) steer(now int64, seen *[]flow.Seen) (changes []news) {
	s.mu.Lock()
	defer s.unlock()
	for _, c := range s.controls {
		*seen = c.windows.Settled(now, (*seen)[:0])
		c.steer(now, *seen)
		s.apply(now, c)
		if is := c.holds(); is != c.told {
			changes, c.told = append(changes, news{c.resource.Name, cmp.Or(c.text(), "no longer held down.")}), is
		}
	}
	return changes
}

func (c *control) steer(now int64, seen []flow.Seen) {
	cfg := flow.RateConfig{Rate: c.pooled.Limit()}
	c.rate = c.rule(now, seen, c.rate, cfg)
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

// apply has the pool keep to what was decided. The caller holds the share.
func (s *share) apply(now int64, c *control) {
	pace := 0.0
	if c.rate.Limited {
		pace = c.rate.Rate
	}
	s.pool.SetPace(now, c.pooled, pace)
	if n := c.latency.Bound(now); n != c.bearable {
		c.bearable = n
		s.pool.SetBearable(now, c.pooled, n)
	}
	if c.blocked != 0 {
		s.pool.CloseUntil(now, c.pooled, c.blocked)
	}
}

// holds is in which ways a resource is held down. That a bound moves while it
// holds is not worth a line in the log.
type holds struct {
	circuit                  flow.Phase
	blocked, paced, bearable bool
}

func (c *control) holds() holds {
	return holds{c.circuit(), c.blocked != 0, c.rate.Limited, c.bearable != 0}
}

// circuit is the breaker's phase as people are shown it. Where the setup is wrong, lanes
// make a call now and then, as with a half-open breaker, and the breaker sees too few to open.
func (c *control) circuit() flow.Phase {
	if phase := c.breaker.State().Phase; phase != flow.Closed || !c.wrong {
		return phase
	}
	return flow.HalfOpen
}

// text is why the resource is held down, in one sentence; empty: it is not.
func (c *control) text() string {
	switch b := c.breaker.State(); {
	case b.Reason == flow.ByHand:
		return b.Text
	case b.Phase != flow.Closed && c.failing != "":
		return b.Text + " The last call failed with " + c.failing + "."
	case b.Phase != flow.Closed:
		return b.Text
	case c.circuit() != flow.Closed:
		return "half-open: calls fail with " + c.failing + ", which only a change of the setup mends; one is made every few seconds."
	case c.blocked != 0:
		return "the downstream asked to be left alone until " + time.Unix(0, c.blocked).UTC().Format(time.TimeOnly) + "."
	case c.rate.Limited:
		return c.rate.Text
	case c.bearable != 0:
		return c.latency.State().Text
	}
	return ""
}

// describe adds what flow control knows to a node's observations.
func (s *share) describe(now int64, n *weir.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.controls {
		u := c.use(now)
		n.Resources = append(n.Resources, u)
		for i := range n.Lanes {
			if l := &n.Lanes[i]; l.ID.Resource == u.Name {
				l.QuotaUse, l.Closed = u.Use, u.Circuit == string(flow.Open) || c.blocked > now
				l.Strained = c.rate.Limited || c.bearable != 0 || u.Circuit != string(flow.Closed)
			}
		}
	}
}

// use is what this node knows of the resource.
func (c *control) use(now int64) weir.ResourceUse {
	b := c.breaker.State()
	u := weir.ResourceUse{
		Name: c.resource.Name, Rate: float64(c.resource.Rate), Allowed: c.pooled.Rate(), Limited: c.rate.Limited,
		Concurrency: c.resource.Concurrency, Bearable: c.bearable, InFlight: c.pooled.InFlight(),
		Circuit: string(c.circuit()), Text: c.text(),
	}
	if b.Phase == flow.Open || b.Reason == flow.ByHand {
		u.CircuitUntil = time.Unix(0, b.Until).UTC()
	}
	if w := c.pooled.Window(); w > 0 && u.Allowed > 0 {
		u.Use = float64(c.pooled.Used(now)) / (u.Allowed * float64(w) / 1e9)
	}
	return u
}

// set has flow control do what operators have set.
func (s *share) set(now int64, set *weir.Scaling) {
	s.mu.Lock()
	defer s.unlock()
	for _, c := range s.controls {
		if name := set.RateRules[c.resource.Name]; name != c.ruleName {
			if rule, err := flow.RuleByName(name); err == nil { // it was checked when it was set
				c.rule, c.ruleName, c.rate = rule, name, flow.RateState{}
			}
		}
		want, ok := set.Circuits[c.resource.Name]
		switch {
		case ok && (c.byHand == nil || *c.byHand != want):
			c.byHand = &want
			c.breaker.Force(now, want.Open, want.Until.UnixNano(), want.Why)
		case !ok && c.byHand != nil:
			c.byHand = nil
			c.breaker.Release(now)
		default:
			continue
		}
		s.pool.Stir(now, c.pooled)
	}
}
