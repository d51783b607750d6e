package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// bulkRulesPage shows the rules of a bulk action, with a form for those that can change while it runs.
type bulkRulesPage struct {
	bulkHead
	Facts []fact
	Open  bool // it was submitted and has not ended: the rules can change
	Form  rulesForm
}

// rulesForm holds the rules as texts, as a person types them.
type rulesForm struct {
	Seen                  string // what it shows before anything is typed
	Rates                 []rateField
	Concurrency, Priority string
	Tiers                 []choice
	Failure, MinItems     string // the failure rule, in per cent
	Reason                string
	Faults                map[string]string
}

// rateField is the own rate of one step.
type rateField struct{ Step, Text string }

func (d *Dashboard) bulkRules(ctx context.Context, v *visit) (content, error) {
	h, c, err := v.bulkHead(ctx, "Rules")
	if err != nil {
		return c, err
	}
	b := &h.Bulk
	page := bulkRulesPage{bulkHead: h, Open: !b.State.Final() && b.State != api.Draft, Form: formOf(b), Facts: rulesInWords(v, b)}
	c.Page, c.Weir = page, []string{"weir get " + b.ID + " -o json"}
	return c, nil
}

func formOf(b *api.BulkAction) rulesForm {
	f := rulesForm{Tiers: choices(cmp.Or(b.Tier, "default"), "Critical", "critical", "High", "high", "Default", "default", "Low", "low"), Faults: map[string]string{}}
	for _, s := range b.Steps {
		field := rateField{Step: cmp.Or(s.ID, s.Action)}
		if r, has := b.Rates[field.Step]; has {
			field.Text = r.String()
		}
		f.Rates = append(f.Rates, field)
	}
	if b.Concurrency > 0 {
		f.Concurrency = strconv.Itoa(b.Concurrency)
	}
	if b.Priority != 0 {
		f.Priority = strconv.Itoa(b.Priority)
	}
	if b.StopOn != nil && b.StopOn.FailureRate > 0 {
		f.Failure = strconv.FormatFloat(b.StopOn.FailureRate*100, 'f', -1, 64)
		if b.StopOn.MinItems > 0 {
			f.MinItems = strconv.FormatInt(b.StopOn.MinItems, 10)
		}
	}
	f.Seen = seenOf(fmt.Sprintf("%q", f.Rates), f.Concurrency, f.Priority, b.Tier, f.Failure, f.MinItems)
	return f
}

// rulesInWords says how a bulk action runs.
func rulesInWords(v *visit, b *api.BulkAction) (facts []fact) {
	add := func(name, format string, args ...any) {
		facts = append(facts, fact{name, fmt.Sprintf(format, args...)})
	}
	for _, s := range b.Steps {
		text := "Every item"
		if s.When != "" {
			text = "Items for which " + s.When + "; others are left out"
			if s.Otherwise == "skip" {
				text = "Items for which " + s.When + "; others pass without a call"
			}
		}
		name := cmp.Or(s.ID, s.Action)
		add("Step "+name, "%s", text)
		add("What "+name+" receives", "%s", inputInWords(s.Input))
		if r, has := b.Rates[name]; has {
			add("Rate of "+name, "at most %s", r)
		}
	}
	if b.Concurrency > 0 {
		add("Calls at once", "at most %s", format.Count(int64(b.Concurrency)))
	} else {
		add("Calls at once", "no limit of its own")
	}
	if c := b.Canary; c != nil {
		size := format.Items(c.Items)
		if c.Percent > 0 {
			size = format.Percent(c.Percent/100) + " of the items"
		}
		then := "then a person approves the rest"
		if c.Approve == "auto" {
			then = "then the rest runs by itself, if enough of them are done"
		}
		add("Canary", "%s first, %s", size, then)
	}
	if s := b.StopOn; s != nil {
		if s.FailureRate > 0 {
			add("Stops", "when more than %s of the ended items failed, after %s", format.Percent(s.FailureRate), format.Items(countedFrom(s)))
		}
		if s.MaxFailures != 0 {
			add("Stops", "when more than %s failed", format.Items(max(s.MaxFailures, 0)))
		}
	}
	if b.CreatedWith != nil {
		add("Changed", "after it was created. A copy, a template and a schedule have the rules that it was created with.")
	}
	if !b.Deadline.IsZero() {
		add("Deadline", "%s", v.clock.Time(b.Deadline))
	}
	add("Item id", "%s", cmp.Or(b.ItemID, "found by its name"))
	if b.Source != nil {
		add("Source", "%s", sourceInWords(b))
	}
	if b.Callback != nil {
		add("Tells", "%s", b.Callback.URL)
	}
	for k, value := range b.Labels {
		add("Label", "%s = %s", k, value)
	}
	return facts
}

// inputInWords says what a step gets of an item.
func inputInWords(input map[string]string) string {
	if len(input) == 0 {
		return "the item as it is"
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(input)) {
		list = append(list, name+" = "+input[name])
	}
	return strings.Join(list, ", ")
}

