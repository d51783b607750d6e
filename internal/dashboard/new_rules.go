package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// rulesPage is step 4: how it runs. The fields hold what a person types.
type rulesPage struct {
	*wizard
	Canary, CanaryPercent, CanaryItems, Approve, Success, P95 string
	Stop                                                      bool
	StopPercent, StopAfter                                    string
	StopCancel                                                bool
	Rates                                                     []rateField
	Concurrency, Tier, Priority, Deadline, KeepDays           string
	CallbackURL                                               string
	Tiers                                                     []choice
	Zone                                                      string
}

func (d *Dashboard) newRules(ctx context.Context, v *visit) (content, error) {
	w, err := v.openChecked(ctx, 1)
	if err != nil {
		return content{}, err
	}
	p := &rulesPage{wizard: w}
	p.show(v)
	return p.page(v), nil
}

func (p *rulesPage) page(v *visit) content {
	p.Zone = zoneName(v)
	for _, o := range []choice{{Value: "critical", Name: "Critical: before all others"}, {Value: "high", Name: "High"}, {Value: "default", Name: "Default"},
		{Value: "low", Name: "Low: when others leave room"}} {
		o.Current = o.Value == cmp.Or(p.Tier, "default")
		p.Tiers = append(p.Tiers, o)
	}
	return p.content(3, p)
}

// zoneName is the name of the time zone in which a person writes times.
func zoneName(v *visit) string {
	if name := v.clock.Zone.String(); name != "Local" {
		return name
	}
	return "UTC"
}

// show fills the fields with what the draft says.
func (p *rulesPage) show(v *visit) {
	r := p.Bulk.Rules
	p.Canary = "none"
	p.CanaryPercent, p.CanaryItems, p.Approve, p.Success = "1", "100", "manual", "99"
	if c := r.Canary; c != nil {
		p.Canary = "percent"
		if c.Items > 0 {
			p.Canary, p.CanaryItems = "items", strconv.FormatInt(c.Items, 10)
		} else {
			p.CanaryPercent = number(c.Percent)
		}
		p.Approve = cmp.Or(c.Approve, "manual")
		if c.SuccessRate > 0 {
			p.Success = number(c.SuccessRate * 100)
		}
		if c.P95 > 0 {
			p.P95 = c.P95.String()
		}
	}
	p.StopPercent, p.StopAfter = "5", strconv.FormatInt(stopAfter(p.Items()), 10)
	if s := r.StopOn; s != nil {
		p.Stop, p.StopCancel = s.FailureRate > 0, s.Cancel
		if s.FailureRate > 0 {
			p.StopPercent, p.StopAfter = number(s.FailureRate*100), strconv.FormatInt(cmp.Or(s.MinItems, stopAfter(p.Items())), 10)
		}
	}
	for _, step := range stepIDs(p.Bulk.Steps) {
		f := rateField{Step: step}
		if rate, ok := r.Rates[step]; ok {
			f.Text = rate.String()
		}
		p.Rates = append(p.Rates, f)
	}
	if r.Concurrency > 0 {
		p.Concurrency = strconv.Itoa(r.Concurrency)
	}
	if r.Priority != 0 {
		p.Priority = strconv.Itoa(r.Priority)
	}
	p.Tier = r.Tier
	if !r.Deadline.IsZero() {
		p.Deadline = r.Deadline.In(zoneOfName(v)).Format("2006-01-02T15:04")
	}
	if p.Draft.KeepFor > 0 {
		p.KeepDays = number(time.Duration(p.Draft.KeepFor).Hours() / 24)
	}
	if c := p.Draft.Callback; c != nil {
		p.CallbackURL = c.URL
	}
}

// stopAfter is from how many items on the wizard offers to count failures: a tenth of the items, as a plain number.
func stopAfter(items int64) int64 {
	if items == 0 { // not known
		return 1000
	}
	n, unit := min(1000, max(20, items/10)), int64(1)
	for n >= 10*unit {
		unit *= 10
	}
	return (n + unit/2) / unit * unit
}

