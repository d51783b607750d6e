package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// simulatorPages registers the page that says what would be if something were different.
func (d *Dashboard) simulatorPages() { d.page("/simulator", "simulator", d.simulator) }

// simulatorPage answers: what if the limits, the nodes or the work were different?
type simulatorPage struct {
	Running        int
	Resources      []simField
	Nodes, Workers string
	Extras         []extraField
	Actions        []string
	// Blind: the person does not see the limits that all tenants share, and types them.
	Blind  bool
	Faults map[string]string
	Result *simResult
}

// simField holds what can be different of one resource, as a person types it.
type simField struct {
	N                  int
	Name               string
	Rate, Calls, Takes string
	Measured           bool
}

// extraField is a bulk action that is only thought of.
type extraField struct {
	N                    int
	Tenant, Items, Chain string
}

// extras is how many bulk actions can be thought of at once.
const extras = 2

func (d *Dashboard) simulator(ctx context.Context, v *visit) (content, error) {
	now, err := v.today(ctx)
	if err != nil {
		return content{}, err
	}
	q := v.URL.Query()
	page := &simulatorPage{Running: len(now.work), Blind: !v.operates(), Faults: map[string]string{}, Actions: slices.Sorted(maps.Keys(now.resourceOf))}
	then := page.read(&now, q)
	if q.Has("run") && len(then.work) == 0 && len(page.Faults) == 0 {
		page.Faults["items-1"] = "Nothing runs now: say how many items there would be."
	}
	if q.Has("run") && len(page.Faults) == 0 {
		if page.Result, err = v.compare(ctx, &now, &then); err != nil {
			return content{}, err
		}
	}
	return content{Title: "Simulator", Nav: "Simulator", Page: page, Weir: []string{"weir simulate flood --show", "weir simulate FILE"}}, nil
}

// read makes the fields, with what was typed or else with what is, and returns the system that they describe.
func (p *simulatorPage) read(now *system, q url.Values) (then system) {
	then = *now
	then.resources, then.work = slices.Clone(now.resources), slices.Clone(now.work)
	typed := func(field, is string) string {
		if q.Has(field) {
			return strings.TrimSpace(q.Get(field))
		}
		return is
	}
	for i := range then.resources {
		r := &then.resources[i]
		f := simField{N: i, Name: r.name, Measured: r.measured, Takes: r.takes.String()}
		if r.rate > 0 {
			f.Rate = r.rate.String()
		}
		if r.calls > 0 {
			f.Calls = strconv.Itoa(r.calls)
		}
		f.Rate, f.Calls, f.Takes = typed("rate."+r.name, f.Rate), typed("calls."+r.name, f.Calls), typed("takes."+r.name, f.Takes)
		p.readResource(&f, r)
		p.Resources = append(p.Resources, f)
	}
	p.Nodes, p.Workers = typed("nodes", strconv.Itoa(now.nodes)), typed("workers", "")
	then.nodes = p.number("nodes", p.Nodes, 1, 200)
	if p.Workers != "" {
		then.workers = p.number("workers", p.Workers, 1, 10_000)
	}
	for n := 1; n <= extras; n++ {
		p.readExtra(&then, extraField{n, typed(fmt.Sprintf("tenant-%d", n), ""), typed(fmt.Sprintf("items-%d", n), ""), typed(fmt.Sprintf("chain-%d", n), "")})
	}
	return then
}

// readResource takes the limits of one resource.
func (p *simulatorPage) readResource(f *simField, r *simResource) {
	at := func(field string) string { return fmt.Sprintf("%s-%d", field, f.N) }
	rate := f.Rate
	if _, err := strconv.ParseFloat(rate, 64); err == nil {
		rate += "/s"
	}
	if err := r.rate.UnmarshalText([]byte(cmp.Or(rate, "unlimited"))); err != nil {
		p.Faults[at("rate")] = r.name + ": write a number above 0, as in 450/s, or leave it empty for no limit."
	}
	r.calls = 0
	if f.Calls != "" {
		r.calls = p.number(at("calls"), f.Calls, 1, mostCallsAtOnce)
	}
	var err error
	if r.takes, err = time.ParseDuration(f.Takes); err != nil || r.takes <= 0 || r.takes > 20*time.Second {
		p.Faults[at("takes")] = r.name + ": write how long a call takes, with its unit, as in 120ms or 2s; at most 20s."
	}
}

// number reads a whole number within bounds.
func (p *simulatorPage) number(field, typed string, least, most int) int {
	n, err := strconv.Atoi(typed)
	if err != nil || n < least || n > most {
		p.Faults[field] = fmt.Sprintf("Write a whole number from %d to %s.", least, format.Count(int64(most)))
	}
	return n
}

// readExtra takes a bulk action that is only thought of; one without items is none.
func (p *simulatorPage) readExtra(then *system, x extraField) {
	p.Extras = append(p.Extras, x)
	if x.Items == "" {
		return
	}
	w := simWork{name: fmt.Sprintf("Extra bulk action %d", x.N), tenant: cmp.Or(x.Tenant, "default")}
	w.items = int64(p.number(fmt.Sprintf("items-%d", x.N), strings.ReplaceAll(x.Items, ",", ""), 1, 100_000_000))
	for _, name := range strings.FieldsFunc(x.Chain, func(r rune) bool { return r == ',' || r == ' ' || r == '→' }) {
		resource, known := then.resourceOf[name]
		if !known {
			p.Faults[fmt.Sprintf("chain-%d", x.N)] = fmt.Sprintf("No action is called %q.", name)
			return
		}
		then.add(simResource{name: resource, takes: callTakes})
		w.steps = append(w.steps, resource)
	}
	if len(w.steps) == 0 {
		p.Faults[fmt.Sprintf("chain-%d", x.N)] = "Name its actions in order, with commas."
		return
	}
	then.work = append(then.work, w)
}

// simRuns is how often each of the two systems is simulated.
const simRuns = 3

// compare simulates the system as it is and as it would be.
func (v *visit) compare(ctx context.Context, now, then *system) (*simResult, error) {
	after, err := v.play(ctx, then)
	if err != nil {
		return nil, err
	}
	var before *api.Simulated
	if len(now.work) > 0 {
		if before, err = v.play(ctx, now); err != nil {
			return nil, err
		}
	}
	return v.result(now, then, before, after), nil
}

func (v *visit) play(ctx context.Context, s *system) (*api.Simulated, error) {
	for _, w := range s.work { // of people who do not see resources
		for _, name := range w.steps {
			s.add(simResource{name: name, takes: callTakes})
		}
	}
	world, err := s.world()
	if err != nil {
		return nil, err
	}
	out, err := v.api.Simulate(ctx, api.Simulation{World: world, Runs: simRuns})
	return &out, err
}
