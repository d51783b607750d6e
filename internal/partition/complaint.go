package partition

import (
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
		c.Failed = true
	}
	return c
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
