package dashboard

import (
	"context"
	"fmt"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
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

const staysFailed = "Stays failed"

// askCancel makes the question of a cancel.
func askCancel(b *api.BulkAction, p *api.Progress, q *question) {
	if p.Cancel == nil {
		return
	}
	c := p.Counts
	q.Items, q.Left, q.Live = p.Cancel.Items, p.Cancel.Items+p.Cancel.InFlight, true
	q.Facts = []fact{{"Will not run", fmt.Sprintf("%s: %s ready and %s waiting to retry", format.Items(q.Items), format.Count(c.Ready), format.Count(c.Waiting))}}
	ends := "Ends half-done"
	if b.UndoOf != "" {
		ends = "Ends half-undone"
	}
	for _, x := range p.Cancel.Begun { // they are ready, waiting or in flight
		q.Facts = append(q.Facts, fact{ends, x.Text})
	}
	if p.Cancel.Unclear > 0 {
		q.Facts = append(q.Facts, fact{"No clear answer", p.Cancel.UnclearText})
	}
	flight := format.Items(c.InFlight)
	if c.InFlight > 0 {
		flight += ": their calls end; those with a step or an attempt left are then cancelled"
	}
	stays := fact{"Stays done", format.Items(c.Done) + ". Cancelling does not undo them."}
	if b.UndoOf != "" {
		stays = fact{"Stays undone", format.Items(c.Done) + ". Cancelling does not do them again."}
	}
	q.Facts = append(q.Facts, // with those that will not run, each item is in one of them
		fact{"In flight", flight}, stays, fact{staysFailed, format.Items(c.Failed) + ". They can be retried."},
	)
	if c.Cancelled > 0 {
		q.Facts = append(q.Facts, fact{"Was left out", format.Items(c.Cancelled)})
	}
	q.Facts = append(q.Facts, fact{"In all", format.Items(c.Total)})
	q.Text = "A cancelled bulk action cannot be resumed. To stop now and continue later, pause it."
	if b.UndoOf != "" {
		q.Text = "This cancels the undo: items that are undone stay undone, and all others stay as the bulk action left them. " +
			"A cancelled undo cannot be resumed; its cancelled items can be run. To stop now and continue later, pause it."
	}
	q.Button, q.Stay = "Cancel "+format.Items(q.Items), "Keep it running"
	if b.State != api.Running {
		q.Stay = "Keep it"
	}
	if b.UndoOf != "" {
		q.Facts[0].Name, q.Button = "Will not be undone", "Cancel the undo of "+format.Items(q.Items)
	}
}

// runCancelled is the verb that runs the items that were cancelled with a bulk action.
const runCancelled = "run-cancelled"

// neverRun returns how many items were cancelled with a bulk action and were not taken by a retry. Items that a step left
// out are not among them. How many cancelled items a retry took follows from the report: what is missing in the sum over
// all retries was taken.
func (v *visit) neverRun(ctx context.Context, b *api.BulkAction, p *api.Progress) (left int64, err error) {
	for _, s := range p.Steps {
		left += s.Cancelled
	}
	if left == 0 || len(b.Retries) == 0 {
		return left, nil
	}
	all := left
	r, err := v.api.Report(ctx, b.ID)
	if err != nil || r.Combined == nil {
		return left, err
	}
	left += r.Combined.Cancelled - r.Counts.Cancelled
	for _, id := range b.Retries { // what they have cancelled is theirs to run
		x, err := v.api.Report(ctx, id)
		if client.IsCode(err, "not_found") {
			return 0, nil // what it took is not known any more
		}
		if err != nil {
			return 0, err
		}
		k := x.Counts
		if x.Combined != nil {
			k = *x.Combined
		}
		left -= k.Cancelled
	}
	return min(max(left, 0), all), nil
}

func cancelledItems(n int64) string { return format.Plural(n, "cancelled item", "cancelled items") }

// askRunCancelled makes the question before cancelled items run. The cancelled items of b are those that are left.
func askRunCancelled(b *api.BulkAction, p *api.Progress, q *question) {
	q.Items = b.Counts.Cancelled
	q.Title, q.Button, q.Stay = fmt.Sprintf("Run %s of %s?", cancelledItems(q.Items), b.Name), "Run "+cancelledItems(q.Items), "Leave them cancelled"
	q.Facts = append([]fact{{"Will run", format.Items(q.Items) + ", each from the step at which it was cancelled"}}, q.Facts...)
	if len(b.Retries) == 0 { // else it is not known where those that are left were cancelled
		for i, s := range p.Steps {
			if i > 0 && s.Cancelled > 0 {
				q.Facts = append(q.Facts, fact{"Half-done", fmt.Sprintf("%s done %s and will get %s", format.Plural(s.Cancelled, "item has", "items have"), p.Steps[i-1].Step, s.Step)})
			}
		}
	}
	q.Facts = append(q.Facts, fact{"As", "New bulk actions, linked to this one. The report of this one counts both."})
	q.Text = "They start at once. You can pause and cancel them like any other bulk action."
}

// staysUnclear says of the failed items, which a cancel does not change, how many of them the service may have done.
func (v *visit) staysUnclear(ctx context.Context, b *api.BulkAction, q *question) error {
	for i := range q.Facts {
		if f := &q.Facts[i]; f.Name == staysFailed {
			groups, err := v.api.ErrorGroups(ctx, b.ID)
			if err != nil {
				return err
			}
			if n := unclearIn(groups); n > 0 {
				f.Value += fmt.Sprintf(" %s no clear answer: the service may have done the work, and a retry sends the same keys.", format.Plural(n, "of them has", "of them have"))
			}
		}
	}
	return nil
}

// unclearIn counts the items of error groups that have no clear answer.
func unclearIn(groups []api.ErrorGroup) (n int64) {
	for i := range groups {
		if groups[i].Unclear {
			n += groups[i].Count
		}
	}
	return n
}
