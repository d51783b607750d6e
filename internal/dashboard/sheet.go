package dashboard

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/weirhq/weir/api"
)

// sheet is a page with one form: template sheet. Its inputs are called as the fields of the API, so that what the API
// refuses finds its place.
type sheet struct {
	Title, Text string
	// Up is the page above.
	Up, UpName string
	nav        string
	Inputs     []*input
	// Faults are about no input.
	Faults []string
	// Button does it; Check, if set, is a second button that only shows what would come of it.
	Button, Check, Scope string
	// Try, if set, is a button that shows what the data begins with.
	Try string
	// Stay is the way out, and says what stays.
	Stay string
	// Told is what a check has found.
	Told   []string
	ToldOf string
	Hidden []fact // fields to send along
	Once   bool
	Action string
	// shows says that the page is also there to look at what it could change.
	shows bool
}

// input is one field of a form, with what was typed and what is wrong with it.
type input struct {
	Name, Label, Hint string
	// Kind is the type of the element: text, password, number, date or such, or area, code, select, check. Default text.
	Kind    string
	Value   string
	Options []option
	// Kinds says of which kind each option is: the style sheet decides by it which inputs with a From it shows.
	Kinds  map[string]string
	Needed bool
	// Fixed shows the value, and does not let it be changed.
	Fixed bool
	Fault string
	// Place is what an input is for, shown in the empty field.
	Place string
	// Group begins a part of the form under this heading. Half leaves room for another input beside.
	Group string
	Half  bool
	// Of names the choices of the select "every" for which it is needed, with spaces between them; the style sheet hides it for
	// the others. Empty: for all.
	Of string
	// From is the kind of the option of "bulk_action.source" for which it is needed, in the same way.
	From string
	// Folded puts it behind a disclosure: few people need it.
	Folded bool
	// param is the parameter of a template that it asks for, nil for others.
	param *paramField
	// fresh says that it came with a choice that a person has just made: the form did not show it before.
	fresh bool
}

// option is one choice of a select.
type option struct{ Value, Name string }

// sheet registers a form with its own page: make returns it as it is before anything is typed, act does it.
func (d *Dashboard) sheet(path string, make func(context.Context, *visit) (*sheet, error), act func(context.Context, *visit, *sheet) (done, error)) {
	d.page(path, "sheet", func(ctx context.Context, v *visit) (content, error) {
		s, err := make(ctx, v)
		if err != nil {
			return content{}, err
		}
		s.see()
		if s.shows && !v.may(s.Scope) {
			s.fix()
			s.Text = strings.TrimSpace(s.Text + " " + v.lack(s.Scope))
		}
		return s.content(v), nil
	})
	d.form(path, func(ctx context.Context, v *visit) (done, error) {
		s, err := make(ctx, v)
		if err != nil {
			return done{}, err
		}
		seen := s.see()
		s.read(v)
		if v.stale(seen) {
			s.Faults = append(s.Faults, changedSince)
			return done{}, s.again(v)
		}
		did, err := act(ctx, v, s)
		if err != nil {
			return done{}, s.refused(v, err)
		}
		return did, nil
	})
}

// fix leaves a form that only shows.
func (s *sheet) fix() {
	s.Button, s.Check, s.Try, s.Stay = "", "", "", cmp.Or(s.Stay, "Back")
	for _, i := range s.Inputs {
		i.Fixed = true
	}
}

// see notes what the form shows before anything is typed, if it is about something that others can change.
func (s *sheet) see() string {
	if s.Once {
		return ""
	}
	var values []string
	for _, i := range s.Inputs {
		if !i.fresh {
			values = append(values, i.Name, i.Value)
		}
	}
	seen := seenOf(values...)
	s.Hidden = append(s.Hidden, fact{seenField, seen})
	return seen
}

// Plain and Folded return the inputs that are shown at once, and those behind a disclosure.
func (s *sheet) Plain() []*input  { return s.inputs(false) }
func (s *sheet) Folded() []*input { return s.inputs(true) }

func (s *sheet) inputs(folded bool) (list []*input) {
	for _, i := range s.Inputs {
		if i.Folded == folded {
			list = append(list, i)
		}
	}
	return list
}

