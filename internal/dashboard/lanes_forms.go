package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// inForm is how a browser writes a time into a field of a date and a time.
const inForm = "2006-01-02T15:04"

// pinForm holds the pin of a lane as texts, as a person types them.
type pinForm struct{ Workers, Until, Reason string }

// scalingForm holds how workers follow the load.
type scalingForm struct {
	Policies        []choice
	Min, Max, Drain string
}

func scalingFormOf(s *api.ScalingSettings) scalingForm {
	f := scalingForm{Policies: choices(s.Policy, "The default of each node", "", "By the work: littles-law", "littles-law", "Off: workers stay as they are", "off")}
	if s.Policy != "" && s.Policy != "littles-law" && s.Policy != "off" {
		f.Policies = append(f.Policies, choice{s.Policy, s.Policy, true})
	}
	if s.Min > 0 {
		f.Min = strconv.Itoa(s.Min)
	}
	if s.Max > 0 {
		f.Max = strconv.Itoa(s.Max)
	}
	if s.Drain > 0 {
		f.Drain = s.Drain.String()
	}
	return f
}

// laneFaults shows the page of lanes again, with what is wrong in a form.
func (v *visit) laneFaults(ctx context.Context, lane string, faults map[string]string, keep func(*lanesPage)) error {
	c, page, err := v.lanesPage(ctx, lane)
	if err != nil {
		return err
	}
	page.Faults = faults
	keep(page)
	return &pageAgain{"lanes", c}
}

// pinLane sets the workers of a lane by hand.
func (d *Dashboard) pinLane(ctx context.Context, v *visit) (done, error) {
	partition, lane := v.PathValue("partition"), v.PathValue("lane")
	name, faults := partition+"/"+lane, map[string]string{}
	form := pinForm{strings.TrimSpace(v.FormValue("workers")), v.FormValue("until"), strings.TrimSpace(v.FormValue("reason"))}
	workers, err := strconv.Atoi(form.Workers)
	if err != nil || workers < 0 {
		faults["workers"] = "Write a whole number. 0 stops the lane."
	}
	until, err := time.ParseInLocation(inForm, form.Until, v.clock.Zone)
	if err != nil {
		faults["until"] = "Give the date and the time at which the pin ends."
	}
	if form.Reason == "" {
		faults["reason"] = "Give a reason. It is shown with the lane."
	}
	if len(faults) == 0 && workers == 0 && v.FormValue("sure") == "" {
		return done{}, &pageAgain{"confirm", v.askStop(name, form, v.clock.Time(until))}
	}
	if len(faults) == 0 {
		_, err = v.api.Pin(ctx, partition, lane, api.Pin{Workers: workers, Until: until, Reason: form.Reason})
		if faults = faultsOf(err); len(faults) == 0 && err != nil {
			return done{}, err
		}
	}
	if len(faults) > 0 {
		return done{}, v.laneFaults(ctx, name, faults, func(p *lanesPage) { p.Pin = form })
	}
	span := until.Sub(v.clock.Now).Round(time.Minute)
	return done{To: "/lanes?lane=" + url.QueryEscape(name), Note: note{
		Text: fmt.Sprintf("%s has %s until %s.", name, format.Plural(int64(workers), "worker", "workers"), v.clock.Time(until)),
		Then: "Then it follows its load again.",
		Weir: []string{fmt.Sprintf("weir pin %s --workers %d --for %s --reason %s", quoted(name), workers, max(span, time.Minute), quoted(form.Reason))},
	}}, nil
}

// faultsOf returns what the API found wrong, by field.
func faultsOf(err error) map[string]string {
	faults := map[string]string{}
	if refused := refusal(err); refused != nil {
		for _, f := range refused.Errors {
			faults[f.Field] = sentence(f.Message)
		}
	}
	return faults
}

// askStop asks before a lane gets no workers at all.
func (v *visit) askStop(name string, form pinForm, until string) content {
	return v.ask(&question{
		Title: "Stop the lane " + name + "?", Up: "/lanes?lane=" + url.QueryEscape(name), UpName: "Lanes", Scope: ofAll + "control", Needed: true,
		Facts: []fact{{"Will wait", "All work of the lane until " + until + ", of every tenant"}, {"Will finish", "Calls that are running now"},
			{"Stays", "No item is lost, and no attempt is used up"}},
		Text: "To stop one bulk action alone, pause that one.", Button: "Stop the lane until " + until, Stay: "Keep it running",
		Hidden: []fact{{"workers", "0"}, {"until", form.Until}, {"sure", "yes"}},
	}, "Lanes")
}

