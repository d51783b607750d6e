package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/coord"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

const scalingRecord = "scaling"

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
// within the last second or two.
func (o *Operator) Nodes(ctx context.Context) ([]weir.Node, error) {
	nodes, err := o.announcedLanes(ctx)
	for _, n := range nodes {
		slices.SortFunc(n.Lanes, func(a, b weir.Lane) int {
			return cmp.Or(a.ID.Partition-b.ID.Partition, cmp.Compare(a.ID.Resource, b.ID.Resource))
		})
	}
	return nodes, err
}

// Plan is what the leader thinks of all lanes. Without a leader it is what was
// decided last.
func (o *Operator) Plan(ctx context.Context) (p weir.Plan, err error) {
	records, err := o.store.Announced(ctx, planTopic)
	if err != nil {
		return p, fmt.Errorf("read the leader's plan: %w", err)
	}
	if len(records) > 0 {
		if err := json.Unmarshal(records[0].Value, &p); err != nil {
			return p, fmt.Errorf("the leader's plan: %w: %w", store.ErrCorrupt, err)
		}
		return p, nil
	}
	c := coord.New()
	err = eachDecision(stored.At(ctx, o.store, store.Control), func(_ []byte, d *weir.Decision) { c.Remember(d) })
	return c.Plan(0, nil), err
}

// Settings is what operators have set; what is zero follows the options of the engines.
func (o *Operator) Settings(ctx context.Context) (weir.Scaling, error) {
	s, _, err := o.settings(ctx)
	coord.Expire(&s, time.Now().UnixNano())
	return s, err
}

// SetScaling changes how workers follow the load, on all nodes and at once. What
// change leaves zero follows the engine's options. Nothing changes if the
// result cannot be used.
func (o *Operator) SetScaling(ctx context.Context, change func(*weir.Scaling)) error {
	for {
		s, old, err := o.settings(ctx)
		if err != nil {
			return err
		}
		coord.Expire(&s, time.Now().UnixNano())
		change(&s)
		if err := coord.Validate(&s); err != nil {
			return fmt.Errorf("scaling: %w", err)
		}
		raw, err := json.Marshal(&s)
		if err != nil {
			return err
		}
		now, err := o.store.Swap(ctx, scalingRecord, old, raw)
		if err != nil {
			return fmt.Errorf("write scaling: %w", err)
		}
		if string(now) == string(raw) {
			return nil
		}
	}
}

func (o *Operator) settings(ctx context.Context) (s weir.Scaling, raw []byte, err error) {
	raw, err = o.store.Lookup(ctx, scalingRecord)
	if errors.Is(err, store.ErrNotFound) {
		return s, nil, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		return s, nil, fmt.Errorf("read scaling: %w", err)
	}
	return s, raw, nil
}

// Pin sets the number of workers of a lane by hand, for a time and with a reason.
func (o *Operator) Pin(ctx context.Context, lane weir.LaneID, workers int, d time.Duration, why string) error {
	if workers < 0 || d <= 0 || why == "" {
		return fmt.Errorf("pin %v: %d workers for %v because of %q: want at least 0 workers, a time above 0 and a reason", lane, workers, d, why)
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

func (o *Operator) setCircuit(ctx context.Context, resource string, c weir.Circuit) error {
	known, err := o.Resources(ctx)
	switch {
	case err != nil:
		return err
	case !slices.Contains(known, resource):
		return fmt.Errorf("circuit of %q: %w", resource,
			&weir.FieldError{Code: "unknown_resource", Field: "resource", Problem: "no such resource", Fix: "there are: " +
				strings.Join(known, ", ")})
	case !c.Until.After(time.Now()) || c.Why == "":
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
	nodes, err := o.announcedLanes(ctx)
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
	return newest[weir.Decision](stored.At(ctx, o.store, store.Control), decisionsOf(lane), most)
}

// Changes reads when flow control began or ceased to hold a resource down, at
// which node and why, the newest first.
func (o *Operator) Changes(ctx context.Context, resource string, most int) ([]weir.ResourceChange, error) {
	return newest[weir.ResourceChange](stored.At(ctx, o.store, store.Control), changesOf(resource), most)
}

// newest reads the last rows of a prefix, the last one first.
func newest[T any](from stored.Rows, prefix []byte, most int) (all []T, err error) {
	err = from.Scan(prefix, func(key, row []byte) error {
		var v T
		err := partition.UnsealJSON(key, row, &v)
		all = append(all, v)
		return err
	})
	slices.Reverse(all)
	return all[:max(min(most, len(all)), 0)], err
}

// announcedLanes is what all nodes observed last.
func (o *Operator) announcedLanes(ctx context.Context) ([]weir.Node, error) {
	records, err := o.store.Announced(ctx, lanesTopic)
	if err != nil {
		return nil, fmt.Errorf("read lanes: %w", err)
	}
	nodes := make([]weir.Node, 0, len(records))
	for _, r := range records {
		var n weir.Node
		if err := json.Unmarshal(r.Value, &n); err != nil {
			return nil, fmt.Errorf("lanes of node %q: %w: %w", r.Name, store.ErrCorrupt, err)
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
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
