package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
)

func actionView() view[api.Action] {
	type a = api.Action
	return view[a]{
		plural: "actions",
		id:     func(x *a) string { return x.Name },
		columns: []column[a]{
			{"name", func(x *a) any { return x.Name }},
			{"kind", func(x *a) any { return x.Kind }},
			{"resource", func(x *a) any { return cmp.Or(x.Resource, x.Name) }},
			{"batch", func(x *a) any { return none(int64(x.Batch)) }},
			{"undo", func(x *a) any { return x.Undo }},
			{"origin", func(x *a) any { return x.Origin }},
			{"disabled", func(x *a) any { return x.Disabled }},
			{"url", func(x *a) any { return x.URL }},
		},
		more: []column[a]{
			{"undo url", func(x *a) any { return x.UndoURL }},
			{"timeout", func(x *a) any { return x.Timeout }},
			{"tenants", func(x *a) any { return x.Tenants }},
			{"schema", func(x *a) any { return x.Schema }},
			{"changed", func(x *a) any { return changedText(x.Provenance) }},
		},
	}
}

func actionsCommand() command {
	return command{use: "actions", short: "manage actions: list, get, apply, delete, test", subs: []command{
		{use: "list", short: "list the actions", args: between(0, 0, ""), bind: func(fs *pflag.FlagSet) runner {
			return online(fs, func(ctx context.Context, l *link, _ []string) error { return list(l, actionView(), l.Actions(ctx), 0) })
		}},
		{use: "get NAME", short: "show an action", args: between(1, 1, "NAME"), bind: func(fs *pflag.FlagSet) runner {
			return online(fs, func(ctx context.Context, l *link, args []string) error {
				a, err := l.Action(ctx, args[0])
				if err != nil {
					return err
				}
				return one(l, actionView(), a)
			})
		}},
		{use: "apply -f FILE", short: "create or update HTTP actions from a file", args: between(0, 0, ""),
			example: `  weir actions apply -f actions.yaml`, bind: func(fs *pflag.FlagSet) runner {
				return applied(fs, actionView(), func(a *api.Action) string { return a.Name }, checkAction,
					func(ctx context.Context, l *link, name string, a api.Action) (api.Action, error) {
						return l.PutAction(ctx, name, a)
					})
			}},
		removing("delete NAME", "delete an action that is not in use", "the action",
			func(ctx context.Context, l *link, name string) error { return l.DeleteAction(ctx, name) }),
		{
			use: "test NAME", short: "send a test batch to an action and show the request and the response", args: between(1, 1, "NAME"),
			example: `  weir actions test send-message --item '{"id":"u1","data":{"to":"u1@example.com"}}'`, bind: bindActionTest,
		},
	}}
}

// checkAction finds what any server would refuse.
func checkAction(a *api.Action) error {
	if a.URL == "" {
		return badUsage("write the URL of its endpoint, as in url: https://push.example.com/batch", "url: is empty")
	}
	return nil
}

func bindActionTest(fs *pflag.FlagSet) runner {
	items := fs.StringArray("item", nil, "`JSON` of an item: id and data, or only the data; repeatable")
	real := fs.Bool("for-real", false, "do not mark the call as a dry run")
	return online(fs, func(ctx context.Context, l *link, args []string) error {
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
		return l.showTrial([]api.TrialStep{s}, s)
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
		return it, badUsage(`write it as in '{"id":"u1","data":{}}'`, "--item: %q is not valid JSON", text)
	}
	return api.Item{ID: fmt.Sprintf("test-%d", no), Data: json.RawMessage(text)}, nil
}
