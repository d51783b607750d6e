package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine/limits"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/engine/scaling"
	"github.com/weirhq/weir/store"
)

// Operator looks after a fleet: it reads what nodes tell and what was decided,
// and changes settings that hold for all nodes. It needs the store and no engine;
// every [Engine] has one.
type Operator struct {
	store store.Store
	obey  func(context.Context) error // has the engine of this process read the limits; nil: there may be none
}

// NewOperator makes an operator on the store of a fleet. It writes nothing that it is not told to.
func NewOperator(s store.Store) *Operator { return &Operator{store: s} }

// Partitions is how many partitions new work is spread over; [store.ErrNotFound]
// if no engine has ever used the store.
func (o *Operator) Partitions(ctx context.Context) (int, error) {
	m, err := own.ReadMap(ctx, o.store)
	if err != nil {
		return 0, err
	}
	return m.Partitions, nil
}

// Nodes tells what every node of the fleet observed of itself and of its lanes,
// within the last second or two, or three while none has anything to do.
func (o *Operator) Nodes(ctx context.Context) ([]weir.Node, error) {
	nodes, err := scaling.Nodes(ctx, o.store)
	for _, n := range nodes {
		slices.SortFunc(n.Lanes, func(a, b weir.Lane) int {
			return cmp.Or(a.ID.Partition-b.ID.Partition, cmp.Compare(a.ID.Resource, b.ID.Resource))
		})
	}
	return nodes, err
}

// Plan is what the leader thinks of all lanes. Without a leader it is what was
// decided last.
func (o *Operator) Plan(ctx context.Context) (weir.Plan, error) { return scaling.Plan(ctx, o.store) }

// Limits is what operators have set of resources and tenants.
func (o *Operator) Limits(ctx context.Context) (weir.Limits, error) { return limits.Read(ctx, o.store) }

// SetLimits changes what resources and tenants may use, on all nodes, also for
// work that runs. When it returns, the change is in force: every node keeps to it
// or starts nothing. Nothing changes if the result cannot be used.
func (o *Operator) SetLimits(ctx context.Context, change func(*weir.Limits)) error {
	return o.ChangeLimits(ctx, func(l *weir.Limits) error { change(l); return nil })
}

// ChangeLimits is [Operator.SetLimits] with a change that may refuse, having
// seen what is there. It is called again if another change was faster.
func (o *Operator) ChangeLimits(ctx context.Context, change func(*weir.Limits) error) error {
	return limits.Change(ctx, o.store, o.obey, change)
}

// LimitsWithin is how long a change of limits takes to be in force at most, and
// how soon all nodes keep to circuits set by hand.
const LimitsWithin = limits.Within

// Settings is what operators have set; what is zero follows the options of the engines.
func (o *Operator) Settings(ctx context.Context) (weir.Scaling, error) {
	return scaling.Settings(ctx, o.store)
}

// SetScaling changes how workers follow the load, on all nodes within a second or two. What
// change leaves zero follows the engine's options. Nothing changes if the
// result cannot be used.
func (o *Operator) SetScaling(ctx context.Context, change func(*weir.Scaling)) error {
	return scaling.Change(ctx, o.store, change)
}

// Pin sets the number of workers of a lane by hand, for a time and with a reason.
func (o *Operator) Pin(ctx context.Context, lane weir.LaneID, workers int, d time.Duration, why string) error {
	if workers < 0 || d <= 0 || why == "" {
		return fmt.Errorf("pin %v: %d workers for %v because of %q: want at least 0 workers, a time above 0 and a reason",
			lane, workers, d, why)
	}
	return o.SetScaling(ctx, func(s *weir.Scaling) {
		if s.Pins == nil {
			s.Pins = map[weir.LaneID]weir.Pin{}
		}
		s.Pins[lane] = weir.Pin{Workers: workers, Until: time.Now().Add(d).UTC(), Why: why}
	})
}

// Unpin ends what Pin began.
func (o *Operator) Unpin(ctx context.Context, lane weir.LaneID) error {
	return o.SetScaling(ctx, func(s *weir.Scaling) { delete(s.Pins, lane) })
}