// sourceInWords says where the items come from, and whether they have been read.
func sourceInWords(b *api.BulkAction) string {
	from := sourceName(b.Source)
	switch {
	case b.State == api.Importing:
		return from + ", being read"
	case b.State == api.Draft, b.Counts.Total == 0 && b.StartedAt.IsZero():
		return from + ", read when it starts"
	}
	return fmt.Sprintf("%s, read: %s", from, format.Items(b.Counts.Total))
}

// changeRules changes the rules of a bulk action.
func (d *Dashboard) changeRules(ctx context.Context, v *visit) (done, error) {
	c, err := d.bulkRules(ctx, v)
	if err != nil {
		return done{}, err
	}
	page := c.Page.(bulkRulesPage)
	change, said := page.Form.read(v)
	if v.stale(page.Form.Seen) {
		page.Form.Faults["concurrency"] = changedSince
	}
	if len(page.Form.Faults) == 0 {
		_, err = v.api.Change(ctx, page.Bulk.ID, change)
		if refused := refusal(err); refused != nil && len(refused.Errors) > 0 {
			for _, f := range refused.Errors {
				page.Form.Faults[fieldOf(f.Field)] = f.Message
			}
			err = nil
		}
	}
	if err != nil {
		return done{}, err
	}
	if len(page.Form.Faults) > 0 {
		c.Page = page
		return done{}, &pageAgain{"bulk-rules", c}
	}
	if len(said) == 0 {
		return done{To: "/bulk-actions/" + escape(page.Bulk.ID) + "/rules", Note: note{Text: "Nothing was different: the rules stay as they are."}}, nil
	}
	return done{To: "/bulk-actions/" + escape(page.Bulk.ID) + "/rules",
		Note: note{Text: "The rules are changed: " + strings.Join(said, ", ") + ".", Then: "They hold on all nodes, also for calls that start from now on."}}, nil
}

// fieldOf returns the field of the form that a field of the API belongs to.
func fieldOf(name string) string {
	if step, ok := strings.CutPrefix(name, "rates."); ok {
		return "rate-" + step
	}
	name, _, _ = strings.Cut(name, ".")
	return name
}

// read takes what was typed: what differs from the rules now is the change, in words, too.
func (f *rulesForm) read(v *visit) (to api.Change, said []string) {
	number := func(field string, old *string, set func(int64)) {
		typed := strings.TrimSpace(v.FormValue(field))
		if typed == *old {
			return
		}
		n, err := strconv.ParseInt(cmp.Or(typed, "0"), 10, 64)
		*old = typed
		if err != nil {
			f.Faults[field] = "Write a whole number, or leave it empty."
			return
		}
		set(n)
	}
	for i := range f.Rates {
		field := &f.Rates[i]
		typed := strings.TrimSpace(v.FormValue("rate-" + field.Step))
		if typed == field.Text {
			continue
		}
		field.Text = typed
		var r api.Rate
		if err := r.UnmarshalText([]byte(cmp.Or(typed, "unlimited"))); err != nil {
			f.Faults["rate-"+field.Step] = err.Error()
			continue
		}
		if to.Rates == nil {
			to.Rates = map[string]api.Rate{}
		}
		to.Rates[field.Step] = r
		said = append(said, field.Step+" at "+r.String())
	}
	number("concurrency", &f.Concurrency, func(n int64) {
		at := int(n)
		to.Concurrency = &at
		said = append(said, format.Plural(n, "call", "calls")+" at once")
	})
	number("priority", &f.Priority, func(n int64) {
		at := int(n)
		to.Priority = &at
		said = append(said, fmt.Sprintf("priority %d", n))
	})
	for i := range f.Tiers {
		was := f.Tiers[i].Current
		f.Tiers[i].Current = f.Tiers[i].Value == v.FormValue("tier")
		if f.Tiers[i].Current && !was {
			to.Tier = &f.Tiers[i].Value
			said = append(said, "tier "+f.Tiers[i].Value)
		}
	}
	said = append(said, f.readStop(v, &to)...)
	f.Reason = v.FormValue("reason")
	to.Reason = strings.TrimSpace(f.Reason)
	return to, said
}

// readStop takes the failure rule.
func (f *rulesForm) readStop(v *visit, to *api.Change) (said []string) {
	failure, least := strings.TrimSpace(v.FormValue("failure")), strings.TrimSpace(v.FormValue("min_items"))
	if failure == f.Failure && least == f.MinItems {
		return nil
	}
	f.Failure, f.MinItems = failure, least
	share, err := strconv.ParseFloat(cmp.Or(failure, "0"), 64)
	if err != nil || share < 0 || share > 100 {
		f.Faults["failure"] = "Write a number from 0 to 100."
		return nil
	}
	share /= 100
	rule := &api.StopOnChange{FailureRate: &share}
	if n, err := strconv.ParseInt(cmp.Or(least, "0"), 10, 64); err != nil || n < 0 {
		f.Faults["min_items"] = "Write a whole number."
	} else {
		rule.MinItems = &n
	}
	to.StopOn = rule
	if share == 0 {
		return []string{"no rule for failures"}
	}
	return []string{"stops above " + format.Percent(share) + " failures"}
}