// countFailures sets from how many items on failures are counted, if the draft does not say it.
func (v *visit) countFailures(ctx context.Context, w *wizard) error {
	if s := w.Bulk.StopOn; !w.Own() || s == nil || s.FailureRate <= 0 || s.MinItems != 0 {
		return nil
	}
	return v.describe(ctx, w, func(n *api.NewBulkAction) {
		rule := *n.StopOn
		rule.MinItems = stopAfter(w.Items())
		n.StopOn = &rule
	})
}

// countedFrom is from how many items on a rule counts the share of failures.
func countedFrom(s *api.StopOn) int64 { return cmp.Or(s.MinItems, 100) }

// NeverStops says that the rule about the share of failures cannot apply, empty if it can or that is not known.
func (w *wizard) NeverStops() string {
	s, items := w.Bulk.StopOn, w.Items()
	if s == nil || s.FailureRate <= 0 || items == 0 || items >= countedFrom(s) {
		return ""
	}
	return fmt.Sprintf("It cannot stop for this: failures are counted from %s on, and the data has %s.", format.Items(countedFrom(s)), format.Count(items))
}

// zoneOfName is the zone that [zoneName] names.
func zoneOfName(v *visit) *time.Location {
	if v.clock.Zone.String() == "Local" {
		return time.UTC
	}
	return v.clock.Zone
}

// number writes a number as short as it can be.
func number(x float64) string { return strconv.FormatFloat(math.Round(x*1e6)/1e6, 'f', -1, 64) }

// saveRules saves step 4.
func (d *Dashboard) saveRules(ctx context.Context, v *visit) (done, error) {
	w, err := v.open(ctx)
	if err != nil {
		return done{}, err
	}
	p := &rulesPage{wizard: w}
	edit := p.read(v)
	if len(w.Faults) == 0 {
		if err := v.describe(ctx, w, edit); err != nil {
			if err := w.refuse(err, ruleField); err != nil {
				return done{}, err
			}
		}
	}
	if len(w.Faults) == 0 && len(w.Rest) == 0 {
		return done{To: "/new/" + w.ID + "/forecast"}, nil
	}
	if err := v.check(ctx, w, 1); err != nil {
		return done{}, err
	}
	return done{}, &pageAgain{"new-rules", p.page(v)}
}

// read reads the form. What is wrong with it is in the faults.
func (p *rulesPage) read(v *visit) func(*api.NewBulkAction) {
	text := func(name string) string { return strings.TrimSpace(v.FormValue(name)) }
	p.Tier, p.Priority, p.Deadline = text("tier"), text("priority"), text("deadline")
	priority := int(p.whole("priority", p.Priority))
	var deadline time.Time
	if p.Deadline != "" {
		var err error
		if deadline, err = time.ParseInLocation("2006-01-02T15:04", p.Deadline, zoneOfName(v)); err != nil {
			p.Faults["deadline"] = "This is not a date and time. Write it as 2026-12-24T18:00."
		}
	}
	if !p.Own() {
		return func(n *api.NewBulkAction) { n.Tier, n.Priority, n.Deadline = p.Tier, priority, deadline }
	}
	p.Concurrency, p.KeepDays, p.CallbackURL = text("concurrency"), text("keep"), text("callback")
	canary, stop, rates := p.readCanary(text), p.readStop(text), p.readRates(text)
	concurrency, keep := int(p.whole("concurrency", p.Concurrency)), p.decimal("keep", p.KeepDays)
	secret := text("secret")
	return func(n *api.NewBulkAction) {
		n.Rules = api.Rules{Tier: p.Tier, Priority: priority, Deadline: deadline, Canary: canary, StopOn: stop, Rates: rates, Concurrency: concurrency}
		n.KeepFor = api.Duration(keep * 24 * float64(time.Hour))
		n.Callback = nil
		if p.CallbackURL != "" {
			n.Callback = &api.Callback{URL: p.CallbackURL, Secret: secret}
		}
	}
}

