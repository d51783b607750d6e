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

var connections = kind[api.Connection]{
	noun: "connection", arg: "NAME", of: (*client.Client).Connections,
	view: command.NewView("connections", "name", "name, kind, url, tenants, origin, changed", "", command.Texts[api.Connection]{
		"changed": func(x *api.Connection) any { return changedText(x.Provenance) },
	}),
}

func connectionsCommand() command.Command {
	return command.Command{Use: "connections", Short: "manage databases, buckets and brokers to read items from: list, apply, delete",
		Subs: []command.Command{
			connections.list("list the connections, without their secrets", ""),
			connections.apply("create or update connections from a file", "", nil),
			connections.delete("delete a connection"),
		}}
}