// Unfolded reports whether something behind the disclosure has to be seen.
func (s *sheet) Unfolded() bool {
	return slices.ContainsFunc(s.Inputs, func(i *input) bool { return i.Folded && i.Fault != "" })
}

// ID returns the id of the element.
func (i *input) ID() string {
	return "f-" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, i.Name)
}

// Describe returns the ids of what describes the element.
func (i *input) Describe() string {
	var ids []string
	if i.Fault != "" {
		ids = append(ids, i.ID()+"-e")
	}
	if i.Hint != "" {
		ids = append(ids, i.ID()+"-h")
	}
	return strings.Join(ids, " ")
}

// Checked reports whether a check is set.
func (i *input) Checked() bool { return i.Value != "" }

// content returns the page of the form, which is sent to the address of the page.
func (s *sheet) content(v *visit) content {
	s.Stay = cmp.Or(s.Stay, "Leave it as it is")
	s.Action = v.root + strings.TrimPrefix(v.URL.Path, Root)
	return content{Title: s.Title, Nav: s.nav, Page: s}
}

// again shows the form again.
func (s *sheet) again(v *visit) error { return &pageAgain{"sheet", s.content(v)} }

// read takes what was typed.
func (s *sheet) read(v *visit) {
	_ = v.FormValue("") // parses the form
	for _, i := range s.Inputs {
		if _, sent := v.Form[i.Name]; !i.Fixed && (sent || !i.fresh) {
			i.fresh = false
			i.Value = strings.TrimSpace(strings.ReplaceAll(v.FormValue(i.Name), "\r\n", "\n"))
		}
	}
}

// at returns an input by its name.
func (s *sheet) at(name string) *input {
	for _, i := range s.Inputs {
		if i.Name == name {
			return i
		}
	}
	return &input{}
}

// bad reports whether something is wrong in the form.
func (s *sheet) bad() bool {
	return len(s.Faults) > 0 || slices.ContainsFunc(s.Inputs, func(i *input) bool { return i.Fault != "" })
}

// Wrong returns what is wrong with inputs, each with the id of its element, for the top of the page.
func (s *sheet) Wrong() (list []fact) {
	for _, i := range s.Inputs {
		if i.Fault != "" {
			list = append(list, fact{i.ID() + "-e", i.Label + ": " + i.Fault})
		}
	}
	return list
}

// refused puts what the API refuses to the inputs it is about, and returns the page again. Other errors stay.
func (s *sheet) refused(v *visit, err error) error {
	p := refusal(err)
	if p == nil || p.Status != 422 && p.Status != 400 && p.Status != 409 && p.Status != 412 {
		return err
	}
	for _, x := range p.Errors {
		s.place(x)
	}
	if len(p.Errors) == 0 {
		s.Faults = append(s.Faults, p.Error())
	}
	return s.again(v)
}

// place puts a fault to the input whose name is that of the field, or the longest beginning of it.
func (s *sheet) place(x api.Fault) {
	var best *input
	for _, i := range s.Inputs {
		rest, ok := strings.CutPrefix(x.Field, i.Name)
		if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') && (best == nil || len(i.Name) > len(best.Name)) {
			best = i
		}
	}
	switch {
	case best == nil:
		s.Faults = append(s.Faults, strings.TrimPrefix(x.Field+": "+faultText(x), ": "))
	case x.Field != best.Name:
		best.add(strings.TrimLeft(x.Field[len(best.Name):], ".") + ": " + faultText(x))
	default:
		best.add(faultText(x))
	}
}

func (i *input) add(fault string) { i.Fault = strings.TrimSpace(i.Fault + " " + fault) }

// faultText is a fault as a sentence, without the name of its field.
func faultText(x api.Fault) string {
	text := strings.TrimSpace(strings.TrimPrefix(x.Message, x.Field))
	text = strings.TrimPrefix(strings.TrimPrefix(text, ":"), " ")
	if x.Fix != "" && !strings.Contains(text, x.Fix) {
		text += "; " + x.Fix
	}
	return text
}
