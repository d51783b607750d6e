package dashboard

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// limitsForm holds the limits of a resource as texts, as a person types them.
type limitsForm struct {
	Rate, Concurrency string
	Pacings           []choice
	Faults            map[string]string
	Seen              string // what it shows before anything is typed
	// Back says what the limits are without the change at run time; empty: they were not changed.
	Back string
}

func limitsOf(r *api.ResourceStatus) limitsForm {
	f := limitsForm{Faults: map[string]string{}, Pacings: pacings(r.Pacing)}
	if r.Rate > 0 {
		f.Rate = r.Rate.String()
	}
	if r.Concurrency > 0 {
		f.Concurrency = strconv.Itoa(r.Concurrency)
	}
	f.Seen = seenOf(f.Rate, f.Concurrency, r.Pacing)
	if r.Origin == "api" {
		f.Back = "the limits of the program, or no limits"
		if r.File != nil {
			f.Back = "the configuration file: " + strings.Join(limitsInWords(r.File), ", ")
		}
	}
	return f
}

func pacings(current string) []choice {
	return choices(cmp.Or(current, "smooth"), "Smooth: an even stream of small calls", "smooth", "Full: few calls, as large as they may be", "full")
}

// mostCallsAtOnce is the largest limit that the API takes.
const mostCallsAtOnce = 1_000_000

// limitsInWords says the limits that are set.
func limitsInWords(r *api.Resource) (said []string) {
	if r.Rate != nil {
		said = append(said, lower(rateText(*r.Rate), "no limit on the rate"))
	}
	if r.Concurrency != nil {
		calls := "any number of calls at once"
		if *r.Concurrency > 0 {
			calls = callsText(*r.Concurrency) + " calls at once"
		}
		said = append(said, calls)
	}
	if r.Pacing != nil {
		said = append(said, *r.Pacing+" pacing")
	}
	return said
}

// lower replaces the text of no limit by one that stands within a sentence.
func lower(text, none string) string {
	if text == "No limit" {
		return none
	}
	return text
}

// read takes what was typed; what differs from the limits now is the change.
func (f *limitsForm) read(get func(string) string) (to api.Resource, changed bool) {
	if typed := strings.TrimSpace(get("rate")); typed != f.Rate {
		f.Rate = typed
		if _, err := strconv.ParseFloat(typed, 64); err == nil {
			typed += "/s" // the field is named items per second
		}
		var r api.Rate
		if err := r.UnmarshalText([]byte(cmp.Or(typed, "unlimited"))); err != nil {
			f.Faults["rate"] = "Write a number above 0, as in 450, 450/s or 30/m, or leave it empty for no limit."
		} else {
			to.Rate, changed = &r, true
		}
	}
	if typed := strings.TrimSpace(get("concurrency")); typed != f.Concurrency {
		f.Concurrency = typed
		n, err := strconv.Atoi(cmp.Or(typed, "0"))
		if err != nil || n < 0 || n > mostCallsAtOnce {
			f.Faults["concurrency"] = "Write a whole number up to " + format.Count(mostCallsAtOnce) + ", or leave it empty for no limit."
		} else {
			to.Concurrency, changed = &n, true
		}
	}
	for i := range f.Pacings {
		p := &f.Pacings[i]
		was := p.Current
		if p.Current = p.Value == get("pacing"); p.Current && !was {
			to.Pacing, changed = &p.Value, true
		}
	}
	return to, changed
}

// effect says what changed limits would do.
type effect struct {
	Says        string
	On          []api.EffectOn
	LeftOut     int
	Assumptions []string
}

// foresee asks what the limits in the form would do. They are not set.
func (p *resourcesPage) foresee(ctx context.Context, v *visit) error {
	to, changed := p.Form.read(v.URL.Query().Get)
	if len(p.Form.Faults) > 0 {
		return nil
	}
	if !changed {
		p.Effect = &effect{Says: "Nothing is different from the limits now."}
		return nil
	}
	found, err := v.api.Effect(ctx, api.LimitChanges{Resources: map[string]api.Resource{p.Of.Name: to}})
	if faults := faultsOf(err); len(faults) > 0 {
		for field, text := range faults {
			p.Form.Faults[field[strings.LastIndex(field, ".")+1:]] = text
		}
		return nil
	}
	p.Effect = &effect{Says: "With " + strings.Join(limitsInWords(&to), ", ") + ":", On: found.BulkActions, LeftOut: found.LeftOut, Assumptions: found.Assumptions}
	if len(found.BulkActions) == 0 {
		p.Effect.Says = "No bulk action that runs uses " + p.Of.Name + ": the change has no effect now."
	}
	return err
}

// setLimits changes the limits of a resource on all nodes.
func (d *Dashboard) setLimits(ctx context.Context, v *visit) (done, error) {
	name := v.PathValue("name")
	was, err := v.api.Resources().Get(ctx, name)
	if err != nil {
		return done{}, err
	}
	form, back := limitsOf(&was), "/resources?of="+url.QueryEscape(name)
	to, changed := form.read(v.FormValue)
	if v.stale(form.Seen) {
		form.Faults["rate"] = changedSince
	}
	if len(form.Faults) == 0 && !changed {
		return done{To: back, Note: note{Text: "Nothing was different: the limits stay as they are."}}, nil
	}
	var now api.ResourceStatus
	if len(form.Faults) == 0 {
		now, err = v.api.PutResource(ctx, name, to)
		if refused := refusal(err); refused != nil && len(refused.Errors) > 0 {
			for _, f := range refused.Errors {
				form.Faults[f.Field] = f.Message
			}
			err = nil
		}
	}
	if err != nil {
		return done{}, err
	}
	if len(form.Faults) > 0 {
		c, page, err := v.resourcesPage(ctx, name)
		if err != nil {
			return done{}, err
		}
		page.Form = form
		return done{}, &pageAgain{"resources", c}
	}
	return done{To: back, Note: note{
		Text: name + " has " + strings.Join(limitsInWords(&to), ", ") + " since " + v.clock.Seconds(now.EffectiveAt) + ".",
		Then: "It holds on all nodes, also for what runs. Before: " + strings.Join(limitsInWords(before(&was, &to)), ", ") + ".",
		Weir: []string{setCommand(name, &to)},
	}}, nil
}

// before returns the old values of the limits that a change sets.
func before(was *api.ResourceStatus, to *api.Resource) *api.Resource {
	old := &api.Resource{}
	if to.Rate != nil {
		old.Rate = &was.Rate
	}
	if to.Concurrency != nil {
		old.Concurrency = &was.Concurrency
	}
	if to.Pacing != nil {
		old.Pacing = &was.Pacing
	}
	return old
}

// setCommand is the command that changes the same limits.
func setCommand(name string, to *api.Resource) string {
	command := "weir resources set " + quoted(name)
	if to.Rate != nil {
		command += " --rate " + quoted(to.Rate.String())
	}
	if to.Concurrency != nil {
		command += " --concurrency " + strconv.Itoa(*to.Concurrency)
	}
	if to.Pacing != nil {
		command += " --pacing " + *to.Pacing
	}
	return command
}

// resetLimits takes back what was set at run time.
func (d *Dashboard) resetLimits(ctx context.Context, v *visit) (done, error) {
	name := v.PathValue("name")
	if err := v.api.Resources().Delete(ctx, name); err != nil {
		return done{}, err
	}
	return done{To: "/resources?of=" + url.QueryEscape(name), Note: note{Text: "The limits that were set at run time are gone.",
		Then: "The configuration file holds again, or else the program.", Weir: []string{"weir resources reset " + quoted(name)}}}, nil
}
