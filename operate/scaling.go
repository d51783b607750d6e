package operate

import (
	"context"
	"time"

	"github.com/weirhq/weir"
)

// Scaling returns what operators have set; what is zero follows the options of the engines.
func (o *Operator) Scaling(ctx context.Context) (weir.Scaling, error) { return o.of.Settings(ctx) }

// SetScaling changes how workers follow the load, on all nodes within a second or two. What change
// leaves zero follows the options of the engines. Nothing changes if the result is not valid.
// change is called again if another change was faster.
func (o *Operator) SetScaling(ctx context.Context, change func(*weir.Scaling)) error {
	return o.of.SetScaling(ctx, change)
}

// Pin sets the number of workers of a lane by hand, for a time and with a reason.
func (o *Operator) Pin(ctx context.Context, lane weir.LaneID, workers int, d time.Duration, why string) error {
	return o.of.Pin(ctx, lane, workers, d, why)
}

// Unpin ends what Pin began.
func (o *Operator) Unpin(ctx context.Context, lane weir.LaneID) error { return o.of.Unpin(ctx, lane) }

// OpenCircuit lets nothing start on a resource, for a time and with a reason.
func (o *Operator) OpenCircuit(ctx context.Context, resource string, d time.Duration, why string) error {
	return o.of.OpenCircuit(ctx, resource, d, why)
}

// CloseCircuit lets work start on a resource whatever fails there, for a time and with a reason.
func (o *Operator) CloseCircuit(ctx context.Context, resource string, d time.Duration, why string) error {
	return o.of.CloseCircuit(ctx, resource, d, why)
}

// FreeCircuit ends what OpenCircuit or CloseCircuit began: the circuit follows what happens again.
func (o *Operator) FreeCircuit(ctx context.Context, resource string) error {
	return o.of.FreeCircuit(ctx, resource)
}

// ProbeCircuit lets one call per node test the downstream of an open circuit now. If it fails, the circuit stays
// open, and the nodes decide when to test again. A circuit that is closed, or was opened by hand, stays as it is.
func (o *Operator) ProbeCircuit(ctx context.Context, resource string) error {
	return o.of.ProbeCircuit(ctx, resource)
}

// Plan returns what the leader thinks of all lanes. Without a leader it is what was decided last.
func (o *Operator) Plan(ctx context.Context) (weir.Plan, error) { return o.of.Plan(ctx) }

// Decisions returns the newest decisions about a lane, at most so many, the newest first. Those of a
// shadow policy are among them.
func (o *Operator) Decisions(ctx context.Context, lane weir.LaneID, most int) ([]weir.Decision, error) {
	return o.of.Decisions(ctx, lane, most)
}

// Changes returns when flow control began or ceased to hold a resource down, at which node and why:
// at most so many, the newest first.
func (o *Operator) Changes(ctx context.Context, resource string, most int) ([]weir.ResourceChange, error) {
	return o.of.Changes(ctx, resource, most)
}
