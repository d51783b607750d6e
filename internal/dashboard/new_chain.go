package dashboard

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
)

// chainPage is step 1: a template with its parameters, or a chain of actions.
type chainPage struct {
	*wizard
	// Choose says that the page lists the templates first.
	Choose    bool
	Templates []api.Template
	Drafts    []api.BulkAction // to go on with
	Template  *api.Template    // whose parameters are asked for
	Params    []paramField
	Actions   []api.Action
	Chain     []string // the action of each step; the last ones are empty
	Tenants   []string // to choose from; one of them: it is fixed
	FreeText  bool     // any tenant may be named
	// what was typed
	NameText, Tenant, Labels string
}

// mostSteps is how many steps a chain can have.
const mostSteps = 16

// newChain shows step 1 of a bulk action that does not exist yet.
func (d *Dashboard) newChain(ctx context.Context, v *visit) (content, error) {
	q := v.URL.Query()
	p := &chainPage{wizard: &wizard{Faults: map[string]string{}}, Chain: q["action"]}
	if err := p.load(ctx, v, q.Get("template")); err != nil {
		return content{}, err
	}
	p.unknown(q.Get("template"))
	p.Choose = p.Template == nil && !q.Has("chain") && len(p.Templates) > 0
	if p.Template != nil {
		p.Tenant = cmp.Or(p.Template.Tenant, p.Tenant)
		p.Params = fieldsOf(p.Template, p.Template.BulkAction.Params, nil)
	}
	if p.Choose || len(p.Templates) == 0 {
		var err error
		if p.Drafts, err = collect(v.api.List(ctx, client.Filter{State: api.Draft}), 5); err != nil {
			return content{}, err
		}
	}
	return p.page(), nil
}

// changeChain shows step 1 of a draft.
func (d *Dashboard) changeChain(ctx context.Context, v *visit) (content, error) {
	w, err := v.open(ctx)
	if err != nil {
		return content{}, err
	}
	p := &chainPage{wizard: w, NameText: w.Draft.Name, Tenant: w.Bulk.Tenant, Labels: labelText(w.Draft.Labels)}
	q := v.URL.Query()
	name := w.Draft.Template
	if q.Has("template") || q.Has("chain") {
		name = q.Get("template")
	}
	if err := p.load(ctx, v, name); err != nil {
		return content{}, err
	}
	p.unknown(name)
	if p.Template != nil {
		p.Params = fieldsOf(p.Template, w.Draft.Params, nil)
	} else {
		for _, s := range w.Bulk.Steps {
			p.Chain = append(p.Chain, s.Action)
		}
	}
	return p.page(), nil
}

// unknown says that a template that was asked for cannot be used.
func (p *chainPage) unknown(name string) {
	if name != "" && p.Template == nil {
		p.Rest = append(p.Rest, "The template "+name+" does not exist, or is not for you. Choose another one, or build a chain.")
	}
}

// load reads what can be chosen.
func (p *chainPage) load(ctx context.Context, v *visit, template string) (err error) {
	if p.Templates, err = collect(v.api.Templates().List(ctx), 200); err != nil {
		return err
	}
	if p.Actions, err = collect(v.api.Actions().List(ctx), 500); err != nil {
		return err
	}
	p.Actions = slices.DeleteFunc(p.Actions, func(a api.Action) bool { return a.Disabled })
	if i := slices.IndexFunc(p.Templates, func(t api.Template) bool { return t.Name == template }); template != "" && i >= 0 {
		p.Template = &p.Templates[i]
	}
	p.Tenants = v.who.Tenants
	if p.FreeText = len(p.Tenants) == 0; p.FreeText {
		known, err := collect(v.api.Tenants().List(ctx), 200)
		if err != nil && refusal(err) == nil {
			return err
		}
		for _, t := range known {
			p.Tenants = append(p.Tenants, t.Name)
		}
	}
	if p.Tenant == "" && len(p.Tenants) == 1 && !p.FreeText {
		p.Tenant = p.Tenants[0]
	}
	return nil
}

// page shows the page, with room for more steps.
func (p *chainPage) page() content {
	p.Chain = slices.DeleteFunc(p.Chain, func(a string) bool { return a == "" })
	for n := max(3, len(p.Chain)+2); len(p.Chain) < min(n, mostSteps); {
		p.Chain = append(p.Chain, "")
	}
	return p.content(0, p)
}

// createDraft makes a draft of what step 1 says.
func (d *Dashboard) createDraft(ctx context.Context, v *visit) (done, error) {
	p := &chainPage{wizard: &wizard{Faults: map[string]string{}}}
	n, ok, err := p.read(ctx, v)
	if err != nil {
		return done{}, err
	}
	if !ok {
		return done{}, &pageAgain{"new-chain", p.page()}
	}
	if p.Template == nil {
		n.Rules = safeRules()
	}
	p.leaveOut(&n)
	made, err := v.api.Create(v.once(ctx), n)
	if err != nil {
		if err := p.refuse(err, p.place); err != nil {
			return done{}, err
		}
		return done{}, &pageAgain{"new-chain", p.page()}
	}
	return done{To: "/new/" + made.ID + "/data"}, nil
}

// leaveOut has a new draft leave out bad rows and duplicates, unless its template says otherwise. The page shows how many
// they are before anything starts.
func (p *chainPage) leaveOut(n *api.NewBulkAction) {
	var t api.NewBulkAction
	if p.Template != nil {
		t = p.Template.BulkAction
	}
	if t.OnBadLine == "" {
		n.OnBadLine = "record"
	}
	if t.Duplicates == "" {
		n.Duplicates = "keep_first"
	}
}

