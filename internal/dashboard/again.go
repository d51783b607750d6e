package dashboard

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
)

// mostRecent is how many bulk actions a form offers to begin with.
const mostRecent = 50

// recent lists bulk actions that a template or a schedule can begin with, the newest first.
func (v *visit) recent(ctx context.Context) (list []option, err error) {
	all, err := collect(v.api.List(ctx, client.Filter{}), mostRecent)
	for i := range all {
		if b := &all[i]; repeats(b) {
			list = append(list, option{b.ID, b.Name + ", " + strings.ToLower(signOf(b.State).Word) + ", of " + v.clock.Time(b.CreatedAt)})
		}
	}
	return list, err
}

// repeats reports whether a bulk action can be done again: retries and undos belong to the one before.
func repeats(b *api.BulkAction) bool { return b.RetryOf == "" && b.UndoOf == "" }

// noSchedule says why no schedule can be made of a bulk action, empty if one can: its items have to be read anew each time.
func noSchedule(b *api.BulkAction) string {
	switch {
	case b.Source == nil:
		return "A schedule reads its items anew each time, and those of this bulk action came with a request. Save it as a template, and make a schedule of that with a source."
	case b.Source.Upload != "":
		return "A schedule reads its items anew each time, and those of this bulk action come from an uploaded file. Save it as a template, and make a schedule of that with a source."
	}
	return ""
}

// again returns what a bulk action does, without its items, its times and its callback, whose secret is not shown.
func (v *visit) again(ctx context.Context, id string) (b api.BulkAction, n api.NewBulkAction, err error) {
	if b, err = v.api.Get(ctx, id); err != nil {
		return b, n, err
	}
	n = api.NewBulkAction{Steps: b.Steps, Params: b.Params, ItemID: b.ItemID, FoldIDs: b.FoldIDs, Columns: b.Columns, Source: b.Source, Labels: b.Labels, Rules: b.Rules,
		OnBadLine: b.OnBadLine, Duplicates: b.OnDuplicate}
	if b.CreatedWith != nil { // changes while it ran were for that run
		n.Rules = *b.CreatedWith
	}
	if b.State == api.Draft && b.Template == nil { // it knows more
		if n, err = v.api.Draft(ctx, id); err != nil {
			return b, n, err
		}
	}
	n.Name, n.Tenant, n.StartAt, n.Zone, n.Start, n.Items, n.Callback, n.Deadline = "", "", "", "", false, nil, nil, time.Time{}
	if n.Source != nil && n.Source.Upload != "" {
		n.Source = nil
	}
	return b, n, nil
}

// constant is a value that is the same for all items: template forms offer to ask for it each time.
type constant struct {
	step   int
	member string
	param  api.TemplateParam // that would ask for it
}

// constantsOf finds the inputs of steps that are plain values.
func constantsOf(n *api.NewBulkAction, taken []api.TemplateParam) (list []constant) {
	names := map[string]bool{}
	for _, p := range taken {
		names[p.Name] = true
	}
	ids := stepIDs(n.Steps)
	for i, s := range n.Steps {
		for _, member := range slices.Sorted(maps.Keys(s.Input)) {
			value, ok := literal(s.Input[member])
			if !ok {
				continue
			}
			name := paramName(member)
			if names[name] {
				name = paramName(ids[i] + "_" + member)
			}
			names[name] = true
			list = append(list, constant{i, member, paramOf(name, value)})
		}
	}
	return list
}

// ask is the name of the check that asks for it each time.
func (f *constant) ask(n *api.NewBulkAction) string {
	return "ask." + stepIDs(n.Steps)[f.step] + "." + f.member
}

// literal reads an expression that is only a value.
func literal(expression string) (json.RawMessage, bool) {
	text := strings.TrimSpace(expression)
	if len(text) > 1 && text[0] == '\'' && strings.Count(text, "'") == 2 && strings.HasSuffix(text, "'") && !strings.ContainsAny(text, `\"`) {
		text = `"` + text[1:len(text)-1] + `"`
	}
	raw := json.RawMessage(text)
	return raw, json.Valid(raw) && typeOf(raw) != ""
}

// paramName makes a name that can follow params. in an expression.
func paramName(text string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, text)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name[:min(len(name), 64)]
}

var aDate = regexp.MustCompile(`^"\d{4}-\d{2}-\d{2}"$`)

// typeOf returns the type of a parameter with this value, empty if none has such values.
func typeOf(raw json.RawMessage) string {
	switch text := strings.TrimSpace(string(raw)); {
	case text == "true" || text == "false":
		return "boolean"
	case aDate.MatchString(text):
		return "date"
	case strings.HasPrefix(text, `"`):
		return "string"
	case text == "" || text == "null" || strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["):
		return ""
	case strings.ContainsAny(text, ".eE"):
		return "number"
	}
	return "integer"
}

func paramOf(name string, value json.RawMessage) api.TemplateParam {
	return api.TemplateParam{Name: name, Type: typeOf(value), Default: value}
}

// givenParams returns parameters for the values that a bulk action was given, as its template describes them if it has one.
// Values that no parameter can have stay in the bulk action.
func (v *visit) givenParams(ctx context.Context, b *api.BulkAction, n *api.NewBulkAction) (params []api.TemplateParam, err error) {
	var values map[string]json.RawMessage
	if json.Unmarshal(n.Params, &values) != nil || len(values) == 0 {
		return nil, nil
	}
	var from api.Template
	if b.Template != nil {
		if from, err = v.api.Templates().Get(ctx, b.Template.Name); err != nil && !client.IsCode(err, "not_found") {
			return nil, err
		}
	}
	rest := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		p := paramOf(name, values[name])
		if i := slices.IndexFunc(from.Params, func(p api.TemplateParam) bool { return p.Name == name }); i >= 0 {
			p = from.Params[i]
			p.Default, p.Required = values[name], false
		}
		if p.Type == "" {
			rest[name] = values[name]
			continue
		}
		params = append(params, p)
	}
	if n.Params = nil; len(rest) > 0 {
		n.Params, err = json.Marshal(rest)
	}
	return params, err
}