func (p *rulesPage) readCanary(text func(string) string) *api.Canary {
	p.Canary, p.CanaryPercent, p.CanaryItems = text("canary"), text("canary_percent"), text("canary_items")
	p.Approve, p.Success, p.P95 = text("approve"), text("success"), text("p95")
	c := &api.Canary{Approve: p.Approve}
	switch p.Canary {
	case "percent":
		c.Percent = p.decimal("canary_percent", p.CanaryPercent)
	case "items":
		c.Items = p.whole("canary_items", p.CanaryItems)
	default:
		return nil
	}
	if p.Approve != "auto" {
		return c
	}
	c.SuccessRate = p.decimal("success", p.Success) / 100
	if p.P95 != "" {
		if err := c.P95.UnmarshalText([]byte(p.P95)); err != nil {
			p.Faults["p95"] = sentence(err.Error())
		}
	}
	return c
}

func (p *rulesPage) readStop(text func(string) string) *api.StopOn {
	p.Stop, p.StopPercent, p.StopAfter, p.StopCancel = text("stop") != "", text("stop_percent"), text("stop_after"), text("stop_cancel") != ""
	if !p.Stop {
		return nil
	}
	return &api.StopOn{FailureRate: p.decimal("stop_percent", p.StopPercent) / 100, MinItems: p.whole("stop_after", p.StopAfter), Cancel: p.StopCancel}
}

func (p *rulesPage) readRates(text func(string) string) map[string]api.Rate {
	rates := map[string]api.Rate{}
	for _, step := range stepIDs(p.Bulk.Steps) {
		f := rateField{Step: step, Text: text("rate-" + step)}
		p.Rates = append(p.Rates, f)
		if f.Text == "" {
			continue
		}
		written := f.Text
		if _, err := strconv.ParseFloat(written, 64); err == nil {
			written += "/s"
		}
		var r api.Rate
		if err := r.UnmarshalText([]byte(written)); err != nil {
			p.Faults["rate-"+step] = "This is not a rate. Write it as 300/s or 30/m."
			continue
		}
		rates[step] = r
	}
	if len(rates) == 0 {
		return nil
	}
	return rates
}

// whole reads a whole number; nothing is 0.
func (p *rulesPage) whole(field, text string) int64 {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(strings.NewReplacer(",", "", "\u00a0", "").Replace(text), 10, 64)
	if err != nil {
		p.Faults[field] = "This is not a whole number."
	}
	return n
}

// decimal reads a number with a decimal point or comma; nothing is 0.
func (p *rulesPage) decimal(field, text string) float64 {
	if text == "" {
		return 0
	}
	number := strings.TrimSuffix(strings.TrimSpace(strings.TrimSuffix(text, "%")), "\u00a0")
	if !strings.Contains(number, ".") && strings.Count(number, ",") == 1 {
		number = strings.Replace(number, ",", ".", 1)
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || math.Abs(x) > 1e9 {
		p.Faults[field] = "This is not a number. Write it like 2.5."
		return 0
	}
	return x
}

// ruleField returns the field of the page for a field of the API.
func ruleField(field string) string {
	switch {
	case field == "canary" || field == "canary.percent":
		return "canary_percent"
	case strings.HasPrefix(field, "rates."):
		return "rate-" + strings.TrimPrefix(field, "rates.")
	case strings.HasPrefix(field, "callback"):
		return "callback"
	}
	return map[string]string{"canary.items": "canary_items", "canary.success_rate": "success", "canary.p95": "p95", "stop_on": "stop_percent",
		"stop_on.failure_rate": "stop_percent", "stop_on.min_items": "stop_after", "concurrency": "concurrency", "tier": "tier", "priority": "priority",
		"deadline": "deadline", "keep_for": "keep"}[field]
}

// canaryOf is how many of so many items a canary runs first, as the engine counts them.
func canaryOf(c *api.Canary, items int64) int64 {
	switch {
	case c == nil || items == 0:
		return 0
	case c.Items > 0:
		return min(c.Items, items)
	}
	return min(items, max(1, int64(math.Ceil(c.Percent/100*float64(items)))))
}
