package watch

import (
	"slices"

	"github.com/weirhq/weir/api"
)

// cancellable are the states in which a cancel is possible.
var cancellable = []api.State{api.Running, api.Paused, api.Stopped, api.Awaiting, api.Sealed, api.Scheduled}

// cancelPreview returns what a cancel would do now; nil if it is not possible. Only the total of items in flight is
// known, so the items between two steps include those in flight.
func cancelPreview(p *api.Progress) *api.CancelPreview {
	if !slices.Contains(cancellable, p.State) {
		return nil
	}
	out := &api.CancelPreview{Items: p.Counts.Ready + p.Counts.Waiting, InFlight: p.Counts.InFlight}
	for i := 1; i < len(p.Steps); i++ {
		if n := p.Steps[i].Pending; n > 0 {
			out.Begun = append(out.Begun, api.BegunStep{Done: p.Steps[i-1].Step, Next: p.Steps[i].Step, Items: n})
		}
	}
	return out
}
