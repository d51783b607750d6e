package watch

import (
	"slices"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/words"
)

// cancellable are the states in which a cancel is possible.
var cancellable = []api.State{api.Running, api.Paused, api.Stopped, api.Awaiting, api.Sealed, api.Scheduled}

// cancelPreview returns what a cancel would do now; nil if it is not possible. Only the total of items in flight is
// known, so the items between two steps include those in flight. An undo undoes a step in each of its own. atRisk are
// items that may have been in a call when a node died; the report of a cancelled bulk action counts them, too.
func cancelPreview(p *api.Progress, atRisk int64, undo bool) *api.CancelPreview {
	if !slices.Contains(cancellable, p.State) {
		return nil
	}
	out := &api.CancelPreview{Items: p.Counts.Ready + p.Counts.Waiting, InFlight: p.Counts.InFlight}
	out.Text = endText(out, undo)
	for i := range p.Steps {
		out.Unclear += p.Steps[i].Unclear
	}
	switch out.Unclear += atRisk; {
	case atRisk > 0:
		out.UnclearText = "Up to " + words.Plural(out.Unclear, "item was", "items were") + " called, or in a call when a node died, and gave no clear answer so far: the service may have done the work."
	case out.Unclear > 0:
		out.UnclearText = words.Plural(out.Unclear, "item was", "items were") + " called and gave no clear answer so far: the service may have done the work."
	}
	for i := 1; i < len(p.Steps); i++ {
		if n := p.Steps[i].Pending; n > 0 {
			x := api.BegunStep{Done: p.Steps[i-1].Step, Next: p.Steps[i].Step, Items: n}
			x.Text = begunText(&x, undo, p.Counts.InFlight > 0)
			out.Begun = append(out.Begun, x)
		}
	}
	return out
}

// endText says what a cancel would do to the items that have not ended.
func endText(c *api.CancelPreview, undo bool) string {
	text := words.Items(c.Items) + " will be cancelled."
	if undo {
		text = words.Items(c.Items) + " will not be undone. What is undone stays undone."
	}
	if c.InFlight > 0 {
		text += " " + words.Items(c.InFlight) + " in flight: their calls end; those with a step or an attempt left are then cancelled."
	}
	return text
}

// begunText says what a cancel would mean for items between two steps.
func begunText(x *api.BegunStep, undo, flying bool) string {
	did, rest := " done ", ""
	if undo { // an item may have had nothing to undo in the step before
		did, rest = " passed ", ": what that would have undone stays done"
	}
	text := words.Plural(x.Items, "item has", "items have") + did + x.Done + " and will not get " + x.Next
	if flying {
		text += ", except those in flight there"
	}
	return text + rest + "."
}
