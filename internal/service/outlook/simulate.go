package outlook

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/lab/forecast"
)

// otherTenants stands in a curve for the tenants that may not be named.
const otherTenants = "others"

// Simulate forecasts a bulk action as if it started now under changed conditions; one that has
// ended is simulated again from its beginning. Sees reports which tenants the caller may see by
// name.
func (s *Outlook) Simulate(ctx context.Context, b api.BulkAction, what *api.Simulation,
	sees func(tenant string) bool) (api.Simulated, error) {
	ended := b.State.Final()
	if ended {
		b.Counts, b.Deadline = api.Counts{Total: b.Counts.Total}, time.Time{}
	}
	f, err := s.play(ctx, &b, what, time.Time{})
	if err != nil {
		return api.Simulated{}, err
	}
	if ended {
		f.Assumptions = append(f.Assumptions, "It has ended: the simulation runs it again with all of its items.")
	}
	view := s.viewForecast(&b, &f, time.Now().UTC())
	out := api.Simulated{
		Takes: view.Takes, Finished: !view.NoEnd, Steps: view.Steps, BulkActions: []api.SimulatedBulk{}, Bottleneck: view.Bottleneck,
		Workers: []api.PeakWorkers{}, Shares: shareCurve(f.Curve.Every, f.Curve.Tenants, f.Curve.Points, sees),
		Assumptions: view.Assumptions,
	}
	if view.Finish != (api.Finish{}) {
		out.Finish = &view.Finish
	}
	for _, w := range f.Workers {
		out.Workers = append(out.Workers, api.PeakWorkers(w))
	}
	for _, t := range slices.Sorted(maps.Keys(what.Weights)) {
		if sees(t) && t != b.Tenant && !slices.Contains(out.Shares.Tenants, t) {
			out.Assumptions = append(out.Assumptions, fmt.Sprintf("Tenant %.64q has no work that competes with it: its weight "+
				"has no effect.", t))
		}
	}
	return out, nil
}

// change applies the requested changes to work and load.
func change(w *forecast.Work, l *forecast.Load, what *api.Simulation) error {
	var bad weir.InputError
	for _, name := range slices.Sorted(maps.Keys(what.Rates)) {
		if r := used(&bad, "rates", name, w, l); r != nil {
			r.Rate = weir.Rate(what.Rates[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(what.Concurrency)) {
		n := what.Concurrency[name]
		if n < 0 || n > 1_000_000 {
			bad.Add("out_of_range", "concurrency."+name, fmt.Sprintf("%d is not between 0 and 1000000", n), "0 means no limit")
		} else if r := used(&bad, "concurrency", name, w, l); r != nil {
			r.Concurrency = n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(what.Pacing)) {
		p, err := weir.ParsePacing(what.Pacing[name])
		if err != nil {
			bad.Add("bad_value", "pacing."+name, fmt.Sprintf("%.64q is unknown", what.Pacing[name]), "use smooth or full")
		} else if r := used(&bad, "pacing", name, w, l); r != nil {
			r.Pacing = p
		}
	}
	for _, name := range slices.Sorted(maps.Keys(what.Weights)) {
		v := what.Weights[name]
		if math.IsNaN(v) || v < 0.01 || v > 1000 {
			bad.Add("out_of_range", "weights."+name, fmt.Sprintf("%v is not between 0.01 and 1000", v), "the default is 1")
		}
		reweigh(w, l, name, v)
	}
	if what.Workers > 0 {
		l.Workers, l.MaxWorkers = min(8, what.Workers), what.Workers
	}
	return bad.OrNil()
}

// used finds a resource of the work. Other resources do not affect it, and the caller must not
// learn of them.
func used(bad *weir.InputError, field, name string, w *forecast.Work, l *forecast.Load) *forecast.Resource {
	var known []string
	for _, st := range w.Steps {
		if !slices.Contains(known, st.Resource) {
			known = append(known, st.Resource)
		}
	}
	i := slices.IndexFunc(l.Resources, func(r forecast.Resource) bool { return r.Name == name })
	if i < 0 || !slices.Contains(known, name) {
		bad.Add("unknown_resource", fmt.Sprintf("%s.%.64s", field, name), "the bulk action does not use it", "it uses "+
			strings.Join(known, ", "))
		return nil
	}
	return &l.Resources[i]
}

func reweigh(w *forecast.Work, l *forecast.Load, tenant string, weight float64) {
	if w.Tenant == tenant {
		w.Weight = weight
	}
	for i := range l.Others {
		if l.Others[i].Tenant == tenant {
			l.Others[i].Weight = weight
		}
	}
}

// shareCurve returns a curve as the API shows it: tenants that the caller may not see are merged.
func shareCurve(every time.Duration, tenants []string, points [][]int64, sees func(string) bool) api.ShareCurve {
	out := api.ShareCurve{Tenants: []string{}, Points: []api.SharePoint{}}
	column := make([]int, len(tenants))
	for i, t := range tenants {
		if t == "" || !sees(t) {
			t = otherTenants
		}
		column[i] = slices.Index(out.Tenants, t)
		if column[i] < 0 && (t != otherTenants || anyOf(points, i)) {
			column[i], out.Tenants = len(out.Tenants), append(out.Tenants, t)
		}
	}
	for i, p := range points {
		point := api.SharePoint{At: api.Duration(time.Duration(i+1) * every), Shares: make([]float64, len(out.Tenants))}
		for j, n := range p {
			if point.Items += n; column[j] >= 0 {
				point.Shares[column[j]] += float64(n)
			}
		}
		for j := range point.Shares {
			point.Shares[j] = math.Round(1e4*point.Shares[j]/float64(max(point.Items, 1))) / 1e4
		}
		out.Points = append(out.Points, point)
	}
	return out
}

// anyOf reports whether a column of a curve has anything in it.
func anyOf(points [][]int64, column int) bool {
	return slices.ContainsFunc(points, func(p []int64) bool { return p[column] > 0 })
}
