package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
)

func templateView() view[api.Template] {
	type t = api.Template
	return view[t]{
		plural: "templates",
		id:     func(x *t) string { return x.Name },
		columns: []column[t]{
			{"name", func(x *t) any { return x.Name }},
			{"title", func(x *t) any { return x.Title }},
			{"tenant", func(x *t) any { return x.Tenant }},
			{"does", func(x *t) any { return stepNames(x.BulkAction.Steps) }},
			{"params", func(x *t) any { return paramList(x.Params) }},
			{"changed", func(x *t) any { return x.ChangedAt }},
		},
		more: []column[t]{
			{"description", func(x *t) any { return x.Description }},
			{"version", func(x *t) any { return x.Version }},
			{"created", func(x *t) any { return x.CreatedAt }},
		},
	}
}

// paramList names the parameters of a template; those with a * have to be given.
func paramList(params []api.TemplateParam) (names []string) {
	for _, p := range params {
		name := p.Name
		if p.Required {
			name += "*"
		}
		names = append(names, name)
	}
	return names
}

// templateOf is the template of a bulk action as people write it.
func templateOf(b *api.BulkAction) string {
	if b.Template == nil {
		return ""
	}
	return fmt.Sprintf("%s (version %s)", b.Template.Name, b.Template.Version)
}

// whatFor tells what is done by a bulk action that is to be made.
func whatFor(n *api.NewBulkAction) string {
	if n.Template != "" {
		return "template " + n.Template
	}
	return stepNames(n.Steps)
}

func templatesCommand() command {
	return command{use: "templates",
		short: "manage templates, reusable bulk actions with parameters: list, get, apply, delete", subs: []command{
			{use: "list", short: "list the templates", args: between(0, 0, ""), bind: func(fs *pflag.FlagSet) runner {
				return online(fs, func(ctx context.Context, l *link, _ []string) error {
					return list(l, templateView(), l.Templates(ctx), 0)
				})
			}},
			{use: "get NAME", short: "show a template and its parameters", args: between(1, 1, "NAME"), bind: func(fs *pflag.FlagSet) runner {
				return online(fs, func(ctx context.Context, l *link, args []string) error {
					t, err := l.Template(ctx, args[0])
					if err != nil {
						return err
					}
					v := templateView()
					for _, p := range t.Params {
						v.more = append(v.more, column[api.Template]{"param " + p.Name, func(*api.Template) any { return paramText(&p) }})
					}
					return one(l, v, t)
				})
			}},
			{use: "apply -f FILE", short: "create or update templates from a file", args: between(0, 0, ""),
				example: `  weir templates apply -f spring.yaml`, bind: func(fs *pflag.FlagSet) runner {
					return applied(fs, templateView(), func(t *api.Template) string { return t.Name }, nil,
						func(ctx context.Context, l *link, name string, t api.Template) (api.Template, error) {
							return l.PutTemplate(ctx, name, t)
						})
				}},
			removing("delete NAME", "delete a template; its bulk actions stay", "the template",
				func(ctx context.Context, l *link, name string) error { return l.DeleteTemplate(ctx, name) }),
		}}
}

// paramText tells what a parameter may be.
func paramText(p *api.TemplateParam) string {
	text := p.Type
	if p.Required {
		text += ", required"
	}
	for _, x := range []struct {
		name  string
		value json.RawMessage
	}{{"default", p.Default}, {"min", p.Min}, {"max", p.Max}} {
		if x.value != nil {
			text += fmt.Sprintf(", %s %s", x.name, x.value)
		}
	}
	for i, v := range p.Allowed {
		text += []string{", one of ", " or "}[min(i, 1)] + string(v)
	}
	if p.Title != "" {
		text += ": " + p.Title
	}
	return text
}

// chooseTemplate refuses flags that a template leaves no room for.
func (o *submitOptions) chooseTemplate() error {
	if o.template != "" {
		o.spec.Template = o.template
	}
	if o.spec.Template == "" {
		return nil
	}
	for _, f := range []string{"action", "map", "rate", "canary", "stop-failures", "duplicates"} {
		if o.flags.Changed(f) {
			return badUsage("leave it out, or name the actions instead of a template", "--%s is set by the template", f)
		}
	}
	return nil
}

// askTemplate finds out how the template reads items and of which types its parameters are.
func (o *submitOptions) askTemplate(ctx context.Context, l *link) error {
	types := map[string]string{}
	if o.spec.Template != "" && o.resume == "" {
		t, err := l.Template(ctx, o.spec.Template)
		if err != nil && !client.IsCode(err, "not_found") { // what is not there is told, with those that are, when it is used
			return err
		}
		o.ID = cmp.Or(o.ID, t.BulkAction.ItemID)
		for _, p := range t.Params {
			types[p.Name] = p.Type
		}
	}
	return o.setParams(types)
}

// setParams puts the parameters over those of the file.
func (o *submitOptions) setParams(types map[string]string) error {
	if len(o.params) == 0 {
		return nil
	}
	all := map[string]json.RawMessage{}
	if len(o.spec.Params) > 0 {
		if err := json.Unmarshal(o.spec.Params, &all); err != nil || all == nil {
			return badUsage("write them as in params: {amount: 500}", "%s: params is not an object", o.chainFile)
		}
	}
	for _, text := range o.params {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return badUsage("write it as in amount=500", "--param: %q has no name", text)
		}
		all[name] = paramValue(types[name], value)
	}
	raw, err := json.Marshal(all)
	o.spec.Params = raw
	return err
}

// paramValue is what was written, as JSON if it is that: 2026 is a number, unless
// the parameter is a text. All else is a text.
func paramValue(kind, text string) json.RawMessage {
	isText := (kind == "string" || kind == "date") && !strings.HasPrefix(text, `"`)
	if json.Valid([]byte(text)) && !isText {
		return json.RawMessage(text)
	}
	raw, _ := json.Marshal(text) // every text can be
	return raw
}
