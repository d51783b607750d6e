package dashboard

import (
	"context"
	"fmt"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// tooLate answers the question of a cancel that came too late, maybe while its page was open. Other questions are refused.
func (v *visit) tooLate(ctx context.Context, refused error) (*question, error) {
	if v.PathValue("verb") != "cancel" {
		return nil, refused
	}
	b, err := v.api.Get(ctx, v.PathValue("id"))
	if err != nil {
		return nil, err
	}
	q := &question{Up: "/bulk-actions/" + escape(b.ID), UpName: b.Name, Scope: verbNamed("cancel").Scope, Title: "Cancel " + b.Name + "?", Live: true}
	switch {
	case b.State == api.Cancelling:
		q.Over = b.Name + " is being cancelled already."
	case b.State == api.Cancelled:
		q.Over = b.Name + " is cancelled already."
	case b.State.Final():
		q.Over = fmt.Sprintf("%s has ended: %s done, %s failed. Nothing is left to cancel.", b.Name, format.Items(b.Counts.Done), format.Count(b.Counts.Failed))
	default:
		return nil, refused
	}
	return q, nil
}

// askCancel makes the question of a cancel.
func askCancel(_ *api.BulkAction, p *api.Progress, q *question) {
	if p.Cancel == nil {
		return
	}
	c := p.Counts
	q.Items, q.Left, q.Live = p.Cancel.Items, p.Cancel.Items+p.Cancel.InFlight, true
	q.Facts = []fact{{"Will not run", fmt.Sprintf("%s: %s ready and %s waiting to retry", format.Items(q.Items), format.Count(c.Ready), format.Count(c.Waiting))}}
	for _, x := range p.Cancel.Begun { // they are ready, waiting or in flight
		text := fmt.Sprintf("%s done %s and will not get %s", format.Plural(x.Items, "item has", "items have"), x.Done, x.Next)
		if c.InFlight > 0 {
			text += ", except those in flight there"
		}
		q.Facts = append(q.Facts, fact{"Ends half-done", text})
	}
	flight := format.Items(c.InFlight)
	if c.InFlight > 0 {
		flight += ": their calls end; those with a step or an attempt left are then cancelled"
	}
	q.Facts = append(q.Facts, // with those that will not run, each item is in one of them
		fact{"In flight", flight},
		fact{"Stays done", format.Items(c.Done) + ". Cancelling does not undo them."},
		fact{"Stays failed", format.Items(c.Failed) + ". They can be retried."},
	)
	if c.Cancelled > 0 {
		q.Facts = append(q.Facts, fact{"Was left out", format.Items(c.Cancelled)})
	}
	q.Facts = append(q.Facts, fact{"In all", format.Items(c.Total)})
	q.Text = "A cancelled bulk action cannot be resumed. To stop now and continue later, pause it."
	q.Button, q.Stay = "Cancel "+format.Items(q.Items), "Keep it running"
}
