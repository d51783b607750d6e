package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// forecastPage is step 5: what will happen, a trial, and the start.
type forecastPage struct {
	*wizard
	Forecast   *api.Forecast
	NoForecast string // why the forecast is missing
	Ways       []way
	Lines      []forecastLine
	Rules      []fact
	// Ask says that the start asks on a page of its own.
	Ask    bool
	Button string
	// what was typed
	First         string
	Real          bool
	StartAt, Zone string
	Trial         *api.TrialResult
}

// way is one way to start, with its forecast.
type way struct {
	Name, Ends, By, Takes, Effect string
	Current                       bool
	At                            string // to be scheduled for
}

// forecastLine is one step of the forecast.
type forecastLine struct {
	api.ForecastStep
	Number     int
	Share      int64 // of the longest, in per mille
	Bottleneck bool
}

func (d *Dashboard) newForecast(ctx context.Context, v *visit) (content, error) {
	p, err := v.forecast(ctx)
	if err != nil {
		return content{}, err
	}
	return p.page(), nil
}

// forecast makes the page of step 5.
func (v *visit) forecast(ctx context.Context) (*forecastPage, error) {
	w, err := v.openChecked(ctx, 1)
	if err != nil {
		return nil, err
	}
	p := &forecastPage{wizard: w, First: "5", Zone: zoneName(v)}
	p.Rules = v.rulesIn(w)
	p.Ask = w.Items() > typeAbove || w.Check != nil && !w.Check.Complete
	p.Button = w.startButton()
	if w.Blocks() == "" {
		err = p.ask(ctx, v)
	}
	return p, err
}

func (p *forecastPage) page() content {
	c := p.content(4, p)
	forecast := "weir forecast " + p.ID
	if p.Check != nil && p.Check.Items > 0 { // its rows have not been read as items yet
		forecast += fmt.Sprintf(" --items %d", p.Check.Items)
	}
	c.Weir = []string{forecast, "weir trial " + p.ID, "weir start " + p.ID}
	return c
}

// startButton says what the last button does.
func (w *wizard) startButton() string {
	switch items, canary := w.Items(), w.Canary(); {
	case canary > 0:
		return "Start canary of " + format.Items(canary)
	case items > 0:
		return "Start " + format.Items(items)
	case w.Bulk.Canary != nil:
		return "Start the canary"
	}
	return "Start"
}

// ask asks for the forecast, and for those of other ways to start.
func (p *forecastPage) ask(ctx context.Context, v *visit) error {
	f, err := v.api.Forecast(ctx, p.ID, api.ForecastRequest{Items: p.Check.Items})
	if err != nil {
		if r := refusal(err); r != nil {
			p.NoForecast = inSentences(r.Detail, r.Fix)
			return nil
		}
		return err
	}
	p.Forecast = &f
	longest := api.Duration(1)
	for _, s := range f.Steps {
		longest = max(longest, s.Takes)
	}
	for i, s := range f.Steps {
		l := forecastLine{ForecastStep: s, Number: i + 1, Share: int64(1000 * float64(s.Takes) / float64(longest))}
		l.Bottleneck = f.Bottleneck != nil && s.Takes == longest && len(f.Steps) > 1
		p.Lines = append(p.Lines, l)
	}
	p.Ways = append(p.Ways, p.wayOf(v, "Now", &f, clashText(f.Clashes), true))
	if b := f.Bottleneck; b != nil && b.Kind == "rate" && b.Of == "" {
		p.faster(ctx, v, b)
	}
	if len(f.Clashes) > 0 {
		at := v.clock.Now.Add(time.Hour).Truncate(time.Minute).UTC()
		if later, err := v.api.Forecast(ctx, p.ID, api.ForecastRequest{Items: p.Check.Items, StartAt: at.Format(time.RFC3339)}); err == nil {
			w := p.wayOf(v, "At "+v.clock.Time(at), &later, clashText(later.Clashes), false)
			w.At = at.Format(time.RFC3339)
			p.Ways = append(p.Ways, w)
		}
	}
	return nil
}

// Limit says what determines the end, and what would make it earlier.
func (p *forecastPage) Limit() string {
	b := p.Forecast.Bottleneck
	if b == nil {
		return ""
	}
	own := " Raise it under Rules to end earlier."
	if !p.Own() {
		own = " The template sets it."
	}
	switch {
	case b.Of == "bulk_action" && b.Kind == "rate":
		return "The bottleneck is the rate of this bulk action itself at " + b.Resource + ", " + b.Value + "." + own
	case b.Of == "bulk_action":
		return "The bottleneck is how many calls this bulk action may have at once: " + strings.TrimSuffix(b.Value, " at once") + "." + own
	case b.Of == "tenant":
		return "The bottleneck is how many calls the tenant " + p.Bulk.Tenant + " may have at once: " + strings.TrimSuffix(b.Value, " at once") +
			". An operator could raise it."
	case b.Kind == "rate":
		return "The rate limit of " + b.Resource + ", " + b.Value + ", is the bottleneck."
	case b.Kind == "concurrency":
		return "The limit of calls at once of " + b.Resource + " is the bottleneck."
	case b.Kind == "workers":
		return "The number of workers, " + strings.TrimSuffix(b.Value, " workers") + ", is the bottleneck. An operator could allow more workers, or add a node."
	}
	return "The speed of " + b.Resource + " itself is the bottleneck."
}

