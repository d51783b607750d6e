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
	"github.com/weirhq/weir/internal/coord"
	"github.com/weirhq/weir/store"
)

const scalingRecord = "scaling"

// Nodes tells what every node of the fleet observed of itself and of its lanes,
// within the last second or two.
func (e *Engine) Nodes(ctx context.Context) ([]weir.Node, error) {
	nodes, err := e.announcedLanes(ctx)
	for _, n := range nodes {
		slices.SortFunc(n.Lanes, func(a, b weir.Lane) int {
			return cmp.Or(a.ID.Partition-b.ID.Partition, cmp.Compare(a.ID.Resource, b.ID.Resource))
		})
	}
	return nodes, err
}

// Scaling is how workers follow the load: what operators set, and the engine's
// options where they set nothing.
func (e *Engine) Scaling(ctx context.Context) (weir.Scaling, error) {
	s, _, err := e.storedScaling(ctx)
	if err != nil {
		return s, err
	}
	d := e.opts.Scaling
	s.Policy, s.Shadow = cmp.Or(s.Policy, d.Policy), cmp.Or(s.Shadow, d.Shadow)
	s.Min, s.Max = cmp.Or(s.Min, d.Min, e.opts.Workers), cmp.Or(s.Max, d.Max)
	s.Drain, s.Paused = cmp.Or(s.Drain, d.Drain), cmp.Or(s.Paused, d.Paused)
	if s.Timetables == nil {
		s.Timetables = d.Timetables
	}
	coord.Expire(&s, time.Now().UnixNano())
	return s, nil
}

// SetScaling changes how workers follow the load, on all nodes and at once. What
// change leaves zero follows the engine's options. Nothing changes if the
// result cannot be used.
func (e *Engine) SetScaling(ctx context.Context, change func(*weir.Scaling)) error {
	for {
		s, old, err := e.storedScaling(ctx)
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
		now, err := e.store.Swap(ctx, scalingRecord, old, raw)
		if err != nil {
			return fmt.Errorf("write scaling: %w", err)
		}
		if string(now) == string(raw) {
			return nil
		}
	}
}

func (e *Engine) storedScaling(ctx context.Context) (s weir.Scaling, raw []byte, err error) {
	raw, err = e.store.Lookup(ctx, scalingRecord)
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
func (e *Engine) Pin(ctx context.Context, lane weir.LaneID, workers int, d time.Duration, why string) error {
	if workers < 0 || d <= 0 || why == "" {
		return fmt.Errorf("pin %v: %d workers for %v because of %q: want at least 0 workers, a time above 0 and a reason", lane, workers, d, why)
	}
	return e.SetScaling(ctx, func(s *weir.Scaling) {
		if s.Pins == nil {
			s.Pins = map[weir.LaneID]weir.Pin{}
		}
		s.Pins[lane] = weir.Pin{Workers: workers, Until: time.Now().Add(d).UTC(), Why: why}
	})
}

// Unpin ends what Pin began.
func (e *Engine) Unpin(ctx context.Context, lane weir.LaneID) error {
	return e.SetScaling(ctx, func(s *weir.Scaling) { delete(s.Pins, lane) })
}

// OpenCircuit lets nothing start on a resource, for a time and with a reason.
func (e *Engine) OpenCircuit(ctx context.Context, resource string, d time.Duration, why string) error {
	return e.setCircuit(ctx, resource, weir.Circuit{Open: true, Until: time.Now().Add(d).UTC(), Why: why})
}

// CloseCircuit lets work start on a resource whatever fails there, for a time and
// with a reason.
func (e *Engine) CloseCircuit(ctx context.Context, resource string, d time.Duration, why string) error {
	return e.setCircuit(ctx, resource, weir.Circuit{Until: time.Now().Add(d).UTC(), Why: why})
}

// FreeCircuit ends what OpenCircuit or CloseCircuit began: the circuit follows
// what happens again.
func (e *Engine) FreeCircuit(ctx context.Context, resource string) error {
	return e.SetScaling(ctx, func(s *weir.Scaling) { delete(s.Circuits, resource) })
}

func (e *Engine) setCircuit(ctx context.Context, resource string, c weir.Circuit) error {
	known, err := e.knownResources(ctx)
	switch {
	case err != nil:
		return err
	case !slices.Contains(known, resource):
		return fmt.Errorf("circuit of %q: no such resource; there are: %s", resource, strings.Join(known, ", "))
	case !c.Until.After(time.Now()) || c.Why == "":
		return fmt.Errorf("circuit of %q: until %v because of %q: want a time above 0 and a reason", resource, c.Until, c.Why)
	}
	return e.SetScaling(ctx, func(s *weir.Scaling) {
		if s.Circuits == nil {
			s.Circuits = map[string]weir.Circuit{}
		}
		s.Circuits[resource] = c
	})
}

// knownResources lists the resources that are registered here or in use anywhere.
func (e *Engine) knownResources(ctx context.Context) (names []string, err error) {
	nodes, err := e.announcedLanes(ctx)
	for _, n := range nodes {
		for _, u := range n.Resources {
			names = append(names, u.Name)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, steps := range e.chains {
		for _, s := range steps {
			names = append(names, s.Resource.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}
