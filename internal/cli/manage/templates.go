package manage

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/watch"
)

func templateKind() kind[api.Template] {
	type t = api.Template
	view := command.View[t]{
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
	return kind[t]{noun: "template", arg: "NAME", view: view, of: (*client.Client).Templates}
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
	k := templateKind()
	return command.Command{Use: "templates",
		Short: "manage templates, reusable bulk actions with parameters: list, get, apply, delete", Subs: []command.Command{
			k.list("list the templates", ""),
			{Use: "get NAME", Short: "show a template and its parameters", Args: command.Args(1, 1, "NAME"), Bind: bindTemplateGet},
			k.apply("create or update templates from a file", `  weir templates apply -f spring.yaml`, nil),
			k.delete("delete a template; its bulk actions stay"),
		}}
}

// bindTemplateGet shows a template with a row for each parameter.
func bindTemplateGet(fs *pflag.FlagSet) command.Runner {
	return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
		t, err := l.Templates().Get(ctx, args[0])
		if err != nil {
			return err
		}
		v := templateKind().view
		for _, p := range t.Params {
			v.More = append(v.More, command.Col("param "+p.Name, func(*api.Template) any { return paramText(&p) }))
		}
		return command.One(l.Printer, v, t)
	})
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
