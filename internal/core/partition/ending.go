package partition

import (
	"cmp"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
)

// ending returns what r says about the downstream. A refusal of one tenant alone, and a failure
// on our side, say nothing.
func (r *Result) ending() (c capacity.Ending) {
	f := r.Failure
	switch {
	case f == nil:
		c = endingOf(r.Outcomes)
		c.Rejected = r.Rejected && len(r.Outcomes) > 1
	case f.OfTenant || f.Ours:
		c.Silent = true
	case f.Refused:
		c.Refused, c.After = len(r.Task.Items), f.After
	default:
		c.Failed, c.Misconfigured = true, f.Misconfigured
	}
	if c.Failed || c.Rejected {
		c.Code = r.code()
	}
	c.Service = r.Service
	return c
}

// code returns why the task failed, or why the first of its items did not succeed.
func (r *Result) code() string {
	if r.Failure != nil {
		return r.Failure.Code
	}
	for i := range r.Outcomes {
		if o := &r.Outcomes[i]; o.Kind != weir.OutcomeDone {
			return cmp.Or(o.Code, o.Kind.String())
		}
	}
	return ""
}

// endingOf returns what the answers for single items say. An answer that asks for another
// attempt is about its item: the endpoint works.
func endingOf(outcomes []weir.Outcome) (c capacity.Ending) {
	missing := 0
	for i := range outcomes {
		switch o := &outcomes[i]; o.Kind {
		case weir.OutcomeRefused:
			c.Refused++
			c.After = max(c.After, o.After)
		case weir.OutcomeNone:
			missing++
		default: // the endpoint has answered
		}
	}
	c.Failed = 2*missing > len(outcomes)
	return c
}
