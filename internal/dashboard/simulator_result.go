package dashboard

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/chart"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// simResult is what would be, beside what is.
type simResult struct {
	Says        string
	Rows        []simRow
	Curves      []simCurve
	Assumptions []string
}

// simRow is one bulk action, with its end now and then.
type simRow struct {
	Name, ID, Tenant string
	Items            int64
	Now, Then        string
	Takes            string // then
	Difference       string
	Class            string
}

// simCurve is a chart with its finding.
type simCurve struct {
	Title, Finding string
	Chart          template.HTML
}

// mostCurves is how many tenants have a curve of their own.
const mostCurves = 4

// result puts two simulations side by side. Before is nil if nothing runs now.
func (v *visit) result(now, then *system, before, after *api.Simulated) *simResult {
	res := &simResult{Assumptions: after.Assumptions}
	for i, w := range then.work {
		name := fmt.Sprintf("b%d", i)
		row := simRow{Name: w.name, ID: w.id, Tenant: w.tenant, Items: w.items, Now: "–", Then: "–", Difference: "–"}
		is, would := takes(before, name), takes(after, name)
		if w.id == "" {
			is = 0 // it is not in the system as it is
		}
		if is > 0 {
			row.Now = v.clock.Time(v.clock.Now.Add(is))
		}
		if would > 0 {
			row.Then, row.Takes = v.clock.Time(v.clock.Now.Add(would)), format.Duration(would)
		}
		if is > 0 && would > 0 {
			row.Difference, row.Class = laterBy(is, would)
		}
		res.Rows = append(res.Rows, row)
	}
	res.Says = "All of it would take " + format.Duration(time.Duration(after.Takes.P50))
	if before != nil {
		res.Says += ", and takes " + format.Duration(time.Duration(before.Takes.P50)) + " as it is"
	}
	res.Says += "."
	if !after.Finished {
		res.Says = "The simulation had no time to reach the end: it shows the first " + format.Duration(time.Duration(after.Takes.P50)) + "."
	}
	if b := after.Bottleneck; b != nil {
		res.Says += " The bottleneck would be " + bottleneck(then, b) + "."
	}
	v.curves(res, now, then, before, after)
	return res
}

// takes returns how long a bulk action takes in a simulation; 0: unknown.
func takes(s *api.Simulated, name string) time.Duration {
	if s == nil {
		return 0
	}
	for i := range s.BulkActions {
		if s.BulkActions[i].Name == name {
			return time.Duration(s.BulkActions[i].Takes.P50)
		}
	}
	return 0
}

// laterBy says by how much an end moves. Less than a twentieth is within what simulations vary by.
func laterBy(is, would time.Duration) (text, class string) {
	switch by := would - is; {
	case by.Abs() < is/20 || by.Abs() < time.Second:
		return "about the same", "faint"
	case by < 0:
		return format.Duration(-by) + " earlier", "done"
	default:
		return format.Duration(by) + " later", "waiting"
	}
}

// bottleneck says which limit decides how long it takes.
func bottleneck(s *system, b *api.Bottleneck) string {
	name := b.Resource
	for i, r := range s.resources {
		if b.Resource == "r"+strconv.Itoa(i) {
			name = r.name
		}
	}
	switch {
	case b.Of == "bulk_action" && b.Kind == "rate":
		return "the bulk action's own rate at " + name + ", " + b.Value
	case b.Of == "bulk_action":
		return "the calls at once of the bulk action itself, " + b.Value
	case b.Of == "tenant":
		return "the calls at once of the tenant, " + b.Value
	}
	switch b.Kind {
	case "rate":
		return "the rate of " + name + ", " + b.Value
	case "concurrency":
		return "the calls at once of " + name + ", " + b.Value
	case "workers":
		return "the workers of " + name + ", " + b.Value
	}
	return "the service behind " + name + ", " + b.Value
}

// curves draws the throughput of all work, and the share of each tenant; the dots are the system as it is.
func (v *visit) curves(res *simResult, now, then *system, before, after *api.Simulated) {
	var was *api.ShareCurve
	if before != nil {
		was = &before.Shares
	}
	most, all := 0.0, perSecond(&after.Shares)
	for _, x := range all {
		most = max(most, x)
	}
	v.curve(res, "throughput", "Items per second", "Items/s", "At most "+format.Rate(most)+" would be sent, over all steps.", &after.Shares, all, was, perSecondOf(was))
	for i, t := range after.Shares.Tenants[:min(len(after.Shares.Tenants), mostCurves)] {
		values := sharesOf(&after.Shares, i)
		sum := 0.0
		for _, x := range values {
			sum += x
		}
		name, had := t, []float64(nil)
		if n := numbered(then.tenants(), t); n >= 0 {
			name = then.tenants()[n]
			if was != nil {
				old := slices.Index(now.tenants(), name)
				if at := slices.Index(was.Tenants, "t"+strconv.Itoa(old)); at >= 0 {
					had = sharesOf(was, at)
				}
			}
		}
		finding := fmt.Sprintf("%s would get %s of all calls on average.", name, format.Percent(sum/100/float64(max(len(values), 1))))
		v.curve(res, "share-"+strconv.Itoa(i), "Share of "+name+", in per cent", "Per cent", finding, &after.Shares, values, was, had)
	}
}

// numbered returns the place of a name such as t3 in a list; -1: it is another one.
func numbered(list []string, name string) int {
	for i := range list {
		if name == "t"+strconv.Itoa(i) {
			return i
		}
	}
	return -1
}

// curve adds a chart of values at the points of a simulation, with dots of the other one at the same times.
func (v *visit) curve(res *simResult, id, title, unit, finding string, c *api.ShareCurve, values []float64, was *api.ShareCurve, had []float64) {
	if len(c.Points) == 0 {
		return
	}
	s := chart.Series{ID: "c-" + id, Title: title, Desc: finding, Unit: unit, Height: 120, Clock: v.clock, From: v.clock.Now,
		To: v.clock.Now.Add(time.Duration(c.Points[len(c.Points)-1].At))}
	for i, p := range c.Points {
		at := chart.Point{At: v.clock.Now.Add(time.Duration(p.At)), Value: values[i]}
		if len(had) > 0 {
			s.Bound, s.Dotted = "As it is", true
			if j := slices.IndexFunc(was.Points, func(x api.SharePoint) bool { return x.At >= p.At }); j >= 0 {
				at.Bound = had[j]
			}
		}
		s.Points = append(s.Points, at)
	}
	res.Curves = append(res.Curves, simCurve{title, finding, s.HTML()})
}

func perSecondOf(c *api.ShareCurve) []float64 {
	if c == nil {
		return nil
	}
	return perSecond(c)
}

// perSecond returns the items per second at each point.
func perSecond(c *api.ShareCurve) (all []float64) {
	last := time.Duration(0)
	for _, p := range c.Points {
		span := (time.Duration(p.At) - last).Seconds()
		last = time.Duration(p.At)
		all = append(all, float64(p.Items)/max(span, 0.001))
	}
	return all
}

// sharesOf returns the share of one tenant at each point, in per cent.
func sharesOf(c *api.ShareCurve, tenant int) (all []float64) {
	for _, p := range c.Points {
		all = append(all, p.Shares[tenant]*100)
	}
	return all
}
