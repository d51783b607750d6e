// Package manage has the commands for what a server keeps besides bulk actions: actions, resources, tenants,
// connections, templates, schedules, webhooks and API keys.
package manage

import (
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
)

// Commands returns the commands that manage the objects of a server, and the access to it.
func Commands() []command.Command {
	return []command.Command{
		actionsCommand(), resourcesCommand(), tenantsCommand(), connectionsCommand(), templatesCommand(), schedulesCommand(),
		webhooksCommand(), keysCommand(), auditCommand(), loginCommand(), apiCommand(),
	}
}

func connectionKind() kind[api.Connection] {
	type c = api.Connection
	view := command.View[c]{Plural: "connections", ID: func(x *c) string { return x.Name }, Columns: []command.Column[c]{
		command.Col("name", func(x *c) any { return x.Name }),
		command.Col("kind", func(x *c) any { return x.Kind }),
		command.Col("url", func(x *c) any { return x.URL }),
		command.Col("tenants", func(x *c) any { return x.Tenants }),
		command.Col("origin", func(x *c) any { return x.Origin }),
		command.Col("changed", func(x *c) any { return changedText(x.Provenance) }),
	}}
	return kind[c]{noun: "connection", arg: "NAME", view: view, of: (*client.Client).Connections}
}

func connectionsCommand() command.Command {
	k := connectionKind()
	return command.Command{Use: "connections", Short: "manage databases, buckets and brokers to read items from: list, apply, delete",
		Subs: []command.Command{
			k.list("list the connections, without their secrets", ""),
			k.apply("create or update connections from a file", "", nil),
			k.delete("delete a connection"),
		}}
}
