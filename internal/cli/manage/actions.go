package manage

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/watch"
)

func actionKind() kind[api.Action] {
	type a = api.Action
	view := command.View[a]{
		Plural: "actions",
		ID:     func(x *a) string { return x.Name },
		Columns: []command.Column[a]{
			command.Col("name", func(x *a) any { return x.Name }),
			command.Col("kind", func(x *a) any { return x.Kind }),
			command.Col("resource", func(x *a) any { return cmp.Or(x.Resource, x.Name) }),
			command.Col("batch", func(x *a) any { return command.None(int64(x.Batch)) }),
			command.Col("undo", func(x *a) any { return x.Undo }),
			command.Col("origin", func(x *a) any { return x.Origin }),
			command.Col("disabled", func(x *a) any { return x.Disabled }),
			command.Col("url", func(x *a) any { return x.URL }),
		},
		More: []command.Column[a]{
			command.Col("undo url", func(x *a) any { return x.UndoURL }),
			command.Col("timeout", func(x *a) any { return x.Timeout }),
			command.Col("tenants", func(x *a) any { return x.Tenants }),
			command.Col("schema", func(x *a) any { return x.Schema }),
			command.Col("changed", func(x *a) any { return changedText(x.Provenance) }),
		},
	}
	return kind[a]{noun: "action", arg: "NAME", view: view, of: (*client.Client).Actions}
}

func actionsCommand() command.Command {
	k := actionKind()
	return command.Command{Use: "actions", Short: "manage actions: list, get, apply, delete, test",
		Subs: []command.Command{
			k.list("list the actions", ""), k.get("show an action"),
			k.apply("create or update HTTP actions from a file", `  weir actions apply -f actions.yaml`, checkAction),
			k.delete("delete an action; bulk actions that use it continue"),
			{
				Use: "test NAME", Short: "send a test batch to an action and show the request and the response",
				Args:    command.Args(1, 1, "NAME"),
				Example: `  weir actions test send-message --item '{"id":"u1","data":{"to":"u1@example.com"}}'`, Bind: bindActionTest,
			},
		}}
}

// checkAction finds what any server would refuse.
func checkAction(a *api.Action) error {
	if a.URL == "" {
		return command.BadUsage("write the URL of its endpoint, as in url: https://push.example.com/batch", "url: is empty")
	}
	return nil
}

func bindActionTest(fs *pflag.FlagSet) command.Runner {
	items := fs.StringArray("item", nil, "`JSON` of an item: id and data, or only the data; repeatable")
	real := fs.Bool("for-real", false, "do not mark the call as a dry run")
	return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
		t := api.ActionTest{}
		if *real {
			dry := false
			t.DryRun = &dry
		}
		for i, text := range *items {
			it, err := testItem(text, i+1)
			if err != nil {
				return err
			}
			t.Items = append(t.Items, it)
		}
		if len(t.Items) == 0 {
			t.Items = []api.Item{{ID: "test-1", Data: json.RawMessage(`{}`)}}
		}
		s, err := l.TestAction(ctx, args[0], t)
		if err != nil {
			return err
		}
		return watch.ShowTrial(l, []api.TrialStep{s}, s)
	})
}

// testItem reads {"id":…,"data":…}, or takes the whole for the data.
func testItem(text string, no int) (it api.Item, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if d.Decode(&it) == nil && it.ID != "" {
		return it, nil
	}
	if !json.Valid([]byte(text)) {
		return it, command.BadUsage(`write it as in '{"id":"u1","data":{}}'`, "--item: %q is not valid JSON", text)
	}
	return api.Item{ID: fmt.Sprintf("test-%d", no), Data: json.RawMessage(text)}, nil
}
