package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/core/near"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/registry"
)

// Resources lists by name the resources that a node uses or that have limits set.
func (s *Fleet) Resources(ctx context.Context) ([]api.ResourceStatus, error) {
	limits, err := s.engine.Operator().Limits(ctx)
	if err != nil {
		return nil, err
	}
	nodes, err := s.engine.Operator().Nodes(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]*api.ResourceStatus{}
	for _, name := range limits.ResourceNames() {
		all[name] = newStatus(name)
	}
	for i := range nodes {
		addUse(all, &nodes[i])
	}
	used := s.actions.Resources()
	for _, r := range all {
		unset(r, used)
		setOver(r, &limits)
	}
	out := make([]api.ResourceStatus, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, *all[name])
	}
	return out, nil
}

// Seen returns the resources that callers of some tenants may learn of: those of actions that the tenants can use, and
// those on which they have work. The name of a resource is mostly that of an action, which may be restricted to others.
func (s *Fleet) Seen(ctx context.Context, tenants []string) (map[string]bool, error) {
	nodes, err := s.engine.Operator().Nodes(ctx)
	if err != nil {
		return nil, err
	}
	seen := s.actions.ResourcesFor(tenants)
	for i := range nodes {
		for _, l := range nodes[i].Lanes {
			if slices.ContainsFunc(l.Tenants, func(t weir.LaneTenant) bool { return slices.Contains(tenants, t.Tenant) }) {
				seen[l.ID.Resource] = true
			}
		}
	}
	return seen, nil
}

