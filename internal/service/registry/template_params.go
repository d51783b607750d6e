package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/check"
)

// paramName matches a name that can follow params. in an expression.
var paramName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// checkParams collects what is wrong with the parameters of a template.
func checkParams(bad *weir.InputError, t *storedTemplate) {
	fixed, _ := objectMembers(t.BulkAction.Params) // its faults are reported elsewhere
	seen := map[string]bool{}
	for i := range t.Params {
		p, field := &t.Params[i], fmt.Sprintf("params[%d]", i)
		switch {
		case !paramName.MatchString(p.Name):
			bad.Add("bad_name", field+".name", fmt.Sprintf("%.64q is not a valid parameter name", p.Name),
				"use letters, digits and _, at most 64, not starting with a digit")
		case seen[p.Name]:
			bad.Add("bad_value", field+".name", fmt.Sprintf("%q is used twice", p.Name), "give each parameter a name of its own")
		case fixed[p.Name] != nil:
			bad.Add("bad_value", field+".name", fmt.Sprintf("%q is also in bulk_action.params", p.Name),
				"remove one of them; put the value for requests without it into default")
		}
		seen[p.Name] = true
		check.Text(bad, field+".title", p.Title)
		checkParam(bad, field, p)
	}
}

// checkParam collects what is wrong with the type, the bounds and the values of a parameter.
func checkParam(bad *weir.InputError, field string, p *templateParam) {
	if _, ok := paramTypes[p.Type]; !ok {
		bad.Add("bad_value", field+".type", fmt.Sprintf("%.40q is not a valid type", p.Type),
			"use string, number, integer, boolean or date")
		return
	}
	low, high, ok := bounds(bad, field, p)
	if !ok {
		return
	}
	if low != nil && high != nil && low.size > high.size {
		bad.Add("out_of_range", field+".min", fmt.Sprintf("%s is more than max, %s", p.Min, p.Max), "swap them")
		return
	}
	for i, raw := range p.Allowed {
		one := templateParam{Type: p.Type, Min: p.Min, Max: p.Max}
		addParamFault(bad, fmt.Sprintf("%s.allowed[%d]", field, i), paramFault(&one, raw))
	}
	if p.Default != nil {
		if p.Required {
			bad.Add("bad_value", field+".default", "is never used: the parameter is required", "remove default or required")
		}
		addParamFault(bad, field+".default", paramFault(p, p.Default))
	}
}

// bounds parses the bounds of a parameter; a missing one is nil.
func bounds(bad *weir.InputError, field string, p *templateParam) (low, high *paramValue, ok bool) {
	ok = true
	read := func(name string, raw json.RawMessage) *paramValue {
		if raw == nil {
			return nil
		}
		v, err := readBound(p.Type, raw)
		if err != nil {
			bad.Add("bad_value", field+"."+name, err.Error(), boundFix(p.Type))
			ok = false
			return nil
		}
		return &v
	}
	return read("min", p.Min), read("max", p.Max), ok
}

func addParamFault(bad *weir.InputError, field string, f *weir.FieldError) {
	if f != nil {
		bad.Add(f.Code, field, f.Problem, f.Fix)
	}
}

// paramsFor returns what expressions see as params: the template's own members, and its parameters
// as given or by default. It adds faults of the given values to bad.
func paramsFor(bad *weir.InputError, t *storedTemplate, given json.RawMessage) (json.RawMessage, error) {
	all, ok := objectMembers(t.BulkAction.Params)
	if !ok {
		return nil, fmt.Errorf("template %q: its params are not an object", t.Name)
	}
	got, ok := objectMembers(given)
	if !ok {
		bad.Add("bad_json", "params", "is not a JSON object", `write it as in {"campaign": "spring"}`)
		return nil, nil
	}
	var known []string
	for i := range t.Params {
		p := &t.Params[i]
		known = append(known, p.Name)
		value, there := got[p.Name]
		switch {
		case there:
			addParamFault(bad, "params."+p.Name, paramFault(p, value))
			all[p.Name] = value
		case p.Required:
			bad.Add("missing_field", "params."+p.Name, "is missing", "give it "+paramTypes[p.Type].a)
		case p.Default != nil:
			all[p.Name] = p.Default
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if !slices.Contains(known, name) {
			bad.Add("unknown_field", fmt.Sprintf("params.%.64s", name), fmt.Sprintf("template %q has no such parameter", t.Name),
				check.Known(name, known, "it has no parameters: leave params out"))
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return json.Marshal(all)
}

// objectMembers returns the members of a JSON object; empty text has none.
func objectMembers(raw json.RawMessage) (m map[string]json.RawMessage, ok bool) {
	if len(raw) == 0 {
		return map[string]json.RawMessage{}, true
	}
	err := json.Unmarshal(raw, &m)
	return m, err == nil && m != nil
}
