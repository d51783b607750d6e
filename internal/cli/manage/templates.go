package manage

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/watch"
)

func templateView() command.View[api.Template] {
	type t = api.Template
	return command.View[t]{
		Plural: "templates",
		ID:     func(x *t) string { return x.Name },
		Columns: []command.Column[t]{
			command.Col("name", func(x *t) any { return x.Name }),
			command.Col("title", func(x *t) any { return x.Title }),
			command.Col("tenant", func(x *t) any { return x.Tenant }),
			command.Col("does", func(x *t) any { return watch.StepNames(x.BulkAction.Steps) }),
			command.Col("params", func(x *t) any { return paramList(x.Params) }),
			command.Col("changed", func(x *t) any { return x.ChangedAt }),
		},
		More: []command.Column[t]{
			command.Col("description", func(x *t) any { return x.Description }),
			command.Col("version", func(x *t) any { return x.Version }),
			command.Col("created", func(x *t) any { return x.CreatedAt }),
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

func templatesCommand() command.Command {
	return command.Command{Use: "templates",
		Short: "manage templates, reusable bulk actions with parameters: list, get, apply, delete", Subs: []command.Command{
			{Use: "list", Short: "list the templates", Args: command.Args(0, 0, ""), Bind: func(fs *pflag.FlagSet) command.Runner {
				return link.Online(fs, func(ctx context.Context, l *link.Link, _ []string) error {
					return command.List(l.Printer, templateView(), l.Templates(ctx), 0)
				})
			}},
			{Use: "get NAME", Short: "show a template and its parameters", Args: command.Args(1, 1, "NAME"), Bind: func(fs *pflag.FlagSet) command.Runner {
				return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
					t, err := l.Template(ctx, args[0])
					if err != nil {
						return err
					}
					v := templateView()
					for _, p := range t.Params {
						v.More = append(v.More, command.Col("param "+p.Name, func(*api.Template) any { return paramText(&p) }))
					}
					return command.One(l.Printer, v, t)
				})
			}},
			{Use: "apply -f FILE", Short: "create or update templates from a file", Args: command.Args(0, 0, ""),
				Example: `  weir templates apply -f spring.yaml`, Bind: func(fs *pflag.FlagSet) command.Runner {
					return applied(fs, templateView(), func(t *api.Template) string { return t.Name }, nil,
						func(ctx context.Context, l *link.Link, name string, t api.Template) (api.Template, error) {
							return l.PutTemplate(ctx, name, t)
						})
				}},
			removing("delete NAME", "delete a template; its bulk actions stay", "the template",
				func(ctx context.Context, l *link.Link, name string) error { return l.DeleteTemplate(ctx, name) }),
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
