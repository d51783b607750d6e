package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
)

// system is an installation as the simulator sees it: what its services take, who works, and what there is to do.
type system struct {
	resources  []simResource
	nodes      int
	slots      int // of each node
	partitions int
	workers    int // most of a lane; 0: the simulator's default
	weights    map[string]float64
	work       []simWork
	resourceOf map[string]string // by action
}

// simResource is a service with its limits and how long a call takes.
type simResource struct {
	name     string
	rate     api.Rate
	calls    int
	pacing   string
	takes    time.Duration
	measured bool // takes was measured
}

// simWork is a bulk action, or what is left of one.
type simWork struct {
	name, tenant, tier string
	id                 string // empty: it does not exist
	items              int64
	steps              []string // resources
}

const (
	// mostSimulated is how many running bulk actions are simulated, mostMeasured of how many resources calls are measured.
	mostSimulated = 50
	mostMeasured  = 20
	// callTakes is how long a call takes where nothing was measured.
	callTakes = 100 * time.Millisecond
	// longestCall is the longest that the simulator takes.
	longestCall = 20 * time.Second
)

// today describes the installation as it is, as far as the person may see it.
func (v *visit) today(ctx context.Context) (s system, err error) {
	s = system{nodes: 1, slots: 64, partitions: 8, weights: map[string]float64{}, resourceOf: map[string]string{}}
	for a, err := range v.api.Actions().List(ctx) {
		if err != nil {
			return s, err
		}
		s.resourceOf[a.Name] = cmp.Or(a.Resource, a.Name)
	}
	for b, err := range v.api.List(ctx, client.Filter{State: api.Running}) {
		if err != nil {
			return s, err
		}
		w := simWork{name: b.Name, tenant: b.Tenant, tier: b.Tier, id: b.ID, items: b.Counts.Total - finished(b.Counts)}
		for _, st := range b.Steps {
			w.steps = append(w.steps, cmp.Or(s.resourceOf[st.Action], st.Action))
		}
		if w.items > 0 && len(w.steps) > 0 {
			s.work = append(s.work, w)
		}
		if len(s.work) == mostSimulated {
			break
		}
	}
	if v.operates() {
		if err := v.measure(ctx, &s); err != nil {
			return s, err
		}
	}
	for _, name := range s.resourceOf { // those that no node has used yet, or that the person does not see
		s.add(simResource{name: name, takes: callTakes})
	}
	slices.SortFunc(s.resources, func(a, b simResource) int { return strings.Compare(a.name, b.name) })
	return s, nil
}

// add adds a resource, once.
func (s *system) add(r simResource) {
	if !slices.ContainsFunc(s.resources, func(x simResource) bool { return x.name == r.name }) {
		s.resources = append(s.resources, r)
	}
}

// measure adds what all tenants share: limits, the length of calls, nodes and weights.
func (v *visit) measure(ctx context.Context, s *system) error {
	for r, err := range v.api.Resources().List(ctx) {
		if err != nil {
			return err
		}
		x := simResource{name: r.Name, rate: r.Rate, calls: r.Concurrency, pacing: r.Pacing, takes: callTakes}
		if len(s.resources) < mostMeasured {
			series, err := v.hour(ctx, r.Name)
			if err != nil {
				return err
			}
			if took, known := series.CallTime(); known {
				x.takes, x.measured = min(max(took.Round(time.Millisecond), time.Millisecond), longestCall), true
			}
		}
		s.add(x)
	}
	nodes, err := collect(v.api.Nodes(ctx), 1000)
	if err != nil {
		return err
	}
	parts, err := collect(v.api.Partitions(ctx), 10_000)
	if err != nil {
		return err
	}
	if len(nodes) > 0 {
		s.nodes, s.slots = len(nodes), max(nodes[0].Slots, 1)
	}
	s.partitions = max(len(parts), 1)
	scaling, err := v.api.Scaling(ctx)
	if err != nil {
		return err
	}
	s.workers = scaling.Max
	for t, err := range v.api.Tenants().List(ctx) {
		if err != nil {
			return err
		}
		if t.Weight > 0 {
			s.weights[t.Name] = t.Weight
		}
	}
	return nil
}

// world writes the system for the simulator. Names there are plain, so each thing goes by its number.
func (s *system) world() (json.RawMessage, error) {
	type object = map[string]any
	number := map[string]string{}
	var resources, tenants, bulks, nodes []object
	for i, r := range s.resources {
		if !slices.ContainsFunc(s.work, func(w simWork) bool { return slices.Contains(w.steps, r.name) }) {
			continue // it changes nothing, and the simulator takes so many
		}
		number[r.name] = fmt.Sprintf("r%d", i)
		x := object{"name": number[r.name], "downstream": object{"latency": r.takes.String()}}
		if r.rate > 0 {
			x["rate"] = r.rate
		}
		if r.calls > 0 {
			x["concurrency"] = r.calls
		}
		if r.pacing != "" {
			x["pacing"] = r.pacing
		}
		resources = append(resources, x)
	}
	for i, name := range s.tenants() {
		if w, has := s.weights[name]; has {
			tenants = append(tenants, object{"name": fmt.Sprintf("t%d", i), "weight": math.Min(math.Max(w, 0.01), 1000)})
		}
	}
	for i, w := range s.work {
		steps := make([]string, len(w.steps))
		for j, name := range w.steps {
			steps[j] = number[name]
		}
		x := object{"name": fmt.Sprintf("b%d", i), "tenant": fmt.Sprintf("t%d", slices.Index(s.tenants(), w.tenant)), "items": w.items, "steps": steps}
		if w.tier != "" {
			x["tier"] = w.tier
		}
		bulks = append(bulks, x)
	}
	for range s.nodes {
		nodes = append(nodes, object{"slots": s.slots})
	}
	world := object{"resources": resources, "tenants": tenants, "bulk_actions": bulks, "nodes": nodes, "partitions": max(s.partitions, s.nodes)}
	if s.workers > 0 {
		world["workers"] = object{"max": s.workers}
	}
	return json.Marshal(world)
}

// tenants lists whose work it is, in the order of the work.
func (s *system) tenants() (names []string) {
	for _, w := range s.work {
		if !slices.Contains(names, w.tenant) {
			names = append(names, w.tenant)
		}
	}
	return names
}
