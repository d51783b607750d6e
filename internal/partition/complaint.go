package partition

import (
	"cmp"
	"time"

	"github.com/weirhq/weir"
)

// Complaint is what a result says of the downstream, as scaling and flow control see it.
type Complaint struct {
	// Silent: it says nothing of the downstream.
	Silent bool
	// Refused is how many items were refused for being too many, and After how long
	// the downstream wants to be left alone; 0: it did not say.
	Refused int
	After   time.Duration
	// Failed: the task failed as a whole, or most of its items are to be tried again.
	Failed bool
	// Rejected: the endpoint rejected a call of several items as a whole. That is
	// a failure only of an endpoint that has done nothing right yet.
	Rejected bool
	// Misconfigured: it failed, and every call will until the configuration is fixed.
	Misconfigured bool
	// Code of the failure, if it failed or was rejected.
	Code string
}

// Complaint tells what r says of the downstream. A refusal of one tenant alone,
// and a failure that is ours, say nothing.
func (r *Result) Complaint() (c Complaint) {
	f := r.Failure
	switch {
	case f == nil:
		c = complaintOf(r.Outcomes)
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
	return c
}

// code is why the task failed, or the first of its items that did not succeed.
func (r *Result) code() string {
	if r.Failure != nil {
		return r.Failure.Code
	}
	for i := range r.Outcomes {
		if o := &r.Outcomes[i]; o.Kind != weir.Done {
			return cmp.Or(o.Code, o.Kind.String())
		}
	}
	return ""
}

func complaintOf(outcomes []weir.Outcome) (c Complaint) {
	again := 0
	for i := range outcomes {
		switch o := &outcomes[i]; o.Kind {
		case weir.Done, weir.Failed, weir.LeftOut:
		case weir.Refused:
			c.Refused++
			c.After = max(c.After, o.After)
		default:
			again++
		}
	}
	c.Failed = 2*again > len(outcomes)
	return c
}
