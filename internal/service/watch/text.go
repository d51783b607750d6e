package watch

import (
	"fmt"
	"math"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/core/sched"
	"github.com/weirhq/weir/internal/engine"
)

// texts says, by reason, what a bulk action waits on, where no resource or limit has to be named.
// API, command line and pages all show these words. They contain no times: a text cannot know the
// reader's zone.
var texts = map[string]string{
	"rate":           "Its rate",
	"concurrency":    "Calls at once",
	"no_workers":     "A free worker",
	"fair_share":     "Its turn: other tenants have their share first",
	"first_call":     "The response to the first call",
	"circuit_open":   "A circuit, which is open",
	"refused":        "The service: it refuses calls",
	"failing":        "The service: calls fail",
	"retry":          "The next attempt of its items",
	"unknown_action": "A node that has its actions",
	"source":         "Its source, which cannot be read now",
	"approval":       "Approval of the rest",
	"paused":         "You: it is paused",
	"paused_tenant":  "An operator: the tenant is paused",
	"late":           "More capacity: it will miss its deadline",
	"draft":          "You: it is not sealed yet",
	"importing":      "Its items, which are being read",
	"sealed":         "You: it is not started yet",
	"scheduled":      "Its start time",
	"stopped":        "You: resume it, or cancel it",
	"cancelling":     "Calls that are still running",
}

// Text says in words what a bulk action waits on for a reason.
func Text(reason string) string { return texts[reason] }

// textOf says a cause in words, with the resource if it has one.
func textOf(c api.Cause) string {
	if c.Resource == "" {
		return texts[c.Reason]
	}
	switch c.Reason {
	case "rate":
		return "Rate of " + c.Resource
	case "concurrency":
		return "Calls at once of " + c.Resource
	case "fair_share":
		return "Its turn on " + c.Resource + ": other tenants have their share first"
	case "first_call":
		return "The response to the first call of " + c.Resource
	case "circuit_open":
		return "Circuit of " + c.Resource + ", which is open"
	case "refused":
		return "The service behind " + c.Resource + ": it refuses calls"
	case "failing":
		return "The service behind " + c.Resource + ": calls fail"
	}
	return texts[c.Reason]
}

// say puts causes into words, with the limits that apply.
func (s *Watch) say(list []api.Cause, info *engine.Info, out *api.Progress, l lanes) []api.Cause {
	for i := range list {
		c := &list[i]
		c.Text = textOf(*c)
		switch c.Reason {
		case "rate":
			c.Text = s.rateText(c, info, out, l)
		case "concurrency":
			c.Text = s.concurrencyText(c, info, out, l)
		case "scheduled":
			c.Until = info.StartAt
		}
	}
	return list
}

// rateText names the rate that holds a bulk action up: its own, what flow control allows, or the limit.
func (s *Watch) rateText(c *api.Cause, info *engine.Info, out *api.Progress, l lanes) string {
	if c.Resource == "" {
		return c.Text
	}
	limit, own, is := s.inForce(c.Resource, out).Rate, info.Rates[c.Step], l[c.Resource]
	switch {
	case own > 0 && (limit == 0 || own < limit) && (is.allowed == 0 || float64(own) < is.allowed):
		return fmt.Sprintf("Its own rate of %s, %v", c.Step, own)
	case is.allowed > 0 && (limit == 0 || is.allowed < float64(limit)):
		return fmt.Sprintf("%s, which flow control keeps at %v", c.Text, weir.Rate(max(math.Round(is.allowed*100)/100, 0.01)))
	case limit > 0:
		return fmt.Sprintf("%s, %v", c.Text, limit)
	}
	return c.Text
}

// concurrencyText names the bound on calls that holds a bulk action up: of the resource, of the
// bulk action, or of its tenant.
func (s *Watch) concurrencyText(c *api.Cause, info *engine.Info, out *api.Progress, l lanes) string {
	limit, tenant := 0, s.engine.TenantLimits(info.Tenant).MaxTasks
	if c.Resource != "" {
		limit = s.inForce(c.Resource, out).Concurrency
	}
	is := l[c.Resource]
	switch ofResource := is.why == sched.CauseConcurrency; {
	case ofResource && is.bearable > 0 && (limit == 0 || is.bearable < limit):
		return fmt.Sprintf("%s, which flow control keeps at %d", c.Text, is.bearable)
	case limit > 0 && (ofResource || info.Concurrency == 0 && tenant == 0):
		return fmt.Sprintf("%s, %d", c.Text, limit)
	case ofResource:
		return c.Text
	case info.Concurrency > 0:
		return fmt.Sprintf("Its own calls at once, %d", info.Concurrency)
	case tenant > 0:
		return fmt.Sprintf("Calls at once of tenant %s, %d on a node", info.Tenant, tenant)
	}
	return c.Text
}

// inForce returns the resource of one of a bulk action's steps, with the limits that apply now.
func (s *Watch) inForce(name string, out *api.Progress) weir.Resource {
	for _, st := range out.Steps {
		if a, err := s.actions.Find(st.Action); err == nil && a.Base.Resource.Name == name {
			return s.engine.InForce(a.Base.Resource)
		}
	}
	return weir.Resource{}
}

// noEnd says why the end of a bulk action is not known; empty if it has ended.
func noEnd(state api.State, p *weir.Progress, tenantPaused bool) string {
	switch {
	case state.Final():
		return ""
	case state == api.Paused:
		return "It is paused."
	case state == api.Awaiting:
		return "It waits for approval."
	case state == api.Stopped:
		return "A rule has stopped it."
	case state == api.Cancelling:
		return "It is being cancelled."
	case state != api.Running:
		return "It has not started."
	case tenantPaused:
		return "Its tenant is paused."
	case p.Failing():
		return "The latest calls failed."
	case p.Canary:
		return "Its canary runs; the rest needs approval."
	}
	return "Nothing has ended lately."
}