// ResourceNames returns the resources that an action or a node uses, or that have limits set.
func (s *Fleet) ResourceNames(ctx context.Context) ([]string, error) {
	all, err := s.Resources(ctx)
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(s.actions.Resources()))
	for i := range all {
		names = append(names, all[i].Name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func newStatus(name string) *api.ResourceStatus {
	return &api.ResourceStatus{Name: name, Circuit: "closed", Provenance: api.Provenance{Origin: "default"}}
}

// unset gives a resource the limits that apply where none are set. Limits reported by nodes may be
// older than the last change.
func unset(r *api.ResourceStatus, used map[string]weir.Resource) {
	if u, ok := used[r.Name]; ok {
		r.Rate, r.Concurrency, r.Pacing = api.Rate(u.Rate), u.Concurrency, string(u.Pacing)
	}
	if r.Rate > 0 || r.Concurrency > 0 || r.Pacing == string(weir.PacingFull) {
		r.Provenance = api.Provenance{Origin: "program"}
	}
}

// setOver applies the limits of the file, and then those set at run time, over those of the
// actions.
func setOver(r *api.ResourceStatus, l *weir.Limits) {
	set, file := l.Resources[r.Name], l.File.Resources[r.Name]
	with := l.Resource(weir.Resource{Name: r.Name, Rate: weir.Rate(r.Rate), Concurrency: r.Concurrency, Pacing: weir.Pacing(r.Pacing)})
	r.Rate, r.Concurrency, r.Pacing = api.Rate(with.Rate), with.Concurrency, string(cmp.Or(with.Pacing, weir.PacingSmooth))
	switch {
	case !set.Empty():
		r.Provenance = registry.Provenance("api", set.Set)
		if !file.Empty() {
			r.File = resourceOf(file)
		}
	case !file.Empty():
		r.Provenance = registry.Provenance("file", file.Set)
	}
}

// resourceOf returns limits as responses show them.
func resourceOf(l weir.ResourceLimits) *api.Resource {
	out := &api.Resource{Concurrency: l.Concurrency, Pacing: (*string)(l.Pacing)}
	if l.Rate != nil {
		rate := api.Rate(*l.Rate)
		out.Rate = &rate
	}
	return out
}

// circuits ranks the states of a circuit, to show one for a resource whose nodes differ.
var circuits = map[string]int{"closed": 0, "half_open": 1, "open": 2}

// addUse adds one node's measurements of the resources.
func addUse(all map[string]*api.ResourceStatus, n *weir.Node) {
	for i := range n.Resources {
		u := &n.Resources[i]
		r := all[u.Name]
		if r == nil {
			r = newStatus(u.Name)
			all[u.Name] = r
		}
		r.Rate, r.Concurrency = max(r.Rate, api.Rate(u.Rate)), max(r.Concurrency, u.Concurrency)
		r.Pacing = cmp.Or(r.Pacing, string(u.Pacing))
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
		addOutage(r, u)
	}
	for i := range n.Lanes {
		if r := all[n.Lanes[i].ID.Resource]; r != nil {
			r.Ready += n.Lanes[i].Ready
		}
	}
}

// addOutage adds what one node knows of an open circuit: the oldest outage is shown, with the
// earliest probe of all nodes.
func addOutage(r *api.ResourceStatus, u *weir.ResourceUse) {
	if u.Outage == nil {
		return
	}
	o := api.Outage{Since: u.Outage.Since, Failed: u.Outage.Failed, Calls: u.Outage.Calls, Code: u.Outage.Code,
		Probes: u.Outage.Probes, ByHand: u.Outage.ByHand}
	if o.ByHand {
		o.Until = u.CircuitUntil
	} else {
		o.NextProbe = u.CircuitUntil
	}
	if was := r.Outage; was != nil {
		if was.Since.Before(o.Since) {
			next := o.NextProbe
			o = *was
			o.NextProbe = earlier(o.NextProbe, next)
		} else {
			o.NextProbe = earlier(o.NextProbe, was.NextProbe)
		}
		o.Nodes = was.Nodes
	}
	o.Nodes++
	r.Outage = &o
}

// earlier returns the earlier of two times; a zero one does not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Resource returns one resource and the version of its limits.
func (s *Fleet) Resource(ctx context.Context, name string) (r api.ResourceStatus, version string, err error) {
	all, err := s.Resources(ctx)
	if err != nil {
		return r, "", err
	}
	i := slices.IndexFunc(all, func(r api.ResourceStatus) bool { return r.Name == name })
	if i < 0 {
		return r, "", fmt.Errorf("resource %q: %w", name, weir.ErrNotFound)
	}
	limits, err := s.engine.Operator().Limits(ctx)
	set, there := limits.Resources[name]
	return all[i], records.VersionOf(set, there), err
}

// PutResource sets limits of a resource on all nodes, also for running work, and across restarts.
// When it returns they are in force. An omitted limit stays as it is. A resource that nothing uses
// yet is accepted: its action may come later.
func (s *Fleet) PutResource(ctx context.Context, r api.Resource, by string,
	match records.Match) (out api.ResourceStatus, version string, err error) {
	if err := check.Name("name", r.Name); err != nil {
		return out, "", err
	}
	c := r.Concurrency
	if c != nil && (*c < 0 || *c > 1_000_000) {
		return out, "", &weir.FieldError{Code: "out_of_range", Field: "concurrency",
			Problem: fmt.Sprintf("%d is not between 0 and 1000000", *c), Fix: "0 means no limit"}
	}
	if c == nil && r.Rate == nil && r.Pacing == nil {
		return out, "", &weir.FieldError{
			Code: "missing_field", Field: "rate", Problem: "is missing, and so are concurrency and pacing: nothing to set",
			Fix: "set at least one; DELETE /v1/resources/" + r.Name + " (weir resources reset) removes the limits set over the API",
		}
	}
	var after weir.Limits
	err = s.engine.Operator().ChangeLimits(ctx, func(all *weir.Limits) error {
		set, there := all.Resources[r.Name]
		if err := match(records.VersionOf(set, there)); err != nil {
			return err
		}
		if r.Rate != nil {
			set.Rate = (*weir.Rate)(r.Rate)
		}
		if c != nil {
			set.Concurrency = c
		}
		if r.Pacing != nil {
			set.Pacing = (*weir.Pacing)(r.Pacing)
		}
		set.Set = registry.Stamp(by)
		all.Resources[r.Name] = set
		after = *all
		return nil
	})
	if err != nil {
		return out, "", err
	}
	out, version, err = s.changedResource(ctx, r.Name, &after)
	out.Note = s.noteUnused(ctx, r.Name)
	return out, version, err
}

// noteUnused returns a note about a resource that no action uses, with the closest name; empty: it
// is used.
func (s *Fleet) noteUnused(ctx context.Context, name string) string {
	used := s.actions.Resources()
	if _, ok := used[name]; !ok && s.actions.Refresh(ctx) == nil { // another node may have created one a moment ago
		used = s.actions.Resources()
	}
	if _, ok := used[name]; ok {
		return ""
	}
	note := "no action uses a resource named " + name
	if meant := near.Word(name, slices.Sorted(maps.Keys(used))); meant != "" {
		note += "; did you mean " + meant + "?"
	}
	return note
}

// DeleteResource removes the limits that were set at run time: those of the configuration file or
// of the actions apply again.
func (s *Fleet) DeleteResource(ctx context.Context, name string, match records.Match) error {
	return s.engine.Operator().ChangeLimits(ctx, func(l *weir.Limits) error {
		return reset("the limits of resource", name, l.Resources, l.File.Resources, match)
	})
}

// changedResource returns the response to a change, which is now in force on all nodes.
func (s *Fleet) changedResource(ctx context.Context, name string, l *weir.Limits) (api.ResourceStatus, string, error) {
	out, inForce := *newStatus(name), time.Now().UTC()
	if all, err := s.Resources(ctx); err == nil { // it is set in any case
		if i := slices.IndexFunc(all, func(r api.ResourceStatus) bool { return r.Name == name }); i >= 0 {
			out = all[i]
		}
	}
	setOver(&out, l)
	out.EffectiveAt = inForce
	set, there := l.Resources[name]
	return out, records.VersionOf(set, there), nil
}

const (
	circuitFor     = 10 * time.Minute
	circuitMost    = 30 * 24 * time.Hour
	circuitByHuman = "set by hand"
)

// SetCircuit opens or closes the circuit of a resource by hand, or returns it to automatic
// control.
func (s *Fleet) SetCircuit(ctx context.Context, name string, c api.CircuitChange) (api.ResourceStatus, error) {
	is, _, err := s.Resource(ctx, name)
	if err != nil {
		return is, err
	}
	d := cmp.Or(time.Duration(c.For), circuitFor)
	if d < 0 || d > circuitMost {
		return api.ResourceStatus{}, &weir.FieldError{Code: "out_of_range", Field: "for",
			Problem: fmt.Sprintf("%v is not between 1ns and %v", d, circuitMost), Fix: "leave it out for 10m"}
	}
	why := cmp.Or(strings.TrimSpace(c.Reason), circuitByHuman)
	note := ""
	switch c.Do {
	case "open":
		err = s.engine.Operator().OpenCircuit(ctx, name, d, why)
	case "close":
		err = s.engine.Operator().CloseCircuit(ctx, name, d, why)
	case "free":
		err = s.engine.Operator().FreeCircuit(ctx, name)
	case "probe":
		note, err = s.probeCircuit(ctx, &is)
	default:
		err = &weir.FieldError{Code: "bad_value", Field: "do", Problem: fmt.Sprintf("%.64q is not a command of a circuit", c.Do),
			Fix: "write open, close, free or probe"}
	}
	if err != nil {
		return api.ResourceStatus{}, err
	}
	out, _, err := s.Resource(ctx, name)
	out.EffectiveAt, out.Note = time.Now().Add(engine.LimitsWithin).UTC(), note
	return out, err
}

// probeCircuit lets one call per node test the downstream of an open circuit now.
func (s *Fleet) probeCircuit(ctx context.Context, r *api.ResourceStatus) (note string, err error) {
	set, err := s.engine.Operator().Settings(ctx)
	if err != nil {
		return "", err
	}
	if set.Circuits[r.Name].Open {
		return "", &check.Refusal{Code: "wrong_state", Detail: "the circuit of " + r.Name + " was opened by hand",
			Fix: "free it instead (weir circuit " + r.Name + " auto): a probe call then decides whether it closes"}
	}
	if r.Circuit != "open" { // a node may have opened it a moment ago, so it is asked for in any case
		note = "the circuit of " + r.Name + " is not open: calls start without a probe"
	}
	return note, s.engine.Operator().ProbeCircuit(ctx, r.Name)
}
