package dashboard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weirhq/weir/api"
)

// newTemplate makes the form of a new template: of a bulk action that exists, or of a chain of actions.
func (d *Dashboard) newTemplate(ctx context.Context, v *visit) (*sheet, error) {
	s, err := templateKind.blank(ctx, v)
	if err != nil {
		return nil, err
	}
	s.Text = "A template is a bulk action that is prepared once. Others use it by filling in what it asks for."
	s.Check = "Show what it will ask for"
	bulks, err := v.recent(ctx)
	if err != nil {
		return nil, err
	}
	from := v.FormValue("from")
	if from != "" && !slices.ContainsFunc(bulks, func(o option) bool { return o.Value == from }) {
		bulks = append(bulks, option{from, from})
	}
	about := []*input{{Name: "from", Group: "What it does", Label: "The same as a bulk action or a draft", Kind: "select", Value: from,
		Options: append([]option{{"", "None: the actions below"}}, bulks...), Hint: "Its steps, mapping, rules and source. Its items, times and callback are left out."}}
	if from == "" {
		actions, err := v.actionInputs(ctx)
		if err != nil {
			return nil, err
		}
		about = append(about, actions...)
	} else {
		asks, err := v.askInputs(ctx, s, from)
		if err != nil {
			return nil, err
		}
		about = append(about, asks...)
	}
	at := slices.IndexFunc(s.Inputs, func(i *input) bool { return i.Folded })
	s.Inputs = slices.Insert(s.Inputs, at, about...)
	return s, nil
}

// stepsOffered is how many actions the form of a template has room for.
const stepsOffered = 3

// actionInputs let a person choose the actions of a chain.
func (v *visit) actionInputs(ctx context.Context) (list []*input, err error) {
	all, err := collect(v.api.Actions().List(ctx), mostSettings)
	options := []option{{"", "–"}}
	for _, a := range all {
		if !a.Disabled {
			options = append(options, option{a.Name, a.Name})
		}
	}
	for i := range stepsOffered {
		x := &input{Name: fmt.Sprintf("action.%d", i), Label: "Then", Kind: "select", Options: options}
		if i == 0 {
			x.Label = "Or, for each item, first"
		}
		list = append(list, x)
	}
	return list, err
}

// askInputs say what the template of a bulk action will ask for, and offer values that it could ask for as well.
func (v *visit) askInputs(ctx context.Context, s *sheet, id string) (list []*input, err error) {
	b, n, err := v.again(ctx, id)
	if err != nil {
		return nil, err
	}
	params, err := v.givenParams(ctx, &b, &n)
	if err != nil {
		return nil, err
	}
	s.at("title").Value, s.at("tenant").Value = b.Name, b.Tenant
	for _, f := range constantsOf(&n, params) {
		list = append(list, &input{Name: f.ask(&n), Kind: "check", Label: fmt.Sprintf("Ask for %s of %s each time; now it is %s", f.member, stepIDs(n.Steps)[f.step], plainText(f.param.Default))})
	}
	if len(list) > 0 {
		list[0].Group = "What it asks for"
	} else if len(params) == 0 {
		s.Text += " " + onlyFixed
	}
	return list, nil
}

// onlyFixed says why a template can ask for nothing, and what to do about it.
const onlyFixed = "It would ask for nothing: only fixed values of the mapping can be asked for, so write one as the expression of a field, " +
	"such as 500 or 'Spring bonus', and save it as a template again."

// describe returns the template that the form describes. What is written as a whole definition applies instead of the rest.
func (s *sheet) describe(ctx context.Context, v *visit) (t api.Template, err error) {
	if templateKind.read(v, s, &t); s.at("bulk_action").Value != "" || s.bad() {
		return t, nil
	}
	from := s.at("from").Value
	if from == "" {
		var chain []string
		for i := range stepsOffered {
			if a := s.at(fmt.Sprintf("action.%d", i)).Value; a != "" {
				chain = append(chain, a)
			}
		}
		if len(chain) == 0 {
			s.at("from").Fault = "Choose a bulk action to begin with, or at least one action."
		}
		t.BulkAction = api.NewBulkAction{Steps: chainOf(chain), Rules: safeRules(), OnBadLine: "record", Duplicates: "keep_first"}
		return t, nil
	}
	b, n, err := v.again(ctx, from)
	if err != nil {
		return t, err
	}
	given, err := v.givenParams(ctx, &b, &n)
	if err != nil {
		return t, err
	}
	asked := given
	for _, f := range constantsOf(&n, given) {
		if s.at(f.ask(&n)).Checked() {
			step := &n.Steps[f.step]
			step.Input = maps.Clone(step.Input)
			step.Input[f.member] = "params." + f.param.Name
			asked = append(asked, f.param)
		}
	}
	if t.BulkAction = n; len(t.Params) == 0 {
		t.Params = asked
	}
	return t, nil
}

func (d *Dashboard) createTemplate(ctx context.Context, v *visit, s *sheet) (done, error) {
	name := s.at("name").Value
	t, err := s.describe(ctx, v)
	if err != nil {
		return done{}, err
	}
	checking := v.FormValue("check") != ""
	if name == "" && !checking {
		s.at("name").Fault = "Write a name."
	}
	if s.bad() {
		return done{}, s.again(v)
	}
	if checking {
		s.tellTemplate(&t)
		return done{}, s.again(v)
	}
	_, err = v.api.Templates().Change(ctx, name, func(x *api.Template) error {
		if x.Name != "" {
			return errExists
		}
		*x = t
		return nil
	})
	if errors.Is(err, errExists) {
		s.at("name").Fault = "Another template has this name."
		return done{}, s.again(v)
	}
	return done{To: "/settings/templates", Note: note{Text: name + " is created.", Then: "Use it in New bulk action, or make a schedule of it.",
		Weir: []string{"weir templates get " + quoted(name)}}}, err
}

// tellTemplate tells what the template would do and ask for.
func (s *sheet) tellTemplate(t *api.Template) {
	s.ToldOf = "Nothing is saved yet. It would run " + strings.Join(stepIDs(t.BulkAction.Steps), ", then ") + ", and ask for nothing."
	if len(t.Params) == 0 {
		return
	}
	s.ToldOf = "Nothing is saved yet. It would run " + strings.Join(stepIDs(t.BulkAction.Steps), ", then ") + ", and ask for:"
	for _, p := range t.Params {
		f := fieldsOf(&api.Template{Params: []api.TemplateParam{p}}, nil, nil)[0]
		line := f.Label
		if f.Text != "" {
			line += ", normally " + f.Text
		}
		s.Told = append(s.Told, line)
	}
}