// unpinLane lets a lane follow its load again.
func (d *Dashboard) unpinLane(ctx context.Context, v *visit) (done, error) {
	partition, lane := v.PathValue("partition"), v.PathValue("lane")
	if err := v.api.Unpin(ctx, partition, lane); err != nil {
		return done{}, err
	}
	name := partition + "/" + lane
	return done{To: "/lanes?lane=" + url.QueryEscape(name), Note: note{Text: name + " follows its load again.", Weir: []string{"weir unpin " + quoted(name)}}}, nil
}

// setScaling changes how workers follow the load.
func (d *Dashboard) setScaling(ctx context.Context, v *visit) (done, error) {
	get := func(field string) string { return strings.TrimSpace(v.FormValue(field)) }
	faults, command := map[string]string{}, "weir scaling"
	number := func(field, flag string) (n int) {
		n, err := strconv.Atoi(cmp.Or(get(field), "0"))
		if err != nil || n < 0 {
			faults[field] = "Write a whole number, or leave it empty for the default."
		}
		if n > 0 {
			command += fmt.Sprintf(" --%s %d", flag, n)
		}
		return n
	}
	least, most := number("min", "min"), number("max", "max")
	var drain time.Duration
	if get("drain") != "" {
		var err error
		if drain, err = time.ParseDuration(get("drain")); err != nil || drain <= 0 {
			faults["drain"] = "Write a time with its unit, as in 30s or 2m."
		}
		command += " --drain " + quoted(get("drain"))
	}
	if policy := get("policy"); policy != "" {
		command += " --policy " + quoted(policy)
	}
	if len(faults) == 0 {
		_, err := v.api.ChangeScaling(ctx, func(s *api.ScalingSettings) error {
			s.Policy, s.Min, s.Max, s.Drain = get("policy"), least, most, api.Duration(drain)
			return nil
		})
		if faults = faultsOf(err); len(faults) == 0 && err != nil {
			return done{}, err
		}
	}
	if len(faults) > 0 {
		return done{}, v.laneFaults(ctx, "", faults, func(p *lanesPage) {
			p.Scaling.Min, p.Scaling.Max, p.Scaling.Drain = get("min"), get("max"), get("drain")
			for i := range p.Scaling.Policies {
				p.Scaling.Policies[i].Current = p.Scaling.Policies[i].Value == get("policy")
			}
		})
	}
	return done{To: "/lanes", Note: note{Text: "The scaling settings are changed.", Then: "All nodes follow them with the next decision.", Weir: []string{command}}}, nil
}

// pauseScaling keeps the workers of all lanes as they are.
func (d *Dashboard) pauseScaling(ctx context.Context, v *visit) (done, error) {
	why := strings.TrimSpace(v.FormValue("pause"))
	if why == "" {
		return done{}, v.laneFaults(ctx, "", map[string]string{"pause": "Give a reason. It is shown to everyone who looks at lanes."}, func(*lanesPage) {})
	}
	_, err := v.api.ChangeScaling(ctx, func(s *api.ScalingSettings) error {
		s.Paused = why
		return nil
	})
	if faults := faultsOf(err); len(faults) > 0 {
		return done{}, v.laneFaults(ctx, "", map[string]string{"pause": cmp.Or(faults["paused"], err.Error())}, func(p *lanesPage) { p.WhyPause = why })
	}
	return done{To: "/lanes", Note: note{Text: "Scaling is paused.", Then: "Every lane keeps the workers that it has, until you resume it.",
		Weir: []string{"weir scaling --pause " + quoted(why)}}}, err
}

// resumeScaling lets workers follow the load again.
func (d *Dashboard) resumeScaling(ctx context.Context, v *visit) (done, error) {
	_, err := v.api.ChangeScaling(ctx, func(s *api.ScalingSettings) error {
		s.Paused = ""
		return nil
	})
	return done{To: "/lanes", Note: note{Text: "Workers follow the load again.", Weir: []string{"weir scaling --resume"}}}, err
}
