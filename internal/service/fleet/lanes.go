package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/registry"
	"github.com/weirhq/weir/store"
)

// Fleet shows and sets what concerns all nodes.
type Fleet struct {
	engine  *engine.Engine
	actions *registry.Actions
	store   store.Store
	log     *slog.Logger
	probed  probe
	silence silence
	flows   flows
}

// New returns the fleet that an engine belongs to.
func New(e *engine.Engine, a *registry.Actions, s store.Store, log *slog.Logger) *Fleet {
	return &Fleet{engine: e, actions: a, store: s, log: log}
}

// Lanes lists all lanes that have work or a plan, by partition and resource.
func (s *Fleet) Lanes(ctx context.Context) ([]api.Lane, error) {
	nodes, err := s.engine.Operator().Nodes(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := s.engine.Operator().Plan(ctx)
	if err != nil {
		return nil, err
	}
	settings, err := s.engine.Operator().Settings(ctx)
	if err != nil {
		return nil, err
	}
	return lanesOf(nodes, &plan, settings.Pins, s.flows.note(nodes, time.Now())), nil
}

func lanesOf(nodes []weir.Node, plan *weir.Plan, pins map[weir.LaneID]weir.Pin, rates map[weir.LaneID]flow) []api.Lane {
	all := map[weir.LaneID]*api.Lane{}
	at := func(id weir.LaneID) *api.Lane {
		if all[id] == nil {
			all[id] = &api.Lane{Partition: partitionName(id.Partition), Lane: id.Resource}
		}
		return all[id]
	}
	for _, n := range nodes {
		for i := range n.Lanes {
			id := n.Lanes[i].ID
			seenLane(at(id), n.Name, &n.Lanes[i])
			at(id).TasksIn, at(id).TasksOut = rates[id].in, rates[id].out
		}
	}
	for i := range plan.Lanes {
		p := &plan.Lanes[i]
		l := at(p.Lane)
		l.Need, l.Useful, l.Workers = p.Need, p.Useful, cmp.Or(l.Workers, p.Workers)
		if p.Decision != nil {
			d := decisionOf(p.Decision)
			l.Decision = &d
		}
	}
	for id, pin := range pins {
		at(id).Pin = &api.Pin{Workers: pin.Workers, Until: pin.Until, Reason: pin.Why}
	}
	byID := func(a, b weir.LaneID) int {
		return cmp.Or(a.Partition-b.Partition, cmp.Compare(a.Resource, b.Resource))
	}
	out := make([]api.Lane, 0, len(all))
	for _, id := range slices.SortedFunc(maps.Keys(all), byID) {
		out = append(out, *all[id])
	}
	return out
}

func seenLane(l *api.Lane, node string, n *weir.Lane) {
	l.Node, l.Workers, l.PWQD = node, n.Workers, n.Depth()
	l.Ready, l.Waiting, l.InFlight = n.Ready, n.Waiting, n.InFlight
	l.Oldest, l.Cause = api.Duration(n.Oldest), n.Cause
}

func partitionName(p int) string { return fmt.Sprintf("p%02d", p) }

// LaneID parses the name of a lane: p03 and send-message.
func LaneID(partition, lane string) (id weir.LaneID, err error) {
	if err := id.UnmarshalText([]byte(partition + "/" + lane)); err != nil || check.Name("lane", lane) != nil {
		return id, fmt.Errorf("lane %.64q: %w", partition+"/"+lane, weir.ErrNotFound)
	}
	return id, nil
}

// Decisions returns the latest decisions about a lane, the newest first.
func (s *Fleet) Decisions(ctx context.Context, id weir.LaneID, most int) ([]api.Decision, error) {
	list, err := s.engine.Operator().Decisions(ctx, id, most)
	out := make([]api.Decision, 0, len(list))
	for i := range list {
		out = append(out, decisionOf(&list[i]))
	}
	return out, err
}

// BulkDecisions returns the latest decisions about the lanes of a bulk action that concern it, the newest first: those made
// while it ran, and of each lane the one that was in force when it started.
func (s *Fleet) BulkDecisions(ctx context.Context, b *engine.BulkAction, most int) ([]api.Decision, error) {
	p, err := b.Now(ctx)
	if err != nil {
		return nil, err
	}
	out := []api.Decision{}
	for _, lane := range b.Lanes() {
		list, err := s.Decisions(ctx, lane, math.MaxInt)
		if err != nil {
			return nil, err
		}
		out = append(out, duringRun(list, p.Started, p.Finished)...)
	}
	slices.SortStableFunc(out, func(a, b api.Decision) int { return b.At.Compare(a.At) })
	return out[:min(len(out), most)], nil
}

// duringRun returns the decisions of a lane, the newest first, that were in force between two times; zero: it goes on.
func duringRun(list []api.Decision, from, to time.Time) []api.Decision {
	if !to.IsZero() {
		list = slices.DeleteFunc(list, func(d api.Decision) bool { return d.At.After(to) })
	}
	before := slices.IndexFunc(list, func(d api.Decision) bool { return d.At.Before(from) && !d.Shadow })
	if before < 0 {
		return list
	}
	return list[:before+1]
}

func decisionOf(d *weir.Decision) api.Decision {
	in := &d.Inputs
	inputs := map[string]float64{
		"workers": float64(in.Workers), "arrivals": in.Arrivals, "backlog": float64(in.Backlog),
		"in_flight": float64(in.InFlight), "usable": in.Usable,
		"service_seconds": in.Service.Seconds(), "ended": float64(in.Ended), "failed": float64(in.Failed),
		"slot_wait_seconds": in.SlotWait.Seconds(),
		"busy":              in.Busy, "cpu": in.CPU, "memory": in.Memory, "floor": float64(in.Floor), "need": in.Need,
		"useful": in.Useful,
	}
	return api.Decision{
		Partition: partitionName(d.Lane.Partition), Lane: d.Lane.Resource, Policy: d.Policy,
		At: d.At, Direction: d.Direction(), From: d.From, To: d.To, Reason: d.Reason, Sentence: d.Text, Shadow: d.Shadow, Inputs: inputs,
	}
}

// pinMost bounds how long a pin lasts.
const pinMost = 365 * 24 * time.Hour

// Pin sets the workers of a lane by hand. A lane without work can be pinned, too.
func (s *Fleet) Pin(ctx context.Context, id weir.LaneID, p api.Pin) (api.Pin, error) {
	var bad weir.InputError
	left := time.Until(p.Until)
	if left <= 0 || left > pinMost {
		bad.Add("bad_time", "until", p.Until.Format(time.RFC3339)+" is not within the next year", "choose a time after now")
	}
	if p.Workers < 0 || p.Workers > 1_000_000 {
		bad.Add("out_of_range", "workers", fmt.Sprintf("%d is not between 0 and 1000000", p.Workers), "0 stops the lane")
	}
	if strings.TrimSpace(p.Reason) == "" {
		bad.Add("missing_field", "reason", "is empty", "say why the lane is pinned")
	}
	if err := s.knownPartition(ctx, id.Partition); err != nil {
		return p, err
	}
	if err := bad.OrNil(); err != nil {
		return p, err
	}
	return p, s.engine.Operator().SetScaling(ctx, func(set *weir.Scaling) {
		if set.Pins == nil {
			set.Pins = map[weir.LaneID]weir.Pin{}
		}
		set.Pins[id] = weir.Pin{Workers: p.Workers, Until: p.Until.UTC(), Why: p.Reason}
	})
}

func (s *Fleet) knownPartition(ctx context.Context, p int) error {
	n, err := s.engine.Operator().Partitions(ctx)
	if err == nil && p >= n {
		err = fmt.Errorf("partition %s: %w", partitionName(p), weir.ErrNotFound)
	}
	return err
}

// Unpin removes the pin of a lane.
func (s *Fleet) Unpin(ctx context.Context, id weir.LaneID) error {
	settings, err := s.engine.Operator().Settings(ctx)
	if err != nil {
		return err
	}
	if _, pinned := settings.Pins[id]; !pinned {
		return fmt.Errorf("pin of %v: %w", id, weir.ErrNotFound)
	}
	return s.engine.Operator().Unpin(ctx, id)
}

// Partitions lists the partitions, their owners and their work on the resources that the caller sees.
func (s *Fleet) Partitions(ctx context.Context, sees func(resource string) bool) ([]api.Partition, error) {
	n, err := s.engine.Operator().Partitions(ctx)
	if err != nil {
		return nil, err
	}
	nodes, err := s.engine.Operator().Nodes(ctx)
	if err != nil {
		return nil, err
	}
	var out []api.Partition
	for i := range n {
		out = append(out, api.Partition{Partition: partitionName(i)})
	}
	for p, node := range s.engine.Owners() {
		for p >= len(out) { // of an older map, still with work
			out = append(out, api.Partition{Partition: partitionName(len(out))})
		}
		out[p].Owner = node
	}
	for _, node := range nodes {
		for i := range node.Lanes {
			if l := &node.Lanes[i]; l.ID.Partition < len(out) && sees(l.ID.Resource) {
				p := &out[l.ID.Partition]
				p.Lanes++
				p.Ready += l.Ready
				p.InFlight += l.InFlight
			}
		}
	}
	return out, nil
}

// Nodes lists the processes that run tasks, with their tasks on the resources that the caller sees.
func (s *Fleet) Nodes(ctx context.Context, sees func(resource string) bool) ([]api.Node, error) {
	nodes, err := s.engine.Operator().Nodes(ctx)
	if err != nil {
		return nil, err
	}
	owned := map[string]int{}
	for _, node := range s.engine.Owners() {
		owned[node]++
	}
	out := make([]api.Node, 0, len(nodes))
	for _, n := range nodes {
		x := api.Node{Node: n.Name, Slots: n.Slots, CPU: n.CPU, Memory: n.Memory, Leader: n.Leads, Partitions: owned[n.Name]}
		for i := range n.Lanes {
			if l := &n.Lanes[i]; sees(l.ID.Resource) {
				x.InFlight += l.InFlight
			}
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b api.Node) int { return cmp.Compare(a.Node, b.Node) })
	return out, nil
}

// Scale returns the figures for an autoscaler of nodes; every node returns the same.
func (s *Fleet) Scale(ctx context.Context) (api.Scale, error) {
	plan, err := s.engine.Operator().Plan(ctx)
	if err != nil {
		return api.Scale{}, err
	}
	lanes, err := s.Lanes(ctx)
	nodes := max(plan.Nodes, 1)
	return api.Scale{
		DesiredNodes: cmp.Or(plan.NodesDesired, nodes), Nodes: nodes, DesiredWorkers: plan.WorkersNeeded,
		Workers: plan.Workers, Lanes: lanes,
	}, err
}

// Scaling returns the scaling settings and their version.
func (s *Fleet) Scaling(ctx context.Context) (api.ScalingSettings, string, error) {
	set, err := s.engine.Operator().Settings(ctx)
	if err != nil {
		return api.ScalingSettings{}, "", err
	}
	holds, err := s.engine.ScalingInForce(ctx)
	return scalingOf(&holds), scalingVersion(&set), err
}

func scalingOf(s *weir.Scaling) api.ScalingSettings {
	return api.ScalingSettings{
		Policy: s.Policy, Shadow: s.Shadow, Min: s.Min, Max: s.Max, Drain: api.Duration(s.Drain), Paused: s.Paused,
		Timetables: s.Timetables, RateRules: s.RateRules,
	}
}

// scalingVersion is the version of the settings that PutScaling changes; pins and circuits are not
// part of it.
func scalingVersion(s *weir.Scaling) string { return records.VersionOf(scalingOf(s), true) }

// PutScaling sets how workers follow the load. Omitted fields follow the options of the nodes.
func (s *Fleet) PutScaling(ctx context.Context, in api.ScalingSettings, match records.Match) (api.ScalingSettings, string, error) {
	var refused error
	err := s.engine.Operator().SetScaling(ctx, func(set *weir.Scaling) {
		if refused = match(scalingVersion(set)); refused != nil {
			return
		}
		set.Policy, set.Shadow, set.Min, set.Max = in.Policy, in.Shadow, in.Min, in.Max
		set.Drain, set.Paused, set.Timetables, set.RateRules = time.Duration(in.Drain), in.Paused, in.Timetables, in.RateRules
	})
	if refused != nil {
		return in, "", refused
	}
	if err != nil && !storeFault(err) {
		return in, "", &weir.FieldError{Code: "out_of_range", Field: "scaling", Problem: err.Error(),
			Fix: "see the documentation of scaling"}
	}
	if err != nil {
		return in, "", err
	}
	return s.Scaling(ctx)
}

// storeFault reports whether an error comes from the store and not from the input.
func storeFault(err error) bool {
	for _, of := range []error{store.ErrUnavailable, store.ErrUnknown, store.ErrClosed, store.ErrCorrupt, store.ErrFull,
		context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, of) {
			return true
		}
	}
	return false
}
