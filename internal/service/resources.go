package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/engine"
)

// versionOf is the version of a setting that has no record of its own; empty for one that is not set.
func versionOf(setting any, there bool) string {
	if !there {
		return ""
	}
	raw, _ := json.Marshal(setting) // plain data
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// Resources lists the resources that some node uses or somebody has set limits of, by name.
func (s *Service) Resources(ctx context.Context) ([]api.ResourceStatus, error) {
	limits, err := s.engine.Limits(ctx)
	if err != nil {
		return nil, err
	}
	nodes, err := s.engine.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]*api.ResourceStatus{}
	for name := range limits.Resources {
		all[name] = newStatus(name)
	}
	for i := range nodes {
		addUse(all, &nodes[i])
	}
	for name, l := range limits.Resources {
		setOver(all[name], l)
	}
	out := make([]api.ResourceStatus, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, *all[name])
	}
	return out, nil
}

func newStatus(name string) *api.ResourceStatus {
	return &api.ResourceStatus{Name: name, Circuit: "closed", Origin: "program"}
}

// setOver puts what operators have set over what actions say.
func setOver(r *api.ResourceStatus, l weir.ResourceLimits) {
	if l.Rate != nil {
		r.Rate, r.Origin = api.Rate(*l.Rate), "api"
	}
	if l.Concurrency != nil {
		r.Concurrency, r.Origin = *l.Concurrency, "api"
	}
}

// circuits says which state is told of a resource whose nodes do not agree.
var circuits = map[string]int{"closed": 0, "half_open": 1, "open": 2}

// addUse adds what one node knows of the resources.
func addUse(all map[string]*api.ResourceStatus, n *weir.Node) {
	for i := range n.Resources {
		u := &n.Resources[i]
		r := all[u.Name]
		if r == nil {
			r = newStatus(u.Name)
			all[u.Name] = r
		}
		r.Rate, r.Concurrency = max(r.Rate, api.Rate(u.Rate)), max(r.Concurrency, u.Concurrency)
		r.InFlight += u.InFlight
		r.Bearable += u.Bearable
		r.Use = max(r.Use, u.Use)
		if u.Limited {
			r.Allowed += u.Allowed
		}
		if c := strings.ReplaceAll(u.Circuit, "-", "_"); circuits[c] > circuits[r.Circuit] {
			r.Circuit, r.Reason = c, u.Text
		}
		r.Reason = cmp.Or(r.Reason, u.Text)
	}
	for i := range n.Lanes {
		if r := all[n.Lanes[i].ID.Resource]; r != nil {
			r.Ready += n.Lanes[i].Ready
		}
	}
}

// Resource returns one resource and the version of what was set of it.
func (s *Service) Resource(ctx context.Context, name string) (r api.ResourceStatus, version string, err error) {
	all, err := s.Resources(ctx)
	if err != nil {
		return r, "", err
	}
	i := slices.IndexFunc(all, func(r api.ResourceStatus) bool { return r.Name == name })
	if i < 0 {
		return r, "", fmt.Errorf("resource %q: %w", name, weir.ErrNotFound)
	}
	limits, err := s.engine.Limits(ctx)
	set, there := limits.Resources[name]
	return all[i], versionOf(set, there), err
}

// PutResource sets the limits of a resource on all nodes, also for work that
// runs. What is left out follows the actions. One that nothing uses yet is
// accepted: its action may come later.
func (s *Service) PutResource(ctx context.Context, r api.Resource, match Match) (out api.ResourceStatus, version string, err error) {
	if err := checkName("name", r.Name); err != nil {
		return out, "", err
	}
	var l weir.ResourceLimits
	if r.Rate != nil {
		l.Rate = new(weir.Rate)
		*l.Rate = weir.Rate(*r.Rate)
	}
	if c := r.Concurrency; c != nil {
		if *c < 0 || *c > 1_000_000 {
			return out, "", &weir.FieldError{Code: "out_of_range", Field: "concurrency", Problem: fmt.Sprintf("%d is not between 0 and 1000000", *c), Fix: "0 is no bound"}
		}
		l.Concurrency = c
	}
	var at time.Time // of the write
	err = s.engine.ChangeLimits(ctx, func(all *weir.Limits) error {
		set, there := all.Resources[r.Name]
		if err := match(versionOf(set, there)); err != nil {
			return err
		}
		at = time.Now()
		if all.Resources[r.Name] = l; l == (weir.ResourceLimits{}) {
			delete(all.Resources, r.Name)
		}
		return nil
	})
	if err != nil {
		return out, "", err
	}
	return s.changedResource(ctx, r.Name, l, at)
}

// changedResource is the answer to a change: what holds from effective_at on.
func (s *Service) changedResource(ctx context.Context, name string, l weir.ResourceLimits, at time.Time) (api.ResourceStatus, string, error) {
	out := *newStatus(name)
	if all, err := s.Resources(ctx); err == nil { // it is set in any case
		if i := slices.IndexFunc(all, func(r api.ResourceStatus) bool { return r.Name == name }); i >= 0 {
			out = all[i]
		}
	}
	setOver(&out, l)
	out.EffectiveAt = at.Add(engine.LimitsWithin).UTC()
	return out, versionOf(l, l != (weir.ResourceLimits{})), nil
}

const (
	circuitFor     = 10 * time.Minute
	circuitMost    = 30 * 24 * time.Hour
	circuitByHuman = "set by hand"
)

// SetCircuit opens or closes the circuit of a resource by hand, or lets it follow what happens again.
func (s *Service) SetCircuit(ctx context.Context, name string, c api.CircuitChange) (api.ResourceStatus, error) {
	if _, _, err := s.Resource(ctx, name); err != nil {
		return api.ResourceStatus{}, err
	}
	d := cmp.Or(time.Duration(c.For), circuitFor)
	if d < 0 || d > circuitMost {
		return api.ResourceStatus{}, &weir.FieldError{Code: "out_of_range", Field: "for", Problem: fmt.Sprintf("%v is not between 1ns and %v", d, circuitMost), Fix: "leave it out for 10m"}
	}
	why := cmp.Or(strings.TrimSpace(c.Reason), circuitByHuman)
	var err error
	switch c.Do {
	case "open":
		err = s.engine.OpenCircuit(ctx, name, d, why)
	case "close":
		err = s.engine.CloseCircuit(ctx, name, d, why)
	case "free":
		err = s.engine.FreeCircuit(ctx, name)
	default:
		err = &weir.FieldError{Code: "out_of_range", Field: "do", Problem: fmt.Sprintf("%.64q is none of open, close, free", c.Do), Fix: "say what to do"}
	}
	if err != nil {
		return api.ResourceStatus{}, err
	}
	out, _, err := s.Resource(ctx, name)
	out.EffectiveAt = time.Now().Add(engine.LimitsWithin).UTC()
	return out, err
}
