package outlook

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/lab/forecast"
)

// touched checks changes, and returns the resources that they concern. Those of actions are used.
func (l *loaded) touched(what *api.LimitChanges, used map[string]weir.Resource, by Viewer) (map[string]bool, error) {
	out := map[string]bool{}
	var bad weir.InputError
	if len(what.Resources)+len(what.Weights)+len(what.Rates) == 0 {
		bad.Add("missing_field", "resources", "is missing, and so are weights and rates: nothing changes", "set at least one")
	}
	for _, name := range slices.Sorted(maps.Keys(what.Resources)) {
		out[name] = true
		_, known := used[name]
		known = known || slices.Contains(l.limits.ResourceNames(), name)
		known = known || slices.ContainsFunc(l.load.Resources, func(r forecast.Resource) bool { return r.Name == name })
		if !known || !by.Resource(name) {
			bad.Add("unknown_resource", fmt.Sprintf("resources.%.64s", name), "no action uses it, and it has no limits",
				"weir resources list (GET /v1/resources) has those that exist")
		}
	}
	for _, tenant := range slices.Sorted(maps.Keys(what.Weights)) {
		if weight := what.Weights[tenant]; !(weight >= 0.001 && weight <= 1000) {
			bad.Add("out_of_range", fmt.Sprintf("weights.%.64s", tenant), fmt.Sprintf("%v is not between 0.001 and 1000", weight),
				"the default is 1")
		}
		for i := range l.others {
			if w := &l.others[i]; w.Tenant == tenant {
				for _, st := range w.Steps {
					out[st.Resource] = true
				}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(what.Rates)) {
		l.ownRates(&bad, id, what.Rates[id], out, by.Tenant)
	}
	return out, bad.OrNil()
}

// ownRates checks changes of a bulk action's own rates.
func (l *loaded) ownRates(bad *weir.InputError, id string, rates map[string]api.Rate, touched map[string]bool, sees func(tenant string) bool) {
	i := slices.Index(l.ids, id)
	if i < 0 || !sees(l.others[i].Tenant) {
		bad.Add("not_found", fmt.Sprintf("rates.%.64s", id), "no such bulk action runs", "name one that runs")
		return
	}
	steps := l.others[i].Steps
	for _, name := range slices.Sorted(maps.Keys(rates)) {
		k := slices.IndexFunc(steps, func(st forecast.Step) bool { return st.Name == name })
		if k < 0 {
			bad.Add("unknown_step", fmt.Sprintf("rates.%.64s.%.64s", id, name), "the bulk action has no such step",
				"name one of its steps")
			continue
		}
		touched[steps[k].Resource] = true
	}
}

// changed returns the scene with changed limits.
func (sc *scene) changed(what *api.LimitChanges) scene {
	out := *sc
	out.load.Resources = slices.Clone(sc.load.Resources)
	for i := range out.load.Resources {
		r := &out.load.Resources[i]
		to := what.Resources[r.Name]
		if to.Rate != nil {
			r.Rate = weir.Rate(*to.Rate)
		}
		if to.Concurrency != nil {
			r.Concurrency = *to.Concurrency
		}
		if to.Pacing != nil {
			r.Pacing = weir.Pacing(*to.Pacing)
		}
	}
	out.works, out.load.Others = changedWorks(sc.works, sc.ids, what), changedWorks(sc.load.Others, sc.rest, what)
	return out
}

// changedWorks returns works with the changed weights of their tenants and the changed rates of their own.
func changedWorks(works []forecast.Work, ids []string, what *api.LimitChanges) []forecast.Work {
	works = slices.Clone(works)
	for i := range works {
		w := &works[i]
		if weight, ok := what.Weights[w.Tenant]; ok {
			w.Weight = weight
		}
		w.Steps = slices.Clone(w.Steps)
		for k := range w.Steps {
			if r, ok := what.Rates[ids[i]][w.Steps[k].Name]; ok {
				w.Steps[k].Rate = weir.Rate(r)
			}
		}
	}
	return works
}