// faster asks how it would go if the limit that determines the end were half as much again.
func (p *forecastPage) faster(ctx context.Context, v *visit, b *api.Bottleneck) {
	var rate api.Rate
	if rate.UnmarshalText([]byte(b.Value)) != nil || rate <= 0 {
		return
	}
	more := rate * 3 / 2
	f, err := v.api.Forecast(ctx, p.ID, api.ForecastRequest{Items: p.Check.Items, Rates: map[string]api.Rate{b.Resource: more}})
	if err != nil {
		return // the bulk action's own rate is the limit, or the resource is gone
	}
	p.Ways = append(p.Ways, p.wayOf(v, fmt.Sprintf("Now, with %s at %s", b.Resource, more), &f, "An operator would have to raise the rate of "+b.Resource+".", false))
}

func (p *forecastPage) wayOf(v *visit, name string, f *api.Forecast, effect string, chosen bool) way {
	w := way{Name: name, Ends: "Unknown", By: "Unknown", Takes: "Unknown", Effect: effect, Current: chosen}
	if !f.Finish.P50.IsZero() {
		w.Ends, w.By = v.clock.Time(f.Finish.P50), v.clock.Time(f.Finish.P90)
		w.Takes = format.Duration(time.Duration(f.Takes.P50))
	}
	return w
}

// clashText says what others do at the same time.
func clashText(clashes []api.Clash) string {
	var parts []string
	for _, c := range clashes {
		with := format.Plural(int64(c.Tenants), "other tenant", "other tenants")
		if c.Tenants == 0 {
			with = "other bulk actions of your own"
		}
		parts = append(parts, fmt.Sprintf("Shares %s with %s, %s waiting: you get %s", c.Resource, with, format.Items(c.Backlog), format.Percent(c.Share)))
	}
	if len(parts) == 0 {
		return "None"
	}
	return strings.Join(parts, ". ")
}

// rulesIn says in words by which rules the draft would run.
func (v *visit) rulesIn(w *wizard) (list []fact) {
	r := w.Bulk.Rules
	canary := "None: all items run at once"
	if c := r.Canary; c != nil {
		first := number(c.Percent) + "\u00a0%"
		if c.Items > 0 {
			first = format.Items(c.Items)
		}
		if n := w.Canary(); n > 0 && c.Items == 0 {
			first += " (" + format.Items(n) + ")"
		}
		canary = "Run " + first + " first, then ask me"
		if c.Approve == "auto" {
			canary = "Run " + first + " first; the rest follows if enough of them are done"
		}
	}
	list = append(list, fact{"Canary", canary})
	stop := "Never stops by itself"
	if s := r.StopOn; s != nil && s.FailureRate > 0 {
		stop = "Stop if " + number(s.FailureRate*100) + "\u00a0% fail, counted from " + format.Items(countedFrom(s)) + ". Stopping loses nothing."
		if never := w.NeverStops(); never != "" {
			stop = strings.TrimSuffix(stop, "Stopping loses nothing.") + never
		}
	} else if s != nil && s.MaxFailures != 0 {
		stop = "Stop after " + format.Plural(max(s.MaxFailures, 0)+1, "failure", "failures")
	}
	list = append(list, fact{"Failures", stop})
	for _, step := range stepIDs(w.Bulk.Steps) {
		if rate, ok := r.Rates[step]; ok {
			list = append(list, fact{"Rate of " + step, "At most " + rate.String()})
		}
	}
	if r.Concurrency > 0 {
		list = append(list, fact{"Calls at once", "At most " + format.Count(int64(r.Concurrency))})
	}
	if r.Tier != "" && r.Tier != "default" {
		list = append(list, fact{"Urgency", r.Tier})
	}
	if !r.Deadline.IsZero() {
		list = append(list, fact{"Deadline", v.clock.Time(r.Deadline)})
	}
	if c := w.Bulk.Callback; c != nil {
		list = append(list, fact{"Notifies", c.URL})
	}
	return list
}

// tryDraft sends a few items through the steps, and shows what was sent and answered.
func (d *Dashboard) tryDraft(ctx context.Context, v *visit) (done, error) {
	p, err := v.forecast(ctx)
	if err != nil {
		return done{}, err
	}
	p.First, p.Real = strings.TrimSpace(v.FormValue("first")), v.FormValue("real") != ""
	n, err := strconv.Atoi(p.First)
	if err != nil || n < 1 || n > 20 {
		p.Faults["first"] = "Choose from 1 to 20 items."
		return done{}, &pageAgain{"new-forecast", p.page()}
	}
	dry := !p.Real
	result, err := v.api.Trial(v.once(ctx), p.ID, api.Trial{First: n, DryRun: &dry})
	if err != nil {
		if err := p.refuse(err, func(string) string { return "first" }); err != nil {
			return done{}, err
		}
		return done{}, &pageAgain{"new-forecast", p.page()}
	}
	p.Trial = &result
	return done{}, &pageInstead{pageAgain{"new-forecast", p.page()}, http.StatusOK}
}

// Sent says what has been sent by now. A page that is loaded again does not know of earlier trials.
func (p *forecastPage) Sent() string {
	switch {
	case p.Trial == nil:
		return "It has not started."
	case p.Real:
		return "It has not started: only the trial was sent, for real."
	}
	return "It has not started: only the trial was sent."
}

// NoSchedule says why no schedule can be made of the draft, empty if one can.
func (p *forecastPage) NoSchedule() string { return noSchedule(&p.Bulk) }
