package watch

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/core/sched"
	"github.com/weirhq/weir/internal/engine"
)

// lanes holds what holds up resources now, by resource.
type lanes map[string]held

// held is what holds a resource up, with the details from the nodes.
type held struct {
	cause    api.Cause
	why      sched.Cause
	allowed  float64 // items per second that flow control allows at all nodes; 0: the limit
	bearable int     // calls at once that flow control allows at all nodes; 0: the limit
}

// Reasons lists every reason that waiting_on can have.
func Reasons() []string {
	all := append(sched.WaitingOn(), "failing", "retry", "approval", "unknown_action", "source", "late")
	for _, s := range []api.State{api.Draft, api.Importing, api.Sealed, api.Scheduled, api.Stopped,
		api.Cancelling} { // nothing starts in these
		all = append(all, string(s))
	}
	return all
}

// lanes asks all nodes for the causes of their lanes.
func (s *Watch) lanes(ctx context.Context) (lanes, error) {
	nodes, err := s.engine.Operator().Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the nodes: %w", err)
	}
	l := lanes{}
	for i := range nodes {
		for k := range nodes[i].Lanes {
			lane := &nodes[i].Lanes[k]
			name := lane.ID.Resource
			c := sched.CauseNamed(lane.Cause)
			paused := c == sched.CausePaused || c == sched.CauseTenantPaused // of others: what is paused itself shows its state
			if c.WaitingOn() != "" && !paused && l[name].cause.Reason == "" {
				h := l[name]
				h.cause, h.why = api.Cause{Reason: c.WaitingOn(), Resource: name}, c
				l[name] = h
			}
		}
	}
	for i := range nodes {
		l.explain(nodes[i].Resources)
	}
	return l, nil
}

// explain adds what flow control of a node knows about resources.
func (l lanes) explain(uses []weir.ResourceUse) {
	for i := range uses {
		u := &uses[i]
		h, ok := l[u.Name]
		if !ok {
			continue
		}
		if r := h.cause.Reason; r == "circuit_open" || r == "refused" {
			h.cause.Detail = cmp.Or(h.cause.Detail, u.Text)
		}
		if o := u.Outage; o != nil && h.cause.Reason == "circuit_open" && (h.cause.Since.IsZero() || o.Since.Before(h.cause.Since)) {
			h.cause.Since, h.cause.Until = o.Since, u.CircuitUntil
		}
		if u.Limited {
			h.allowed += u.Allowed
		}
		h.bearable += u.Bearable
		l[u.Name] = h
	}
}

// causes returns why a bulk action moves no faster, in words, too.
func (s *Watch) causes(b *engine.BulkAction, info *engine.Info, p *weir.Progress, out *api.Progress, l lanes) []api.Cause {
	return s.say(s.reasons(b, info, p, out, l), info, out, l)
}

// reasons returns why a bulk action moves no faster: from its owner if known, else from the causes
// of the lanes for which it has items.
func (s *Watch) reasons(b *engine.BulkAction, info *engine.Info, p *weir.Progress, out *api.Progress, l lanes) []api.Cause {
	switch {
	case p.State == weir.BulkAwaiting:
		return []api.Cause{{Reason: "approval"}}
	case p.State.Final():
		return []api.Cause{}
	case p.State != weir.BulkRunning: // nothing starts, whatever the lanes wait for; cancelling: running calls have to end
		return []api.Cause{{Reason: p.State.String()}}
	case s.engine.TenantPaused(info.Tenant):
		return []api.Cause{{Reason: "paused_tenant"}}
	}
	if why := s.bulks.UnknownChain(b); why != "" {
		return []api.Cause{{Reason: "unknown_action", Detail: why}}
	}
	held := s.heldUp(out, l)
	list := []api.Cause{}
	if p.Failing() {
		list = append(list, s.failing(p.LastError, out))
	}
	late := slices.Contains(p.WaitingOn, "late")
	words := slices.DeleteFunc(slices.Clone(p.WaitingOn), func(word string) bool { return word == "late" })
	for _, word := range words {
		if !p.Failing() || word != list[0].Reason {
			list = append(list, s.placed(word, info, out, held))
		}
	}
	if len(words) == 0 {
		list = append(list, held...)
	}
	if word := ownLimit(info, out); len(list) == 0 && word != "" { // nothing holds up its lanes
		list = append(list, s.placed(word, info, out, nil))
	}
	if len(list) == 0 && out.Counts.Waiting > 0 && out.Counts.InFlight == 0 {
		list = append(list, api.Cause{Reason: "retry"})
	}
	if late {
		list = append(list, api.Cause{Reason: "late"})
	}
	return list
}

// nearRate is the least part of its own rate at which a bulk action is said to wait for that rate.
const nearRate = 0.8

// ownLimit returns which of its own limits a bulk action waits for when nothing else holds it up: a rate
// only while it runs nearly as fast as that, or if it has no limit of calls at once. Empty: neither.
func ownLimit(info *engine.Info, out *api.Progress) string {
	if out.Counts.Ready == 0 {
		return ""
	}
	rate := weir.Rate(0)
	for _, st := range slices.Backward(out.Steps) {
		if st.Pending > 0 && info.Rates[st.Step] > 0 {
			rate = info.Rates[st.Step]
			break
		}
	}
	near := rate > 0 && out.Rate >= nearRate*float64(rate)
	begun := out.Rate > 0 || out.Counts.InFlight >= int64(info.Concurrency) // else its speed says nothing yet
	switch {
	case info.Concurrency > 0 && begun && !near:
		return "concurrency"
	case rate > 0:
		return "rate"
	}
	return ""
}

// failing returns which calls fail, and why.
func (s *Watch) failing(e *weir.LastError, out *api.Progress) api.Cause {
	c := api.Cause{Reason: "failing", Step: e.Step, Detail: e.String()}
	if e.Code == "refused" {
		c.Reason = e.Code
	}
	for _, st := range out.Steps {
		if st.Step == e.Step {
			c.Resource = s.resourceOf(st.Action)
		}
	}
	return c
}

// heldUp returns the steps whose lanes are held up, the last step first: it holds up the steps
// before it.
func (s *Watch) heldUp(out *api.Progress, l lanes) []api.Cause {
	list := []api.Cause{}
	for _, st := range slices.Backward(out.Steps) {
		if st.Pending == 0 {
			continue
		}
		resource := s.resourceOf(st.Action)
		if c := l[resource].cause; c.Reason != "" {
			c.Step = st.Step
			list = append(list, c)
		}
	}
	return list
}

// placed adds where a reason applies, as far as that is known.
func (s *Watch) placed(word string, info *engine.Info, out *api.Progress, held []api.Cause) api.Cause {
	for _, h := range held {
		if h.Reason == word {
			return h
		}
	}
	var at []api.StepProgress
	for _, st := range out.Steps {
		if st.Pending > 0 {
			at = append(at, st)
		}
	}
	if word == "rate" { // perhaps its own rate
		for _, st := range slices.Backward(at) {
			if info.Rates[st.Step] > 0 {
				return api.Cause{Reason: word, Resource: s.resourceOf(st.Action), Step: st.Step}
			}
		}
	}
	if len(at) == 1 {
		return api.Cause{Reason: word, Resource: s.resourceOf(at[0].Action), Step: at[0].Step}
	}
	return api.Cause{Reason: word}
}

// resourceOf returns the resource of an action; empty: the action is unknown here.
func (s *Watch) resourceOf(name string) string {
	a, err := s.actions.Find(name)
	if err != nil {
		return ""
	}
	return a.Base.Resource.Name
}