// safeRules are the rules of a new chain: a small part first, and a stop when much fails.
func safeRules() api.Rules {
	return api.Rules{Canary: &api.Canary{Percent: 1}, StopOn: &api.StopOn{FailureRate: 0.05}}
}

// saveChain saves step 1 of a draft.
func (d *Dashboard) saveChain(ctx context.Context, v *visit) (done, error) {
	w, err := v.open(ctx)
	if err != nil {
		return done{}, err
	}
	p := &chainPage{wizard: w, Tenant: w.Bulk.Tenant}
	n, ok, err := p.read(ctx, v)
	if err != nil {
		return done{}, err
	}
	if ok {
		err = v.describe(ctx, w, func(now *api.NewBulkAction) { p.apply(now, &n) })
		if err == nil {
			err = v.match(ctx, w)
		}
		if err != nil {
			err, ok = p.refuse(err, p.place), false
		}
	}
	if err != nil {
		return done{}, err
	}
	if !ok {
		return done{}, &pageAgain{"new-chain", p.page()}
	}
	return done{To: "/new/" + w.ID + "/data"}, nil
}

// apply puts step 1 into a description, and keeps what the other steps say where that still has a meaning.
func (p *chainPage) apply(now, n *api.NewBulkAction) {
	now.Name, now.Labels = n.Name, n.Labels
	was := now.Template
	now.Template, now.Params = n.Template, n.Params
	if p.Template != nil {
		*now = api.NewBulkAction{Name: now.Name, Labels: now.Labels, Template: n.Template, Params: n.Params, ItemID: now.ItemID, Source: now.Source,
			Rules: api.Rules{Tier: now.Tier, Priority: now.Priority, Deadline: now.Deadline}}
		p.leaveOut(now)
		return
	}
	if was != "" { // the template's rules go with it, and what was said about its columns
		now.Rules, now.Columns = safeRules(), nil
		p.leaveOut(now)
	}
	old := now.Steps
	now.Steps = n.Steps
	for i := range now.Steps { // mapping of steps that stay
		if i < len(old) && old[i].Action == now.Steps[i].Action {
			now.Steps[i] = old[i]
		}
	}
	names := stepIDs(now.Steps)
	for step := range now.Rates {
		if !slices.Contains(names, step) {
			delete(now.Rates, step)
		}
	}
}

// stepIDs returns the names of steps.
func stepIDs(steps []api.Step) (names []string) {
	for _, s := range steps {
		names = append(names, cmp.Or(s.ID, s.Action))
	}
	return names
}

// read reads the form of step 1. If something is wrong with it, ok is false and the page says what.
func (p *chainPage) read(ctx context.Context, v *visit) (n api.NewBulkAction, ok bool, err error) {
	p.NameText, p.Labels = strings.TrimSpace(v.FormValue("name")), v.FormValue("labels")
	if p.ID == "" {
		p.Tenant = strings.TrimSpace(v.FormValue("tenant"))
	}
	template := v.FormValue("template")
	if err := p.load(ctx, v, template); err != nil {
		return n, false, err
	}
	n = api.NewBulkAction{Name: p.NameText, Tenant: p.Tenant}
	if p.ID != "" {
		n.Tenant = ""
	}
	if n.Labels, ok = labelsOf(p.Labels); !ok {
		p.Faults["labels"] = "Write labels as name=value, with commas between them."
	}
	switch {
	case template != "" && p.Template == nil:
		p.Rest = append(p.Rest, "This template does not exist any more. Choose another one.")
	case p.Template != nil:
		n.Template = template
		p.Params = fieldsOf(p.Template, nil, v.FormValue)
		n.Params = valuesOf(p.Params)
	default:
		p.Chain = slices.DeleteFunc(slices.Clone(v.Form["action"]), func(a string) bool { return a == "" })
		n.Steps = chainOf(p.Chain)
		if len(n.Steps) == 0 {
			p.Faults["steps"] = "Choose at least one action."
		}
		if v.FormValue("more") != "" { // room for more steps is asked for
			return n, false, nil
		}
	}
	return n, len(p.Faults) == 0 && len(p.Rest) == 0, nil
}

// chainOf makes steps of actions. An action that is used again gets a number, for the names of steps differ.
func chainOf(actions []string) (steps []api.Step) {
	seen := map[string]int{}
	for _, a := range actions {
		s := api.Step{Action: a}
		if seen[a]++; seen[a] > 1 {
			s.ID = a + "-" + strconv.Itoa(seen[a])
		}
		steps = append(steps, s)
	}
	return steps
}

// place returns the field of the page for a field of the API.
func (p *chainPage) place(field string) string {
	switch {
	case field == "name", field == "tenant":
		return field
	case strings.HasPrefix(field, "labels"):
		return "labels"
	case strings.HasPrefix(field, "steps"):
		return "steps"
	}
	if name, ok := strings.CutPrefix(field, "params."); ok && slices.ContainsFunc(p.Params, func(f paramField) bool { return f.Name == name }) {
		return field
	}
	return ""
}

// labelsOf reads labels as a person writes them.
func labelsOf(text string) (map[string]string, bool) {
	out := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, false
		}
		out[name] = strings.TrimSpace(value)
	}
	if len(out) == 0 {
		return nil, true
	}
	return out, true
}

// labelText writes labels as [labelsOf] reads them.
func labelText(labels map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, name+"="+labels[name])
	}
	return strings.Join(parts, ", ")
}
