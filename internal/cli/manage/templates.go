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

var templates = kind[api.Template]{
	noun: "template", arg: "NAME", of: (*client.Client).Templates,
	view: command.NewView("templates", "name", "name, title, tenant, does, params, changed=changed_at",
		"description, version, created=created_at", command.Texts[api.Template]{
			"does":   func(x *api.Template) any { return watch.StepNames(x.BulkAction.Steps) },
			"params": func(x *api.Template) any { return paramList(x.Params) },
		}),
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
			templates.list("list the templates", ""),
			{Use: "get NAME", Short: "show a template and its parameters", Args: command.Args(1, 1, "NAME"), Bind: bindTemplateGet},
			templates.apply("create or update templates from a file", `  weir templates apply -f spring.yaml`, nil),
			templates.delete("delete a template; its bulk actions stay"),
		}}
}

// bindTemplateGet shows a template with a row for each parameter.
func bindTemplateGet(fs *pflag.FlagSet) command.Runner {
	return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
		t, err := l.Templates().Get(ctx, args[0])
		if err != nil {
			return err
		}
		v := templates.view
		for _, p := range t.Params {
			v.More = append(v.More, command.Column[api.Template]{Head: "param " + p.Name,
				Value: func(*api.Template) any { return paramText(&p) }})
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