// OpenCircuit lets nothing start on a resource, for a time and with a reason.
func (o *Operator) OpenCircuit(ctx context.Context, resource string, d time.Duration, why string) error {
	return o.setCircuit(ctx, resource, weir.Circuit{Open: true, Until: time.Now().Add(d).UTC(), Why: why})
}

// CloseCircuit lets work start on a resource whatever fails there, for a time and
// with a reason.
func (o *Operator) CloseCircuit(ctx context.Context, resource string, d time.Duration, why string) error {
	return o.setCircuit(ctx, resource, weir.Circuit{Until: time.Now().Add(d).UTC(), Why: why})
}

// FreeCircuit ends what OpenCircuit or CloseCircuit began: the circuit follows
// what happens again.
func (o *Operator) FreeCircuit(ctx context.Context, resource string) error {
	return o.SetScaling(ctx, func(s *weir.Scaling) { delete(s.Circuits, resource) })
}

// ProbeCircuit lets one call per node test the downstream of an open circuit now. If it fails, the
// circuit stays open, and the nodes decide when to test again. A circuit that is closed, or was
// opened by hand, stays as it is.
func (o *Operator) ProbeCircuit(ctx context.Context, resource string) error {
	if err := o.wantResource(ctx, resource); err != nil {
		return err
	}
	return o.SetScaling(ctx, func(s *weir.Scaling) {
		if s.Probes == nil {
			s.Probes = map[string]time.Time{}
		}
		asked, last := time.Now().UTC(), s.Probes[resource]
		if !asked.After(last) { // clocks differ, and nodes obey only what is newer
			asked = last.Add(1)
		}
		s.Probes[resource] = asked
	})
}

// wantResource refuses a resource that no node knows.
func (o *Operator) wantResource(ctx context.Context, resource string) error {
	known, err := o.Resources(ctx)
	if err == nil && !slices.Contains(known, resource) {
		err = fmt.Errorf("circuit of %q: %w", resource, &weir.FieldError{Code: "unknown_resource", Field: "resource",
			Problem: "no such resource", Fix: "there are: " + strings.Join(known, ", ")})
	}
	return err
}

func (o *Operator) setCircuit(ctx context.Context, resource string, c weir.Circuit) error {
	if err := o.wantResource(ctx, resource); err != nil {
		return err
	}
	if !c.Until.After(time.Now()) || c.Why == "" {
		return fmt.Errorf("circuit of %q: %w", resource,
			&weir.FieldError{Code: "out_of_range", Field: "for", Problem: fmt.Sprintf("until %v because of %q", c.Until, c.Why),
				Fix: "want a time above 0 and a reason"})
	}
	return o.SetScaling(ctx, func(s *weir.Scaling) {
		if s.Circuits == nil {
			s.Circuits = map[string]weir.Circuit{}
		}
		s.Circuits[resource] = c
	})
}

// Resources lists the resources that some node has registered, or that
// something was decided about.
func (o *Operator) Resources(ctx context.Context) (names []string, err error) {
	nodes, err := scaling.Nodes(ctx, o.store)
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		for _, u := range n.Resources {
			names = append(names, u.Name)
		}
	}
	plan, err := o.Plan(ctx)
	for i := range plan.Lanes {
		names = append(names, plan.Lanes[i].Lane.Resource)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// Decisions reads the newest decisions about a lane, the newest first. Those of
// a shadow policy are among them.
func (o *Operator) Decisions(ctx context.Context, lane weir.LaneID, most int) ([]weir.Decision, error) {
	return scaling.Decisions(ctx, o.store, lane, most)
}

// Changes reads when flow control began or ceased to hold a resource down, at
// which node and why, the newest first.
func (o *Operator) Changes(ctx context.Context, resource string, most int) ([]weir.ResourceChange, error) {
	return scaling.Changes(ctx, o.store, resource, most)
}

// Losses lists the losses of all partitions that the store remembers, oldest first.
func (o *Operator) Losses(ctx context.Context) (out []weir.Loss, err error) {
	m, err := own.ReadMap(ctx, o.store)
	if err != nil {
		return nil, err
	}
	for _, l := range m.Losses {
		if l.Restored == 0 {
			out = append(out, l.Public())
		}
	}
	return out, nil
}
