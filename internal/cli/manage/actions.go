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

var actions = kind[api.Action]{
	noun: "action", arg: "NAME", of: (*client.Client).Actions,
	view: command.NewView("actions", "name", "name, kind, resource, batch?, undo, origin, disabled, url",
		"undo url, timeout, tenants, schema, changed", command.Texts[api.Action]{
			"resource": func(x *api.Action) any { return cmp.Or(x.Resource, x.Name) },
			"changed":  func(x *api.Action) any { return changedText(x.Provenance) },
		}),
}

func actionsCommand() command.Command {
	return command.Command{Use: "actions", Short: "manage actions: list, get, apply, delete, test",
		Subs: []command.Command{
			actions.list("list the actions", ""), actions.get("show an action"),
			actions.apply("create or update HTTP actions from a file", `  weir actions apply -f actions.yaml`, checkAction),
			actions.delete("delete an action; bulk actions that use it continue"),
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
