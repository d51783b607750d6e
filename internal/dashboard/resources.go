package dashboard

import (
	"context"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/chart"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// resourcePages registers the page of resources, and what can be done on it.
func (d *Dashboard) resourcePages() {
	d.page("/resources", "resources", d.resources)
	d.form("/resources/{name}/limits", d.setLimits)
	d.form("/resources/{name}/reset", d.resetLimits)
	d.page("/resources/{name}/circuit/{verb}", "confirm", d.confirmCircuit)
	d.form("/resources/{name}/circuit/{verb}", d.setCircuit)
}

// resourcesPage answers: is a service in trouble, which limit holds things up, and who gets how much?
type resourcesPage struct {
	Says    string
	Outages []outage
	Rows    []resourceRow
	// Of is the resource that the rest of the page is about; nil without resources.
	Of              *resourceRow
	Span            string        // over which time Speed is
	Speed           template.HTML // chart of the last hour, empty before there is one
	Finding         string
	Shares          []shareRow
	Weights, Rate   string // sums of the shares
	Ready, InFlight int64
	Form            limitsForm
	Effect          *effect // of what the form says, once asked for
	Circuit         []circuitVerb
}

// resourceRow is one resource in the table.
type resourceRow struct {
	api.ResourceStatus
	Current        bool
	RateText       string
	CallsText      string
	Share, UseText string // of the rate in use; empty without a rate
	Class          string // of the bar
	Sign           sign
	Limited        string
	Origin         string
}

// shareRow is one tenant's share of a resource.
type shareRow struct {
	api.TenantShare
	Bar template.HTML
}

func (d *Dashboard) resources(ctx context.Context, v *visit) (content, error) {
	q := v.URL.Query()
	c, page, err := v.resourcesPage(ctx, q.Get("of"))
	// The effect is simulated once, when a person asks; parts that are pushed do not show it.
	if err == nil && page.Of != nil && q.Has("rate") && ctx.Value(insteadKey{}) == nil {
		err = page.foresee(ctx, v)
	}
	return c, err
}

// resourcesPage asks for all resources and for what the page shows of one of them.
func (v *visit) resourcesPage(ctx context.Context, name string) (c content, page *resourcesPage, err error) {
	all, err := collect(v.api.Resources().List(ctx), 1000)
	if err != nil {
		return c, nil, err
	}
	page = &resourcesPage{Says: troubles(all)}
	c = content{Title: "Resources", Nav: "Resources", Page: page, Weir: []string{"weir resources list"}}
	for i := range all {
		r := rowOf(v, &all[i])
		if r.Outage != nil {
			page.Outages = append(page.Outages, outageOf(v, &all[i]))
		}
		page.Rows = append(page.Rows, r)
	}
	if len(page.Rows) == 0 {
		return c, page, nil
	}
	// Without a choice it is always the first by name: the page must not turn to another one while a person types.
	at := max(0, slices.IndexFunc(page.Rows, func(r resourceRow) bool { return r.Name == name }))
	page.Of = &page.Rows[at]
	page.Of.Current, page.Form, page.Circuit = true, limitsOf(&page.Of.ResourceStatus), circuitVerbs
	if err = page.draw(ctx, v); err == nil {
		err = page.share(ctx, v)
	}
	c.Weir = append(c.Weir, "weir resources get "+page.Of.Name, "weir fairness "+page.Of.Name)
	return c, page, err
}

// troubles says the most important fact of all resources.
func troubles(all []api.ResourceStatus) string {
	open, full, last := 0, 0, ""
	for i := range all {
		if r := &all[i]; r.Circuit != "closed" {
			open++
		} else if r.Ready > 0 && r.Use >= usedUp {
			full, last = full+1, r.Name
		}
	}
	says := "All circuits are closed: every service takes calls."
	if open > 0 {
		says = format.Plural(int64(open), "service takes", "services take") + " no calls now, or few."
	}
	switch full {
	case 0:
		return says + " No rate is used up."
	case 1:
		return says + " The rate of " + last + " is used up; more workers would not help."
	}
	return says + fmt.Sprintf(" The rates of %s are used up; more workers would not help.", format.Plural(int64(full), "resource", "resources"))
}

// usedUp is the use of a rate that counts as all of it: a rate is never met to the last item.
const usedUp = 0.95

func rowOf(v *visit, s *api.ResourceStatus) resourceRow {
	r := resourceRow{ResourceStatus: *s, RateText: rateText(s.Rate), CallsText: callsText(s.Concurrency), Sign: circuitSign(v, s), Origin: origin(v, s)}
	if s.Rate > 0 || s.Allowed > 0 {
		used := min(max(s.Use, 0), 1)
		r.Share, r.UseText = strconv.FormatFloat(math.Round(used*1000)/10, 'f', -1, 64), format.Percent(used)
	}
	switch {
	case s.Circuit != "closed":
		r.Class, r.Limited = "failed", "Its circuit"
	case s.Use >= usedUp:
		r.Class, r.Limited = "waiting", "Its rate"
	case s.Concurrency > 0 && s.InFlight >= s.Concurrency:
		r.Limited = "Calls at once"
	case s.Ready == 0 && s.InFlight == 0:
		r.Limited = "Nothing; idle"
	default:
		r.Limited = "Not its limits"
	}
	return r
}

// rateText writes a limit on the rate; slow ones in the unit that they are set in.
func rateText(r api.Rate) string {
	switch {
	case r == 0:
		return "No limit"
	case r < 10:
		return r.String()
	}
	return format.Rate(float64(r))
}

func callsText(n int) string {
	if n == 0 {
		return "No limit"
	}
	return format.Count(int64(n))
}

// origin says where the limits of a resource come from.
func origin(v *visit, r *api.ResourceStatus) string {
	switch r.Origin {
	case "api":
		return "Set at run time, " + v.clock.Time(r.ChangedAt)
	case "file":
		return "From the configuration file"
	case "program":
		return "From the program"
	}
	return "No limits are set"
}

// draw shows the last hour of the resource.
func (p *resourcesPage) draw(ctx context.Context, v *visit) error {
	s, err := v.hour(ctx, p.Of.Name)
	if err != nil || s.Points == 0 {
		return err
	}
	sent := plus(s.Done, s.Failed, s.Retries)
	now, _ := last(s.PerSecond(sent))
	p.Finding = format.Rate(now) + " now"
	if allowed, limited := last(s.AllowedRate); limited {
		p.Finding += ", " + format.Rate(allowed) + " allowed"
	}
	if refused := s.Refused.Sum(); refused > 0 {
		p.Finding += ", " + format.Items(int64(refused)) + " refused in the last hour"
	}
	p.Finding += "."
	p.Span = spanned(&s.Timeline, sent)
	p.Speed = v.speed("c-resource", "Items per second of "+p.Of.Name+", "+p.Span, p.Finding, 120, &s.Timeline, sent, s.AllowedRate, lately)
	return nil
}

// share shows who gets how much of the resource.
func (p *resourcesPage) share(ctx context.Context, v *visit) error {
	all, err := v.api.Fairness(ctx, p.Of.Name)
	if err != nil {
		return err
	}
	var weights, rate float64
	for _, s := range all {
		p.Shares = append(p.Shares, shareRow{s, chart.Share(s.Actual, s.Entitled)})
		weights, rate, p.Ready, p.InFlight = weights+s.Weight, rate+s.Rate, p.Ready+s.Ready, p.InFlight+int64(s.InFlight)
	}
	p.Weights, p.Rate = strconv.FormatFloat(math.Round(weights*1000)/1000, 'f', -1, 64), format.Rate(rate)
	return nil
}
